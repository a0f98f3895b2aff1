package correlate

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/detect"
)

// listener counts what it is told, as the counters do, and checks that marks come back.
type listener struct {
	t         *testing.T
	n         Counters
	marks     uint64
	of        map[uint64]Key // by mark
	closed    map[uint64]bool
	open      map[Key]uint64 // marks given to open groups; two of a window may have one key
	published uint64
	slept     int
	dead      []clock.Mono
}

func (l *listener) Closed(e *Closing) uint64 {
	l.n.Accepted += uint64(len(e.Members))
	switch e.Reason {
	case Quorum:
		l.n.FlushedQuorum++
	case Settled:
		l.n.FlushedSettled++
	case Timeout:
		l.n.FlushedTimeout++
	case Eviction:
		l.n.FlushedEviction++
	case Stale:
		l.n.Stale++
	}
	switch {
	case e.Published == l.published+1:
		l.published++
	case e.Published != 0:
		l.t.Errorf("published as %d after %d", e.Published, l.published)
	case e.Reason != Stale:
		l.n.SuppressedEmpty++
	}
	if e.Slept {
		l.slept++
	}
	for _, m := range e.Missing {
		if m.Reason == Dead {
			l.dead = append(l.dead, m.Since)
		}
	}
	if e.Mark != 0 && l.of[e.Mark] != e.Key || l.closed[e.Mark] {
		l.t.Errorf("group %v is closed with mark %d, which is of %v (closed: %t)", e.Key, e.Mark, l.of[e.Mark], l.closed[e.Mark])
	}
	if given := l.open[e.Key]; e.Mark != given && e.Key.Tag != TagWindow {
		l.t.Errorf("group %v is closed with mark %d, it was given %d", e.Key, e.Mark, given)
	}
	delete(l.open, e.Key)
	mark := l.mark(e.Mark, e.Key)
	l.closed[mark] = true
	return mark
}

func (l *listener) mark(was uint64, k Key) uint64 {
	if was != 0 {
		return was
	}
	l.marks++
	l.of[l.marks] = k
	return l.marks
}

func (l *listener) Apart(a *Apart) uint64 {
	switch a.Verdict {
	case Late:
		l.n.Late++
	case DupResend:
		l.n.DupResend++
	case DupCollision:
		l.n.DupCollision++
	case WrongGeneration:
		l.n.WrongGeneration++
	default:
		l.t.Errorf("apart: %v", a.Verdict)
	}
	if a.Mark != 0 && l.of[a.Mark] != a.Key || a.Open == l.closed[a.Mark] || a.Open != (a.ClosedAt == 0) || a.Arrival < a.First {
		l.t.Errorf("apart %+v: its mark is of %v, closed: %t", *a, l.of[a.Mark], l.closed[a.Mark])
	}
	mark := l.mark(a.Mark, a.Key)
	if a.Open {
		if given := l.open[a.Key]; given != 0 && given != mark && a.Key.Tag != TagWindow {
			l.t.Errorf("group %v is told with mark %d, it was given %d", a.Key, a.Mark, given)
		}
		l.open[a.Key] = mark
	}
	return mark
}

// What a watch hears adds up to the counters, whatever happens, and a mark stands for its group
// for as long as its key is remembered.
func TestWatchHearsEverything(t *testing.T) {
	for _, match := range []Match{MatchAuto, MatchFrameID, MatchBucket, MatchWindow} {
		for seed := range uint64(8) {
			t.Run(fmt.Sprintf("%s/%d", match, seed), func(t *testing.T) {
				l := &listener{t: t, of: make(map[uint64]Key), closed: make(map[uint64]bool), open: make(map[Key]uint64)}
				cfg := DefaultConfig()
				cfg.QuantumNS, cfg.TimeoutNS, cfg.MaxAgeNS, cfg.MaxPending, cfg.ClosedTTLNS = 10*ms, 30*ms, 60*ms, 6, 200*ms
				cfg.Camera = CameraConfig{Match: match, WindowNS: 4 * ms, FrameIntervalNS: 10 * ms, Expected: []string{"a", "b", "c"}}
				cfg.Watch = l
				published := uint64(0)
				c, err := New(cfg, func(*Group) { published++ })
				if err != nil {
					t.Fatal(err)
				}
				play(t, c, rand.New(rand.NewPCG(seed, 1)))
				want := c.Counters()
				c.EachOpen("u", "gate", func(g *Group, mark uint64) {
					l.n.Accepted += uint64(len(g.Members))
					if mark != 0 && l.of[mark] != g.Key || l.closed[mark] || g.Reason != 0 {
						t.Errorf("open group %v has mark %d of %v", g.Key, mark, l.of[mark])
					}
				})
				l.n.Published = l.published
				got := want
				got.Accepted, got.Late, got.DupResend, got.DupCollision = l.n.Accepted, l.n.Late, l.n.DupResend, l.n.DupCollision
				got.WrongGeneration, got.Published, got.SuppressedEmpty = l.n.WrongGeneration, l.n.Published, l.n.SuppressedEmpty
				got.FlushedQuorum, got.FlushedSettled, got.FlushedTimeout = l.n.FlushedQuorum, l.n.FlushedSettled, l.n.FlushedTimeout
				got.FlushedEviction, got.Stale = l.n.FlushedEviction, l.n.Stale
				if diff := cmp.Diff(want, got); diff != "" || published != l.published {
					t.Errorf("counters (-correlator +watch), %d published:\n%s", published, diff)
				}
				if l.n.Late == 0 || l.n.DupResend == 0 || l.n.WrongGeneration == 0 || l.n.FlushedTimeout == 0 || l.slept == 0 || len(l.dead) == 0 {
					t.Errorf("nothing of one kind has happened: %+v, slept %d, dead %d", l.n, l.slept, len(l.dead))
				}
				for _, since := range l.dead {
					if since%7 != 0 { // play lets models die at such instants alone
						t.Errorf("a model is dead since %d", since)
					}
				}
			})
		}
	}
}

