package fuse

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// sortKey is what candidates are sorted by, as one number of 128 bits: 32 of the class, 64 of
// the rank, 32 of the place. No two keys are equal, so every sort gives the same order.
type sortKey struct{ high, low uint64 }

func newSortKey(class int32, rank float64, at uint32) sortKey {
	r := falling(rank)
	return sortKey{uint64(uint32(class)^1<<31)<<32 | r>>32, r<<32 | uint64(at)}
}

func (k sortKey) at() uint32 { return uint32(k.low) }

// falling is a number that rises as v falls; all NaN are last. The order of the bits of a float
// is that of its values, but for the sign.
func falling(v float64) uint64 {
	if v != v {
		return math.MaxUint64
	}
	b := math.Float64bits(v + 0) // −0 becomes 0
	if b>>63 != 0 {
		return b
	}
	return ^(b | 1<<63)
}

// less has no branch: which of two boxes is the better cannot be predicted.
func (k sortKey) less(o sortKey) bool {
	_, borrow := bits.Sub64(k.low, o.low, 0)
	_, borrow = bits.Sub64(k.high, o.high, borrow)
	return borrow != 0
}

// fewKeys are sorted by insertion: an ordinary frame's boxes, which mostly come best first.
const fewKeys = 48

func sortKeys(keys []sortKey) {
	if len(keys) > fewKeys {
		slices.SortFunc(keys, func(a, b sortKey) int {
			return cmp.Or(cmp.Compare(a.high, b.high), cmp.Compare(a.low, b.low))
		})
		return
	}
	for i := 1; i < len(keys); i++ {
		k, j := keys[i], i
		for ; j > 0 && k.less(keys[j-1]); j-- {
			keys[j] = keys[j-1]
		}
		keys[j] = k
	}
}
