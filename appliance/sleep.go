package appliance

import (
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
)

// sleepLookNS is how often the path asks whether the machine slept: what is begun in so long
// after it woke goes with what was open before.
const sleepLookNS = int64(10 * time.Millisecond)

// sleeps is what the path knows of the machine's sleeps. CLOCK_MONOTONIC stands still meanwhile,
// so no timeout runs; but what was on its way belongs to a time that is over.
type sleeps struct {
	offset   func() clock.BootOffset
	watch    clock.SleepWatch
	nextLook clock.Mono
	count    uint64
	groups   uint64 // that were open and dropped as stale
}

// lookForSleep drops what is open if the machine slept. It comes after the rings were read to
// their end, for what is unread was published before.
func (p *path) lookForSleep(now clock.Mono) {
	s := &p.sleeps
	if now < s.nextLook {
		return
	}
	s.nextLook = now + clock.Mono(sleepLookNS)
	slept := s.watch.Look(s.offset())
	if slept == 0 {
		return
	}
	p.corr.Tick(now) // what is due now is due without the sleep
	open := uint64(p.corr.Pending())
	s.count++
	s.groups += open
	p.corr.Slept(now)
	p.log.Warn("the machine slept, open frames are dropped", "slept", slept.Round(time.Millisecond), "frames", open)
}