// play lets all sorts of things happen to one camera.
func play(t *testing.T, c *Correlator, r *rand.Rand) {
	t.Helper()
	s, err := c.Stream("u", "gate", 1)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"a", "b", "c", "stranger"}
	var models []ModelID
	for _, name := range names {
		id, err := c.Model(name)
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, id)
	}
	now := clock.Mono(7)
	for range 4000 {
		now += clock.Mono(r.Int64N(3*ms)) * 7
		frame := int64(now)/(10*ms) - r.Int64N(3)*r.Int64N(5)
		m := Message{Stream: s, Model: models[r.IntN(4)], CaptureNS: frame*10*ms + r.Int64N(3*ms), HasBoxes: true, Generation: uint64(r.IntN(8) / 6)}
		if r.IntN(4) > 0 {
			m.Boxes = make([]detect.Box, 1)
		}
		if r.IntN(4) > 0 {
			m.FrameID, m.CaptureNS = uint64(frame+10), frame*10*ms
		}
		switch r.IntN(40) {
		case 0:
			m.Raw = []byte("x")
		case 1:
			if err := c.ModelDown(now, names[r.IntN(3)]); err != nil {
				t.Fatal(err)
			}
		case 2:
			if err := c.ModelDownAt(now, s, names[r.IntN(3)]); err != nil {
				t.Fatal(err)
			}
		case 3:
			c.Progress(now, s, models[r.IntN(3)], m.CaptureNS)
		case 4:
			if r.IntN(4) == 0 {
				c.Slept(now)
			}
		case 5:
			m.Generation = 3
		}
		c.Step(now, &m)
		if r.IntN(8) == 0 {
			c.Step(now, &m)
		}
		if r.IntN(3) == 0 {
			c.Tick(now)
		}
	}
}

// Who has been dead since when, everywhere and on one camera; a second death of the same kind
// changes nothing, a life between does.
func TestDeadSince(t *testing.T) {
	l := &listener{t: t, of: make(map[uint64]Key), closed: make(map[uint64]bool), open: make(map[Key]uint64)}
	cfg := DefaultConfig()
	cfg.Camera = CameraConfig{Match: MatchFrameID, Expected: []string{"a", "b"}}
	cfg.Watch = l
	c, err := New(cfg, func(*Group) {})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := c.Stream("u", "gate", 1)
	a, _ := c.Model("a")
	b, _ := c.Model("b")
	frame := uint64(0)
	answer := func(now clock.Mono, id ModelID) {
		frame++
		c.Step(now, &Message{Stream: s, Model: id, FrameID: frame})
	}
	die := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	die(c.ModelDownAt(10, s, "b"))
	die(c.ModelDownAt(20, s, "b"))
	answer(30, a)
	die(c.ModelDown(40, "b"))
	answer(50, a)
	answer(60, b) // lives again; its frame waits for a
	die(c.ModelDown(70, "b"))
	die(c.ModelDown(80, "b"))
	answer(90, a)
	die(c.ModelDownAt(95, s, "b"))
	answer(99, a)
	if diff := cmp.Diff([]clock.Mono{10, 40, 70, 70}, l.dead); diff != "" {
		t.Errorf("dead since (-want +got):\n%s", diff)
	}
}

// A model that had passed is told with how far it was.
func TestWatchTellsProgress(t *testing.T) {
	var passed []int64
	cfg := DefaultConfig()
	cfg.Camera = CameraConfig{Match: MatchFrameID, Expected: []string{"a", "b"}, OffsetNS: map[string]int64{"b": 5}}
	c, err := New(cfg, func(g *Group) {
		for _, m := range g.Missing {
			passed = append(passed, m.PassedNS)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := c.Stream("u", "gate", 1)
	a, _ := c.Model("a")
	b, _ := c.Model("b")
	c.Progress(1, s, b, 1005)
	c.Step(2, &Message{Stream: s, Model: a, FrameID: 1, CaptureNS: 900})
	if diff := cmp.Diff([]int64{1000}, passed); diff != "" || c.Matched(s, b, 1005) != 1000 || c.Matched(s, a, 1005) != 1005 {
		t.Errorf("passed (-want +got):\n%s", diff)
	}
}
