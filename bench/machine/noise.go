package machine

import (
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
)

// Gaps is the noise floor of one processor: how often, and for how long at most, a
// thread that does nothing but read the clock was kept from it.
type Gaps struct {
	CPU       int   `json:"cpu"`
	SpunNS    int64 `json:"spun_ns"`
	Over10us  int   `json:"over_10us"` // those below included
	Over100us int   `json:"over_100us"`
	Over1ms   int   `json:"over_1ms"`
	LongestNS int64 `json:"longest_ns"`
}

// noise spins on processor cpu for d. It leaves the calling goroutine pinned.
func noise(cpu int, d time.Duration) (Gaps, error) {
	g := Gaps{CPU: cpu}
	if err := Pin(cpu); err != nil {
		return g, err
	}
	start := clock.Now()
	end, last := start.Add(d), start
	for last < end {
		now := clock.Now()
		g.add(int64(now.Sub(last)))
		last = now
	}
	g.SpunNS = int64(last.Sub(start))
	return g, nil
}

func (g *Gaps) add(gapNS int64) {
	g.LongestNS = max(g.LongestNS, gapNS)
	if gapNS <= 10_000 {
		return
	}
	g.Over10us++
	if gapNS > 100_000 {
		g.Over100us++
	}
	if gapNS > 1_000_000 {
		g.Over1ms++
	}
}

// NoiseFloor spins on all of cpus at once.
func NoiseFloor(cpus []int, d time.Duration) ([]Gaps, error) {
	type result struct {
		gaps Gaps
		err  error
	}
	results := make([]chan result, len(cpus))
	for i, cpu := range cpus {
		results[i] = make(chan result, 1)
		go func() {
			// The goroutine ends locked, so the runtime throws the pinned thread away.
			g, err := noise(cpu, d)
			results[i] <- result{g, err}
		}()
	}
	floor := make([]Gaps, 0, len(cpus))
	var first error
	for _, c := range results {
		r := <-c
		if r.err != nil && first == nil {
			first = r.err
		}
		floor = append(floor, r.gaps)
	}
	return floor, first
}
