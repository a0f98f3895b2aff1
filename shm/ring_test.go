package shm

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func testRing(t testing.TB, c RingConfig) (*Writer, *Reader, []byte) {
	t.Helper()
	if c.Model == "" {
		c.Model = "people"
	}
	b := make([]byte, c.Bytes())
	if err := FormatRing(b, c); err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(b, 42, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.RegisterStream("box-7", "road", 1); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(b)
	if err != nil {
		t.Fatal(err)
	}
	return w, r, b
}

func publish(t testing.TB, w *Writer, text string) {
	t.Helper()
	if err := w.Publish(&SlotHeader{Kind: KindJSON}, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// read returns the next body, or "" when there is none.
func read(t testing.TB, r *Reader) string {
	t.Helper()
	var h SlotHeader
	body := make([]byte, r.PayloadBytes())
	n, ok, err := r.Next(&h, body)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return ""
	}
	return string(body[:n])
}

func wantCounts(t testing.TB, r *Reader, read, lost, written uint64) {
	t.Helper()
	if r.Read() != read || r.Lost() != lost || r.Written() != written {
		t.Fatalf("want read %d lost %d written %d, got %d %d %d", read, lost, written, r.Read(), r.Lost(), r.Written())
	}
}

func TestEmptyRead(t *testing.T) {
	_, r, _ := testRing(t, RingConfig{Slots: 8, PayloadBytes: 64})
	if got := read(t, r); got != "" {
		t.Fatalf("want nothing, got %q", got)
	}
	wantCounts(t, r, 0, 0, 0)
}

func TestPublishNext(t *testing.T) {
	w, r, _ := testRing(t, RingConfig{Slots: 8, PayloadBytes: 256})
	in := SlotHeader{CaptureNS: -5, PublishNS: 7, FrameID: 9, Tag: 11, StreamEpoch: 3, Kind: KindJSON, Count: 2, Flags: 1}
	if err := w.Publish(&in, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if r.Pending() != 1 {
		t.Fatalf("want 1 pending, got %d", r.Pending())
	}
	var out SlotHeader
	body := make([]byte, 256)
	n, ok, err := r.Next(&out, body)
	if err != nil || !ok || string(body[:n]) != "hello" || out != in {
		t.Fatalf("want %+v hello, got %+v %q ok=%v err=%v", in, out, body[:n], ok, err)
	}
}

func TestEmptyBody(t *testing.T) {
	w, r, _ := testRing(t, RingConfig{Slots: 8, PayloadBytes: 64})
	if err := w.Publish(&SlotHeader{Kind: KindBoxes}, nil); err != nil {
		t.Fatal(err)
	}
	var h SlotHeader
	if n, ok, err := r.Next(&h, nil); n != 0 || !ok || err != nil {
		t.Fatalf("want an empty message, got n=%d ok=%v err=%v", n, ok, err)
	}
}

func TestFullBody(t *testing.T) {
	w, r, _ := testRing(t, RingConfig{Slots: 2, PayloadBytes: 100})
	for i := range 5 {
		want := strings.Repeat(string(rune('a'+i)), 100)
		publish(t, w, want)
		if got := read(t, r); got != want {
			t.Fatalf("want %q, got %q", want, got)
		}
	}
}

func TestTooLargeWrite(t *testing.T) {
	w, r, _ := testRing(t, RingConfig{Slots: 8, PayloadBytes: 64})
	err := w.Publish(&SlotHeader{Kind: KindJSON}, make([]byte, 65))
	if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "65") {
		t.Fatalf("want ErrTooLarge naming 65 bytes, got %v", err)
	}
	if got := read(t, r); got != "" {
		t.Fatalf("a refused message was published: %q", got)
	}
}

func TestShortReadBuffer(t *testing.T) {
	w, r, _ := testRing(t, RingConfig{Slots: 8, PayloadBytes: 64})
	publish(t, w, "abcdef")
	publish(t, w, "next")
	var h SlotHeader
	body := make([]byte, 3)
	n, ok, err := r.Next(&h, body)
	if err != nil || !ok || n != 3 || string(body) != "abc" || h.Length != 6 {
		t.Fatalf("want abc of 6 bytes, got %q n=%d length=%d ok=%v err=%v", body, n, h.Length, ok, err)
	}
	if got := read(t, r); got != "next" {
		t.Fatalf("want next, got %q", got)
	}
}

func TestRefusedPublish(t *testing.T) {
	w, _, _ := testRing(t, RingConfig{Slots: 8, PayloadBytes: 64})
	if err := w.Publish(&SlotHeader{Kind: KindBoxes, Stream: 1}, nil); !errors.Is(err, ErrStream) {
		t.Errorf("want ErrStream, got %v", err)
	}
	for _, k := range []Kind{0, 5, 255} {
		if err := w.Publish(&SlotHeader{Kind: k}, nil); err == nil {
			t.Errorf("kind %d was published", k)
		}
	}
	if w.Head() != 0 {
		t.Errorf("want head 0, got %d", w.Head())
	}
}

func TestWrap(t *testing.T) {
	w, r, _ := testRing(t, RingConfig{Slots: 4, PayloadBytes: 64})
	for i := range 41 {
		want := fmt.Sprint("m", i)
		publish(t, w, want)
		if got := read(t, r); got != want {
			t.Fatalf("want %q, got %q", want, got)
		}
	}
	wantCounts(t, r, 41, 0, 41)
}

// The ring holds exactly Slots messages; one more costs exactly one. F27
func TestLapped(t *testing.T) {
	for _, tc := range []struct {
		name          string
		written, lost int
	}{
		{"full", 4, 0}, {"by one", 5, 1}, {"by a lap", 8, 4}, {"by many", 403, 399},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, r, _ := testRing(t, RingConfig{Slots: 4, PayloadBytes: 64})
			for i := range tc.written {
				publish(t, w, fmt.Sprint("m", i))
			}
			for i := tc.lost; i < tc.written; i++ {
				if want, got := fmt.Sprint("m", i), read(t, r); got != want {
					t.Fatalf("want %q, got %q", want, got)
				}
			}
			if got := read(t, r); got != "" {
				t.Fatalf("want nothing more, got %q", got)
			}
			wantCounts(t, r, uint64(tc.written-tc.lost), uint64(tc.lost), uint64(tc.written))
		})
	}
}

