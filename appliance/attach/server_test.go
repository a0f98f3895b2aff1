package attach

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/skewgate/skewgate/shm"
	"github.com/skewgate/skewgate/shm/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const writerHello = `{"skewgate_attach":1,"abi":1,"role":"writer","model":"mine","replica":0,"client":"test/1"}`

func TestWriterGetsItsRing(t *testing.T) {
	r := newRig(t, false)
	r.SetEpoch(0, 4)
	c, h := r.ask(writerHello)
	r.changed()
	if diff := cmp.Diff([]string{"ring", "doorbell", "frames/gate"}, h.Files); diff != "" || !h.OK || h.files != 3 {
		t.Errorf("files (-want +got):\n%s, %d descriptors, %+v", diff, h.files, h)
	}
	if h.Unit != "box" || h.Model != "mine" || *h.RingEpoch != 1 || len(h.Cameras) != 1 || h.Cameras[0] != (answerCamera{"gate", 4}) {
		t.Errorf("answer: %+v", h)
	}
	w := r.Word(0)
	if w.Serial != 1 || w.Peer == nil || w.Peer.PID != os.Getpid() || w.Peer.UID != os.Getuid() || w.Peer.Client != "test/1" {
		t.Errorf("word: %+v %v", w, w.Peer)
	}
	r.SetEpoch(0, 5)
	if e, _ := hear(t, c); e.Event != "stream_epoch" || e.Camera != "gate" || *e.event.StreamEpoch != 5 {
		t.Errorf("event: %+v", e)
	}
	r.Drain()
	if e, _ := hear(t, c); e.Event != "drain" {
		t.Errorf("event: %+v", e)
	}
	c.Close()
	r.changed()
	if w := r.Word(0); w.Serial != 1 || w.Peer != nil {
		t.Errorf("word after the end: %+v", w)
	}
}

// Every no has its code, says both sides' facts and ends the connection. F28
func TestRefusals(t *testing.T) {
	for _, row := range []struct {
		name, hello string
		code        Code
		says        string
	}{
		{"not JSON", `hello`, CodeBadRequest, "JSON"},
		{"nothing of ours", `{}`, CodeBadRequest, "protocol 0, this appliance 1"},
		{"another protocol", `{"skewgate_attach":2,"abi":1,"role":"writer","model":"mine"}`, CodeBadRequest, "protocol 2, this appliance 1"},
		{"another ABI", `{"skewgate_attach":1,"abi":2,"role":"writer","model":"mine"}`, CodeABI, "ABI version 2, this appliance 1"},
		{"no role", `{"skewgate_attach":1,"abi":1,"model":"mine"}`, CodeBadRequest, `role ""`},
		{"wrong type", `{"skewgate_attach":1,"abi":1,"role":"writer","model":7}`, CodeBadRequest, "model"},
		{"negative replica", `{"skewgate_attach":1,"abi":1,"role":"writer","model":"mine","replica":-1}`, CodeBadRequest, "replica"},
		{"unknown model", `{"skewgate_attach":1,"abi":1,"role":"writer","model":"people"}`, CodeUnknownModel, `"people" with replica 0 has command: attach; those that have: mine/0, other/0`},
		{"unknown replica", `{"skewgate_attach":1,"abi":1,"role":"writer","model":"mine","replica":3}`, CodeUnknownModel, "replica 3"},
		{"no output ring", `{"skewgate_attach":1,"abi":1,"role":"reader"}`, CodeNoOutput, "shm: {}"},
		{"too long", writerHello + strings.Repeat(" ", maxPacketBytes), CodeBadRequest, "65536"},
		{"deep", strings.Repeat("[", 20000), CodeBadRequest, "JSON"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newRig(t, false)
			c, h := r.ask(row.hello)
			if h.OK || h.Code != row.code || !strings.Contains(h.Error, row.says) || h.answer.ABI != shm.Version || h.files != 0 {
				t.Errorf("want %s with %q, got %+v", row.code, row.says, h)
			}
			if _, ok := hear(t, c); ok {
				t.Error("the connection goes on after a no")
			}
			if w := r.Word(0); w.Serial != 0 || w.Peer != nil {
				t.Errorf("word: %+v", w)
			}
		})
	}
}

// One ring has one writer: the second is told who the first is, and gets the ring the
// moment that one is gone.
func TestSecondWriterIsRefused(t *testing.T) {
	r := newRig(t, false)
	first, _ := r.ask(writerHello)
	r.changed()
	_, h := r.ask(writerHello)
	if h.Code != CodeWriterPresent || !strings.Contains(h.Error, fmt.Sprintf("pid %d of uid %d (test/1)", os.Getpid(), os.Getuid())) {
		t.Errorf("second writer: %+v", h)
	}
	first.Close()
	r.changed()
	if _, h := r.ask(writerHello); !h.OK {
		t.Errorf("writer after the first is gone: %+v", h)
	}
	if r.changed(); r.Word(0).Serial != 2 {
		t.Errorf("word: %+v", r.Word(0))
	}
}

