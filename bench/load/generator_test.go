package load

import (
	"errors"
	"math"
	"testing"
	"time"
)

// fakeClock moves by itself a little with each look, as real ones do.
type fakeClock struct{ ns int64 }

func (c *fakeClock) now() int64 {
	c.ns += 20
	return c.ns
}

// sleepUntil is a timer that is never late: tests need not spin through every gap.
func (c *fakeClock) sleepUntil(atNS int64) { c.ns = max(c.ns, atNS) }

// generator runs schedule by c.
func (c *fakeClock) generator(s *Schedule) *Generator {
	return &Generator{Schedule: s, Now: c.now, SleepUntil: c.sleepUntil, SleepAboveNS: 400}
}

func constant(t *testing.T, perSecond float64) *Schedule {
	t.Helper()
	s, err := Constant(perSecond)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStallShowsInEveryMessageItDelayed is why the generator exists: a consumer that
// stands still for a second, at 1000 messages/s, must show as a thousand latencies from
// a second downward. Measured from the actual time of sending it shows as one.
func TestStallShowsInEveryMessageItDelayed(t *testing.T) {
	c := &fakeClock{}
	g := c.generator(constant(t, 1000))
	fromIntended, fromSent := NewHistogram(), NewHistogram()
	_, err := g.Run(0, 10_000, func(i uint64, intendedNS, _ int64) error {
		sentNS := c.ns
		c.ns += 1000 // a send that takes 1 µs
		if i == 5000 {
			c.ns += int64(time.Second)
		}
		fromIntended.Record(c.ns - intendedNS)
		fromSent.Record(c.ns - sentNS)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slow := func(h *Histogram, ns int64) (n uint64) {
		for _, bar := range h.h.Distribution() {
			if bar.From >= ns {
				n += uint64(bar.Count)
			}
		}
		return n
	}
	half := int64(time.Second) / 2
	if got := slow(fromIntended, half); got < 495 || got > 505 {
		t.Errorf("latencies of half a second and more: want the 500 messages due in the stall's first half, got %d", got)
	}
	if got := slow(fromIntended, int64(time.Millisecond)); got < 995 || got > 1005 {
		t.Errorf("latencies of 1 ms and more: want the 1000 messages due during the stall, got %d", got)
	}
	if got := slow(fromSent, int64(time.Millisecond)); got != 1 {
		t.Errorf("the fallacy is gone: from the time of sending, want 1 slow message, got %d", got)
	}
	if p99 := fromIntended.Quantile(0.99); p99 < 8e8 || p99 > 9.1e8 {
		t.Errorf("p99: a tenth of the messages waited up to 1 s, want about 0.9 s, got %d ns", p99)
	}
}

// TestQueueingDelay sends Poisson load to one server with a constant service time. The
// mean wait of that queue (M/D/1) is known: ρ·S/(2·(1−ρ)).
func TestQueueingDelay(t *testing.T) {
	const serviceNS, messages = 10_000, 400_000
	for _, rho := range []float64{0.3, 0.5, 0.8} {
		s, err := Poisson(rho*1e9/serviceNS, 7)
		if err != nil {
			t.Fatal(err)
		}
		c := &fakeClock{}
		g := c.generator(s)
		var freeAt, waited int64
		_, err = g.Run(0, messages, func(_ uint64, intendedNS, _ int64) error {
			begins := max(intendedNS, freeAt)
			waited += begins - intendedNS
			freeAt = begins + serviceNS
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want, got := rho*serviceNS/(2*(1-rho)), float64(waited)/messages
		if math.Abs(got/want-1) > 0.05 {
			t.Errorf("load %.1f: want a mean wait of %.0f ns, got %.0f", rho, want, got)
		}
	}
}

// TestSlowSenderSaysSo: sends of 2 ms cannot be had 1000 times a second.
func TestSlowSenderSaysSo(t *testing.T) {
	c := &fakeClock{}
	g := c.generator(constant(t, 1000))
	sent, err := g.Run(0, 100, func(uint64, int64, int64) error { c.ns += 2e6; return nil })
	if err != nil {
		t.Fatal(err)
	}
	// It is behind by 1 ms more with each message, and never leaves one out.
	if sent.Messages != 100 || sent.LateEndNS < 100e6 || sent.LateEndNS > 102e6 || sent.LateMaxNS < 90e6 {
		t.Errorf("want 100 messages, the last about 100 ms late, got %+v", sent)
	}
}

func TestNeverEarly(t *testing.T) {
	c := &fakeClock{ns: 500}
	g := Generator{Schedule: constant(t, 1e6), Now: c.now}
	want := uint64(1)
	_, err := g.Run(1000, 1000, func(i uint64, intendedNS, nowNS int64) error {
		if i != want {
			t.Errorf("message %d came when %d was due", i, want)
		}
		if at := 1000 + int64(i-1)*1000; intendedNS != at || nowNS < at || nowNS > at+20 {
			t.Errorf("message %d: want it due and sent at %d, got due %d, sent %d", i, at, intendedNS, nowNS)
		}
		want++
		return nil
	})
	if err != nil || want != 1001 {
		t.Errorf("sent up to %d, %v", want-1, err)
	}
}

// TestSleepsThenSpins: a timer may be late by as much as half of SleepAboveNS.
func TestSleepsThenSpins(t *testing.T) {
	c := &fakeClock{}
	sleeps := 0
	g := Generator{
		Schedule: constant(t, 1000), Now: c.now, SleepAboveNS: 400_000,
		SleepUntil: func(atNS int64) {
			sleeps++
			if early := int64(sleeps)*1e6 - atNS; early != 200_000 {
				t.Errorf("sleep %d: want to be back 200000 ns early, got %d", sleeps, early)
			}
			c.ns = atNS + 150_000 // the timer is late
		},
	}
	sent, err := g.Run(0, 11, func(uint64, int64, int64) error { return nil })
	if err != nil || sleeps != 10 || sent.LateMaxNS > 40 {
		t.Errorf("want 10 sleeps and no late send, got %d, %+v, %v", sleeps, sent, err)
	}
}

func TestRunIsBounded(t *testing.T) {
	c := &fakeClock{}
	g := c.generator(constant(t, 1000))
	sent, err := g.Run(0, 1000, func(uint64, int64, int64) error { c.ns += 1e9; return nil })
	if !errors.Is(err, ErrLimit) || sent.Messages < 1 || sent.Messages > 12 {
		t.Errorf("want ErrLimit after a few messages of a second each, got %+v, %v", sent, err)
	}
}

func TestSendErrorEndsTheRun(t *testing.T) {
	c := &fakeClock{}
	g := c.generator(constant(t, 1000))
	broken := errors.New("broken")
	sent, err := g.Run(0, 10, func(i uint64, _, _ int64) error {
		if i == 4 {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) || sent.Messages != 3 {
		t.Errorf("want 3 messages and the error, got %+v, %v", sent, err)
	}
}
