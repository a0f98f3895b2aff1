package appliance

import (
	"testing"
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
)

// F55: what was open when the machine slept is dropped at once, with what was published before
// and not yet read; what comes after is joined as ever. No suspend can be had in a test: the
// offset of the clocks is made to jump as one makes it.
func TestSleepDropsWhatWasOpen(t *testing.T) {
	r := newRig(t, rigConfig)
	slept := int64(0)
	r.path.sleeps.offset = func() clock.BootOffset { return clock.BootOffset{LowNS: slept, HighNS: slept + 300} }
	later := clock.Mono(20 * time.Millisecond)
	r.turn(later)
	r.publish(0, 1, r.now, aBox) // open
	r.turn(later)
	r.publish(0, 2, r.now, aBox) // not yet read
	slept += int64(time.Hour)
	r.turn(later)
	if len(r.got) != 0 || r.path.corr.Pending() != 0 {
		t.Fatalf("after the sleep: %d frames, %d open; want none", len(r.got), r.path.corr.Pending())
	}
	r.publish(1, 2, r.now, aBox)
	r.turn(later)
	r.publish(0, 3, r.now, aBox)
	r.publish(1, 3, r.now, aBox)
	r.turn(later)
	if len(r.got) != 1 || r.got[0].FrameID != 3 || len(r.got[0].Members) != 2 {
		t.Errorf("want frame 3 of both alone, got %d frames", len(r.got))
	}
	r.path.takeView(r.now)
	c := r.Status().Correlation
	if c.Sleeps != 1 || c.Stale["sleep"] != 2 || c.Stale["max_age"] != 0 || c.Counters["stale"] != 2 || c.Counters["late"] != 1 || c.IdentityFault != "" {
		t.Errorf("account: %+v", c)
	}
}
