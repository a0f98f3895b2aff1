package appliance

import (
	"testing"

	"github.com/skewgate/skewgate/shm"
)

// A ring that held nonsense is laid out anew for its detector's successor. Whatever that stamps,
// it was published after the ring was laid out: an older time would have the correlator's clock run
// back.
func TestRelaidRingBelievesNoOldTime(t *testing.T) {
	r := newRig(t, rigConfig)
	r.turn(1000)
	ring := r.path.replicas[0]
	header := ring.segment.Bytes()
	hotAt := int(header[40]) | int(header[41])<<8
	copy(header[hotAt:], []byte{255, 255, 255, 255, 255, 255, 255, 255})
	r.turn(1000)
	if ring.quarantine == "" {
		t.Fatal("nonsense in the ring is believed")
	}
	ring.promised = 1 << 40 // nothing that the former ring held has to be read in the new one
	r.turn(200e6)           // nobody looks into it meanwhile
	laidOut := r.now
	if err := r.path.relay(ring); err != nil {
		t.Fatal(err)
	}
	successor, err := shm.NewWriter(ring.segment.Bytes(), 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.streams[0], err = successor.RegisterStream("box", "gate", 1); err != nil {
		t.Fatal(err)
	}
	r.writers[0] = successor
	r.publish(0, 7, 1, aBox) // as if in another time
	r.now += 5e6
	r.publish(1, 7, r.now, aBox)
	r.turn(1000)
	if len(r.got) != 1 || len(r.got[0].Members) != 2 {
		t.Fatalf("want frame 7 of both, got %d frames", len(r.got))
	}
	if f := r.got[0].Frame; f.FirstArrival != laidOut || f.LastArrival != laidOut+5e6 {
		t.Errorf("the successor's message arrived %d ns after the ring was laid out and the other's %d ns after it; want 0 and 5 ms",
			f.FirstArrival-laidOut, f.LastArrival-f.FirstArrival)
	}
	if n := r.path.corr.Counters().NowRegressions; n != 0 || ring.lastArrival != laidOut {
		t.Errorf("its message is stepped at %d, %d ns from where the ring was laid out; the clock ran back %d times", ring.lastArrival, ring.lastArrival-laidOut, n)
	}
	if !r.path.answersRead(ring.model) {
		t.Error("the new ring is to be read as far as the former one was filled")
	}
}
