package appliance

import (
	"encoding/json"
	"math"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/appliance/status"
	"github.com/skewgate/skewgate/shm"
)

const foreignConfig = `
unit: box
state_dir: state
correlation: {timeout: 300ms, emit_empty: true, match: MATCH}
cameras:
  - {name: gate, source: none.mp4, max_picture: 64x64, fps: 30}
models:
  - {name: a, manifest: m.yaml, cameras: [gate]}
  - {name: mine, command: attach, cameras: [gate], frame_ids: true, max_boxes: 10,
     classes: {"0": circle, dot: circle, noise: circle}}
sinks:
  - shm: {slots: 128}
`

// foreignRig is a rig with a foreign detector, whose socket and ring the test holds.
type foreignRig struct {
	*rig
	mine   *replica
	socket net.Conn
	w      *shm.Writer
	stream uint32
}

func newForeignRig(t *testing.T, match string) *foreignRig {
	t.Helper()
	r := &foreignRig{rig: newRig(t, strings.Replace(foreignConfig, "MATCH", match, 1))}
	r.mine = r.path.replicas[1]
	r.goFunc("attach", func() { r.attach.Serve(r.control.attach) })
	t.Cleanup(func() {
		close(r.quit)
		r.attach.Close()
		if err := r.control.close(); err != nil {
			t.Error(err)
		}
		r.goroutines.Wait()
	})
	return r
}

// come attaches and takes the ring over, as a process of somebody else's would.
func (r *foreignRig) come() {
	r.t.Helper()
	r.connect()
	r.until("the path hears of it", func() bool { return r.mine.foreign.heard.Peer != nil })
}

func (r *foreignRig) connect() {
	r.t.Helper()
	c, err := net.DialUnix("unixpacket", nil, r.control.attach.Addr().(*net.UnixAddr))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	r.socket = c
	if _, err := c.Write([]byte(`{"skewgate_attach":1,"abi":1,"role":"writer","model":"mine","client":"test/1"}`)); err != nil {
		r.t.Fatal(err)
	}
	if s := r.hear(); !strings.Contains(s, `"ok":true`) {
		r.t.Fatal(s)
	}
	if r.w, err = shm.NewWriter(r.mine.segment.Bytes(), 1, nil); err != nil {
		r.t.Fatal(err)
	}
	if r.stream, err = r.w.RegisterStream("box", "gate", 1); err != nil {
		r.t.Fatal(err)
	}
}

// hear returns the next packet; "" at the end.
func (r *foreignRig) hear() string {
	r.t.Helper()
	_ = r.socket.SetReadDeadline(time.Now().Add(10 * time.Second))
	b := make([]byte, 64<<10)
	n, err := r.socket.Read(b)
	if err != nil && n == 0 {
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			r.t.Fatal("nothing is said")
		}
		return ""
	}
	return string(b[:n])
}

// until turns the path until ok.
func (r *foreignRig) until(what string, ok func() bool) {
	r.t.Helper()
	for begun := time.Now(); !ok(); time.Sleep(time.Millisecond) {
		if r.turn(1000); time.Since(begun) > 10*time.Second {
			r.t.Fatalf("does not happen: %s", what)
		}
	}
}

func (r *foreignRig) go1(h shm.SlotHeader, body []byte) {
	r.t.Helper()
	h.Stream = r.stream
	if h.StreamEpoch == 0 {
		h.StreamEpoch = 1
	}
	h.PublishNS = int64(r.now)
	if err := r.w.Publish(&h, body); err != nil {
		r.t.Fatal(err)
	}
}

// model is the foreign model's status.
func (r *foreignRig) model() status.Model {
	r.path.takeView(r.now)
	return r.Status().Models[1]
}

func (r *foreignRig) identity() {
	r.t.Helper()
	if m := r.model(); m.Written != m.Read+m.Lost {
		r.t.Errorf("written %d != read %d + lost %d", m.Written, m.Read, m.Lost)
	}
}

