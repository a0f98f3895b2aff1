package bench

import (
	"math"
	"testing"
)

// TestStepKeepsGroupsOpen: what is measured is what the row says, or it is an error.
func TestStepKeepsGroupsOpen(t *testing.T) {
	for _, j := range []job{{Cameras: 16}, {Cameras: 100}, {Cameras: 16, Open: 1000}} {
		j.Messages = 1000
		r, err := stepRole(&j)
		if err != nil {
			t.Errorf("%+v: %v", j, err)
		} else if r.Messages != 1000/stepParts || r.CPUNS <= 0 {
			t.Errorf("%+v gives %+v", j, r)
		}
	}
}

func TestSteepest(t *testing.T) {
	sizes := []uint64{10, 100, 1000}
	for _, tc := range []struct {
		costs []float64
		want  float64
	}{
		{[]float64{5, 5, 4}, 0},
		{[]float64{1, 10, 10}, 1},
		{[]float64{1, 1, math.Sqrt(10)}, 0.5},
		{[]float64{100, 101, 10100}, 2},
	} {
		if got := steepestOf(sizes, tc.costs); math.Abs(got-tc.want) > 0.01 {
			t.Errorf("%v: exponent %.2f, want %.2f", tc.costs, got, tc.want)
		}
	}
}
