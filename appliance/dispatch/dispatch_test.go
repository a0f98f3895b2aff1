package dispatch

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/shm"
)

// child plays the replica's side of the words: it takes what is queued in order.
type child struct {
	enq, taken, done uint64
	got              []shm.Assignment
	refuse           error
}

func (c *child) Enqueue(a *shm.Assignment) error {
	if c.refuse != nil {
		return c.refuse
	}
	c.enq++
	c.got = append(c.got, *a)
	return nil
}
func (c *child) Enq() uint64   { return c.enq }
func (c *child) Taken() uint64 { return c.taken }
func (c *child) Done() uint64  { return c.done }

func (c *child) finish() { c.taken, c.done = c.done+1, c.done+1 }

type fixture struct {
	*Dispatcher
	children []*child
	faults   []error
}

func build(t rapid.TB, cameras int, replicas ...Replica) *fixture {
	t.Helper()
	f := &fixture{}
	for i := range replicas {
		c := &child{}
		f.children = append(f.children, c)
		replicas[i].Out, replicas[i].Words = c, c
	}
	d, err := New(cameras, replicas, 0, func(_ int, err error) { f.faults = append(f.faults, err) })
	if err != nil {
		t.Fatal(err)
	}
	f.Dispatcher = d
	return f
}

func picture(id uint64) *shm.FrameMeta {
	return &shm.FrameMeta{Seq: id, FrameID: id, PublishNS: int64(id)}
}

func TestEveryModelGetsTheFrame(t *testing.T) {
	f := build(t, 1,
		Replica{Name: "a", MaxOngoing: 1, Routes: []Route{{Camera: 0, Local: 0}}},
		Replica{Name: "b", MaxOngoing: 1, Routes: []Route{{Camera: 0, Local: 3}}})
	f.SetReady(0, 0)
	f.SetReady(0, 1)
	f.Offer(1, 0, picture(7))
	for i, wantLocal := range []uint32{0, 3} {
		got := f.children[i].got
		if len(got) != 1 || got[0].FrameID != 7 || got[0].Camera != wantLocal {
			t.Errorf("replica %d: want frame 7 as camera %d, got %+v", i, wantLocal, got)
		}
	}
}

// R004-25, F60: one request saturates; the newest waits, the older is counted.
func TestNewestWinsAtDepthOne(t *testing.T) {
	f := build(t, 1, Replica{Name: "a", MaxOngoing: 1, Routes: []Route{{Camera: 0}}})
	f.SetReady(0, 0)
	for id := uint64(1); id <= 5; id++ {
		f.Offer(clock.Mono(id), 0, picture(id))
	}
	f.children[0].finish()
	if n := f.Pump(6); n != 1 {
		t.Fatalf("Pump after one finished: want 1 handed over, got %d", n)
	}
	got := f.children[0].got
	if len(got) != 2 || got[0].FrameID != 1 || got[1].FrameID != 5 {
		t.Errorf("want frames 1 and 5, got %+v", got)
	}
	if a := f.Account(0); a.Dropped[DropSuperseded] != 3 || a.Assigned != 2 || a.Queue != 1 {
		t.Errorf("want 3 superseded, 2 assigned, queue 1, got %+v", a)
	}
}

func TestCamerasOfOneReplicaTakeTurns(t *testing.T) {
	f := build(t, 2, Replica{Name: "a", MaxOngoing: 1, Routes: []Route{{Camera: 0, Local: 0}, {Camera: 1, Local: 1}}})
	f.SetReady(0, 0)
	f.Offer(1, 0, picture(1))
	f.Offer(2, 1, picture(2))
	f.Offer(3, 0, picture(3))
	for now := clock.Mono(4); now < 7; now++ {
		f.children[0].finish()
		f.Pump(now)
	}
	var cameras []uint32
	for _, a := range f.children[0].got {
		cameras = append(cameras, a.Camera)
	}
	if want := []uint32{0, 1, 0}; len(cameras) != 3 || cameras[1] != want[1] {
		t.Errorf("cameras in order %v, want %v", cameras, want)
	}
}

