package dispatch

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/shm"
)

// at is a picture captured at ns: its id and its time are the same.
func at(epoch uint32, ns int64) *shm.FrameMeta {
	return &shm.FrameMeta{Seq: uint64(ns), FrameID: uint64(ns), StreamEpoch: epoch, CaptureNS: ns}
}

func (f *fixture) want(t *testing.T, what string, want ...Progress) {
	t.Helper()
	if diff := cmp.Diff(want, f.AppendProgress(nil)); diff != "" {
		t.Errorf("%s: progress differs (-want +got):\n%s", what, diff)
	}
}

// CORRELATION §6: just below the oldest picture queued or running; drops count as done.
func TestProgressFollowsTheOldestPicture(t *testing.T) {
	f := build(t, 1, Replica{Name: "a", Model: 7, MaxOngoing: 1, Routes: []Route{{Camera: 0}}})
	f.SetReady(0, 0)
	f.Offer(1, 0, at(1, 100))
	f.want(t, "nothing finished yet")
	f.children[0].finish()
	f.want(t, "all finished", Progress{0, 7, 1, 100, true})
	f.Offer(2, 0, at(1, 200))
	f.want(t, "one running", Progress{0, 7, 1, 199, false})
	f.Offer(3, 0, at(1, 300))
	f.Offer(4, 0, at(1, 400)) // 300 is superseded
	f.want(t, "one running, one waiting")
	f.children[0].finish()
	f.want(t, "one waiting", Progress{0, 7, 1, 399, true})
	f.Pump(5)
	f.children[0].finish()
	f.want(t, "all finished again", Progress{0, 7, 1, 400, true})
	f.want(t, "nothing new")
}

// Whatever replica has the picture: a model is as far as its slowest one.
func TestProgressOfAllReplicas(t *testing.T) {
	f := build(t, 1,
		Replica{Name: "a/0", Model: 1, MaxOngoing: 2, Routes: []Route{{Camera: 0}}},
		Replica{Name: "a/1", Model: 1, MaxOngoing: 2, Routes: []Route{{Camera: 0}}})
	f.SetReady(0, 0)
	f.SetReady(0, 1)
	f.Offer(1, 0, at(1, 100))
	f.Offer(2, 0, at(1, 200))
	f.children[0].finish()
	f.children[0].finish()
	f.want(t, "the other has not begun", Progress{0, 1, 1, 99, true})
	f.children[1].finish()
	f.want(t, "it follows", Progress{0, 1, 1, 199, true})
	f.SetDraining(1)
	f.Offer(3, 0, at(1, 300))
	f.children[0].finish()
	f.want(t, "asked to go, it still has a picture")
	f.SetDown(1, false)
	f.want(t, "gone, it has none", Progress{0, 1, 1, 300, true})
}

// A model that is dead says nothing, nor does its successor before it has finished one.
func TestProgressOfTheDead(t *testing.T) {
	f := build(t, 1, Replica{Name: "a", MaxOngoing: 1, Routes: []Route{{Camera: 0}}})
	f.SetReady(0, 0)
	f.Offer(1, 0, at(1, 100))
	f.children[0].finish()
	f.want(t, "alive", Progress{0, 0, 1, 100, true})
	f.Offer(2, 0, at(1, 200))
	f.SetDown(0, false)
	f.Offer(3, 0, at(1, 300))
	f.want(t, "dead")
	c := f.children[0]
	c.taken, c.done = c.enq, c.enq
	f.SetReady(4, 0)
	f.Offer(4, 0, at(1, 400))
	f.want(t, "back, but nothing finished")
	c.finish()
	f.want(t, "back", Progress{0, 0, 1, 400, true})
}

// A former stream_epoch is over once nothing of it is left.
func TestProgressAcrossEpochs(t *testing.T) {
	f := build(t, 1, Replica{Name: "a", MaxOngoing: 1, Routes: []Route{{Camera: 0}}})
	f.SetReady(0, 0)
	f.Offer(1, 0, at(1, 500))
	f.children[0].finish()
	f.want(t, "first", Progress{0, 0, 1, 500, true})
	f.Offer(2, 0, at(1, 600))
	f.Offer(3, 0, at(2, 50))
	f.want(t, "the last of the former epoch runs", Progress{0, 0, 2, 49, false})
	f.children[0].finish()
	f.want(t, "it is over", Progress{0, 0, 1, math.MaxInt64, true})
	f.Pump(4)
	f.children[0].finish()
	f.want(t, "the new one moves", Progress{0, 0, 2, 50, true})
	for epoch := uint32(3); epoch < 100; epoch++ {
		f.Offer(5, 0, at(epoch, 10))
	}
	if n := len(f.lanes[0].open); n > maxOpenEpochs {
		t.Errorf("%d former epochs are remembered, bound %d", n, maxOpenEpochs)
	}
}

// A status page that looks at the queues between two looks at the progress hides nothing.
func TestProgressIsNotLostToAnotherLook(t *testing.T) {
	f := build(t, 1, Replica{Name: "a", MaxOngoing: 1, Routes: []Route{{Camera: 0}}})
	f.SetReady(0, 0)
	f.Offer(1, 0, at(1, 100))
	f.children[0].finish()
	f.Account(0)
	f.Idle()
	f.want(t, "after other looks", Progress{0, 0, 1, 100, true})
}

