package clock

import (
	"testing"
	"time"
)

// Readings that are wide, because the reader lost its core between two of them, are no sleep; one
// that lies beyond all before is, once.
func TestSleepWatch(t *testing.T) {
	const ms = int64(time.Millisecond)
	var w SleepWatch
	for i, row := range []struct {
		low, high int64
		want      time.Duration
	}{
		{100 * ms, 100*ms + 200, 0}, // the first
		{100*ms - 500, 100*ms + 50, 0},
		{100*ms - 40*ms, 100*ms + 40*ms, 0}, // preempted
		{100*ms + 10, 100*ms + 60, 0},
		{3_600_100 * ms, 3_600_100*ms + 50, time.Duration(3_600_000*ms - 50)},
		{3_600_100 * ms, 3_600_100*ms + 50, 0},
		{3_600_105 * ms, 3_600_105*ms + 50, time.Duration(5*ms - 50)},
	} {
		if got := w.Look(BootOffset{row.low, row.high}); got != row.want {
			t.Errorf("reading %d: want %v, got %v", i, row.want, got)
		}
	}
}

func TestBootOffsetStandsStillWhileAwake(t *testing.T) {
	var w SleepWatch
	for range 10_000 {
		o := ReadBootOffset()
		if o.LowNS > o.HighNS || o.HighNS < 0 {
			t.Fatalf("offset between %d and %d", o.LowNS, o.HighNS)
		}
		if slept := w.Look(o); slept != 0 {
			t.Fatalf("the machine is said to have slept for %v", slept)
		}
	}
}