func TestNotReadyDropsAreCounted(t *testing.T) {
	f := build(t, 1, Replica{Name: "a", MaxOngoing: 1, Routes: []Route{{Camera: 0}}})
	f.Offer(1, 0, picture(1))
	if a := f.Account(0); a.Dropped[DropNotReady] != 1 || f.Waits(0) {
		t.Errorf("want 1 not_ready and nothing waiting, got %+v", a)
	}
}

func TestHoldKeepsThePictureUntilReady(t *testing.T) {
	f := build(t, 1, Replica{Name: "a", MaxOngoing: 1, Routes: []Route{{Camera: 0, Hold: true}}})
	f.Offer(1, 0, picture(1))
	if !f.Waits(0) {
		t.Fatal("a held picture must wait for the replica")
	}
	f.SetReady(2, 0)
	if f.Waits(0) || len(f.children[0].got) != 1 {
		t.Errorf("ready replica: want the held picture handed over, got %+v", f.children[0].got)
	}
}

// A detector that cannot start at all must not stop a fast camera for ever.
func TestHoldEndsWhenNoProcessWillCome(t *testing.T) {
	f := build(t, 1, Replica{Name: "a", MaxOngoing: 1, Routes: []Route{{Camera: 0, Hold: true}}})
	f.Offer(1, 0, picture(1))
	f.SetDown(0, true)
	f.Offer(2, 0, picture(2))
	if a := f.Account(0); f.Waits(0) || a.Dropped[DropNotReady] != 2 {
		t.Errorf("want both pictures dropped, got %+v", a)
	}
}

func TestDeathCountsWhatWasAssigned(t *testing.T) {
	f := build(t, 1, Replica{Name: "a", MaxOngoing: 2, Routes: []Route{{Camera: 0}}})
	f.SetReady(0, 0)
	f.Offer(1, 0, picture(1))
	f.Offer(2, 0, picture(2))
	f.Offer(3, 0, picture(3))
	f.SetDown(0, false)
	a := f.Account(0)
	if a.Died != 2 || a.Dropped[DropNotReady] != 1 || a.Waiting != 0 {
		t.Errorf("want 2 died and 1 not_ready, got %+v", a)
	}
	// F26: the next process puts done at enq; nothing of the old one counts against it.
	c := f.children[0]
	c.taken, c.done = c.enq, c.enq
	f.SetReady(4, 0)
	f.Offer(4, 0, picture(4))
	if a := f.Account(0); a.Queue != 1 || a.Assigned != 3 {
		t.Errorf("after the restart: want queue 1, assigned 3, got %+v", a)
	}
}

// R004-9: impossible words stop the work for that replica alone.
func TestImpossibleWords(t *testing.T) {
	for name, spoil := range map[string]func(*child){
		"done beyond enq":  func(c *child) { c.done = c.enq + 1 },
		"taken beyond enq": func(c *child) { c.taken = ^uint64(0) },
		"done ran back":    func(c *child) { c.done = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			f := build(t, 1,
				Replica{Name: "bad", MaxOngoing: 4, Routes: []Route{{Camera: 0}}},
				Replica{Name: "good", MaxOngoing: 4, Routes: []Route{{Camera: 0}}})
			f.SetReady(0, 0)
			f.SetReady(0, 1)
			f.Offer(1, 0, picture(1))
			f.children[0].finish()
			f.Offer(2, 0, picture(2))
			spoil(f.children[0])
			f.Offer(3, 0, picture(3))
			f.Offer(4, 0, picture(4))
			if len(f.faults) != 1 || !errors.Is(f.faults[0], ErrQueueWords) {
				t.Errorf("want one ErrQueueWords, got %v", f.faults)
			}
			if len(f.children[0].got) != 2 || len(f.children[1].got) != 4 {
				t.Errorf("want 2 frames to bad and 4 to good, got %d and %d", len(f.children[0].got), len(f.children[1].got))
			}
		})
	}
}

