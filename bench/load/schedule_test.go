package load

import (
	"math"
	"testing"
)

func TestConstantKeepsItsRate(t *testing.T) {
	for _, perSecond := range []float64{1, 3, 177, 10_000, 1e6, 10e6, MaxRate} {
		s, err := Constant(perSecond)
		if err != nil {
			t.Fatal(err)
		}
		const n = 100_000
		last := int64(-1)
		for i := range int64(n) {
			at := s.Next()
			// Each time is right by itself: rounding must not add up.
			if want := float64(i) * 1e9 / perSecond; math.Abs(float64(at)-want) > 1 {
				t.Fatalf("%v/s: message %d: want at %.1f ns, got %d", perSecond, i, want, at)
			}
			if at < last {
				t.Fatalf("%v/s: message %d is due before the one before", perSecond, i)
			}
			last = at
		}
	}
}

func TestPoissonGapsAreExponential(t *testing.T) {
	const perSecond, n = 10_000, 200_000
	s, err := Poisson(perSecond, 1)
	if err != nil {
		t.Fatal(err)
	}
	const meanNS = 1e9 / perSecond
	var sum, squares float64
	over := 0 // gaps over three means: e⁻³ of all
	last := int64(0)
	for range n {
		at := s.Next()
		gap := float64(at - last)
		if gap < 0 {
			t.Fatalf("due at %d after %d", at, last)
		}
		sum, squares, last = sum+gap, squares+gap*gap, at
		if gap > 3*meanNS {
			over++
		}
	}
	mean := sum / n
	deviation := math.Sqrt(squares/n - mean*mean)
	if math.Abs(mean/meanNS-1) > 0.01 {
		t.Errorf("mean gap: want %.0f ns, got %.0f", meanNS, mean)
	}
	if math.Abs(deviation/mean-1) > 0.02 {
		t.Errorf("deviation of an exponential is its mean: want %.0f ns, got %.0f", mean, deviation)
	}
	if share := float64(over) / n; math.Abs(share-math.Exp(-3)) > 0.003 {
		t.Errorf("gaps over three means: want %.4f, got %.4f", math.Exp(-3), share)
	}
}

func TestPoissonBySeed(t *testing.T) {
	times := func(seed uint64) (at [100]int64) {
		s, err := Poisson(1000, seed)
		if err != nil {
			t.Fatal(err)
		}
		for i := range at {
			at[i] = s.Next()
		}
		return at
	}
	if times(1) != times(1) {
		t.Error("equal seeds give other times")
	}
	if times(1) == times(2) {
		t.Error("other seeds give equal times")
	}
}

func TestRatesRefused(t *testing.T) {
	for _, perSecond := range []float64{0, -1, 0.5, MaxRate + 1, math.NaN(), math.Inf(1)} {
		if _, err := Constant(perSecond); err == nil {
			t.Errorf("Constant(%v): want an error", perSecond)
		}
		if _, err := Poisson(perSecond, 1); err == nil {
			t.Errorf("Poisson(%v): want an error", perSecond)
		}
	}
}
