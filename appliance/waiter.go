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
	maxWaitNS    = int64(10 * time.Millisecond) // a wrecked doorbell costs at most this, once
	doubtWaitNS  = int64(5 * time.Millisecond)  // and this while it is not believed
	doubtNS      = int64(time.Second)           // how long it is not believed after a miss
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

	wakesAt    clock.Mono // when the last sleep ends if nobody rings; 0 = it ended by itself
	doubtUntil clock.Mono // the bell was slept through: sleep shorter until then
}

// NewWaiter waits on bell, which all writers ring.
func NewWaiter(mode config.Wait, bell *shm.Doorbell) *Waiter {
	return &Waiter{mode: mode, bell: bell, gapNS: maxWaitNS}
}

// Rest is called after each turn, which began at now and did so many things. It returns
// at once when there was work, or soon will be; else it waits, at most until something
// is due, 10 ms, or a writer's ring; under interval 1 ms, and no writer is asked to ring.
// pending is asked once more after the sleep flag is up, so that no wake-up is lost.
//
// 10 ms and not 5, because messages of the field come every 5.65 ms and a bound below that
// makes nearly each of them cost two wake-ups. A bell that rang for nobody is found out by
// the message it did not announce; then 5 ms is the bound.
func (w *Waiter) Rest(now clock.Mono, worked int, dueNS func(now clock.Mono, most int64) int64, pending func() bool) error {
	slept := w.wakesAt
	w.wakesAt = 0
	if worked > 0 {
		if slept != 0 && now >= slept {
			w.doubtUntil = now + clock.Mono(doubtNS)
		}
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
	most := maxWaitNS
	if now < w.doubtUntil {
		most = doubtWaitNS
	}
	timeoutNS := dueNS(now, most)
	w.wakesAt = now + clock.Mono(timeoutNS)
	return w.bell.Sleep(pending, timeoutNS)
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
