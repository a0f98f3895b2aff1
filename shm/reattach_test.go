package shm

import (
	"errors"
	"math"
	"os"
	"strconv"
	"testing"
)

// wrecks are ways to get a ring quarantined, with what makes it whole again: setting one
// word back. Its writer has ended by then.
var wrecks = []struct {
	name   string
	off    int
	wreck  uint64
	reason Reason
}{
	{"head", hotAt, math.MaxUint64, ReasonHead},
	{"head backwards", hotAt, 0, ReasonHeadBackwards},
	{"slot", ringSlotsAt + 3*128, 77, ReasonSequence},
	{"length", ringSlotsAt + 3*128 + slotLengthEtc, math.MaxUint32, ReasonLength},
	{"stream", ringSlotsAt + 3*128 + slotStream, 9, ReasonStream},
}

// quarantined is a ring whose reader has read two messages and then met a wreck, and the
// word that was there before.
func quarantined(t *testing.T, off int, wreck uint64) (w *Writer, r *Reader, b []byte, was uint64, err error) {
	t.Helper()
	w, r, b = testRing(t, RingConfig{Slots: 8, PayloadBytes: 64})
	for _, text := range []string{"one", "two"} {
		publish(t, w, text)
		if got := read(t, r); got != text {
			t.Fatal(got)
		}
	}
	publish(t, w, "three")
	was = word64(b, off).Load()
	word64(b, off).Store(wreck)
	for try := 0; err == nil && try < 20; try++ {
		_, _, err = r.Next(&SlotHeader{}, nil)
	}
	return w, r, b, was, err
}

// A quarantined ring that was laid out anew is a new ring: it is read from its start, by
// a new reader. The former one stays where it was and touches nothing.
func TestReattachAfterFormat(t *testing.T) {
	for _, tc := range wrecks {
		t.Run(tc.name, func(t *testing.T) {
			_, old, b, _, err := quarantined(t, tc.off, tc.wreck)
			wantReason(t, err, tc.reason)
			if err := FormatRing(b, RingConfig{Slots: 8, PayloadBytes: 64, Model: "people"}); err != nil {
				t.Fatal(err)
			}
			r, err := NewReader(b)
			if err != nil {
				t.Fatal(err)
			}
			w, err := NewWriter(b, 43, nil)
			if err != nil {
				t.Fatal(err)
			}
			if w.RingEpoch() != 1 || w.Head() != 0 {
				t.Errorf("want a ring in its first state, got ring_epoch %d, head %d", w.RingEpoch(), w.Head())
			}
			if _, err := w.RegisterStream("box-7", "road", 2); err != nil {
				t.Fatal(err)
			}
			for range 11 {
				publish(t, w, "new")
			}
			for read(t, r) != "" {
			}
			wantCounts(t, r, 8, 3, 11)
			if _, _, err := old.Next(&SlotHeader{}, nil); !errors.Is(err, ErrQuarantine) || old.Read() != 2 || old.Pending() != 0 {
				t.Errorf("the former reader went on: %v, read %d", err, old.Read())
			}
		})
	}
}

// A ring that was made whole goes on: nobody has to lose what is still in it.
func TestReattachHealed(t *testing.T) {
	for _, tc := range wrecks {
		t.Run(tc.name, func(t *testing.T) {
			_, _, b, was, err := quarantined(t, tc.off, tc.wreck)
			wantReason(t, err, tc.reason)
			word64(b, tc.off).Store(was)
			r, err := NewReader(b)
			if err != nil {
				t.Fatal(err)
			}
			r.Rewind(1)
			w, err := NewWriter(b, 43, nil)
			if err != nil {
				t.Fatal(err)
			}
			publish(t, w, "four")
			if a, b := read(t, r), read(t, r); a != "three" || b != "four" {
				t.Fatalf("want three, four, got %q, %q", a, b)
			}
			if w.RingEpoch() != 2 {
				t.Errorf("want ring_epoch 2, got %d", w.RingEpoch())
			}
		})
	}
}

// A successor takes no ring over whose head or table is nonsense: it would go on with it.
func TestWriterRefusesNonsense(t *testing.T) {
	for _, head := range []uint64{maxSequence + 1, math.MaxInt64, math.MaxUint64} {
		_, _, b := testRing(t, RingConfig{Slots: 8, PayloadBytes: 64})
		word64(b, hotAt).Store(head)
		_, err := NewWriter(b, 43, nil)
		wantReason(t, err, ReasonHead)
		if epoch := word32(b, offRingEpoch).Load(); epoch != 1 {
			t.Errorf("head %d: refused, yet ring_epoch is %d", head, epoch)
		}
		c := FrameRingConfig{Slots: 2, PixelBytes: 96, Unit: "u", Camera: "c"}
		frames := make([]byte, c.Bytes())
		if err := FormatFrameRing(frames, c); err != nil {
			t.Fatal(err)
		}
		word64(frames, hotAt).Store(head)
		_, err = NewFrameWriter(frames, 43, nil)
		wantReason(t, err, ReasonHead)
	}
	_, _, b := testRing(t, RingConfig{Slots: 8, PayloadBytes: 64})
	word32(b, offStreamCount).Store(MaxStreams + 1)
	_, err := NewWriter(b, 43, nil)
	wantReason(t, err, ReasonStreamTable)
}

// What the appliance does with a wild detector, on real processes: stop it, lay its ring
// out anew, read that, start the next one. The memory stays the same.
func TestReattachAcrossProcesses(t *testing.T) {
	s, c := crashRing(t, 64)
	spare := newSegment(t, DoorbellBytes(), FormatDoorbell) // the wild one writes all it is given
	for round := range 3 {
		cmd := spawn(t, "scribble", []*os.File{s.File(), spare.File(), spare.File()}, strconv.Itoa(round))
		eventually(t, "the quarantine", func() bool {
			_, err := c.drain(10)
			if err == nil {
				err = c.Check()
			}
			return errors.Is(err, ErrQuarantine)
		})
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if err := FormatRing(s.Bytes(), RingConfig{Slots: 64, PayloadBytes: crashPayload, Model: "flood"}); err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(readOnly(t, s))
		if err != nil {
			t.Fatal(err)
		}
		c = newCheckedReader(r)
		const n = 1000
		cmd = spawn(t, "flood", []*os.File{s.File()}, strconv.Itoa(n))
		eventually(t, "the next writer's messages", func() bool {
			empty, err := c.drain(100)
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			return empty && c.Written() == n
		})
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		if err := c.balance(); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}
