package sim

import (
	"fmt"
	"slices"

	"github.com/skewgate/skewgate/appliance/correlate"
)

// Margin is what a camera's match can promise, given the least interval T between two of its
// pictures and the greatest skew D among the stamps of one (CORRELATION §8).
type Margin struct {
	Match          correlate.Match
	TNS, DNS, ByNS int64 // ByNS: the quantum or the window
	Safe           bool  // no frame can mix two pictures
	Whole          bool  // and none can be torn into two frames
}

func (m Margin) String() string {
	return fmt.Sprintf("interval %d ns and skew %d ns under match %d by %d ns allow none", m.TNS, m.DNS, m.Match, m.ByNS)
}

// Margin measures T and D of one timeline from all that was sent about it.
func (p *Plan) Margin(t *Truth, camera int, epoch uint32) Margin {
	s := p.settings(camera)
	m := Margin{Match: s.Match, TNS: 1 << 62}
	type span struct{ low, high int64 }
	spans := map[int]*span{}
	ids, raw, twice := true, false, false
	own := map[[2]int]int64{} // by picture and process
	for i := range t.Messages {
		msg := &t.Messages[i]
		if t.Pictures[msg.Picture].line() != (line{camera, epoch}) {
			continue
		}
		ids = ids && msg.FrameID != 0
		if msg.Garbage {
			raw = true
			continue
		}
		ns := msg.StampNS - s.OffsetNS[p.Models[msg.Model].Says]
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
		m.DNS = max(m.DNS, sp.high-sp.low)
		lows = append(lows, sp.low)
	}
	slices.Sort(lows)
	for i := 1; i < len(lows); i++ {
		m.TNS = min(m.TNS, lows[i]-lows[i-1])
	}
	switch {
	case ids && (s.Match == correlate.MatchFrameID || s.Match == correlate.MatchAuto):
		m.Safe, m.Whole = true, true
	case raw:
		// Texts that are equal are one key, whatever pictures they are of.
	case s.Match == correlate.MatchWindow:
		m.ByNS = s.WindowNS
		m.Safe = m.DNS <= m.ByNS && m.ByNS < m.TNS-m.DNS
		m.Whole = m.Safe && !twice
	default:
		m.ByNS = max(p.Config.QuantumNS, 1)
		m.Safe = m.ByNS <= m.TNS-m.DNS
	}
	return m
}
