package shm

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// scribbleRole is the worst neighbour: random words at random places of its segments,
// half of them near values that mean something.
func scribbleRole(args []string) error {
	seed, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil {
		return err
	}
	var all [][]byte
	for fd := 3; fd < 6; fd++ {
		b, err := mapFD(fd, true)
		if err != nil {
			return err
		}
		all = append(all, b)
	}
	random := rand.New(rand.NewPCG(seed, 1))
	for {
		b := all[random.IntN(len(all))]
		off := hotAt + random.IntN(4)*hotBlock
		switch random.IntN(32) {
		case 0: // the identity: seldom, or no reader would ever get past it
			off = random.IntN(hotAt/8) * 8
		case 1, 2, 3, 4, 5, 6, 7, 8: // stream table, slots, pixels
			off = random.IntN(len(b)/8) * 8
		case 9, 10, 11, 12, 13, 14, 15, 16: // header of a slot
			off = min(ringSlotsAt+random.IntN(8)*320+random.IntN(8)*8, len(b)-8)
		}
		v := random.Uint64()
		if random.IntN(2) == 0 {
			v = word64(b, hotAt).Load() + uint64(random.IntN(32)) - 16
		}
		word64(b, off).Store(v)
	}
}

// A process writes nonsense all over its real, shared memory while it is read. The
// readers may only quarantine; they are attached anew each time they do.
func TestHostileProcess(t *testing.T) {
	lasts := time.Duration(count(t, "SHM_TEST_HOSTILE_MS", 2000)) * time.Millisecond
	rc := RingConfig{Slots: 8, PayloadBytes: 256, Model: "m"}
	fc := FrameRingConfig{Slots: 4, PixelBytes: 96, Unit: "u", Camera: "c"}
	ring := newSegment(t, rc.Bytes(), func(b []byte) error { return FormatRing(b, rc) })
	frames := newSegment(t, fc.Bytes(), func(b []byte) error { return FormatFrameRing(b, fc) })
	door := newSegment(t, DoorbellBytes(), FormatDoorbell)
	ringRO, framesRO := readOnly(t, ring), readOnly(t, frames)
	seed := strconv.FormatInt(time.Now().UnixNano(), 10)
	t.Logf("seed %s", seed)
	spawn(t, "scribble", []*os.File{ring.File(), frames.File(), door.File()}, seed)

	reasons := map[Reason]int{}
	note := func(err error) {
		if q, ok := err.(*QuarantineError); ok {
			reasons[q.Reason]++
		}
	}
	bell, err := NewDoorbell(door.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	body := make([]byte, 256)
	rounds, messages, pictures := 0, 0, 0
	began := time.Now()
	for ; time.Since(began) < lasts || len(reasons) == 0; rounds++ {
		if len(reasons) == 0 && time.Since(began) > 30*time.Second {
			t.Fatal("nothing was ever quarantined: this test has shown nothing")
		}
		// Heal what a fresh segment would have healthy, so that readers get past attach.
		if err := FormatRing(ring.Bytes(), rc); err != nil {
			t.Fatal(err)
		}
		if err := FormatFrameRing(frames.Bytes(), fc); err != nil {
			t.Fatal(err)
		}
		// Honest writers over memory that changes under them: they may be refused at
		// attach, and then work on, whatever they overwrite.
		r, readErr := NewReader(ringRO)
		if w, err := NewWriter(ring.Bytes(), 1, bell); err == nil {
			if i, err := w.RegisterStream("u", "c", 1); err == nil {
				for range 4 {
					if err := w.Publish(&SlotHeader{Kind: KindBoxes, Stream: i}, body); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		if readErr == nil {
			var h SlotHeader
			for range 200 {
				n, ok, err := r.Next(&h, body)
				if n > len(body) || ok && (int(h.Length) > 256 || !h.Kind.valid() || h.Stream >= MaxStreams) {
					t.Fatalf("accepted %+v, n=%d", h, n)
				}
				if err != nil {
					break
				}
				if ok {
					messages++
				}
				r.Stream(h.Stream)
			}
			_ = r.Check()
			note(r.Err())
			r.Info()
			r.Outcomes()
		}
		fr, readErr := NewFrameReader(framesRO)
		if w, err := NewFrameWriter(frames.Bytes(), 1, bell); err == nil {
			if _, err := w.Begin(96); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Publish(&FrameMeta{Width: 32, Height: 1, Format: FormatRGB24}); err != nil {
				t.Fatal(err)
			}
		}
		if readErr == nil {
			for range 50 {
				m, pixels, ok := fr.View(fr.Head())
				if ok && (len(pixels) > 96 || len(pixels) != int(m.Length)) {
					t.Fatalf("accepted %+v, %d bytes", m, len(pixels))
				}
				for _, p := range pixels {
					spun += int(p) // an access out of bounds would fault
				}
				if ok && fr.Valid(m.Seq) {
					pictures++
				}
			}
			note(fr.Err())
		}
		if rounds%100 == 0 {
			began := time.Now()
			if err := bell.Sleep(func() bool { return false }, int64(time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Fatalf("a sleep of 1 ms took %v", took)
			}
		}
	}
	t.Logf("%d rounds, %d messages and %d pictures accepted, quarantined by reason: %v", rounds, messages, pictures, reasons)
}
