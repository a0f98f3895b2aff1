package dispatch

import (
	"errors"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"github.com/skewgate/skewgate/appliance/clock"
)

func (f *fixture) fates(t *testing.T, want map[uint64]Fate) {
	t.Helper()
	for id, fate := range want {
		if got, _ := f.Fate(0, 0, 0, id, nil); got != fate {
			t.Errorf("picture %d: want %s, got %s", id, fate, got)
		}
	}
}

// Each thing that can happen to a picture on its way is known afterwards.
func TestFates(t *testing.T) {
	f := build(t, 2, Replica{Name: "a", MaxOngoing: 2, Routes: []Route{{Camera: 1}, {Camera: 0}}})
	f.Offer(10, 0, picture(1))
	f.SetReady(20, 0)
	for id := uint64(2); id <= 5; id++ {
		f.Offer(clock.Mono(10*id+10), 0, picture(id))
	}
	f.fates(t, map[uint64]Fate{1: FateNotReady, 2: FateAssigned, 3: FateAssigned, 4: FateSuperseded, 5: FateWaiting, 6: FateUnknown})
	if _, at := f.Fate(0, 0, 0, 4, nil); at != 60 {
		t.Errorf("superseded at %d, want when the newer one came", at)
	}
	if got, _ := f.Fate(0, 1, 0, 2, nil); got != FateUnknown {
		t.Errorf("another camera's picture: %s", got)
	}
	if got, _ := f.Fate(0, 0, 1, 2, nil); got != FateUnknown {
		t.Errorf("another epoch's picture: %s", got)
	}
	f.children[0].finish()
	f.fates(t, map[uint64]Fate{2: FateFinished, 3: FateAssigned})
	f.Pump(70)
	f.fates(t, map[uint64]Fate{2: FateFinished, 3: FateAssigned, 5: FateAssigned})
	f.SetDown(0, false)
	f.Offer(80, 0, picture(6))
	f.fates(t, map[uint64]Fate{2: FateFinished, 3: FateDied, 5: FateDied, 6: FateNotReady})
	// The successor owes nothing of it.
	f.children[0].done = f.children[0].enq
	f.SetReady(90, 0)
	f.Offer(100, 0, picture(7))
	f.fates(t, map[uint64]Fate{2: FateFinished, 3: FateDied, 5: FateDied, 7: FateAssigned})
	f.children[0].refuse = errors.New("no")
	f.Offer(110, 0, picture(8))
	f.fates(t, map[uint64]Fate{7: FateAssigned, 8: FateFault})
	// One without an id is found by its capture time.
	p := picture(0)
	p.CaptureNS = 123
	f.children[0].refuse = nil
	f.Offer(120, 0, p)
	if got, _ := f.Fate(0, 0, 0, 0, []int64{5, 123}); got != FateAssigned {
		t.Errorf("by capture time: %s", got)
	}
	if got, _ := f.Fate(0, 0, 0, 0, []int64{124}); got != FateUnknown {
		t.Errorf("by another capture time: %s", got)
	}
}

// As many as are kept are known, and their fates add up to the accounts.
func TestFatesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := build(t, 1, Replica{Name: "a", MaxOngoing: 3, Routes: []Route{{Camera: 0}}})
		n := uint64(0)
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				f.SetDown(0, false)
			case 1:
				if r := &f.replicas[0]; !r.works() {
					f.children[0].done = f.children[0].enq
				}
				f.SetReady(clock.Mono(n), 0)
			case 2:
				if c := f.children[0]; c.done < c.enq {
					c.finish()
				}
				f.Pump(clock.Mono(n))
			default:
				n++
				f.Offer(clock.Mono(n), 0, picture(n))
			}
		}
		var sum [numFates]uint64
		for id := uint64(1); id <= n; id++ {
			fate, _ := f.Fate(0, 0, 0, id, nil)
			sum[fate]++
		}
		a := f.Account(0)
		if sum[FateUnknown] != 0 || sum[FateSuperseded] != a.Dropped[DropSuperseded] || sum[FateNotReady] != a.Dropped[DropNotReady] ||
			sum[FateDied] != a.Died || sum[FateAssigned] != a.Queue || sum[FateWaiting] != a.Waiting || sum[FateFinished] != a.Assigned-a.Died-a.Queue {
			t.Errorf("fates %v, account %+v", sum, a)
		}
	})
}

// What is foretold of routes is what they take, and no number of pictures makes it more.
func TestRouteBytes(t *testing.T) {
	const cameras, models = 64, 32
	inUse := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := inUse()
	var replicas []Replica
	for i := range models {
		r := Replica{Name: "r", Model: i, MaxOngoing: 1}
		for c := range cameras {
			r.Routes = append(r.Routes, Route{Camera: c})
		}
		replicas = append(replicas, r)
	}
	f := build(t, cameras, replicas...)
	for i := range models {
		f.SetReady(0, i)
	}
	for id := range uint64(2 * fatesKept) {
		for c := range cameras {
			f.Offer(clock.Mono(id), c, picture(id+1))
		}
	}
	for _, c := range f.children { // what the fixture keeps is not the dispatcher's
		c.got = nil
	}
	got, want := inUse()-before, int64(cameras*models*RouteBytes())
	if got < want*95/100 || got > want*105/100 {
		t.Errorf("%d routes take %d bytes, foretold %d", cameras*models, got, want)
	}
	f.fates(t, map[uint64]Fate{fatesKept: FateUnknown, fatesKept + 1: FateSuperseded, 2 * fatesKept: FateWaiting})
}
