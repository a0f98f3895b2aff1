package advise

import (
	"fmt"
	"strings"
)

// QuantumPoint is one value of the curve. Shares are 0…1.
type QuantumPoint struct {
	Quantum   Millis  `json:"quantum_ms"`
	Split     float64 `json:"split"`           // in this recording
	AnyPhase  float64 `json:"split_any_phase"` // mean over all phases of clock and bucket
	Collision float64 `json:"collision"`
	Mix       float64 `json:"mix"`
	Mark      string  `json:"mark,omitempty"`
}

// QuantumCurve is what buckets make of one camera's pictures.
type QuantumCurve struct {
	Camera   string         `json:"camera"`
	Match    string         `json:"match"`             // in force
	Bucketed int            `json:"bucketed_messages"` // that it joins by bucket
	Messages int            `json:"messages"`
	Unread   int            `json:"unreadable_messages"` // without a readable time; in nothing else here
	Method   Method         `json:"pictures_known_by"`
	Skipped  int            `json:"messages_without_id"`
	Pictures int            `json:"pictures"` // of two or more models
	Interval *Millis        `json:"interval_ms"`
	Spread   *Summary       `json:"spread_ms"` // of capture times in one picture
	Safe     *Millis        `json:"safe_ms"`   // the widest quantum that never joins two pictures
	Points   []QuantumPoint `json:"points"`
	Notes    []string       `json:"notes,omitempty"`
}

// doubtful is the spread, as a share of the interval, from which on pictures that are told
// apart by time may be the wrong ones.
const doubtful = 0.4

func quantumCurve(c *Camera, p *Pictures, nowNS, advisedNS int64) QuantumCurve {
	q := QuantumCurve{
		Camera: c.Name, Match: c.Match, Bucketed: c.Bucketed, Messages: len(p.byTime), Unread: c.Unreadable,
		Method: p.Method, Skipped: p.Skipped, Pictures: len(p.pictures), Spread: p.Spread(), Points: []QuantumPoint{},
	}
	upTo := 100 * ms
	if p.Interval > 0 {
		interval := Millis(p.Interval)
		q.Interval, upTo = &interval, 2*min(p.Interval, 3600_000*ms)+ms
	}
	if safe, ok := p.Safe(); ok && p.Method != Unknown {
		m := Millis(safe)
		q.Safe = &m
	}
	q.Notes = p.notes()
	if p.Method == Unknown {
		return q
	}
	marks := map[int64]string{nowNS: "now"}
	if advisedNS > 0 && advisedNS != nowNS {
		marks[advisedNS] = "advised"
	}
	even := make([]int64, 0, 24)
	for i := int64(1); i <= 24; i++ {
		even = append(even, upTo/24*i/ms*ms)
	}
	for _, x := range merged(max(upTo, nowNS, advisedNS), steps(min(upTo, 10*ms)), even, []int64{nowNS, advisedNS}) {
		b := p.At(x)
		q.Points = append(q.Points, QuantumPoint{Millis(x), share(b.Split, b.Pictures), b.AnyPhase, share(b.Collided, b.Messages), share(b.Mixed, b.Frames), marks[x]})
	}
	return q
}

func (p *Pictures) notes() (notes []string) {
	switch p.Method {
	case ByTime:
		notes = append(notes, "which messages are of one picture is estimated: no frame ids, so what lies nearer than half an interval is taken for one")
		if s := p.Spread(); s != nil && float64(s.P99) > doubtful*float64(p.Interval) {
			notes = append(notes, fmt.Sprintf("the estimate is doubtful: capture times of one picture seem to differ by %s, and pictures are %s apart", s.P99, Millis(p.Interval)))
		}
	case ByFrameID:
		if p.Skipped > 0 {
			notes = append(notes, fmt.Sprintf("%d messages without a frame id are of no known picture", p.Skipped))
		}
	}
	return notes
}

