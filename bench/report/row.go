package report

import (
	"math"

	"github.com/skewgate/skewgate/bench/machine"
)

// A Run is one repetition of one measurement.
type Run struct {
	Value float64 `json:"value"`
	Peer  float64 `json:"peer,omitempty"` // what it is compared with, measured right beside it
	machine.Load
	Quiet bool `json:"quiet"` // nobody else used the machine meanwhile
}

// Compare says which way a bound lies.
type Compare string

// At least, at most; no bound: the figure is only reported.
const (
	AtLeast  Compare = ">="
	AtMost   Compare = "<="
	Reported Compare = ""
)

// Bound is what a figure is held to.
type Bound struct {
	Compare Compare `json:"compare,omitempty"`
	Limit   float64 `json:"limit,omitempty"`
}

// A Row is one figure of the table. With a peer, the figure is the run's value divided
// by its peer's.
type Row struct {
	Name     string `json:"name"`
	What     string `json:"what"`
	Unit     string `json:"unit"`              // of the figure; "" = a ratio
	RunUnit  string `json:"run_unit"`          // of a run's value and peer
	PeerName string `json:"peer,omitempty"`    // "" = no peer
	Bound    Bound  `json:"bound"`             //
	Figure   Spread `json:"figure"`            // of the runs that count
	Ours     Spread `json:"ours"`              // values of the runs that count
	Peer     Spread `json:"theirs"`            // their peers
	Doubt    string `json:"doubt,omitempty"`   // others used the machine too much
	Missing  string `json:"missing,omitempty"` // why there is no figure
	Failed   string `json:"failed,omitempty"`  // the repetition that ended the measuring, and why
	Note     string `json:"note,omitempty"`
	Runs     []Run  `json:"runs,omitempty"`
}

// Settle works the figures out of the runs. Only runs on a quiet machine count, if there
// are any; with fewer than want of them, or a failed repetition, the row is in doubt and
// says why.
func (r *Row) Settle(want int) {
	var counted []Run
	for _, run := range r.Runs {
		if run.Quiet {
			counted = append(counted, run)
		}
	}
	switch {
	case len(counted) >= want:
		r.Doubt = ""
	case len(counted) > 0:
		r.Doubt = "few quiet runs"
	default:
		r.Doubt, counted = "busy machine", r.Runs
	}
	if r.Failed != "" {
		r.Doubt = "a repetition failed"
	}
	var figures, ours, peers []float64
	for _, run := range counted {
		ours = append(ours, run.Value)
		figure := run.Value
		if r.PeerName != "" {
			peers = append(peers, run.Peer)
			figure /= run.Peer
		}
		figures = append(figures, figure)
	}
	r.Figure, r.Ours, r.Peer = NewSpread(figures), NewSpread(ours), NewSpread(peers)
}

// Verdict says whether the median is within the bound.
type Verdict string

// Verdicts. A row whose part is not there is neither met nor missed.
const (
	Met         Verdict = "met"
	Missed      Verdict = "MISSED"
	NotMeasured Verdict = "not measured"
	NoBound     Verdict = "reported"
)

// Verdict of the row. Doubt is said beside it, not in it.
func (r *Row) Verdict() Verdict {
	v := r.Figure.Median
	switch {
	case r.Missing != "" || r.Figure.N == 0 || math.IsNaN(v) || math.IsInf(v, 0):
		return NotMeasured
	case r.Bound.Compare == Reported:
		return NoBound
	case r.Bound.Compare == AtLeast && v >= r.Bound.Limit, r.Bound.Compare == AtMost && v <= r.Bound.Limit:
		return Met
	}
	return Missed
}