// A model that nobody is attached as is not waited for; attached, it is from its first
// message on; once its socket is closed, no more, and what it had published counts.
func TestForeignComesAndGoes(t *testing.T) {
	r := newForeignRig(t, "auto")
	r.publish(0, 1, r.now, aBox)
	r.turn(1000)
	if len(r.got) != 1 || r.got[0].Frame.Missing[0].Model != "mine" || r.got[0].Frame.Missing[0].Why != "dead" {
		t.Fatalf("before anybody attached: %+v", r.got)
	}
	if m := r.model(); m.State != "absent" || m.Peer != nil || !m.Foreign {
		t.Errorf("status: %+v", m)
	}
	r.come()
	if m := r.model(); m.State != "attached" || m.Peer.PID != os.Getpid() || m.Peer.Client != "test/1" || m.RingEpoch != 1 {
		t.Errorf("status: %+v %+v", m, m.Peer)
	}
	r.publish(0, 2, r.now, aBox)
	r.turn(1000)
	if len(r.got) != 2 {
		t.Fatal("a frame waits for a model that has not spoken yet")
	}
	r.go1(shm.SlotHeader{FrameID: 3, CaptureNS: 3 * 33e6, Kind: shm.KindBoxes}, nil)
	r.turn(1000)
	r.publish(0, 3, r.now, aBox)
	r.turn(1000)
	if f := r.got[2].Frame; f.Reason != "quorum" || len(f.Models) != 2 {
		t.Errorf("third frame: %+v", f)
	}
	r.publish(0, 4, r.now, aBox)
	if r.turn(1000); len(r.got) != 3 {
		t.Fatal("a frame does not wait for a model that speaks")
	}
	// Its last words, then its end: both count.
	r.publish(0, 5, r.now, aBox)
	r.go1(shm.SlotHeader{FrameID: 5, CaptureNS: 5 * 33e6, Kind: shm.KindBoxes}, nil)
	r.socket.Close()
	r.until("the open frame closes", func() bool { return len(r.got) == 5 })
	four := slices.IndexFunc(r.got, func(f *Fused) bool { return f.FrameID == 4 })
	five := slices.IndexFunc(r.got, func(f *Fused) bool { return f.FrameID == 5 })
	if m := r.got[four].Frame.Missing; len(m) != 1 || m[0].Why != "dead" || len(r.got[five].Members) != 2 {
		t.Errorf("frame 4 lacks %v, frame 5 has %d members", m, len(r.got[five].Members))
	}
	// An orphan that goes on writing brings nobody back to life.
	r.until("the end is heard", func() bool { return r.mine.foreign.heard.Peer == nil })
	r.go1(shm.SlotHeader{FrameID: 6, CaptureNS: 6 * 33e6, Kind: shm.KindBoxes}, nil)
	r.publish(0, 6, r.now, aBox)
	r.turn(1000)
	if len(r.got) != 6 || len(r.got[5].Members) != 1 || r.path.pending() {
		t.Errorf("after the end: %d frames, work pending: %t", len(r.got), r.path.pending())
	}
	r.come()
	if m := r.model(); m.RingEpoch != 2 || m.State != "attached" {
		t.Errorf("the successor: %+v", m)
	}
	r.turn(1000)
	r.identity()
}

