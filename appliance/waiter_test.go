package appliance

import (
	"slices"
	"testing"
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/shm"
)

// waiterRig is a waiter on a doorbell whose sleep flag the test can see.
type waiterRig struct {
	*Waiter
	t    *testing.T
	bell *shm.Doorbell
	page []byte
	due  int64 // of dueNS, 0 = nothing is due
}

func newWaiterRig(t *testing.T, mode config.Wait) *waiterRig {
	t.Helper()
	s, err := shm.CreateSegment("doorbell", shm.DoorbellBytes())
	if err == nil {
		err = shm.FormatDoorbell(s.Bytes())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	bell, err := shm.NewDoorbell(s.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return &waiterRig{Waiter: NewWaiter(mode, bell), t: t, bell: bell, page: s.Bytes()}
}

// rest has the waiter rest after a turn without work at now, and says how long it took.
func (r *waiterRig) rest(now clock.Mono, pending func() bool) time.Duration {
	r.t.Helper()
	begun := time.Now()
	err := r.Rest(now, 0, func(_ clock.Mono, most int64) int64 {
		if r.due != 0 {
			return min(r.due, most)
		}
		return most
	}, pending)
	if err != nil {
		r.t.Fatal(err)
	}
	return time.Since(begun)
}

// shortest and longest of a few: a busy machine makes single rests long, a signal short.
func (r *waiterRig) shortest(now clock.Mono, pending func() bool) time.Duration {
	took := time.Hour
	for range 20 {
		took = min(took, r.rest(now, pending))
	}
	return took
}

// middle is the median of 20.
func (r *waiterRig) middle(now clock.Mono, pending func() bool) time.Duration {
	var took []time.Duration
	for range 20 {
		took = append(took, r.rest(now, pending))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

func (r *waiterRig) longest(now clock.Mono, pending func() bool) (took time.Duration) {
	for range 3 {
		took = max(took, r.rest(now, pending))
	}
	return took
}

func never() bool { return false }

func TestSpinNeverRests(t *testing.T) {
	r := newWaiterRig(t, config.WaitSpin)
	begun := time.Now()
	for range 1000 {
		r.rest(1<<40, never)
	}
	if took := time.Since(begun); took > 500*time.Millisecond {
		t.Errorf("1,000 rests of a spinning path took %v", took)
	}
}

// Interval sleeps its millisecond, or less when something is due, and asks no writer to
// ring: pending is not even looked at, for no flag is up.
func TestIntervalRestsWithoutTheBell(t *testing.T) {
	r := newWaiterRig(t, config.WaitInterval)
	asked := false
	if took := r.longest(1<<40, func() bool { asked = true; return true }); took < time.Millisecond || asked {
		t.Errorf("a rest took %v, pending was asked: %t", took, asked)
	}
	stop := make(chan struct{})
	done := make(chan bool)
	go func() { // flag and bell as a writer sees them
		up := false
		for {
			select {
			case <-stop:
				done <- up
				return
			default:
				up = up || r.page[4096+256] != 0
			}
		}
	}()
	for range 20 {
		r.rest(1<<40, never)
	}
	close(stop)
	if <-done {
		t.Error("the sleep flag was up: writers pay for wake-ups that nobody asked for")
	}
	r.due = int64(100 * time.Microsecond)
	quick := r.middle(1<<40, never) // a signal ends a rest early, a busy machine late
	if quick < 100*time.Microsecond || r.shortest(1<<40, never) > 900*time.Microsecond {
		t.Errorf("with something due in 100 µs 20 rests took %v in the middle", quick)
	}
}

// Adaptive sleeps on the bell: at most 10 ms, not at all when a message came in time, and
// until a writer rings. It spins only while work comes fast.
func TestAdaptiveSleepsOnTheBell(t *testing.T) {
	r := newWaiterRig(t, config.WaitAdaptive)
	if took := r.longest(1<<40, never); took < 10*time.Millisecond {
		t.Errorf("a rest with nothing to come took %v", took)
	}
	if quick := r.shortest(1<<40, func() bool { return true }); quick > 3*time.Millisecond {
		t.Errorf("a rest with work there took %v at best", quick)
	}
	quick := time.Hour
	for range 20 {
		go func() {
			for r.page[4096+256] == 0 {
				time.Sleep(50 * time.Microsecond)
			}
			r.bell.Ring()
		}()
		quick = min(quick, r.rest(1<<40, never))
	}
	if quick > 4*time.Millisecond {
		t.Errorf("a rest that a writer ended took %v at best", quick)
	}

	now := clock.Mono(1 << 40)
	work := func(every clock.Mono) {
		for range 500 {
			now += every
			if err := r.Rest(now, 1, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	work(10_000)
	if took := r.shortest(now+10_000, never); took > 4*time.Millisecond {
		t.Errorf("with work every 10 µs it slept for %v", took)
	}
	work(5_600_000) // 177 messages a second
	if took := r.longest(now+10_000, never); took < 10*time.Millisecond {
		t.Errorf("with work every 5.6 ms it spun: a rest took %v", took)
	}
}

// A message that was there when a sleep ran out is one whose bell did not ring: from then on
// sleeps are shorter, until the bell has had its time to be repaired.
func TestAdaptiveDoubtsABellThatDidNotRing(t *testing.T) {
	r := newWaiterRig(t, config.WaitAdaptive)
	now := clock.Mono(1 << 40)
	bound := func(now clock.Mono) time.Duration { // what a rest at now would take at most
		r.rest(now, func() bool { return true })
		return r.wakesAt.Sub(now)
	}
	work := func(now clock.Mono) {
		if err := r.Rest(now, 1, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := bound(now); got != 10*time.Millisecond {
		t.Errorf("a first rest is bounded by %v", got)
	}
	now += clock.Mono(maxWaitNS)
	work(now) // found when the sleep ran out
	if got := bound(now + 1); got != 5*time.Millisecond {
		t.Errorf("after a message without its bell a rest is bounded by %v", got)
	}
	now += clock.Mono(doubtNS)
	if got := bound(now); got != 10*time.Millisecond {
		t.Errorf("a second later a rest is bounded by %v: the bell is doubted for ever", got)
	}
	work(now + 1) // before the sleep ran out: somebody rang
	if got := bound(now + 2); got != 10*time.Millisecond {
		t.Errorf("a bell that rang is doubted: a rest is bounded by %v", got)
	}
}