func TestReadersAreIndependent(t *testing.T) {
	w, slow, b := testRing(t, RingConfig{Slots: 4, PayloadBytes: 64})
	publish(t, w, "before")
	late, err := NewReader(b)
	if err != nil {
		t.Fatal(err)
	}
	for range 6 {
		publish(t, w, "after")
		read(t, late)
	}
	if late.Start() != 1 {
		t.Fatalf("want start 1, got %d", late.Start())
	}
	wantCounts(t, late, 6, 0, 7)
	for read(t, slow) != "" {
	}
	wantCounts(t, slow, 4, 3, 7)
}

func TestWriterRestart(t *testing.T) {
	w, r, b := testRing(t, RingConfig{Slots: 4, PayloadBytes: 64, Generation: 5})
	publish(t, w, "old")
	w.SetState(StateReady)
	w.Heartbeat(99)
	if got := r.Info(); got.RingEpoch != 1 || got.PID != 42 || got.State != StateReady || got.HeartbeatNS != 99 || got.Generation != 5 {
		t.Fatalf("info before: %+v", got)
	}
	w2, err := NewWriter(b, 43, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Info(); got.RingEpoch != 2 || got.PID != 43 || got.State != StateStarting || got.HeartbeatNS != 0 || got.Head != 1 {
		t.Fatalf("info after: %+v", got)
	}
	if i, err := w2.RegisterStream("box-7", "road", 8); err != nil || i != 0 {
		t.Fatalf("want stream 0 again, got %d, %v", i, err)
	}
	publish(t, w2, "new")
	if a, b := read(t, r), read(t, r); a != "old" || b != "new" {
		t.Fatalf("want old, new, got %q, %q", a, b)
	}
	wantCounts(t, r, 2, 0, 2)
}

// A writer dies after each of its stores in turn; a successor goes on. The message
// being overwritten is lost and counted, nothing is torn, nothing blocks. F21
func TestWriterDiesAtEachStore(t *testing.T) {
	type ring struct {
		w    *Writer
		slot []byte
		seq  uint64
	}
	header := SlotHeader{Kind: KindJSON, FrameID: 77}
	stores := []struct {
		name string
		do   func(ring)
	}{
		{"before all", func(ring) {}},
		{"slot invalidated", func(r ring) { word64(r.slot, 0).Store(0) }},
		{"header stored", func(r ring) { header.put(r.slot, 9) }},
		{"half a body", func(r ring) { copy(r.slot[slotHeaderBytes:], "half") }},
		{"whole body", func(r ring) { copy(r.slot[slotHeaderBytes:], "half-done") }},
		{"sequence released", func(r ring) { word64(r.slot, 0).Store(r.seq) }},
		{"head released", func(r ring) { r.w.headAt.Store(r.seq) }},
	}
	for die := range stores {
		t.Run(stores[die].name, func(t *testing.T) {
			w, r, b := testRing(t, RingConfig{Slots: 4, PayloadBytes: 64})
			for i := range 4 {
				publish(t, w, fmt.Sprint("m", i))
			}
			off := int(5&w.mask) * w.stride
			for _, s := range stores[:die+1] {
				s.do(ring{w: w, slot: w.b[off : off+w.stride], seq: 5})
			}
			w2, err := NewWriter(b, 43, nil)
			if err != nil {
				t.Fatal(err)
			}
			publish(t, w2, "successor")
			var got []string
			for s := read(t, r); s != ""; s = read(t, r) {
				got = append(got, s)
			}
			want, lost := "m1 m2 m3 successor", uint64(1)
			if stores[die].name == "head released" {
				want, lost = "m2 m3 half-done successor", 2
			}
			if strings.Join(got, " ") != want {
				t.Fatalf("want %q, got %q", want, got)
			}
			wantCounts(t, r, 4, lost, 4+lost)
		})
	}
}

// While the writer is dead with a slot open, the reader loses just that message.
func TestReadBesideADeadWriter(t *testing.T) {
	w, r, _ := testRing(t, RingConfig{Slots: 4, PayloadBytes: 64})
	for i := range 4 {
		publish(t, w, fmt.Sprint("m", i))
	}
	word64(w.b, int(5&w.mask)*w.stride).Store(0)
	for _, want := range []string{"m1", "m2", "m3", ""} {
		if got := read(t, r); got != want {
			t.Fatalf("want %q, got %q", want, got)
		}
	}
	wantCounts(t, r, 3, 1, 4)
}

func TestRefusedConfig(t *testing.T) {
	good := RingConfig{Slots: 8, PayloadBytes: 64, Model: "m"}
	for name, change := range map[string]func(*RingConfig){
		"no model":          func(c *RingConfig) { c.Model = "" },
		"long model":        func(c *RingConfig) { c.Model = strings.Repeat("x", MaxName+1) },
		"model not UTF-8":   func(c *RingConfig) { c.Model = "\xff" },
		"control character": func(c *RingConfig) { c.Model = "a\nb" },
		"odd slots":         func(c *RingConfig) { c.Slots = 7 },
		"one slot":          func(c *RingConfig) { c.Slots = 1 },
		"too many slots":    func(c *RingConfig) { c.Slots = maxSlots * 2 },
		"no payload":        func(c *RingConfig) { c.PayloadBytes = 0 },
		"huge payload":      func(c *RingConfig) { c.PayloadBytes = maxPayloadBytes + 1 },
		"beyond a segment":  func(c *RingConfig) { c.Slots, c.PayloadBytes = maxSlots, maxPayloadBytes },
		"negative index":    func(c *RingConfig) { c.Index = -1 },
	} {
		c := good
		change(&c)
		if err := FormatRing(make([]byte, good.Bytes()), c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := FormatRing(make([]byte, good.Bytes()-1), good); err == nil {
		t.Error("short memory: accepted")
	}
	if err := FormatRing(make([]byte, good.Bytes()+8)[1:][:good.Bytes()], good); err == nil {
		t.Error("unaligned memory: accepted")
	}
}

func TestWorkWords(t *testing.T) {
	w, r, b := testRing(t, RingConfig{Slots: 8, PayloadBytes: 64})
	w.ResetWork(10)
	w.SetTaken(12)
	w.SetDone(11, OutcomeDropped)
	w.SetDone(12, OutcomeOK)
	w, err := NewWriter(b, 43, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.SetDone(13, OutcomeOK)
	want := [NumOutcomes]uint64{OutcomeOK: 2, OutcomeDropped: 1}
	if r.Taken() != 12 || r.Done() != 13 || r.Outcomes() != want {
		t.Fatalf("want 12 13 %v, got %d %d %v", want, r.Taken(), r.Done(), r.Outcomes())
	}
}

func TestNoAllocations(t *testing.T) {
	w, r, _ := testRing(t, RingConfig{Slots: 8, PayloadBytes: 256})
	h, body := SlotHeader{Kind: KindBoxes}, make([]byte, 256)
	var got SlotHeader
	n := testing.AllocsPerRun(100, func() {
		if err := w.Publish(&h, body); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := r.Next(&got, body); !ok || err != nil {
			t.Fatal(ok, err)
		}
	})
	if n != 0 {
		t.Fatalf("want 0 allocations for publish and read, got %v", n)
	}
}
