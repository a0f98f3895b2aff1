package appliance

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/shm"
)

// Bounds of one wait.
const (
	maxWaitNS    = int64(5 * time.Millisecond)  // a wrecked doorbell costs at most this
	spinBudgetNS = int64(50 * time.Microsecond) // adaptive: spin only if work comes this often
	intervalNS   = int64(time.Millisecond)      // wait: interval
)

// A Waiter decides how a polling thread waits between two turns, as path.wait of the
// config says. It belongs to that thread. The bench measures it as the path runs it.
type Waiter struct {
	mode config.Wait
	bell *shm.Doorbell

	gapNS    int64 // moving mean of the time between two turns with work
	lastWork clock.Mono
}

// NewWaiter waits on bell, which all writers ring.
func NewWaiter(mode config.Wait, bell *shm.Doorbell) *Waiter {
	return &Waiter{mode: mode, bell: bell, gapNS: maxWaitNS}
}

// Rest is called after each turn, which began at now and did so many things. It returns
// at once when there was work, or soon will be; else it waits, at most until something
// is due, 5 ms, or a writer's ring; under interval 1 ms, and no writer is asked to ring.
// pending is asked once more after the sleep flag is up, so that no wake-up is lost.
func (w *Waiter) Rest(now clock.Mono, worked int, dueNS func(now clock.Mono, most int64) int64, pending func() bool) error {
	if worked > 0 {
		// A moving mean over about eight turns: one late frame must not end the spinning,
		// one burst must not begin it.
		w.gapNS += (int64(now.Sub(w.lastWork)) - w.gapNS) / 8
		w.lastWork = now
		return nil
	}
	switch w.mode {
	case config.WaitSpin:
		return nil
	case config.WaitInterval:
		return nap(dueNS(now, intervalNS))
	}
	if w.gapNS < spinBudgetNS && int64(now.Sub(w.lastWork)) < spinBudgetNS {
		return nil
	}
	return w.bell.Sleep(pending, dueNS(now, maxWaitNS))
}

// nap is a bare sleep of the thread. It goes through Syscall, so the collector is not held
// up, and not through the runtime's timers, which are half a millisecond coarse.
func nap(ns int64) error {
	ts := unix.NsecToTimespec(ns)
	if err := unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil); err != nil && err != unix.EINTR {
		return fmt.Errorf("sleep %d ns: %w", ns, err)
	}
	return nil
}
