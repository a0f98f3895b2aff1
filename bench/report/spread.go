package report

import "slices"

// Spread is a median with the least and the most of n values. With the few repetitions
// a bench can afford, that says more than a deviation.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	N      int     `json:"n"`
}

// NewSpread of values, in any order; the zero Spread of none.
func NewSpread(values []float64) Spread {
	n := len(values)
	if n == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	median := sorted[n/2]
	if n%2 == 0 {
		median = (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return Spread{Median: median, Min: sorted[0], Max: sorted[n-1], N: n}
}

// Apart says that no value of one lies within the other's range.
func (s Spread) Apart(o Spread) bool { return s.Min > o.Max || s.Max < o.Min }
