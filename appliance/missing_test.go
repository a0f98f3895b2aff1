package appliance

import (
	"slices"
	"testing"

	"github.com/skewgate/skewgate/appliance/sink"
	"github.com/skewgate/skewgate/appliance/web"
	"github.com/skewgate/skewgate/shm"
)

// missingIn is what the newest published frame says of who is missing.
func (r *rig) missingIn() []sink.Missing {
	r.t.Helper()
	if len(r.got) == 0 {
		r.t.Fatal("no frame was published")
	}
	return r.got[len(r.got)-1].Frame.Missing
}

// A frame's line says "late" only of a message that had come when the frame was closed, after its
// timeout; of one that comes later the story and the counters say so. Both are late.
func TestMissingIsLateWhereThatIsKnown(t *testing.T) {
	r := newRig(t, rigConfig)
	r.turn(1000)
	r.publish(1, 1, r.now, aBox)
	r.turn(1000)
	r.publish(0, 1, r.now+305e6, aBox) // nobody looks until both are over: the timeout and its arrival
	r.turn(310e6)
	if want := []sink.Missing{{Model: "a", Why: "late"}}; !slices.Equal(want, r.missingIn()) {
		t.Errorf("a message behind the timeout: want %v, got %v", want, r.missingIn())
	}
	wantTold(t, "id:1 published timeout b:accepted:1 a:late:1 -a:late", r.frame(web.Question{Frame: "1"}))

	r.publish(1, 2, r.now, aBox)
	r.turn(1000)
	r.turn(310e6)
	if want := []sink.Missing{{Model: "a", Why: "absent"}}; !slices.Equal(want, r.missingIn()) {
		t.Errorf("nothing has come: want %v, got %v", want, r.missingIn())
	}
	r.publish(0, 2, r.now, aBox)
	r.turn(1000)
	wantTold(t, "id:2 published timeout b:accepted:1 a:late:1 -a:late", r.frame(web.Question{Frame: "2"}))
	r.turn(2e9) // beyond the next copy of the figures
	s := r.Status()
	if s.Models[0].Late != 2 || s.Models[1].Late != 0 || s.Correlation.Counters["late"] != 2 {
		t.Errorf("late: a %d, b %d, all %d; want 2, 0, 2", s.Models[0].Late, s.Models[1].Late, s.Correlation.Counters["late"])
	}
}

// One picture in two buckets: each half says so if the other has come by then, and the story tells
// it of both.
func TestMissingIsInAnotherBucketWhereThatIsKnown(t *testing.T) {
	r := newForeignRig(t, "bucket")
	r.come()
	mine := func(captureNS int64) {
		r.go1(shm.SlotHeader{CaptureNS: captureNS, Kind: shm.KindBoxes}, nil)
		r.turn(1000)
	}
	mine(66e6) // who has not spoken yet is not waited for
	r.publish(0, 2, r.now, aBox)
	r.turn(1000)
	r.publish(0, 4, r.now, aBox) // 132 ms, in q25:5
	r.turn(1000)
	r.turn(310e6)
	if want := []sink.Missing{{Model: "mine", Why: "absent"}}; !slices.Equal(want, r.missingIn()) {
		t.Errorf("the first half: want %v, got %v", want, r.missingIn())
	}
	mine(124e6) // in q25:4
	r.turn(310e6)
	if want := []sink.Missing{{Model: "a", Why: "other_bucket"}}; !slices.Equal(want, r.missingIn()) {
		t.Errorf("the second half: want %v, got %v", want, r.missingIn())
	}
	wantTold(t, "q25:5 published timeout a:accepted:1 -mine:other_bucket", r.frame(web.Question{Frame: "q25:5"}))
	wantTold(t, "q25:4 published timeout mine:accepted:0 -a:other_bucket", r.frame(web.Question{Frame: "q25:4"}))
}
