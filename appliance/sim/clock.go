package sim

import "math/rand/v2"

// ClockPlan is how a machine's wall clock goes wrong. The zero value is right.
type ClockPlan struct {
	DriftPPM           int64
	StepAtNS, StepNS   int64 // set by StepNS at StepAtNS after the start
	StuckAtNS, StuckNS int64 // stands still for StuckNS from StuckAtNS on
}

func drawClock(r *rand.Rand) (c ClockPlan) {
	switch r.IntN(8) {
	case 0:
		c.DriftPPM = pick[int64](r, 50, -50, 5000)
	case 1:
		c.StepAtNS, c.StepNS = between(r, 0, 1500*ms), pick(r, 7*ms, -7*ms, 3600*sec, -3600*sec, 40*ms)
	case 2:
		c.StuckAtNS, c.StuckNS = between(r, 0, 1500*ms), between(r, 30*ms, 200*ms)
	}
	return c
}

// wallNS is the right time of day at the start of every run, in ns.
const wallNS = 1_700_000_000 * sec

// read returns the time that the clock shows at sinceNS after the start.
func (c *ClockPlan) read(sinceNS int64) int64 {
	if c.StuckNS > 0 && sinceNS > c.StuckAtNS {
		sinceNS = max(c.StuckAtNS, sinceNS-min(sinceNS-c.StuckAtNS, c.StuckNS))
		// After standing still it goes on from where it stood, that much behind.
	}
	t := wallNS + sinceNS + sinceNS/1_000_000*c.DriftPPM
	if c.StepNS != 0 && sinceNS >= c.StepAtNS {
		t += c.StepNS
	}
	return t
}
