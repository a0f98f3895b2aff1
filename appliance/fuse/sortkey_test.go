package fuse

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Keys are in the order of class, falling rank and place, whatever the values: as Compare has
// them, for which −0 is 0 and NaN is the least.
func TestSortKeys(t *testing.T) {
	type box struct {
		class int32
		rank  float64
		at    uint32
	}
	ranks := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, math.Nextafter(0.5, 1), math.Inf(1), math.Inf(-1), math.NaN(),
		math.Copysign(math.NaN(), -1), math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, math.MaxFloat64, 1 << 40, -3e-200}
	classes := []int32{0, 1, -1, math.MaxInt32, math.MinInt32}
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 2, 24, fewKeys, fewKeys + 1, 300} {
		var boxes []box
		var keys []sortKey
		for i := range n {
			b := box{classes[r.IntN(len(classes))], ranks[r.IntN(len(ranks))], uint32(i)}
			boxes, keys = append(boxes, b), append(keys, newSortKey(b.class, b.rank, b.at))
		}
		sortKeys(keys)
		slices.SortFunc(boxes, func(a, b box) int {
			return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(b.rank, a.rank), cmp.Compare(a.at, b.at))
		})
		for i := range boxes {
			if keys[i].at() != boxes[i].at {
				t.Fatalf("of %d: place %d holds %d, want %d", n, i, keys[i].at(), boxes[i].at)
			}
		}
	}
}
