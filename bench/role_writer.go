package bench

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/bench/load"
	"github.com/skewgate/skewgate/shm"
)

// messageBytes is the size of a message's body in all scenarios: eight boxes take 192.
const messageBytes = 256

// sleepAboveNS: a writer sleeps toward a send that is further off, and spins the last
// half of it. Timers of virtual machines are late by 0.1 ms and more.
const sleepAboveNS = 1_000_000

// startDelayNS lets a reader that says it is ready become so.
const startDelayNS = 2_000_000

// writerRole publishes messages of 256 bytes whose capture time is the intended time.
func writerRole(j *job) (*result, error) {
	b, err := mapFD(ringFD, "ring", true)
	if err != nil {
		return nil, err
	}
	c, err := mapControl()
	if err != nil {
		return nil, err
	}
	var bell *shm.Doorbell
	if j.Bell {
		if bell, err = mapBell(); err != nil {
			return nil, err
		}
	}
	w, err := shm.NewWriter(b, uint32(os.Getpid()), bell)
	if err != nil {
		return nil, err
	}
	if _, err := w.RegisterStream("bench", "camera", 1); err != nil {
		return nil, err
	}
	for c.ready.Load() == 0 {
		runtime.Gosched()
	}
	var r *result
	if j.Rate == 0 {
		r, err = flatOut(w, c, j.Messages, j.Slots)
	} else {
		r, err = paced(w, j)
	}
	if err != nil {
		return nil, err
	}
	c.done.Store(r.Messages + 1)
	return r, nil
}

// flatOut publishes n messages as fast as it can without overwriting one that the reader
// has not consumed. The reader's progress is read only when the last known is used up.
func flatOut(w *shm.Writer, c control, n, slots uint64) (*result, error) {
	h, body := shm.SlotHeader{Kind: shm.KindBoxes}, make([]byte, messageBytes)
	r := &result{FirstNS: int64(clock.Now())}
	may := slots
	for i := uint64(1); i <= n; i++ {
		for i > may {
			may = c.progress.Load() + slots
		}
		h.FrameID = i
		if err := w.Publish(&h, body); err != nil {
			return nil, err
		}
	}
	r.Messages, r.LastNS = n, int64(clock.Now())
	return r, nil
}

// paced publishes on schedule, whatever the reader does.
func paced(w *shm.Writer, j *job) (*result, error) {
	schedule, err := load.Constant(j.Rate)
	if j.Poisson {
		schedule, err = load.Poisson(j.Rate, j.Seed)
	}
	if err != nil {
		return nil, err
	}
	// The timer's slack is 50 µs otherwise; sleeps are only as good as the kernel's word.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	g := load.Generator{Schedule: schedule, Now: nowNS, SleepUntil: sleepUntil, SleepAboveNS: sleepAboveNS}
	if !j.MayFail {
		g.LimitNS = j.LimitNS
	}
	h, body := shm.SlotHeader{Kind: shm.KindBoxes}, make([]byte, messageBytes)
	sent, err := g.Run(nowNS()+startDelayNS, j.Messages, func(i uint64, intendedNS, nowNS int64) error {
		h.FrameID, h.CaptureNS, h.PublishNS = i, intendedNS, nowNS
		return w.Publish(&h, body)
	})
	r := &result{Messages: sent.Messages, FirstNS: sent.StartNS, LastNS: sent.EndNS, LateMaxNS: sent.LateMaxNS, LateEndNS: sent.LateEndNS}
	if errors.Is(err, load.ErrLimit) && j.MayFail { // a figure too: this sender cannot do this rate here
		r.CutShort, err = true, nil
	}
	return r, err
}

func nowNS() int64 { return int64(clock.Now()) }

// sleepUntil sleeps by the kernel's timer; Go's own are late by half a millisecond.
func sleepUntil(atNS int64) {
	ts := unix.NsecToTimespec(atNS)
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil) // woken early: the caller spins
}
