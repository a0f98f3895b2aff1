// Package clock gives the one clock that decides: CLOCK_MONOTONIC in nanoseconds,
// the same domain as bpf_ktime_get_ns and as every publish time in shared memory.
//
// Decisions take a Mono as an argument and never read it themselves, so that a
// test owns time. Only the edges (the path's loop, children, verbs) call Now.
package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// Mono is an instant of CLOCK_MONOTONIC in nanoseconds. The zero value means "never".
type Mono int64

// base pairs one instant of time's monotonic reading with CLOCK_MONOTONIC, so that
// Now costs one time.Since (about 30 ns) in place of a system call (about 240 ns).
var base = calibrate()

type pair struct {
	at   time.Time
	mono Mono
}

// calibrate brackets time.Now between two clock_gettime calls and keeps the
// tightest of several brackets, so a preemption between the reads cannot skew it.
func calibrate() pair {
	var best pair
	bestGapNS := int64(1<<63 - 1)
	for range 64 {
		before := read(unix.CLOCK_MONOTONIC)
		at := time.Now()
		after := read(unix.CLOCK_MONOTONIC)
		if gapNS := after - before; gapNS < bestGapNS {
			bestGapNS, best = gapNS, pair{at: at, mono: Mono(before + gapNS/2)}
		}
	}
	return best
}

func read(id int32) int64 {
	var ts unix.Timespec
	// clock_gettime with a valid id and pointer cannot fail.
	_ = unix.ClockGettime(id, &ts)
	return ts.Nano()
}

// Now returns the current monotonic instant.
func Now() Mono { return base.mono + Mono(time.Since(base.at)) }

// Boot returns CLOCK_BOOTTIME in nanoseconds; Boot − Now grows only while the machine sleeps.
func Boot() int64 { return read(unix.CLOCK_BOOTTIME) }

// Add returns m shifted by d.
func (m Mono) Add(d time.Duration) Mono { return m + Mono(d) }

// Sub returns the duration m − o.
func (m Mono) Sub(o Mono) time.Duration { return time.Duration(m - o) }
