package appliance

import (
	"testing"
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/supervise"
	"github.com/skewgate/skewgate/shm"
)

// attachQuietly is come, except that the path has not heard of it yet.
func (r *foreignRig) attachQuietly() {
	r.t.Helper()
	r.connect()
	for begun := time.Now(); r.attach.Word(r.mine.foreign.desk).Peer == nil; time.Sleep(time.Millisecond) {
		if time.Since(begun) > 10*time.Second {
			r.t.Fatal("nobody is attached")
		}
	}
}

// Nobody was there to publish before the turn at which nobody had attached yet: what a new
// detector stamps earlier than that does not arrive earlier.
func TestFirstMessageOfANewcomerIsClamped(t *testing.T) {
	r := newForeignRig(t, "auto")
	r.turn(1000)
	before := r.now
	r.attachQuietly()
	h := shm.SlotHeader{FrameID: 1, CaptureNS: 33e6, Kind: shm.KindBoxes, PublishNS: 1}
	h.Stream, h.StreamEpoch = r.stream, 1
	if err := r.w.Publish(&h, nil); err != nil {
		t.Fatal(err)
	}
	r.turn(clock.Mono(50e6))
	r.publish(0, 1, r.now, aBox)
	r.turn(1000)
	if len(r.got) != 1 || len(r.got[0].Members) != 2 {
		t.Fatalf("want one frame of both, got %d", len(r.got))
	}
	if f := r.got[0].Frame; f.FirstArrival != before {
		t.Errorf("stamped at 1 ns, it arrived at %d, want %d, when its ring was last known to be empty", f.FirstArrival, before)
	}
	if n := r.path.corr.Counters().NowRegressions; n != 0 {
		t.Errorf("the clock ran back %d times", n)
	}
}

// One detector goes while another comes: what the newcomer published before that is read
// before the death is told, at its own time.
func TestNewcomerIsReadBeforeADeathIsTold(t *testing.T) {
	r := newForeignRig(t, "auto")
	r.turn(1000)
	r.attachQuietly()
	r.now += clock.Mono(10e6)
	published := r.now
	r.go1(shm.SlotHeader{FrameID: 1, CaptureNS: 33e6, Kind: shm.KindBoxes}, nil)
	r.now += clock.Mono(10e6)
	r.mail.put(supervise.Event{Task: r.path.replicas[0].task, Start: 1, State: supervise.StateExited})
	r.turn(1000)
	r.turn(clock.Mono(400e6))
	if len(r.got) != 1 || r.got[0].Frame.FirstArrival != published {
		t.Fatalf("want its frame to have arrived at %d, got %+v", published, r.got)
	}
	if n := r.path.corr.Counters().NowRegressions; n != 0 {
		t.Errorf("the clock ran back %d times", n)
	}
}
