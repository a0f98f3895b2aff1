package advise

import (
	"slices"
	"time"
)

const ms = int64(time.Millisecond)

// steps are the round values of a table: 1, 2 and 5 of each decade.
func steps(upTo int64) []int64 {
	var all []int64
	for decade := ms; decade <= upTo; decade *= 10 {
		for _, n := range []int64{1, 2, 5} {
			if n*decade <= upTo {
				all = append(all, n*decade)
			}
		}
	}
	return all
}

// grain is how fine a value of about x is worth setting.
func grain(x int64) int64 {
	switch {
	case x < 20*ms:
		return ms
	case x < 200*ms:
		return 5 * ms
	case x < 1000*ms:
		return 10 * ms
	}
	return 50 * ms
}

// roundUp and roundDown give the next value that is worth setting.
func roundUp(x int64) int64 {
	g := grain(x)
	return (x + g - 1) / g * g
}

func roundDown(x int64) int64 {
	g := grain(x)
	return x / g * g
}

// merged sorts values and leaves out what comes twice and what is not above 0 or beyond upTo.
func merged(upTo int64, lists ...[]int64) []int64 {
	all := slices.Concat(lists...)
	all = slices.DeleteFunc(all, func(x int64) bool { return x <= 0 || x > upTo })
	slices.Sort(all)
	return slices.Compact(all)
}
