package appliance

import (
	"slices"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/hist"
	"github.com/skewgate/skewgate/appliance/status"
)

// figuresNS is the time between two copies of the correlator's samples: they change slowly, and
// copying them costs the path more than the rest of a view.
const figuresNS = int64(1e9)

// figures are the samples that a view shares with those before it, as the path copied them.
// Whoever asks sorts copies of them.
type figures struct {
	at      clock.Mono
	cameras []correlate.Figures
	lags    []correlate.Lag
	final   correlate.Final
	skew    []int64
	pathNS  []int64
}

// takeFigures copies the samples if the last copy has grown old.
func (p *path) takeFigures(now clock.Mono) *figures {
	if p.figures != nil && int64(now-p.figures.at) < figuresNS && !p.ended.Load() {
		return p.figures
	}
	p.figures = &figures{
		at:      now,
		cameras: p.corr.AppendFigures(nil, now),
		lags:    p.corr.AppendLags(nil, now),
		final:   p.corr.Final(now),
		skew:    p.corr.AppendSkew(nil, now),
		pathNS:  p.out.pathNS.AppendValues(nil, int64(now)),
	}
	return p.figures
}

// fill puts the figures into a document. The document's cameras and models are its own.
func (f *figures) fill(d *status.Document) {
	d.Correlation.SkewMS, d.Correlation.PathMS = quantilesOf(f.skew), quantilesOf(f.pathNS)
	d.Correlation.Final = status.FinalSkew{
		HorizonMS: f.final.HorizonNS / 1e6, SkewMS: quantilesOf(f.final.SkewNS),
		Beyond: f.final.Beyond, BeyondMS: quantilesOf(f.final.BeyondNS), Cut: f.final.Cut,
	}
	for i := range f.lags {
		for j := range d.Models {
			if m := &d.Models[j]; m.Name == f.lags[i].Model {
				m.LagMS, m.Late = quantilesOf(f.lags[i].NS), f.lags[i].Late
			}
		}
	}
	for i := range d.Cameras {
		d.Cameras[i].PairOffsets = []status.PairOffset{}
	}
	for i := range f.cameras {
		c := &f.cameras[i]
		for j := range d.Cameras {
			if c.Unit == d.Unit && c.Camera == d.Cameras[j].Name {
				d.Cameras[j].Matching = matching(c)
			}
		}
		for j := range d.Models {
			if c.Unit == d.Unit && c.Expected > 1 {
				d.Models[j].Alone = appendAlone(d.Models[j].Alone, c, &d.Models[j])
			}
		}
	}
}

// matching turns a camera's figures into those of the document.
func matching(c *correlate.Figures) status.Matching {
	m := status.Matching{
		IntervalMS: msOf(c.IntervalNS), IntervalConfigMS: msOf(c.ConfiguredNS), CaptureSkewMS: quantilesOf(c.SpreadNS),
		PairOffsets: []status.PairOffset{}, Pictures: c.Pictures, PicturesSplit: c.Apart, GroupsClosed: c.Groups,
		FusedJudged: c.Judged, FusedMixed: c.Mixed, MixedSpreadMS: quantilesOf(c.MixedNS), Collisions: c.Collisions,
	}
	switch c.Match {
	case correlate.MatchBucket:
		quantum := float64(c.QuantumNS) / 1e6
		m.QuantumMS = &quantum
		if share, ok := correlate.Split(c.SpreadNS, c.QuantumNS); ok {
			m.SplitShare = &share
		}
	case correlate.MatchWindow:
		m.WindowMS = msOf(c.WindowNS)
		if n := len(c.SpreadNS); n > 0 {
			wider := 0
			for _, ns := range c.SpreadNS {
				if ns > c.WindowNS {
					wider++
				}
			}
			share := float64(wider) / float64(n)
			m.SplitShare = &share
		}
	}
	if c.Expected > 1 {
		longestMS := c.LongestNS / 1e6
		m.RunUnfused, m.LongestRunUnfused, m.LongestUnfusedMS = &c.Run, &c.LongestRun, &longestMS
	}
	for i := range c.Pairs {
		p := &c.Pairs[i]
		if len(p.OffsetNS) == 0 {
			continue // two models that have not met for a minute are apart by nothing
		}
		median, distance := p.Summary()
		m.PairOffsets = append(m.PairOffsets, status.PairOffset{
			A: p.A, B: p.B, Count: distance.Count, MedianMS: float64(median) / 1e6, DistanceP99MS: float64(distance.P99) / 1e6,
		})
	}
	return m
}

// appendAlone appends why a model has met nobody on a camera, if it has not. What only the
// appliance knows comes first: a detector that hangs is not merely absent.
func appendAlone(dst []status.Alone, c *correlate.Figures, m *status.Model) []status.Alone {
	for i := range c.Apartness {
		a := &c.Apartness[i]
		if a.Model != m.Name {
			continue
		}
		s := status.Alone{Camera: c.Camera, Reason: a.Why, Messages: a.Received, Count: a.Count}
		if len(a.NS) > 0 {
			by := float64(hist.Summarize(slices.Clone(a.NS)).P50) / 1e6
			s.ByMS = &by
		}
		if slices.Contains(m.HangsOn, c.Camera) {
			s.Reason, s.ByMS = "hung", nil
		}
		dst = append(dst, s)
	}
	return dst
}

// msOf turns nanoseconds into milliseconds; nil for 0, which stands for not known.
func msOf(ns int64) *float64 {
	if ns == 0 {
		return nil
	}
	ms := float64(ns) / 1e6
	return &ms
}

// quantilesOf sums up samples in milliseconds; nil when there is none.
func quantilesOf(ns []int64) *status.Quantiles {
	s := hist.Summarize(slices.Clone(ns))
	if s.Count == 0 {
		return nil
	}
	return &status.Quantiles{Count: s.Count, P50: float64(s.P50) / 1e6, P99: float64(s.P99) / 1e6, Max: float64(s.Max) / 1e6}
}
