// Package hist keeps samples over a moving window and answers with exact percentiles.
//
// A Window holds every sample of its span as it is, not a histogram: p50, p99 and max are
// values that really occurred, by nearest rank. Its memory is bounded by the limit given to
// NewWindow, at 16 bytes a sample; when more samples than that fall into one span the oldest
// leave early and Overflow counts them, so a figure from a shortened window can be told.
// It reads no clock: times are arguments and, like the monotonic clock, do not run back.
package hist

import (
	"math/bits"
	"slices"

	"github.com/skewgate/skewgate/appliance/cacheline"
)

// DefaultLimit bounds a window at 65,536 samples (1 MiB). That is 60 s of 36 cameras at 30
// pictures a second.
const DefaultLimit = 1 << 16

// firstCapacity is where a window starts; it doubles until its limit, so that a window that is
// hardly used stays small and one in steady use allocates no more.
const firstCapacity = 64

type sample struct {
	at    int64
	value int64
}

const sampleBytes = 16

// Window is a moving window of samples. It is not safe for concurrent use.
type Window struct {
	spanNS   int64
	limit    int
	ring     []sample // a power of two long
	head     int      // index of the oldest
	n        int
	overflow uint64
}

// Summary describes the samples of a window. With Count 0 the other fields say nothing.
type Summary struct {
	Count         int
	P50, P99, Max int64
}

// NewWindow returns an empty window over spanNS nanoseconds that holds at most limit samples,
// rounded up to a power of two and at least 64.
func NewWindow(spanNS int64, limit int) *Window {
	return &Window{spanNS: spanNS, limit: ceilPow2(max(limit, firstCapacity))}
}

// Add records value at the instant atNS, which is not before the last one given.
func (w *Window) Add(atNS, value int64) {
	w.expire(atNS)
	if w.spanNS <= 0 {
		return // no sample is ever younger than nothing
	}
	if w.n == len(w.ring) && !w.grow() {
		w.head = (w.head + 1) & (len(w.ring) - 1)
		w.n--
		w.overflow++
	}
	w.ring[(w.head+w.n)&(len(w.ring)-1)] = sample{at: atNS, value: value}
	w.n++
	// The line behind the oldest sample's, which a full window, too, writes next.
	cacheline.Prefetch(&w.ring[(w.head+cacheline.Bytes/sampleBytes)&(len(w.ring)-1)])
}

// Overflow returns how many samples left before their time because the window was full.
func (w *Window) Overflow() uint64 { return w.overflow }

// Limit returns how many samples the window holds at most.
func (w *Window) Limit() int { return w.limit }

// Held returns how many samples are kept, those included that have grown too old since the
// last call.
func (w *Window) Held() int { return w.n }

// Len returns how many samples are younger than the span at nowNS.
func (w *Window) Len(nowNS int64) int {
	w.expire(nowNS)
	return w.n
}

// AppendValues appends the values that are younger than the span at nowNS, oldest first. It is
// one bounded copy: a caller on a hot path hands the result to another goroutine to Summarize.
func (w *Window) AppendValues(dst []int64, nowNS int64) []int64 {
	w.expire(nowNS)
	for i := range w.n {
		dst = append(dst, w.ring[(w.head+i)&(len(w.ring)-1)].value)
	}
	return dst
}

// Summary returns the figures of the samples younger than the span at nowNS.
// It copies and sorts them: O(n log n).
func (w *Window) Summary(nowNS int64) Summary {
	return Summarize(w.AppendValues(make([]int64, 0, w.n), nowNS))
}

// Summarize sorts values in place and returns their figures by nearest rank.
func Summarize(values []int64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	slices.Sort(values)
	return Summary{
		Count: len(values),
		P50:   nearestRank(values, 50),
		P99:   nearestRank(values, 99),
		Max:   values[len(values)-1],
	}
}

// nearestRank returns the smallest value with at least percent of the values at or below it.
func nearestRank(sorted []int64, percent int) int64 {
	rank := (len(sorted)*percent + 99) / 100
	return sorted[max(rank, 1)-1]
}

// expire forgets what is as old as the span or older. Each sample leaves once.
func (w *Window) expire(nowNS int64) {
	for w.n > 0 && nowNS-w.ring[w.head].at >= w.spanNS {
		w.head = (w.head + 1) & (len(w.ring) - 1)
		w.n--
	}
}

// grow doubles the ring and reports whether the limit allowed it.
func (w *Window) grow() bool {
	if len(w.ring) >= w.limit {
		return false
	}
	ring := make([]sample, max(firstCapacity, 2*len(w.ring)))
	for i := range w.n {
		ring[i] = w.ring[(w.head+i)&(len(w.ring)-1)]
	}
	w.ring, w.head = ring, 0
	return true
}

func ceilPow2(n int) int { return 1 << bits.Len(uint(n-1)) }
