package supervise

import "github.com/skewgate/skewgate/appliance/clock"

// limiter is a token bucket: burst at once, then one each intervalNS.
type limiter struct {
	burst      int64
	intervalNS int64
	full       clock.Mono // when the bucket is (or will be) full again
}

// take takes one token at now and returns 0, or takes none and returns the wait in
// nanoseconds until there is one.
func (l *limiter) take(now clock.Mono) (waitNS int64) {
	full := max(l.full, now) + clock.Mono(l.intervalNS)
	if over := int64(full-now) - l.burst*l.intervalNS; over > 0 {
		return over
	}
	l.full = full
	return 0
}
