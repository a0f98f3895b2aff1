package advise

import (
	"fmt"
	"strings"
)

const (
	// EnoughFrames is how many complete frames a p99 takes: 3 of 300 lie beyond it.
	EnoughFrames = 300

	// worthNS and worthYield are the least that a change has to bring: of mean wait, and of
	// yield.
	worthNS    = int64(1e6)
	worthYield = 0.001
)

// TimeoutPoint is one value of the curve.
type TimeoutPoint struct {
	Timeout  Millis  `json:"timeout_ms"`
	Yield    float64 `json:"yield"`
	Complete int     `json:"complete"`
	Wait     Millis  `json:"mean_wait_ms"`
	Mark     string  `json:"mark,omitempty"` // now, advised, or a percentile of the lags
}

// TimeoutCurve is what timeouts make of the frames of one camera, or of all.
type TimeoutCurve struct {
	Camera   string         `json:"camera,omitempty"` // unit/camera; "" = all
	Frames   int            `json:"frames"`           // that wait for more than one model
	Answered int            `json:"answered"`         // that an answer closed in the end
	GivenUp  int            `json:"given_up"`         // that closed because a model was found dead
	Never    int            `json:"never"`            // for which a living model sent nothing within the horizon
	Lag      *Summary       `json:"lag"`              // of the answered ones
	Points   []TimeoutPoint `json:"points"`
}

// Advice is a setting that is advised, and why.
type Advice struct {
	Now     Millis   `json:"now_ms"`
	Advised *Millis  `json:"advised_ms"` // null = there is nothing to advise
	Enough  bool     `json:"enough"`     // the recording is long enough to say
	Samples int      `json:"samples"`
	Needed  int      `json:"needed"`
	Reason  string   `json:"reason"`
	Notes   []string `json:"notes,omitempty"`
}

func (a *Advice) advise(x int64) {
	m := Millis(x)
	a.Advised = &m
}

// timeoutCurve evaluates the round values, the one in force, the advised one and the
// percentiles of the lags, as far as the horizon reaches.
func timeoutCurve(camera string, w *Waits, nowNS, advisedNS, horizonNS int64) TimeoutCurve {
	c := TimeoutCurve{Camera: camera, Frames: w.Frames(), Answered: w.Answered(), GivenUp: len(w.lags) - w.Answered(), Never: w.never, Lag: w.Summary(), Points: []TimeoutPoint{}}
	marks := map[int64]string{}
	note := func(x int64, mark string) {
		if marks[x] != "" {
			mark = marks[x] + ", " + mark
		}
		marks[x] = mark
	}
	var ranks []int64
	if w.Answered() > 0 {
		for _, r := range []struct {
			thousandths int
			name        string
		}{{500, "p50"}, {900, "p90"}, {990, "p99"}, {1000, "max"}} {
			x := w.Rank(r.thousandths) + 1 // the smallest timeout that it does not miss
			ranks = append(ranks, x)
			note(x, r.name)
		}
	}
	note(nowNS, "now")
	if advisedNS > 0 && advisedNS != nowNS {
		note(advisedNS, "advised")
	}
	for _, x := range merged(horizonNS, steps(horizonNS), ranks, []int64{nowNS, advisedNS}) {
		o := w.At(x)
		c.Points = append(c.Points, TimeoutPoint{Millis(x), o.Yield(), o.Complete, o.Mean(), marks[x]})
	}
	return c
}

// timeoutAdvice weighs the timeout in force against what the slowest camera needs. all are the
// frames of all cameras; basis is the camera with the highest p99 among those that have enough
// frames, or all; who names it.
func timeoutAdvice(all, basis *Waits, who string, nowNS, maxAgeNS, horizonNS int64, missing string) Advice {
	a := Advice{Now: Millis(nowNS), Samples: basis.Answered(), Needed: EnoughFrames, Enough: basis.Answered() >= EnoughFrames}
	if n := all.never; n > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("%d of %d frames (%.1f %%) were never complete and wait for whatever the timeout is%s", n, all.Frames(), 100*share(n, all.Frames()), missing))
	}
	switch {
	case all.Frames() == 0:
		a.Reason = "no frame waits for a second model, so the timeout decides nothing"
		return a
	case all.Answered() == 0:
		a.Reason = "no frame was ever complete: no timeout helps, the models that are missing do"
		return a
	case !a.Enough:
		a.Reason = fmt.Sprintf("too little to say: a p99 takes about %d complete frames, there are %d; record longer", EnoughFrames, basis.Answered())
		return a
	}
	p99 := basis.Rank(990)
	want := roundUp(p99 + p99/4 + 1)
	now, then := all.At(nowNS), all.At(want)
	gain := int64(now.Mean() - then.Mean())
	var b strings.Builder
	fmt.Fprintf(&b, "99 %% of the complete frames%s were so within %s; %s is that and a quarter, for days that are worse. ", who, Millis(p99), Millis(want))
	compare := func() {
		fmt.Fprintf(&b, "It completes %.2f %% of all frames with a mean wait of %s; %s does %.2f %% with %s",
			100*then.Yield(), then.Mean(), Millis(nowNS), 100*now.Yield(), now.Mean())
	}
	switch {
	case want > horizonNS:
		fmt.Fprintf(&b, "The recording watched each frame for %s only, too short to say what that would bring; record longer", Millis(horizonNS))
	case maxAgeNS >= 0 && want >= maxAgeNS:
		fmt.Fprintf(&b, "But it has to stay below max_age, %s: frames would be dropped as stale. Look at what makes the detectors so slow, or raise max_age first", Millis(maxAgeNS))
	case want == nowNS:
		b.WriteString("That is the one in force")
		a.advise(nowNS)
	case want < nowNS && gain < worthNS:
		compare()
		b.WriteString(": too little saved to give anything up, keep it")
		a.advise(nowNS)
	case want > nowNS && then.Yield()-now.Yield() < worthYield:
		compare()
		b.WriteString(": too little won to wait for, keep it")
		a.advise(nowNS)
	default:
		compare()
		a.advise(want)
	}
	a.Reason = b.String()
	return a
}
