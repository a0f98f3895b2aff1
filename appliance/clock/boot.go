package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// BootOffset is CLOCK_BOOTTIME − CLOCK_MONOTONIC, between two bounds: the clocks cannot be read
// at one instant. It grows only while the machine sleeps.
type BootOffset struct{ LowNS, HighNS int64 }

// ReadBootOffset reads it, in three system calls. A preemption between them widens the bounds and
// cannot look like a sleep.
func ReadBootOffset() BootOffset {
	before := read(unix.CLOCK_MONOTONIC)
	boot := Boot()
	after := read(unix.CLOCK_MONOTONIC)
	return BootOffset{boot - after, boot - before}
}

// shortestSleepNS is what two readings may differ by without a sleep in between: more than a
// clock's rounding, less than any suspend takes.
const shortestSleepNS = int64(time.Millisecond)

// SleepWatch notices that the machine slept. The zero value has seen nothing yet.
type SleepWatch struct {
	known  bool
	highNS int64
}

// Look takes a reading and returns for how long, at least, the machine slept since the one
// before; 0 if it did not.
func (w *SleepWatch) Look(o BootOffset) time.Duration {
	before, known := w.highNS, w.known
	w.known = true
	if slept := o.LowNS - before; known && slept >= shortestSleepNS {
		w.highNS = o.HighNS
		return time.Duration(slept)
	}
	if !known || o.HighNS < before { // the tightest bound yet
		w.highNS = o.HighNS
	}
	return 0
}
