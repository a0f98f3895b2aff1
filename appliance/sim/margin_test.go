package sim

import (
	"fmt"
	"slices"

	"github.com/skewgate/skewgate/appliance/correlate"
)

// margin is what a camera's match can promise, given the least interval T between two of its
// pictures and the greatest skew D among the stamps of one.
type margin struct {
	match          correlate.Match
	tNS, dNS, byNS int64 // byNS: the quantum or the window
	safe           bool  // no frame can mix two pictures
	whole          bool  // and no picture can be torn into two frames
}

func (m margin) String() string {
	return fmt.Sprintf("interval %d ns and skew %d ns under match %d by %d ns allow none", m.tNS, m.dNS, m.match, m.byNS)
}

// margin measures T and D of one timeline from all that was sent.
func (j *judge) margin(at line) margin {
	s := j.plan.settings(at.camera)
	m := margin{match: s.Match, tNS: 1 << 62}
	type span struct{ low, high int64 }
	spans := map[int]*span{}
	ids, raw, twice := true, false, false
	own := map[[2]int]int64{} // by picture and process
	for i := range j.truth.Messages {
		msg := &j.truth.Messages[i]
		if j.truth.Pictures[msg.Picture].line() != at {
			continue
		}
		ids = ids && msg.FrameID != 0
		if msg.Garbage {
			raw = true
			continue
		}
		ns := j.matched(at.camera, j.plan.Models[msg.Model].Says, msg.StampNS)
		by := [2]int{msg.Picture, msg.Process}
		if before, ok := own[by]; ok && before != ns {
			twice = true // a detector gives one picture two times, and so makes two of it
		}
		own[by] = ns
		if sp := spans[msg.Picture]; sp != nil {
			sp.low, sp.high = min(sp.low, ns), max(sp.high, ns)
		} else {
			spans[msg.Picture] = &span{ns, ns}
		}
	}
	var lows []int64
	for _, sp := range spans {
		m.dNS = max(m.dNS, sp.high-sp.low)
		lows = append(lows, sp.low)
	}
	slices.Sort(lows)
	for i := range lows[:max(len(lows)-1, 0)] {
		m.tNS = min(m.tNS, lows[i+1]-lows[i])
	}
	switch {
	case ids && (s.Match == correlate.MatchFrameID || s.Match == correlate.MatchAuto):
		m.safe, m.whole = true, true
	case raw:
		// Texts that are equal are one key, whatever pictures they are of.
	case s.Match == correlate.MatchWindow:
		m.byNS = s.WindowNS
		m.safe = m.dNS <= m.byNS && m.byNS < m.tNS-m.dNS
		m.whole = m.safe && !twice
	default:
		m.byNS = max(j.plan.Config.QuantumNS, 1)
		m.safe = m.byNS <= m.tNS-m.dNS
	}
	return m
}