func TestRefusedAssignmentIsCounted(t *testing.T) {
	f := build(t, 1, Replica{Name: "a", MaxOngoing: 1, Routes: []Route{{Camera: 0}}})
	f.SetReady(0, 0)
	f.children[0].refuse = errors.New("closed")
	f.Offer(1, 0, picture(1))
	if a := f.Account(0); a.Dropped[DropFault] != 1 || a.Assigned != 0 {
		t.Errorf("want 1 fault and nothing assigned, got %+v", a)
	}
}

// Whatever happens in whatever order: every offered picture is assigned, dropped for
// a named reason or waiting; order per camera is kept; no queue exceeds its bound.
func TestAccountsAlwaysBalance(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const cameras = 3
		cap0, cap1 := rapid.IntRange(1, 3).Draw(rt, "cap0"), rapid.IntRange(1, 3).Draw(rt, "cap1")
		f := build(rt, cameras,
			Replica{Name: "a", MaxOngoing: cap0, Routes: []Route{{Camera: 0, Local: 0}, {Camera: 1, Local: 1}}},
			Replica{Name: "b", MaxOngoing: cap1, Routes: []Route{{Camera: 1, Local: 0}, {Camera: 2, Local: 1, Hold: true}}})
		offered := [2]uint64{}
		finished := [2]uint64{}
		id := uint64(0)
		steps := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 200).Draw(rt, "steps")
		for i, s := range steps {
			now := clock.Mono(i)
			switch {
			case s <= 4:
				camera := s % cameras
				id++
				f.Offer(now, camera, picture(id))
				for _, tg := range f.byCamera[camera] {
					offered[tg.replica]++
				}
			case s <= 6:
				c := f.children[s-5]
				if c.done < c.enq && f.replicas[s-5].works() {
					c.finish()
					finished[s-5]++
				}
				f.Pump(now)
			case s == 7:
				r := i % 2
				c := f.children[r]
				if !f.replicas[r].works() {
					c.taken, c.done = c.enq, c.enq
				}
				f.SetReady(now, r)
			case i%3 == 0:
				f.SetDraining(s - 8)
			default:
				f.SetDown(s-8, i%5 == 0)
			}
			for r := range f.replicas {
				a := f.Account(r)
				sum := a.Assigned + a.Waiting
				for _, n := range a.Dropped {
					sum += n
				}
				if sum != offered[r] {
					rt.Fatalf("step %d replica %d: offered %d, accounted %d (%+v)", i, r, offered[r], sum, a)
				}
				if a.Assigned != finished[r]+a.Died+a.Queue {
					rt.Fatalf("step %d replica %d: assigned %d != finished %d + died %d + queue %d", i, r, a.Assigned, finished[r], a.Died, a.Queue)
				}
				if a.Queue > uint64(f.replicas[r].MaxOngoing) {
					rt.Fatalf("step %d replica %d: queue %d over its bound %d", i, r, a.Queue, f.replicas[r].MaxOngoing)
				}
			}
			if len(f.faults) != 0 {
				rt.Fatalf("step %d: honest words called impossible: %v", i, f.faults)
			}
		}
		for _, c := range f.children {
			last := map[uint32]uint64{}
			for _, a := range c.got {
				if a.FrameID <= last[a.Camera] {
					rt.Fatalf("camera %d: frame %d after %d", a.Camera, a.FrameID, last[a.Camera])
				}
				last[a.Camera] = a.FrameID
			}
		}
	})
}

// R004-28: the hot path allocates nothing.
func TestOfferAllocatesNothing(t *testing.T) {
	f := build(t, 1, Replica{Name: "a", MaxOngoing: 1, Routes: []Route{{Camera: 0}}})
	c := f.children[0]
	c.got = make([]shm.Assignment, 0, 4096)
	f.SetReady(0, 0)
	p := picture(1)
	if n := testing.AllocsPerRun(1000, func() {
		f.Offer(1, 0, p)
		c.finish()
		f.Pump(2)
	}); n != 0 {
		t.Errorf("allocations per offered picture: want 0, got %v", n)
	}
}