// quantumAdvice looks for the widest quantum that never joins two pictures of any camera that
// is matched by buckets. cs and ps go together.
func quantumAdvice(cs []Camera, ps []*Pictures, nowNS int64) Advice {
	a := Advice{Now: Millis(nowNS), Needed: EnoughFrames}
	narrow, safe := -1, int64(0)
	bucketed, compared := 0, 0
	for i := range cs {
		if cs[i].Bucketed == 0 {
			continue
		}
		bucketed++
		if ps[i].Method == Unknown || len(ps[i].pictures) == 0 {
			continue
		}
		compared++
		a.Samples += len(ps[i].pictures)
		if s, ok := ps[i].Safe(); ok && (narrow < 0 || s < safe) {
			narrow, safe = i, s
		}
		a.Notes = append(a.Notes, otherMatch(&cs[i], ps[i])...)
	}
	a.Enough = a.Samples >= EnoughFrames
	switch {
	case bucketed == 0:
		a.Reason = "no message is joined by a bucket, so the quantum decides nothing"
		return a
	case compared == 0:
		a.Reason = "no picture was seen by two models, so no quantum can be judged"
		return a
	case !a.Enough || narrow < 0:
		a.Reason = fmt.Sprintf("too little to say: about %d pictures of two models are needed, there are %d; record longer", EnoughFrames, a.Samples)
		return a
	}
	sum := func(q int64) (b Buckets) {
		for i := range cs {
			if cs[i].Bucketed > 0 {
				b.add(ps[i].At(q))
			}
		}
		return b
	}
	var b strings.Builder
	p := ps[narrow]
	fmt.Fprintf(&b, "%s: pictures are %s apart and their capture times spread up to %s. ", cs[narrow].Name, Millis(p.Interval), p.Spread().Max)
	want := roundDown(safe)
	if want == 0 {
		fmt.Fprintf(&b, "Two pictures come as near as %s to each other: no quantum keeps them apart and joins anything, match by frame ids", Millis(safe))
		a.Reason = b.String()
		return a
	}
	now, then := sum(nowNS), sum(want)
	fmt.Fprintf(&b, "Up to %s no bucket can join two of them. %s splits %.2f %% of the pictures, taken over all phases", Millis(safe), Millis(want), 100*then.AnyPhase)
	switch {
	case nowNS > safe:
		fmt.Fprintf(&b, "; %s, in force, splits %.2f %% and can join two pictures: it did in %d of %d frames", Millis(nowNS), 100*now.AnyPhase, now.Mixed, now.Frames)
		a.advise(want)
	case want == nowNS:
		b.WriteString(". That is the one in force")
		a.advise(nowNS)
	case nowNS > 0 && now.AnyPhase-then.AnyPhase < worthYield:
		fmt.Fprintf(&b, "; %s, in force, %.2f %%: too little won, keep it", Millis(nowNS), 100*now.AnyPhase)
		a.advise(nowNS)
	default:
		fmt.Fprintf(&b, "; %s, in force, %.2f %%", Millis(nowNS), 100*now.AnyPhase)
		a.advise(want)
	}
	a.Reason = b.String()
	return a
}

// otherMatch says what would serve a camera better than any quantum.
func otherMatch(c *Camera, p *Pictures) []string {
	spread := p.Spread()
	if spread == nil || spread.Max == 0 || p.Interval > 0 && int64(spread.Max) > p.Interval {
		return nil
	}
	safe, _ := p.Safe()
	switch tolerance := roundUp(int64(spread.Max)); {
	case p.Method == ByFrameID && p.Skipped == 0:
		return []string{c.Name + ": all its messages carry frame ids; match: frame_id splits nothing and joins no two pictures"}
	case p.Interval > 0 && 2*tolerance < p.Interval && safe > tolerance:
		return []string{fmt.Sprintf("%s: match: window with %s splits nothing and joins no two pictures, as long as capture times spread no further", c.Name, Millis(tolerance))}
	}
	return nil
}
