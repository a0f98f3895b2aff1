package capture

import "github.com/skewgate/skewgate/appliance/clock"

const (
	// leapNS is the longest step of PTS that is taken for the film's own; a larger one
	// is damage, and would hold a paced film for as long.
	leapNS = 10_000_000_000
	// firstStepNS stands in for a film's step before there is one.
	firstStepNS = 40_000_000
)

// timeline turns a pass's picture times into nanoseconds since its first picture,
// strictly rising. The zero timeline is before the first.
type timeline struct {
	started bool
	lastPTS int64 // nanoseconds
	offset  int64 // of the last picture
	step    int64 // the last good one

	repeats, leaps uint64
}

// film takes a picture's PTS in nanoseconds.
func (t *timeline) film(ptsNS int64) (offsetNS int64) {
	if !t.started {
		t.started, t.lastPTS, t.step = true, ptsNS, firstStepNS
		return 0
	}
	switch d := ptsNS - t.lastPTS; {
	case d == 0:
		t.repeats++
		t.offset++
	case d < 0 || d > leapNS:
		t.leaps++
		t.offset += t.step
	default:
		t.step = d
		t.offset += d
	}
	t.lastPTS = ptsNS
	return t.offset
}

// live takes the instant a picture came in; start is that of the first.
func (t *timeline) live(start, now clock.Mono) (offsetNS int64) {
	if !t.started {
		t.started = true
		return 0
	}
	t.offset = max(int64(now-start), t.offset+1)
	return t.offset
}