// Who is not in a list gets nothing, and learns no names.
func TestUsers(t *testing.T) {
	r := newRig(t, true)
	for _, row := range []struct {
		uid   int
		hello string
		want  Code // "" = let in
		says  string
	}{
		{0, writerHello, "", ""},
		{os.Geteuid(), writerHello, "", ""},
		{1001, writerHello, "", ""},
		{1001, strings.Replace(writerHello, "mine", "other", 1), CodeNotAllowed, "its allow.uid is empty"},
		{1001, `{"skewgate_attach":1,"abi":1,"role":"reader"}`, "", ""},
		{1002, `{"skewgate_attach":1,"abi":1,"role":"reader"}`, "", ""},
		{1002, writerHello, CodeNotAllowed, "its allow.uid is 1001"},
		{1002, `{"skewgate_attach":1,"abi":1,"role":"observer"}`, CodeNotAllowed, "root"},
		{1003, strings.Replace(writerHello, "mine", "nosuch", 1), CodeNotAllowed, "uid 1003 may not attach"},
	} {
		t.Run(fmt.Sprint(row.uid, " ", row.hello[30:]), func(t *testing.T) {
			h, no := parseHello([]byte(row.hello))
			if no != nil {
				t.Fatal(no)
			}
			// The kernel says who the peer is, so another user's call is made here; the whole
			// way with real users is a test of the program.
			u := r.connect()
			c, err := newConn(u)
			if err != nil {
				t.Fatal(err)
			}
			c.peer.UID = row.uid
			no = r.admit(c, h)
			switch {
			case row.want == "" && no != nil:
				t.Errorf("want it let in, got %v", no)
			case row.want != "" && (no == nil || no.code != row.want || !strings.Contains(no.text, row.says)):
				t.Errorf("want %s with %q, got %v", row.want, row.says, no)
			}
			r.mu.Lock()
			delete(r.conns, c)
			if c.desk != nil {
				c.desk.leave(c)
			}
			r.mu.Unlock()
		})
	}
}

func TestReaderAndObserver(t *testing.T) {
	r := newRig(t, true)
	defer r.stop()
	_, h := r.ask(`{"skewgate_attach":1,"abi":1,"role":"reader"}`)
	if diff := cmp.Diff([]string{"output", "frames/gate"}, h.Files); diff != "" || h.files != 2 {
		t.Errorf("reader's files (-want +got):\n%s", diff)
	}
	o, h := r.ask(`{"skewgate_attach":1,"abi":1,"role":"observer"}`)
	if diff := cmp.Diff([]string{"output", "ring/mine/0", "ring/other/0", "frames/gate"}, h.Files); diff != "" || h.files != 4 {
		t.Errorf("observer's files (-want +got):\n%s", diff)
	}
	// A ring laid out anew: nobody attaches meanwhile, its observers look again.
	r.Shut(0, "test")
	if _, h := r.ask(writerHello); h.Code != CodeBusy || !strings.Contains(h.Error, "test") {
		t.Errorf("attach to a ring being laid out: %+v", h)
	}
	_, ring := detectionRing(t, "mine")
	r.Open(0, ring)
	if e, _ := hear(t, o); e.Event != "closed" || !strings.Contains(e.Reason, "mine/0") {
		t.Errorf("observer: %+v", e)
	}
	if _, ok := hear(t, o); ok {
		t.Error("the observer's connection goes on")
	}
	if _, h := r.ask(writerHello); !h.OK {
		t.Errorf("attach to the new ring: %+v", h)
	}
}

// F65: 1,000 clients that say nothing cost a bounded number of places for a bounded time.
func TestHalfOpenClients(t *testing.T) {
	r := newRig(t, false)
	for range 1000 {
		r.connect()
		if r.halfOpen() > maxHalfOpenUser {
			t.Fatalf("%d connections wait, at most %d of one user may", r.halfOpen(), maxHalfOpenUser)
		}
	}
	begun := time.Now()
	for r.halfOpen() > 0 {
		if time.Since(begun) > helloTimeout+8*time.Second {
			t.Fatalf("%d connections still wait", r.halfOpen())
		}
		time.Sleep(10 * time.Millisecond)
	}
	if _, h := r.ask(writerHello); !h.OK {
		t.Errorf("attach after the flood: %+v", h)
	}
}

func (s *Server) halfOpen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.half)
}

// One user cannot take all readers' places.
func TestReadersAreBounded(t *testing.T) {
	r := newRig(t, true)
	for i := range maxReadersUser + 1 {
		_, h := r.ask(`{"skewgate_attach":1,"abi":1,"role":"reader"}`)
		if want := i < maxReadersUser; h.OK != want || !want && h.Code != CodeBusy {
			t.Fatalf("reader %d: %+v", i, h)
		}
	}
}

