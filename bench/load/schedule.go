package load

import (
	"fmt"
	"math/rand/v2"
)

// Rates a Schedule can have, in messages a second.
const (
	MinRate = 1
	MaxRate = 50_000_000
)

// A Schedule is the list of intended send times of one sender, in order. It belongs to
// one goroutine.
type Schedule struct {
	gapNS float64 // mean
	rng   *rand.Rand
	i     float64 // messages so far; exact up to 2⁵³
	atNS  float64 // of the last message, Poisson only
}

// Constant spaces messages evenly, the first at 0.
func Constant(perSecond float64) (*Schedule, error) {
	if !(perSecond >= MinRate && perSecond <= MaxRate) { // NaN too
		return nil, fmt.Errorf("schedule of %v messages/s: want %d…%d", perSecond, MinRate, MaxRate)
	}
	return &Schedule{gapNS: 1e9 / perSecond}, nil
}

// Poisson draws independent, exponentially distributed gaps: what many senders that
// know nothing of each other amount to. Equal seeds give equal times.
func Poisson(perSecond float64, seed uint64) (*Schedule, error) {
	s, err := Constant(perSecond)
	if err != nil {
		return nil, err
	}
	s.rng = rand.New(rand.NewPCG(seed, 0))
	return s, nil
}

// Next is the intended time of the next message, in ns after the start. A constant
// schedule multiplies rather than adds up, so it does not drift.
func (s *Schedule) Next() int64 {
	if s.rng != nil {
		s.atNS += s.rng.ExpFloat64() * s.gapNS
		return int64(s.atNS)
	}
	at := s.i * s.gapNS
	s.i++
	return int64(at)
}
