package shm

import "sync/atomic"

// A Doorbell is one page shared by all children: they ring, the path sleeps on it.
// Children may write all of it, so a hostile one can wake the path for nothing or
// swallow a wake-up; every sleep has a timeout, so that costs latency, never a message.
type Doorbell struct {
	bell  *atomic.Uint32 // counts wake-ups; the one word in shm with many writers
	sleep *atomic.Uint32 // 1 while the path sleeps or is about to; written by the path
}

// DoorbellBytes is the size of a doorbell's segment.
func DoorbellBytes() int { return hotAt + hotBytes }

// FormatDoorbell lays a doorbell out in b.
func FormatDoorbell(b []byte) error {
	l, err := newLayout(kindDoorbell, 0, 0, 0)
	if err != nil {
		return err
	}
	return l.format(b, func([]byte) {})
}

// NewDoorbell attaches to a formatted doorbell, on either side.
func NewDoorbell(b []byte) (*Doorbell, error) {
	l, err := readLayout(b, kindDoorbell)
	if err != nil {
		return nil, err
	}
	return &Doorbell{bell: word32(b, l.hotAt+hotHead), sleep: word32(b, l.hotAt+hotSleep)}, nil
}

// Ring wakes the path if it sleeps. The caller has just published.
func (d *Doorbell) Ring() {
	// sync: wake. The caller's store of head and this load must not change places, or
	// both sides could miss each other. Both are Go atomics, thus sequentially
	// consistent: XCHG is a full barrier on amd64, and STLR…LDAR stay in order on arm64.
	if d.sleep.Load() != 0 {
		d.wake()
	}
}

func (d *Doorbell) wake() {
	d.bell.Add(1)
	futexWake(d.bell)
}

// Sleep blocks the path until somebody rings, at most timeoutNS; it may return early.
// check is asked once more after the flag is up and must say whether there is work; a
// message published before that is thus never slept upon. Only one thread may sleep.
func (d *Doorbell) Sleep(check func() bool, timeoutNS int64) error {
	return sleepOn(d.sleep, d.bell, check, timeoutNS)
}

// sleepOn is the sleeper's half of every wake-up in shm: flag up, bell read, work
// looked for, then one bounded wait for the bell to change.
func sleepOn(flag, bell *atomic.Uint32, check func() bool, timeoutNS int64) error {
	if timeoutNS <= 0 {
		return nil
	}
	flag.Store(1) // sync: wake
	was := bell.Load()
	var err error
	if !check() {
		err = futexWait(bell, was, timeoutNS)
	}
	flag.Store(0)
	return err
}

// SleepFlag is a child's own sleep flag, in the segment it writes.
type SleepFlag struct{ word *atomic.Uint32 }

// Peer is a child's sleep flag as the appliance sees it. The zero Peer counts as asleep.
type Peer struct{ word *atomic.Uint32 }

// Asleep says whether the child sleeps or is about to.
func (p Peer) Asleep() bool { return p.word == nil || p.word.Load() != 0 }
