package correlate

import (
	"math/bits"
	"slices"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/hist"
)

// Figures are the running figures of one camera. Samples are of the moving window, for another
// goroutine to give to hist.Summarize, which sorts them. Counts are since New.
type Figures struct {
	Unit, Camera string
	Match        Match
	QuantumNS    int64
	WindowNS     int64 // MatchWindow
	ConfiguredNS int64 // the configured interval between two pictures, 0 = none

	// By the capture times of the models alone, whatever the groups were.
	IntervalNS int64   // measured between two pictures, 0 = not known
	SpreadNS   []int64 // of capture times inside one picture
	Pictures   uint64  // answered by two models or more and looked at
	Apart      uint64  // of those, told apart by time, that went to different groups
	Pairs      []Pair

	// By the groups.
	Groups     uint64  // closed
	Judged     uint64  // published groups of two models or more that could be judged
	Mixed      uint64  // of those, with two pictures in them
	MixedNS    []int64 // of the last of those: how far their capture times spread
	Collisions uint64  // dup_collision
	Expected   int     // models that make a quorum
	Run        uint64  // groups in a row, up to now, in which no two models met
	LongestRun uint64
	LongestNS  int64 // from that run's first arrival to its last closing

	Apartness []Alone // of the expected models that never met another here
}

// Pair is the signed distance of the capture times of two models for one picture: B's less
// A's, after the configured offsets. A's name comes first. Where pictures are told apart by
// time alone, a distance beyond half an interval looks like one within.
type Pair struct {
	A, B     string
	OffsetNS []int64
}

// Why an expected model has never met another on a camera, the commonest reason first where
// several hold. R000-3: matching that joins nothing fails silently.
const (
	WhyDead            = "dead"             // known dead, and nothing ever came
	WhyAbsent          = "absent"           // nothing ever came
	WhyUnreadableTime  = "unreadable_time"  // most of its capture times could not be read
	WhyLate            = "late"             // most came after their frame was closed; NS says how long after its first arrival
	WhyWrongGeneration = "wrong_generation" // most were of another generation than their frame
	WhyOthersAbsent    = "others_absent"    // nobody else has said anything of this camera
	WhyOthersLate      = "others_late"      // whoever else has came late to its frames
	WhyOtherBucket     = "other_bucket"     // its frames are others; NS says how far its capture times are ahead of the nearest of another
)

// Alone says why a model has never met another on a camera.
type Alone struct {
	Model    string
	Why      string
	Received uint64
	Count    uint64  // of the received, those that Why is about
	NS       []int64 // samples of Why's figure, empty where it has none or the window is empty
}

// AppendFigures appends the figures of every camera that a model has spoken of, in the order in
// which the cameras were entered. It copies; sorting is left to others.
func (c *Correlator) AppendFigures(dst []Figures, now clock.Mono) []Figures {
	at := int64(c.upTo(now))
	for _, cam := range c.cameras[1:] {
		f := Figures{
			Unit: cam.unit, Camera: cam.name, Match: cam.match, QuantumNS: c.cfg.QuantumNS,
			WindowNS: cam.windowNS, ConfiguredNS: cam.frameIntervalNS,
			Pictures: cam.pictures, Apart: cam.apart,
			Groups: cam.groups, Judged: cam.judged, Mixed: cam.mixed, Collisions: cam.collisions,
			Expected: bits.OnesCount64(cam.expected), Run: cam.run, LongestRun: cam.worst, LongestNS: cam.worstNS,
		}
		if at-int64(cam.intervalAt) < c.cfg.SkewWindowNS {
			f.IntervalNS = cam.intervalNS
		}
		f.SpreadNS, f.MixedNS = appendValues(cam.spread, at), appendValues(cam.mixedNS, at)
		for _, p := range cam.pairs {
			f.Pairs = append(f.Pairs, Pair{c.models[p.a].name, c.models[p.b].name, appendValues(p.offsetNS, at)})
		}
		for set := cam.expected &^ cam.met; set != 0; set &= set - 1 {
			mod := c.bitModels[bits.TrailingZeros64(set)]
			if i := cam.seats.of(mod.id); i < 0 || !cam.hasMet(i) {
				f.Apartness = append(f.Apartness, c.whyAlone(cam, mod, i, at))
			}
		}
		dst = append(dst, f)
	}
	return dst
}

