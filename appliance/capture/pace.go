package capture

import "github.com/skewgate/skewgate/appliance/clock"

// catchUpNS bounds a burst: a film that is later than this against its schedule is
// not caught up with; the schedule moves.
const catchUpNS = 200_000_000

// schedule says when a film's pictures are due, in real time.
type schedule struct {
	start clock.Mono // of offset 0
	slips uint64     // times it moved
}

// due returns when the picture at that offset is to be published, now or later but
// for a lateness within the bound.
func (s *schedule) due(now clock.Mono, offsetNS int64) clock.Mono {
	due := s.start + clock.Mono(offsetNS)
	if late := now - due; late > catchUpNS {
		s.start += late
		s.slips++
		return now
	}
	return due
}

// rateCap lets pictures through at most at a rate, measured on their own time. The
// zero rateCap lets all through.
type rateCap struct {
	intervalNS int64
	nextNS     int64
}

func newRateCap(fps float64) rateCap {
	if fps == 0 {
		return rateCap{}
	}
	return rateCap{intervalNS: int64(1e9 / fps)}
}

// admit says whether the picture at that offset is let through. Due instants lie on
// a grid, so that 30 pictures a second cap to exactly 15 or 20; a picture up to a
// quarter of the interval early takes its place on it, since PTS are rounded. After a
// gap the grid begins anew, so nothing is made up for.
func (r *rateCap) admit(offsetNS int64) bool {
	if r.intervalNS == 0 {
		return true
	}
	if offsetNS < r.nextNS-r.intervalNS/4 {
		return false
	}
	if r.nextNS += r.intervalNS; r.nextNS <= offsetNS {
		r.nextNS = offsetNS + r.intervalNS
	}
	return true
}
