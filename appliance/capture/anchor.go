package capture

import (
	"fmt"
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
)

const (
	// stepNS is from where on a change between wall and monotonic clock is a step, not
	// slewing (which moves both alike) or a slow read.
	stepNS = 500_000_000
	// lookEvery is how often a live pass looks for a step.
	lookEvery = time.Second
)

// anchor ties a pass's first picture to wall time.
type anchor struct {
	mono   clock.Mono
	wallNS int64
	lookAt clock.Mono
}

func newAnchor() anchor {
	now := clock.Now()
	return anchor{mono: now, wallNS: time.Now().UnixNano(), lookAt: now.Add(lookEvery)}
}

// stepped returns an error once the wall clock was set or the machine slept.
func (a *anchor) stepped(now clock.Mono) error {
	if now < a.lookAt {
		return nil
	}
	a.lookAt = now.Add(lookEvery)
	return a.compare(clock.Now(), time.Now().UnixNano())
}

func (a *anchor) compare(now clock.Mono, wallNS int64) error {
	step := wallNS - a.wallNS - int64(now-a.mono)
	if step > -stepNS && step < stepNS {
		return nil
	}
	return fmt.Errorf("the wall clock was set by %v, or the machine slept: opening the source anew", time.Duration(step).Round(time.Millisecond))
}
