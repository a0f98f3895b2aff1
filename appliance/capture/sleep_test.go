package capture

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
)

// sleeper lets the machine sleep as far as clocks show it: CLOCK_BOOTTIME leaves CLOCK_MONOTONIC
// behind. No suspend can be had in a test.
type sleeper struct{ sleptNS atomic.Int64 }

func (s *sleeper) read() clock.BootOffset {
	o := clock.ReadBootOffset()
	slept := s.sleptNS.Load()
	return clock.BootOffset{LowNS: o.LowNS + slept, HighNS: o.HighNS + slept}
}

// F55: a film goes on where it stood when the machine slept, under a new stream_epoch and by the
// wall clock of the day it woke to; no picture is lost or played twice.
func TestFilmAfterASleep(t *testing.T) {
	for _, pace := range []string{PaceRealtime, PaceFast} {
		t.Run(pace, func(t *testing.T) {
			var s sleeper
			l := quick
			l.boot = s.read
			r := start(t, Job{Source: film(t, 60), Pace: pace, Loop: true, Tag: TagBarcode}, 16, l)
			got := r.take(20, nil)
			began := time.Now().UnixNano()
			s.sleptNS.Add(int64(time.Hour))
			got = append(got, r.take(40, nil)...)

			woke := 0
			for i, p := range got {
				if p.meta.FrameID != uint64(i+1) || p.meta.Tag != uint64(i) {
					t.Fatalf("picture %d has frame id %d and barcode %d", i, p.meta.FrameID, p.meta.Tag)
				}
				switch {
				case p.meta.StreamEpoch == 1 && woke == 0:
				case p.meta.StreamEpoch != 2:
					t.Fatalf("picture %d has stream_epoch %d", i, p.meta.StreamEpoch)
				case woke == 0:
					woke = i
				}
			}
			// One picture may have been published between the last that was taken and the sleep;
			// pace fast is allowed no more, and realtime fills one ahead.
			if woke < 20 || woke > 40 {
				t.Fatalf("the new stream_epoch began with picture %d, after a sleep at 20", woke)
			}
			first := got[woke].meta.CaptureNS
			if first < began || first > time.Now().UnixNano() {
				t.Errorf("the first picture after the sleep was captured %v after it", time.Duration(first-began))
			}
			for i := woke + 1; i < len(got); i++ {
				if off := got[i].meta.CaptureNS - first - int64(i-woke)*33_333_333; off < 0 || off > int64(i) {
					t.Errorf("picture %d is %d ns off its PTS", i, off)
				}
			}
			again := r.take(1, nil)[0].meta // the next pass is one epoch further, not two
			if again.FrameID != 1 || again.StreamEpoch != 3 {
				t.Errorf("the film's next pass begins with frame id %d of stream_epoch %d, want 1 of 3", again.FrameID, again.StreamEpoch)
			}
			told := false
			for _, n := range r.boss.told() {
				told = told || n.state == StateStreaming && n.report.StreamEpoch == 2 && n.report.Sleeps == 1
			}
			if !told {
				t.Errorf("the sleep was not told: %+v", r.boss.told())
			}
			if err := r.stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A sleep between two passes makes no stream_epoch of its own: the next pass has one anyway.
func TestSleepBetweenPasses(t *testing.T) {
	var s sleeper
	looks := 0
	l := quick
	l.boot = func() clock.BootOffset {
		if looks++; looks == 5 { // a pass looks as it begins and at each of its three pictures
			s.sleptNS.Add(int64(time.Hour))
		}
		return s.read()
	}
	r := start(t, Job{Source: film(t, 3), Pace: PaceFast, Loop: true}, 4, l)
	for i, p := range r.take(9, nil) {
		if want := uint32(i/3 + 1); p.meta.StreamEpoch != want || p.meta.FrameID != uint64(i%3+1) {
			t.Errorf("picture %d has frame id %d of stream_epoch %d, want %d of %d", i, p.meta.FrameID, p.meta.StreamEpoch, i%3+1, want)
		}
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if looks < 9 || s.sleptNS.Load() == 0 {
		t.Errorf("after %d looks the machine had not slept", looks)
	}
}
