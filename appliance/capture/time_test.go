package capture

import (
	"slices"
	"testing"

	"github.com/skewgate/skewgate/appliance/clock"
)

func TestTimelineOfAFilm(t *testing.T) {
	const ms = 1_000_000
	for _, tc := range []struct {
		name            string
		pts, want       []int64
		repeats, leaped uint64
	}{
		{"steady from anywhere", []int64{500 * ms, 540 * ms, 580 * ms}, []int64{0, 40 * ms, 80 * ms}, 0, 0},
		{"repeats", []int64{0, 40 * ms, 40 * ms, 40 * ms, 80 * ms}, []int64{0, 40 * ms, 40*ms + 1, 40*ms + 2, 80*ms + 2}, 2, 0},
		{"falls", []int64{100 * ms, 133 * ms, 0, 33 * ms}, []int64{0, 33 * ms, 66 * ms, 99 * ms}, 0, 1},
		{"leaps", []int64{0, 20 * ms, 1 << 60, 1<<60 + 20*ms}, []int64{0, 20 * ms, 40 * ms, 60 * ms}, 0, 1},
		{"a real pause", []int64{0, 9000 * ms, 9040 * ms}, []int64{0, 9000 * ms, 9040 * ms}, 0, 0},
		{"falls at once", []int64{100 * ms, 0}, []int64{0, firstStepNS}, 0, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var line timeline
			var got []int64
			for _, pts := range tc.pts {
				got = append(got, line.film(pts))
			}
			if !slices.Equal(tc.want, got) || line.repeats != tc.repeats || line.leaps != tc.leaped {
				t.Errorf("want %d with %d repeats and %d leaps, got %d with %d and %d", tc.want, tc.repeats, tc.leaped, got, line.repeats, line.leaps)
			}
		})
	}
}

func TestTimelineOfALiveSource(t *testing.T) {
	var line timeline
	var got []int64
	for _, now := range []clock.Mono{90, 140, 140, 141, 300} {
		got = append(got, line.live(100, now))
	}
	if want := []int64{0, 40, 41, 42, 200}; !slices.Equal(want, got) {
		t.Errorf("want %d, got %d", want, got)
	}
}

func TestScheduleIsAbsoluteAndBoundsCatchingUp(t *testing.T) {
	const ms = 1_000_000
	s := schedule{start: 1000 * ms}
	for _, tc := range []struct {
		name        string
		now, offset int64
		due         clock.Mono
		slips       uint64
	}{
		{"in time", 1010 * ms, 40 * ms, 1040 * ms, 0},
		{"a little late does not move it", 1130 * ms, 80 * ms, 1080 * ms, 0},
		{"nor the next", 1130 * ms, 120 * ms, 1120 * ms, 0},
		{"at the bound", 1360 * ms, 160 * ms, 1160 * ms, 0},
		{"over the bound moves it", 1700 * ms, 200 * ms, 1700 * ms, 1},
		{"from there on", 1700 * ms, 240 * ms, 1740 * ms, 1},
	} {
		if due := s.due(clock.Mono(tc.now), tc.offset); due != tc.due || s.slips != tc.slips {
			t.Errorf("%s: want due %d and %d slips, got %d and %d", tc.name, tc.due, tc.slips, due, s.slips)
		}
	}
}

func TestRateCap(t *testing.T) {
	const second = 1_000_000_000
	for _, tc := range []struct {
		name     string
		from, to float64 // pictures a second
		seconds  int64
		want     int
	}{
		{"30 to 15", 30, 15, 10, 150},
		{"29.97 to 10", 30000.0 / 1001, 10, 100, 1000},
		{"25 to 24", 25, 24, 100, 2400},
		{"10 to 30", 10, 30, 10, 100},
		{"25 to one in 10 s", 25, 0.1, 100, 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, got := newRateCap(tc.to), 0
			for i := range int64(float64(tc.seconds) * tc.from) {
				// Rounded to milliseconds, as Matroska does.
				if r.admit(int64(float64(i)*1000/tc.from+0.5) * 1_000_000) {
					got++
				}
			}
			if got < tc.want-1 || got > tc.want+1 {
				t.Errorf("want %d±1 pictures, got %d", tc.want, got)
			}
		})
	}
	t.Run("a gap is not made up for", func(t *testing.T) {
		r, got := newRateCap(1), 0
		for _, at := range []int64{0, 100 * second, 100*second + 1, 100*second + 2, 101 * second} {
			if r.admit(at) {
				got++
			}
		}
		if got != 3 {
			t.Errorf("want 3 pictures, got %d", got)
		}
	})
}

// F55: sleep and a set clock both part wall from monotonic time.
func TestAnchorTellsAStep(t *testing.T) {
	const s = 1_000_000_000
	a := anchor{mono: 50 * s, wallNS: 1_700_000_000 * s}
	for _, tc := range []struct {
		name   string
		mono   clock.Mono
		wallNS int64
		step   bool
	}{
		{"both went on", 60 * s, 1_700_000_010 * s, false},
		{"slewed a little", 60 * s, 1_700_000_010*s + s/3, false},
		{"set forward", 60 * s, 1_700_000_011 * s, true},
		{"set back", 60 * s, 1_600_000_000 * s, true},
		{"slept an hour", 60 * s, 1_700_003_610 * s, true},
	} {
		if err := a.compare(tc.mono, tc.wallNS); (err != nil) != tc.step {
			t.Errorf("%s: want a step %v, got %v", tc.name, tc.step, err)
		}
	}
	fresh := newAnchor()
	if err := fresh.stepped(fresh.lookAt); err != nil {
		t.Errorf("want no step on a machine that runs on, got %v", err)
	}
}
