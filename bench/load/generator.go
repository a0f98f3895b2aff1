package load

import (
	"errors"
	"fmt"
)

// ErrLimit is returned when a run was not done at its time limit.
var ErrLimit = errors.New("time limit reached")

// A Generator sends messages at their intended times.
type Generator struct {
	Schedule *Schedule
	Now      func() int64 // CLOCK_MONOTONIC in ns, the clock of the receiver

	// SleepUntil, if set, sleeps until about the time given. It is asked when the next
	// message is more than SleepAboveNS away, and to come back half of that early; the
	// rest is spun, so that a late wake-up of the timer is not taken for latency.
	SleepUntil   func(atNS int64)
	SleepAboveNS int64

	// LimitNS bounds the run; 0 = twice the schedule's time and a second.
	LimitNS int64
}

// Sent says what a Generator did.
type Sent struct {
	Messages  uint64
	StartNS   int64 // intended time 0
	EndNS     int64 // clock when the last send had returned, or a little earlier
	LateMaxNS int64 // worst delay between an intended time and its send
	LateEndNS int64 // delay of the last: a sender that is the bottleneck ends ever later
}

// Run sends n messages from startNS on; send is told the message's number, from 1, its
// intended time and a clock reading from just before the call (while the sender is
// behind, one up to eight messages old, but past the intended time). It ends early with
// send's error or with ErrLimit.
func (g *Generator) Run(startNS int64, n uint64, send func(i uint64, intendedNS, nowNS int64) error) (Sent, error) {
	sent := Sent{StartNS: startNS}
	limit := g.LimitNS
	if limit == 0 {
		limit = int64(2*float64(n)*g.Schedule.gapNS) + 1e9
	}
	now, intended := g.Now(), startNS
	for i := uint64(1); i <= n; i++ {
		intended = startNS + g.Schedule.Next()
		// While behind, the clock is read for every eighth message only: the others are due
		// in any case.
		if now < intended || i%8 == 0 {
			now = g.await(intended)
		}
		sent.LateMaxNS = max(sent.LateMaxNS, now-intended)
		if now-startNS > limit {
			sent.EndNS, sent.LateEndNS = now, now-intended
			return sent, fmt.Errorf("sent %d of %d messages: %w after %d ms", sent.Messages, n, ErrLimit, limit/1e6)
		}
		if err := send(i, intended, now); err != nil {
			return sent, fmt.Errorf("send message %d: %w", i, err)
		}
		sent.Messages = i
	}
	sent.EndNS = g.Now()
	sent.LateEndNS = sent.EndNS - intended
	return sent, nil
}

// await returns the first clock reading at or after atNS.
func (g *Generator) await(atNS int64) int64 {
	now := g.Now()
	if g.SleepUntil != nil && atNS-now > g.SleepAboveNS {
		g.SleepUntil(atNS - g.SleepAboveNS/2)
		now = g.Now()
	}
	for now < atNS {
		now = g.Now()
	}
	return now
}