// What a foreign detector may send, and what becomes of it.
func TestForeignMessages(t *testing.T) {
	packed := detect.AppendPacked(nil, []detect.Box{aBox})
	text := func(s string, body []byte) []byte {
		b, err := shm.AppendRaw(nil, s, body)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	const second = 1_700_000_000_000_000_000 // 2023-11-14T22:13:20Z
	for _, row := range []struct {
		name    string
		h       shm.SlotHeader
		body    []byte
		capture int64
		raw     string
		labels  string
	}{
		{"boxes, label by number", shm.SlotHeader{Kind: shm.KindBoxes, Count: 1, CaptureNS: second}, packed, second, "", "circle"},
		{"nothing found", shm.SlotHeader{Kind: shm.KindBoxes, CaptureNS: second}, nil, second, "", ""},
		{"JSON, labels by text and number", shm.SlotHeader{Kind: shm.KindJSON, CaptureNS: second},
			[]byte(`{"boxes":[0,0,0.2,0.2,0.9,"dot",0.3,0,0.5,0.2,0.8,0,0.6,0,0.9,0.2,0.7,"plain",0,0.5,0.2,0.9,0.6,7,0.5,0.5,0.9,0.9,0.5,"7"]}`),
			second, "", "circle circle plain 7 7"},
		{"JSON, labels that cannot be names", shm.SlotHeader{Kind: shm.KindJSON, CaptureNS: second},
			[]byte(`{"boxes":[0,0,1,1,0.9,"a\u0007b",0,0,1,1,0.9,"` + strings.Repeat("x", 64) + `",0,0,1,1,0.9,3000]}`), second, "", ""},
		{"time as text", shm.SlotHeader{Kind: shm.KindBoxes, Count: 1, CaptureNS: shm.RawCapture},
			text("2023-11-14T22:13:20Z", packed), second, "", "circle"},
		{"time as milliseconds", shm.SlotHeader{Kind: shm.KindBoxes, CaptureNS: shm.RawCapture}, text("1700000000000", nil), second, "", ""},
		{"time that is none", shm.SlotHeader{Kind: shm.KindBoxes, CaptureNS: shm.RawCapture}, text("next Tuesday", nil), detect.RawInstant, "next Tuesday", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newForeignRig(t, "bucket")
			r.come()
			row.h.Tag = 9
			r.go1(row.h, row.body)
			r.turn(1000)
			r.turn(400e6)
			if len(r.got) != 1 || len(r.got[0].Members) != 1 {
				t.Fatalf("want one frame of one member, got %d; %+v", len(r.got), r.model())
			}
			f := r.got[0]
			a := f.Frame.Models[0]
			if a.CaptureNS != row.capture || string(a.Raw) != row.raw || f.Members[0].Tag != 9 {
				t.Errorf("capture %d %q, tag %d; want %d %q, 9", a.CaptureNS, a.Raw, f.Members[0].Tag, row.capture, row.raw)
			}
			var own, fused []string
			for _, b := range f.Members[0].Boxes {
				own = append(own, f.Members[0].Label(b.Label))
			}
			for _, b := range f.Frame.Boxes {
				fused = append(fused, b.Label)
			}
			if got := strings.Join(own, " "); got != row.labels || len(fused) != len(own) {
				t.Errorf("labels: want %q, got %q, fused %q", row.labels, got, fused)
			}
			r.identity()
		})
	}
}

// Progress settles a frame that waits for a model with nothing to say.
func TestForeignProgress(t *testing.T) {
	r := newForeignRig(t, "auto")
	r.come()
	r.go1(shm.SlotHeader{CaptureNS: 1, Kind: shm.KindProgress}, nil)
	r.turn(1000)
	r.publish(0, 7, r.now, aBox)
	if r.turn(1000); len(r.got) != 0 {
		t.Fatal("progress does not bring a model to life")
	}
	r.go1(shm.SlotHeader{CaptureNS: 7*33e6 - 1, Kind: shm.KindProgress}, nil)
	if r.turn(1000); len(r.got) != 0 {
		t.Fatal("progress to before the picture settles it")
	}
	r.go1(shm.SlotHeader{CaptureNS: 7 * 33e6, Kind: shm.KindProgress}, nil)
	r.turn(1000)
	if len(r.got) != 1 || r.got[0].Frame.Reason != "settled" || r.got[0].Frame.Missing[0].Why != "passed" {
		t.Errorf("frames: %+v", r.got)
	}
}

// What makes no sense is refused with a reason, counted, and changes nothing else.
func TestForeignRefusals(t *testing.T) {
	for _, row := range []struct {
		name string
		send func(r *foreignRig)
		says string
	}{
		{"fused kind", func(r *foreignRig) { r.go1(shm.SlotHeader{Kind: shm.KindFused}, nil) }, "kind 4"},
		{"count and length disagree", func(r *foreignRig) { r.go1(shm.SlotHeader{Kind: shm.KindBoxes, Count: 2}, make([]byte, 24)) }, "24 bytes for 2 boxes"},
		{"no JSON", func(r *foreignRig) { r.go1(shm.SlotHeader{Kind: shm.KindJSON}, []byte("{")) }, "malformed"},
		{"text longer than the body", func(r *foreignRig) {
			r.go1(shm.SlotHeader{Kind: shm.KindBoxes, CaptureNS: shm.RawCapture}, []byte{255, 0, 'x'})
		}, "raw capture time malformed"},
		{"progress to nowhere", func(r *foreignRig) {
			r.go1(shm.SlotHeader{Kind: shm.KindProgress, CaptureNS: shm.RawCapture}, []byte{1, 0, 'x'})
		}, "cannot be read"},
		{"an epoch to come", func(r *foreignRig) { r.go1(shm.SlotHeader{Kind: shm.KindBoxes, StreamEpoch: 2}, nil) }, "stream_epoch 2, camera gate is at 1"},
		{"another camera", func(r *foreignRig) {
			var err error
			if r.stream, err = r.w.RegisterStream("box", "hall", 1); err != nil {
				r.t.Fatal(err)
			}
			r.go1(shm.SlotHeader{Kind: shm.KindBoxes}, nil)
		}, "box/hall"},
		{"another unit", func(r *foreignRig) {
			var err error
			if r.stream, err = r.w.RegisterStream("other", "gate", 1); err != nil {
				r.t.Fatal(err)
			}
			r.go1(shm.SlotHeader{Kind: shm.KindBoxes}, nil)
		}, "other/gate"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newForeignRig(t, "auto")
			r.come()
			row.send(r)
			r.turn(1000)
			r.turn(400e6)
			m := r.model()
			if len(r.got) != 0 || m.Refused != 1 || !strings.Contains(m.RefusedLast, row.says) || m.Quarantine != "" {
				t.Errorf("want it refused with %q, got %d frames and %+v", row.says, len(r.got), m)
			}
			health, _ := json.Marshal(r.Status().Health)
			if !strings.Contains(string(health), status.CodeModelRefused) {
				t.Errorf("findings: %s", health)
			}
			r.identity()
		})
	}
}

