package correlate

import (
	"math"
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/hist"
)

// A frame's arrivals are final only when its horizon is over: what is measured earlier has
// not seen those that come later than the timeout, which are the ones to know about.
const (
	minHorizonNS   = int64(10 * time.Second)
	horizonTimeout = 4 // timeouts
)

// alone stands in a record for the last arrival while there is but one.
const alone clock.Mono = math.MinInt64

// finality measures the skew of frames that are final.
type finality struct {
	horizonNS int64
	skew      *hist.Window // last − first arrival, of frames that two or more models answered
	beyondNS  *hist.Window // how long after the first arrival messages came that lay beyond
	beyond    uint64
	cut       uint64 // frames forgotten before their horizon was over
}

func newFinality(cfg *Config, limits Limits) finality {
	return finality{
		horizonNS: max(minHorizonNS, horizonTimeout*min(cfg.TimeoutNS, maxSpanNS/horizonTimeout)),
		skew:      hist.NewWindow(cfg.SkewWindowNS, limits.SkewSamples),
		beyondNS:  hist.NewWindow(cfg.SkewWindowNS, rareSamples),
	}
}

// late takes the arrival of a message whose group is closed.
func (f *finality) late(now clock.Mono, r *record, lag int64) {
	if lag > f.horizonNS {
		f.beyond++
		f.beyondNS.Add(int64(now), lag)
		return
	}
	r.last = now
}

// finish takes the samples of the closed frames whose horizon is over, in order of closing. It
// counts from the closing, so that every arrival within the horizon has been seen.
func (c *Correlator) finish(now clock.Mono) {
	for id := c.closed.unfinished; id != 0; id = c.closed.unfinished {
		r := c.closed.at(id - 1)
		if int64(now-r.closedAt) < c.final.horizonNS {
			return
		}
		c.closed.unfinished = r.next
		if r.last != alone {
			c.final.skew.Add(int64(now), int64(r.last-r.first))
		}
	}
}