// A client that speaks again, or that never reads, costs itself its connection.
func TestUnmannerlyClients(t *testing.T) {
	r := newRig(t, false)
	c, _ := r.ask(writerHello)
	r.changed()
	if _, err := c.Write([]byte("more")); err != nil {
		t.Fatal(err)
	}
	if r.changed(); r.Word(0).Peer != nil {
		t.Error("a client that speaks again is still attached")
	}
	r.ask(writerHello) // and never reads again
	r.changed()
	begun := time.Now()
	for epoch := uint32(1); r.Word(0).Peer != nil; epoch++ {
		r.SetEpoch(0, epoch)
		if time.Since(begun) > 20*time.Second {
			t.Fatal("a client that does not read is still attached")
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// The Go client: attach, publish, see pictures; the end of the appliance stops it at once,
// a new one is found by itself.
func TestClientReattaches(t *testing.T) {
	r := newRig(t, false)
	defer r.stop()
	r.SetEpoch(0, r.frames.NextStreamEpoch())
	o := client.Options{Socket: r.path, Client: "test/1"}
	w, err := client.AttachWriter(o, "mine", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ring, err := shm.NewReader(r.ring.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	gate, err := w.Stream("gate")
	if err != nil {
		t.Fatal(err)
	}
	now := int64(1_000_000_000)
	if err := w.Boxes(&client.Message{Stream: gate, CaptureNS: 5, NowNS: now}, nil); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, 64)
	var h shm.SlotHeader
	if _, ok, err := ring.Next(&h, body); !ok || err != nil || h.CaptureNS != 5 || h.StreamEpoch != 1 {
		t.Fatalf("message: %+v, %v, %v", h, ok, err)
	}
	if _, ok, err := w.Newest(gate, now); ok || err != nil {
		t.Errorf("newest of an empty frame ring: %v, %v", ok, err)
	}
	pixels, err := r.frames.Begin(96)
	if err != nil {
		t.Fatal(err)
	}
	pixels[0] = 42
	if _, err := r.frames.Publish(&shm.FrameMeta{FrameID: 7, StreamEpoch: 1, Width: 8, Height: 8, Format: shm.FormatI420}); err != nil {
		t.Fatal(err)
	}
	f, ok, err := w.Newest(gate, now)
	if !ok || err != nil || f.FrameID != 7 || f.Pixels[0] != 42 || !w.Valid(gate, f.Seq) {
		t.Fatalf("newest: %+v, %v, %v", f.FrameMeta, ok, err)
	}
	allocs := testing.AllocsPerRun(100, func() {
		now += 1000
		if err := w.Boxes(&client.Message{Stream: gate, CaptureNS: now, NowNS: now}, nil); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("allocations a publish: want 0, got %v", allocs)
	}

	head := ring.Info().Head
	r.Shut(0, "the test says so")
	now += 2_000_000
	if err := w.Boxes(&client.Message{Stream: gate, NowNS: now}, nil); !errorIs(err, client.ErrDetached) || !strings.Contains(err.Error(), "the test says so") {
		t.Errorf("publish after the end: want ErrDetached with the reason, got %v", err)
	}
	if w.Valid(gate, f.Seq) {
		t.Error("a picture of unmapped memory is called valid")
	}
	if got := ring.Info().Head; got != head {
		t.Errorf("the orphan's head moved from %d to %d", head, got)
	}
	segment, anew := detectionRing(t, "mine")
	r.Open(0, anew)
	tries := 0
	for {
		err := w.Boxes(&client.Message{Stream: gate, NowNS: now}, nil)
		if errorIs(err, client.ErrReattached) {
			break
		}
		if !errorIs(err, client.ErrDetached) || tries > 10_000 {
			t.Fatalf("try %d: %v", tries, err)
		}
		if tries++; now > 3_000_000_000 {
			t.Fatal("not attached again within 2 s of the caller's time")
		}
		now += 1_000_000
		time.Sleep(100 * time.Microsecond) // the server's time is real
	}
	if err := w.Boxes(&client.Message{Stream: gate, NowNS: now}, nil); err != nil {
		t.Fatal(err)
	}
	fresh, err := shm.NewReader(segment.Bytes())
	if err != nil || fresh.Info().Head != 1 || fresh.Info().RingEpoch != 1 || ring.Info().Head != head {
		t.Errorf("new ring: %+v, %v; orphan's head %d, was %d", fresh.Info(), err, ring.Info().Head, head)
	}
}

// FuzzHello: no packet gets past the parser with a wrong protocol or an unprintable name,
// or brings it down.
func FuzzHello(f *testing.F) {
	f.Add([]byte(writerHello))
	f.Add([]byte(`{"skewgate_attach":1,"abi":1,"role":"reader","client":"\u0000\u001b[2J` + strings.Repeat("ü", 100) + `"}`))
	f.Add([]byte(`[1,2`))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, no := parseHello(b)
		if no != nil {
			if no.code != CodeBadRequest && no.code != CodeABI || no.text == "" {
				t.Fatalf("refused with %v", no)
			}
			return
		}
		if h.Protocol != Protocol || h.ABI != shm.Version || len(h.Client) > maxClientBytes || strings.ContainsAny(h.Client, "\x00\x1b\n\x7f") {
			t.Fatalf("accepted %+v", h)
		}
	})
}
