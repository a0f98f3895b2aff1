package sim

import (
	"slices"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/hist"
)

// figures are what is known of one model.
type figures struct {
	correlate.ModelStats
	lag []sample
}

type sample struct{ at, value int64 }

// checkFigures holds the correlator's figures against the truth.
func (j *judge) checkFigures(now clock.Mono) {
	if want, got := summary(j.skew, int64(now), j.plan.Config.SkewWindowNS), j.corr.Skew(now); want != got {
		j.fail("arrival skew is %+v, want %+v", got, want)
	}
	for _, got := range j.corr.Models(now) {
		want := j.figures(got.Name).ModelStats
		want.Name, want.Expected = got.Name, got.Expected
		want.Lag = summary(j.figures(got.Name).lag, int64(now), j.plan.Config.SkewWindowNS)
		if want != got {
			j.fail("figures of %s are %+v, want %+v", got.Name, got, want)
		}
	}
	want := j.n
	want.Pending = uint64(len(j.open))
	if got := j.corr.Counters(); want != got {
		j.fail("counters are %+v, want %+v", got, want)
	}
	for _, t := range j.corr.AppendTables(nil) {
		if t.Len > t.Bound {
			j.fail("table %s holds %d, bound %d", t.Name, t.Len, t.Bound)
		}
	}
}

// summary has percentiles by nearest rank.
func summary(samples []sample, now, windowNS int64) hist.Summary {
	var values []int64
	for _, s := range samples {
		if now-s.at < windowNS {
			values = append(values, s.value)
		}
	}
	if len(values) == 0 {
		return hist.Summary{}
	}
	slices.Sort(values)
	rank := func(percent int) int64 { return values[(percent*len(values)+99)/100-1] }
	return hist.Summary{Count: len(values), P50: rank(50), P99: rank(99), Max: values[len(values)-1]}
}
