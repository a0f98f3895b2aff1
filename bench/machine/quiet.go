package machine

import (
	"context"
	"time"
)

// sampleTime is how long the machine must have been idle before a run.
const sampleTime = 300 * time.Millisecond

// WaitQuiet returns once the machine was idle for a moment, at the latest after
// patience; it says which. It ends early, without an error, when ctx does.
func WaitQuiet(ctx context.Context, patience time.Duration) (bool, error) {
	end := time.Now().Add(patience)
	for {
		before, err := ReadUsage()
		if err != nil {
			return false, err
		}
		select {
		case <-ctx.Done():
			return false, nil
		case <-time.After(sampleTime):
		}
		after, err := ReadUsage()
		if err != nil {
			return false, err
		}
		if after.Since(before).Quiet() {
			return true, nil
		}
		if time.Now().After(end) {
			return false, nil
		}
	}
}