// Whatever happens in whatever order, no promise is broken; and when all is finished, every
// model that works has promised all that was offered.
func TestProgressIsKept(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := build(rt, 2,
			Replica{Name: "a/0", Model: 0, MaxOngoing: rapid.IntRange(1, 3).Draw(rt, "cap0"), Routes: []Route{{Camera: 0, Local: 0}, {Camera: 1, Local: 1}}},
			Replica{Name: "a/1", Model: 0, MaxOngoing: rapid.IntRange(1, 3).Draw(rt, "cap1"), Routes: []Route{{Camera: 0, Local: 0}}},
			Replica{Name: "b/0", Model: 1, MaxOngoing: 1, Routes: []Route{{Camera: 1, Local: 0, Hold: true}}})
		type lane struct {
			camera, model int
			epoch         uint32
		}
		said := map[lane]int64{}
		epoch, newest := [2]uint32{1, 1}, [2]int64{}
		look := func() {
			for _, p := range f.AppendProgress(nil) {
				l := lane{p.Camera, p.Model, p.StreamEpoch}
				if old, ok := said[l]; ok && p.CaptureNS <= old {
					rt.Fatalf("%+v is not beyond %d", p, old)
				}
				said[l] = p.CaptureNS
			}
		}
		answer := func(i int) {
			c, r := f.children[i], &f.replicas[i]
			if c.done == c.enq || !r.works() {
				return
			}
			a := c.got[len(c.got)-int(c.enq-c.done)]
			camera := r.Routes[a.Camera].Camera
			if w, ok := said[lane{camera, r.Model, a.StreamEpoch}]; ok && a.CaptureNS <= w {
				rt.Fatalf("replica %s answers %d of epoch %d on camera %d after %d was promised", r.Name, a.CaptureNS, a.StreamEpoch, camera, w)
			}
			c.finish()
		}
		now := clock.Mono(0)
		for range rapid.IntRange(1, 150).Draw(rt, "steps") {
			now++
			i := rapid.IntRange(0, 2).Draw(rt, "replica")
			switch rapid.IntRange(0, 11).Draw(rt, "step") {
			case 0:
				if r := &f.replicas[i]; !r.works() {
					c := f.children[i]
					c.taken, c.done = c.enq, c.enq
				}
				f.SetReady(now, i)
			case 1:
				f.SetDown(i, rapid.Bool().Draw(rt, "for ever"))
			case 2:
				f.SetDraining(i)
			case 3:
				camera := i % 2
				epoch[camera]++
				newest[camera] = 0
			case 4, 5, 6:
				camera := i % 2
				newest[camera] += rapid.Int64Range(1, 5).Draw(rt, "interval")
				f.Offer(now, camera, at(epoch[camera], newest[camera]))
			case 7, 8, 9:
				answer(i)
			default:
				f.Pump(now)
			}
			if rapid.Bool().Draw(rt, "look") {
				look()
			}
		}
		for f.Pump(now) > 0 || !f.Idle() {
			for i := range f.children {
				answer(i)
				if !f.replicas[i].ready {
					f.SetDown(i, true)
				}
			}
		}
		look()
		for _, l := range f.lanes {
			n := f.newest[l.camera]
			works := false
			for _, t := range l.targets {
				works = works || f.replicas[t.replica].works() && f.replicas[t.replica].proved
			}
			if w := said[lane{l.camera, l.model, n.epoch}]; works && n.set && w != n.ns {
				rt.Fatalf("camera %d, model %d: %d of epoch %d is promised, all up to %d is finished", l.camera, l.model, w, n.epoch, n.ns)
			}
			if works && len(l.open) > 0 {
				rt.Fatalf("camera %d, model %d: epochs %v are not over", l.camera, l.model, l.open)
			}
		}
		if len(f.faults) > 0 {
			rt.Fatalf("honest words called impossible: %v", f.faults)
		}
	})
}

func TestProgressAllocatesNothing(t *testing.T) {
	f := build(t, 1, Replica{Name: "a", MaxOngoing: 2, Routes: []Route{{Camera: 0}}})
	c := f.children[0]
	c.got = make([]shm.Assignment, 0, 4096)
	f.SetReady(0, 0)
	said := make([]Progress, 0, 8)
	ns := int64(0)
	if n := testing.AllocsPerRun(1000, func() {
		ns++
		f.Offer(clock.Mono(ns), 0, at(1, ns))
		said = f.AppendProgress(said[:0])
		c.finish()
		said = f.AppendProgress(said[:0])
	}); n > 1 { // the picture itself
		t.Errorf("allocations per picture: want 1 at most, got %v", n)
	}
}

// What a replica finishes is a sign of life on the camera of that picture; what is dropped
// for it is none, wherever.
func TestProgressTellsWhoLives(t *testing.T) {
	f := build(t, 2, Replica{Name: "a", MaxOngoing: 1, Routes: []Route{{Camera: 0, Local: 0}, {Camera: 1, Local: 1}}})
	f.SetReady(0, 0)
	f.Offer(1, 0, at(1, 100))
	f.children[0].finish()
	f.Offer(2, 1, at(1, 10))
	f.want(t, "finished on one camera", Progress{0, 0, 1, 100, true}, Progress{1, 0, 1, 9, false})
	f.Offer(3, 1, at(1, 20))
	f.Offer(4, 0, at(1, 200))
	f.want(t, "it hangs", Progress{0, 0, 1, 199, false})
	f.Offer(5, 0, at(1, 300))
	f.want(t, "what it never got is dropped", Progress{0, 0, 1, 299, false})
	f.children[0].finish()
	f.want(t, "it is back", Progress{1, 0, 1, 19, true})
}