// A foreign ring full of nonsense: its client is sent away with the reason, the ring is
// given up for new memory, whoever still has the old one holds nothing of ours, and the
// next client works. The other model notices nothing.
func TestForeignQuarantine(t *testing.T) {
	r := newForeignRig(t, "auto")
	r.come()
	for id := range uint64(5) {
		r.go1(shm.SlotHeader{FrameID: id + 1, CaptureNS: int64(id) + 1, Kind: shm.KindBoxes}, nil)
	}
	r.turn(1000)
	old, err := unix.Dup(int(r.mine.segment.File().Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(old)
	_, before := r.memory.sum()
	header := r.mine.segment.Bytes()
	hotAt := int(header[40]) | int(header[41])<<8
	copy(header[hotAt:], []byte{255, 255, 255, 255, 255, 255, 255, 255})
	r.turn(1000)
	r.publish(0, 9, r.now, aBox)
	r.turn(1000)
	if n := len(r.got); n == 0 || r.got[n-1].FrameID != 9 || r.got[n-1].Frame.Missing[0].Why != "dead" {
		t.Errorf("the other model's frame waits for a broken ring: %d frames", n)
	}
	s := r.hear()
	for strings.Contains(s, "stream_epoch") {
		s = r.hear()
	}
	if !strings.Contains(s, `"event":"closed"`) || !strings.Contains(s, string(shm.ReasonHead)) {
		t.Errorf("last word to the client: %q", s)
	}
	if s := r.hear(); s != "" {
		t.Errorf("after its end: %q", s)
	}
	first := r.mine.segment
	r.until("the ring lies in other memory", func() bool { return r.mine.segment != first && r.mine.quarantine == "" })
	m := r.model()
	if m.Written != 5 || m.Read != 5 || m.Lost != 0 || m.State != "absent" || m.Quarantines != 1 || !strings.Contains(m.QuarantineLast, string(shm.ReasonHead)) {
		t.Errorf("status: %+v", m)
	}
	var st unix.Stat_t
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		if err := unix.Fstat(old, &st); err != nil {
			t.Fatal(err)
		}
		if _, now := r.memory.sum(); st.Blocks == 0 && now == before {
			break
		}
		if time.Since(begun) > 10*time.Second {
			t.Fatalf("the old segment still has %d blocks", st.Blocks)
		}
	}
	r.come()
	r.go1(shm.SlotHeader{FrameID: 10, CaptureNS: 10, Kind: shm.KindBoxes}, nil)
	r.turn(1000)
	r.publish(0, 10, r.now, aBox)
	r.turn(1000)
	if f := r.got[len(r.got)-1]; f.FrameID != 10 || len(f.Members) != 2 {
		t.Errorf("the next client's frame: %+v", f)
	}
	if r.path.replicas[0].quarantine != "" {
		t.Error("the other ring is quarantined as well")
	}
	r.identity()
}

// A client that wrecks the doorbell's header costs at most wake-ups: it is laid out anew.
func TestWreckedDoorbellIsRepaired(t *testing.T) {
	r := newForeignRig(t, "auto")
	clear(r.bellPage[:64])
	r.path.takeView(r.now)
	if _, err := shm.NewDoorbell(r.bellPage); err != nil {
		t.Error(err)
	}
}

// A dead detector's wrecked stream table must not bar its successor.
func TestForeignLeavesAWreck(t *testing.T) {
	r := newForeignRig(t, "auto")
	r.come()
	copy(r.mine.segment.Bytes()[144:], []byte{0xff, 0xff, 0xff, 0x7f}) // stream count
	r.socket.Close()
	first := r.mine.segment
	r.until("the ring lies in other memory", func() bool { return r.mine.segment != first })
	r.until("a successor attaches", func() bool { r.come(); return true })
}

// Frames that a foreign detector shares allocate nothing, whatever form it sends.
func TestForeignAllocatesNothing(t *testing.T) {
	r := newForeignRig(t, "auto")
	r.o.Tap = nil
	r.path.nextView = math.MaxInt64
	r.come()
	id := uint64(0)
	body := detect.AppendPacked(nil, []detect.Box{aBox, aBox})
	found := []byte(`{"detections":[{"box":[0.1,0.1,0.5,0.5],"score":0.9,"label":"dot"},{"box":[0.6,0.6,0.9,0.9],"score":0.9,"label":5}]}`)
	frame := func() {
		id++
		r.now += clock.Mono(33 * time.Millisecond)
		h := shm.SlotHeader{CaptureNS: int64(id) * 33e6, PublishNS: int64(r.now), FrameID: id, Stream: r.streams[0], StreamEpoch: 1, Kind: shm.KindBoxes, Count: 2}
		if err := r.writers[0].Publish(&h, body); err != nil {
			t.Fatal(err)
		}
		h = shm.SlotHeader{CaptureNS: int64(id) * 33e6, PublishNS: int64(r.now), FrameID: id, Stream: r.stream, StreamEpoch: 1, Kind: shm.KindJSON}
		if err := r.w.Publish(&h, found); err != nil {
			t.Fatal(err)
		}
		r.path.turn(r.now)
	}
	for range 5000 {
		frame()
	}
	before := r.path.out.multi
	if n := testing.AllocsPerRun(1000, frame); n != 0 {
		t.Errorf("allocations per frame: want 0, got %v", n)
	}
	if got := r.path.out.multi - before; got < 1000 {
		t.Errorf("frames of both models while counting: %d", got)
	}
}

// A foreign detector that hangs leaves the quorum as one of the appliance's own does, is
// named, and is back with its next message.
func TestForeignHangs(t *testing.T) {
	r := newForeignRig(t, "auto")
	r.come()
	boxes := shm.SlotHeader{Kind: shm.KindBoxes, CaptureNS: 33e6, FrameID: 1}
	r.go1(boxes, nil)
	r.publish(0, 1, r.now, aBox)
	r.turn(1000)
	r.publish(0, 2, r.now, aBox) // from here on it owes a word
	r.turn(1000)
	r.turn(clock.Mono(6 * time.Second)) // hung_after is 5 s by default
	if m := r.model(); len(m.HangsOn) != 1 || m.HangsOn[0] != "gate" {
		t.Fatalf("want it to hang on gate, got %v", m.HangsOn)
	}
	if !slices.ContainsFunc(r.Status().Health, func(f status.Finding) bool { return f.Code == status.CodeModelHung && f.Subject == "mine/0" }) {
		t.Errorf("not among the findings: %+v", r.Status().Health)
	}
	before := len(r.got)
	r.publish(0, 3, r.now, aBox)
	r.turn(1000)
	if len(r.got) != before+1 || r.got[before].Frame.Reason != "quorum" || r.got[before].Frame.Missing[0].Why != "dead" {
		t.Errorf("a frame while it hangs: want it at once without it, got %d new frames", len(r.got)-before)
	}
	boxes.FrameID, boxes.CaptureNS = 4, 4*33e6
	r.go1(boxes, nil)
	r.publish(0, 4, r.now+1, aBox) // after it: what comes before its return does not wait
	r.turn(1000)
	if last := r.got[len(r.got)-1]; len(last.Members) != 2 {
		t.Errorf("back with its message: want it in frame 4, got %d models", len(last.Members))
	}
	if m := r.model(); len(m.HangsOn) != 0 {
		t.Errorf("back with its message: still said to hang on %v", m.HangsOn)
	}
}
