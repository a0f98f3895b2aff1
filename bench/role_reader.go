package bench

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance"
	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/bench/load"
	"github.com/skewgate/skewgate/shm"
)

// Ways of waiting, as in the config's path.wait.
const (
	waitSpin     = string(config.WaitSpin)
	waitAdaptive = string(config.WaitAdaptive)
)

// progressSteps: the reader says how far it is this many times a lap.
const progressSteps = 8

// reader is the reading side of a run.
type reader struct {
	j    *job
	c    control
	ring *shm.Reader
	h    shm.SlotHeader
	body []byte
	r    result
	cpu  int64  // at the first message
	last uint64 // number of the message last received
}

// readerRole receives until the writer is done or all messages are there.
func readerRole(j *job) (*result, error) {
	b, err := mapFD(ringFD, "ring", false)
	if err != nil {
		return nil, err
	}
	c, err := mapControl()
	if err != nil {
		return nil, err
	}
	ring, err := shm.NewReader(b)
	if err != nil {
		return nil, err
	}
	r := &reader{j: j, c: c, ring: ring, body: make([]byte, messageBytes)}
	if j.Rate == 0 {
		err = r.flatOut()
	} else {
		err = r.timed()
	}
	if err != nil {
		return nil, err
	}
	r.r.CPUNS = cpuNS() - r.cpu
	r.r.Messages, r.r.Lost = ring.Read(), ring.Lost()
	return &r.r, nil
}

// flatOut takes messages as fast as they come.
func (r *reader) flatOut() error {
	step := max(r.j.Slots/progressSteps, 1)
	report := step
	r.c.ready.Store(1)
	for got := uint64(0); got < r.j.Messages; {
		_, ok, err := r.ring.Next(&r.h, r.body)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		got++
		if r.h.FrameID != got {
			return fmt.Errorf("message %d holds number %d", got, r.h.FrameID)
		}
		if got == 1 {
			r.first(nowNS())
		}
		if got == report {
			r.c.progress.Store(got)
			report += step
		}
	}
	r.r.LastNS = nowNS()
	return nil
}

// timed takes messages and keeps their latencies, waiting in between as told.
func (r *reader) timed() error {
	r.r.Latencies = load.NewHistogram()
	var waiter *appliance.Waiter
	if r.j.Wait == waitAdaptive {
		bell, err := mapBell()
		if err != nil {
			return err
		}
		waiter = appliance.NewWaiter(config.WaitAdaptive, bell)
	}
	nothingDue := func(_ clock.Mono, most int64) int64 { return most }
	pending := func() bool { return r.ring.Pending() > 0 }
	r.c.ready.Store(1)
	for {
		done := r.c.done.Load()
		var now clock.Mono
		if waiter != nil {
			now = clock.Now()
		}
		n, err := r.take()
		if err != nil {
			return err
		}
		if n == 0 && done != 0 && r.ring.Pending() == 0 {
			return nil
		}
		if waiter != nil {
			if err := waiter.Rest(now, n, nothingDue, pending); err != nil {
				return err
			}
		}
	}
}

// turnMessages bounds one turn, as in the path.
const turnMessages = 1024

// take receives what is there, at most turnMessages.
func (r *reader) take() (int, error) {
	n := 0
	for ; n < turnMessages; n++ {
		_, ok, err := r.ring.Next(&r.h, r.body)
		if err != nil {
			return n, err
		}
		if !ok {
			break
		}
		now := nowNS()
		if r.h.FrameID <= r.last {
			return n, fmt.Errorf("message %d came after %d", r.h.FrameID, r.last)
		}
		r.last = r.h.FrameID
		if r.r.FirstNS == 0 {
			r.first(now)
		}
		r.r.LastNS = now
		if r.h.FrameID > r.j.Warmup {
			r.r.Latencies.Record(now - r.h.CaptureNS)
		}
	}
	return n, nil
}

func (r *reader) first(now int64) {
	r.r.FirstNS, r.cpu = now, cpuNS()
}

// cpuNS is the processor time this process has used.
func cpuNS() int64 {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u) // cannot fail for oneself
	return u.Utime.Nano() + u.Stime.Nano()
}
