package capture

import (
	"fmt"

	"github.com/skewgate/skewgate/appliance/clock"
)

// alive gives the heartbeat when it is due, and errDrained once the parent wants an end.
func (c *capture) alive(now clock.Mono) error {
	if now >= c.beatAt {
		c.frames.Heartbeat(int64(now))
		c.beatAt = now.Add(slice)
	}
	select {
	case <-c.parent.Done():
		return errDrained
	default:
		return nil
	}
}

// sleepUntil waits for an instant in slices, and less long if the parent wants an end.
func (c *capture) sleepUntil(due clock.Mono) error {
	for {
		now := clock.Now()
		if err := c.alive(now); err != nil || now >= due {
			return err
		}
		c.timer.Reset(min(due.Sub(now), slice))
		select {
		case <-c.timer.C:
		case <-c.parent.Done():
		}
	}
}

// waitAllowed waits until the appliance allows picture seq of the ring. It takes the
// ring's own numbers, so that a successor of this process needs to know nothing else.
func (c *capture) waitAllowed(seq uint64) error {
	for c.allowed.Allowed() < seq {
		if err := c.alive(clock.Now()); err != nil {
			return err
		}
		if err := c.allowed.Wait(c.frames.SleepFlag(), int64(slice)); err != nil {
			return fmt.Errorf("wait for dispatch: %w", err)
		}
	}
	return nil
}