func appendValues(w *hist.Window, atNS int64) []int64 {
	if w == nil {
		return nil
	}
	return w.AppendValues(make([]int64, 0, w.Held()), atNS)
}

func (c *Correlator) whyAlone(cam *camera, mod *model, i int, atNS int64) Alone {
	a := Alone{Model: mod.name}
	if i < 0 {
		a.Why = WhyAbsent
		if (c.down|cam.down)&mod.bit != 0 {
			a.Why = WhyDead
		}
		return a
	}
	s := &cam.taken[i]
	a.Received = cam.heads[i].received
	most := func(n uint64) bool { a.Count = n; return 2*n > a.Received }
	heard, late := cam.others(i)
	switch {
	case most(s.unparsed):
		a.Why = WhyUnreadableTime
	case most(s.late):
		a.Why, a.NS = WhyLate, appendValues(s.lateNS, atNS)
	case most(s.wrongGeneration):
		a.Why = WhyWrongGeneration
	case heard == 0:
		a.Why, a.Count = WhyOthersAbsent, a.Received
	case late == heard:
		a.Why, a.Count = WhyOthersLate, a.Received
	default:
		a.Why, a.Count, a.NS = WhyOtherBucket, a.Received, appendValues(s.apartNS, atNS)
	}
	return a
}

// others counts the other models of a camera that have said anything, and those of them whose
// messages mostly came late.
func (s *seats) others(but int) (heard, late int) {
	for i := range s.taken {
		if i == but || s.heads[i].received == 0 {
			continue
		}
		heard++
		if 2*s.taken[i].late > s.heads[i].received {
			late++
		}
	}
	return heard, late
}

// Final is the arrival skew of frames that are final: no arrival within the horizon after their
// first can change it any more.
type Final struct {
	HorizonNS int64
	SkewNS    []int64 // last − first arrival within the horizon, of frames that two models or more answered
	Beyond    uint64  // messages that came later than that
	BeyondNS  []int64 // how long after the first arrival, of the last of them
	Cut       uint64  // frames forgotten before their horizon was over
}

// Final returns the skew of the final frames of the moving window. Like AppendFigures it copies.
func (c *Correlator) Final(now clock.Mono) Final {
	at := int64(c.upTo(now))
	return Final{
		HorizonNS: c.final.horizonNS, SkewNS: appendValues(c.final.skew, at),
		Beyond: c.final.beyond, BeyondNS: appendValues(c.final.beyondNS, at), Cut: c.final.cut,
	}
}

// Lag is how far one model's messages were behind the first of their frames. Like Figures it
// holds the samples of the moving window.
type Lag struct {
	Model string
	NS    []int64
	Late  uint64 // messages whose group was closed, of all time
}

// AppendLags appends the lag of every model name in the order in which they were entered. It is
// what Models says of it, without the sorting.
func (c *Correlator) AppendLags(dst []Lag, now clock.Mono) []Lag {
	for _, m := range c.models[1:] {
		dst = append(dst, Lag{m.name, appendValues(m.lag, int64(c.upTo(now))), m.late})
	}
	return dst
}

// Split is the share of pictures that a quantum splits, by the spread of their capture times:
// the mean of min(1, D/q) over the samples, which is exact over all phases of clock and bucket.
// A quantum of 0 splits whatever spreads. ok is false without samples.
func Split(spreadNS []int64, quantumNS int64) (share float64, ok bool) {
	if len(spreadNS) == 0 {
		return 0, false
	}
	sum := 0.0
	for _, d := range spreadNS {
		switch {
		case d <= 0:
		case d >= quantumNS:
			sum++
		default:
			sum += float64(d) / float64(quantumNS)
		}
	}
	return sum / float64(len(spreadNS)), true
}

// absolute takes the signs off. It changes the values in place and returns them.
func absolute(values []int64) []int64 {
	for i, v := range values {
		values[i] = distance(v, 0)
	}
	return values
}

// Summary sums up the samples of a pair: their median with its sign, and p99 and max of the
// distances without it.
func (p *Pair) Summary() (medianNS int64, distance hist.Summary) {
	medianNS = hist.Summarize(slices.Clone(p.OffsetNS)).P50
	return medianNS, hist.Summarize(absolute(slices.Clone(p.OffsetNS)))
}
