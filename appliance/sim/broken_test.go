package sim

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/hist"
)

// broken is a correlator with one thing wrong. What is not overridden is the real one.
type broken struct {
	*correlate.Correlator
	step     func(now clock.Mono, m *correlate.Message) correlate.Verdict
	counters func(correlate.Counters) correlate.Counters
	progress func(now clock.Mono, s correlate.StreamID, id correlate.ModelID, wNS int64) bool
	down     func(now clock.Mono, name string) error
	expect   func(now clock.Mono, names []string) error
	silence  func(now clock.Mono, s correlate.StreamID, name string) error
	slept    func(now clock.Mono)
	oneEpoch bool
	skew     func(now clock.Mono) hist.Summary
}

func (b *broken) Stream(unit, camera string, epoch uint32) (correlate.StreamID, error) {
	if b.oneEpoch {
		epoch = 1
	}
	return b.Correlator.Stream(unit, camera, epoch)
}

func (b *broken) Step(now clock.Mono, m *correlate.Message) correlate.Verdict {
	if b.step != nil {
		return b.step(now, m)
	}
	return b.Correlator.Step(now, m)
}

func (b *broken) Counters() correlate.Counters {
	if b.counters != nil {
		return b.counters(b.Correlator.Counters())
	}
	return b.Correlator.Counters()
}

func (b *broken) Progress(now clock.Mono, s correlate.StreamID, id correlate.ModelID, wNS int64) bool {
	if b.progress != nil {
		return b.progress(now, s, id, wNS)
	}
	return b.Correlator.Progress(now, s, id, wNS)
}

func (b *broken) ModelDown(now clock.Mono, name string) error {
	if b.down != nil {
		return b.down(now, name)
	}
	return b.Correlator.ModelDown(now, name)
}

func (b *broken) SetExpected(now clock.Mono, names []string) error {
	if b.expect != nil {
		return b.expect(now, names)
	}
	return b.Correlator.SetExpected(now, names)
}

func (b *broken) ModelDownAt(now clock.Mono, s correlate.StreamID, name string) error {
	if b.silence != nil {
		return b.silence(now, s, name)
	}
	return b.Correlator.ModelDownAt(now, s, name)
}

func (b *broken) Slept(now clock.Mono) {
	if b.slept != nil {
		b.slept(now)
		return
	}
	b.Correlator.Slept(now)
}

func (b *broken) Skew(now clock.Mono) hist.Summary {
	if b.skew != nil {
		return b.skew(now)
	}
	return b.Correlator.Skew(now)
}

// breaking makes a maker of a change to the config and to the correlator.
func breaking(config func(*correlate.Config), spoil func(*broken)) maker {
	return func(cfg correlate.Config, out func(*correlate.Group)) (correlator, error) {
		if config != nil {
			config(&cfg)
		}
		c, err := correlate.New(cfg, out)
		b := &broken{Correlator: c}
		if spoil != nil {
			spoil(b)
		}
		return b, err
	}
}

// withCamera changes what every camera is matched by.
func withCamera(change func(*correlate.CameraConfig)) func(*correlate.Config) {
	return func(cfg *correlate.Config) {
		change(&cfg.Camera)
		own := map[string]correlate.CameraConfig{}
		for name, camera := range cfg.Cameras {
			change(&camera)
			own[name] = camera
		}
		cfg.Cameras = own
	}
}

// withOutput changes what comes out.
func withOutput(change func(out func(*correlate.Group)) func(*correlate.Group)) maker {
	return func(cfg correlate.Config, out func(*correlate.Group)) (correlator, error) {
		return correlate.New(cfg, change(out))
	}
}

// censored takes its skew from published groups alone, as if nothing ever came late.
func censored(cfg correlate.Config, out func(*correlate.Group)) (correlator, error) {
	window := hist.NewWindow(cfg.SkewWindowNS, 1<<16)
	c, err := correlate.New(cfg, func(g *correlate.Group) {
		if len(g.Members) > 1 {
			window.Add(int64(g.ClosedAt), int64(g.LastArrival-g.FirstArrival))
		}
		out(g)
	})
	return &broken{Correlator: c, skew: func(now clock.Mono) hist.Summary { return window.Summary(int64(now)) }}, err
}

// The faults that the simulation must find, and each within so many seeds.
var faults = []struct {
	name   string
	within int
	build  maker
	habits habits
}{
	{name: "a counter is dropped", within: 20, build: breaking(nil, func(b *broken) {
		b.counters = func(n correlate.Counters) correlate.Counters {
			n.Late -= min(n.Late, 1)
			return n
		}
	})},
	{name: "a message goes unseen", within: 40, build: breaking(nil, func(b *broken) {
		n := 0
		b.step = func(now clock.Mono, m *correlate.Message) correlate.Verdict {
			if n++; n%20 == 0 {
				return correlate.Accepted
			}
			return b.Correlator.Step(now, m)
		}
	})},
	{name: "skew is censored: late messages do not count", within: 20, build: censored},
	{name: "timelines are mixed", within: 20, build: breaking(nil, func(b *broken) { b.oneEpoch = true })},
	{name: "closed frames are forgotten", within: 20, build: breaking(func(cfg *correlate.Config) { cfg.Limits.Closed = 1 }, nil)},
	{name: "nobody listens to progress", within: 20, build: breaking(nil, func(b *broken) {
		b.progress = func(clock.Mono, correlate.StreamID, correlate.ModelID, int64) bool { return true }
	})},
	{name: "progress counts as one more than it says", within: 40, build: breaking(nil, func(b *broken) {
		b.progress = func(now clock.Mono, s correlate.StreamID, id correlate.ModelID, wNS int64) bool {
			return b.Correlator.Progress(now, s, id, wNS+1)
		}
	})},
	{name: "the dead are waited for", within: 20, build: breaking(nil, func(b *broken) {
		b.down = func(clock.Mono, string) error { return nil }
	})},
	{name: "a detector that hangs is waited for", within: 60, build: breaking(nil, func(b *broken) {
		b.silence = func(clock.Mono, correlate.StreamID, string) error { return nil }
	})},
	{name: "a detector that hangs on one camera is dead on all", within: 60, build: breaking(nil, func(b *broken) {
		b.silence = func(now clock.Mono, _ correlate.StreamID, name string) error { return b.ModelDown(now, name) }
	})},
	{name: "a changed quorum is not looked at", within: 60, build: breaking(nil, func(b *broken) {
		b.expect = func(clock.Mono, []string) error { return nil }
	})},
	{name: "sleep of the machine is not noticed", within: 60, build: breaking(nil, func(b *broken) { b.slept = func(clock.Mono) {} })},
	{name: "generations are mixed", within: 200, build: breaking(nil, func(b *broken) {
		b.step = func(now clock.Mono, m *correlate.Message) correlate.Verdict {
			other := *m
			other.Generation = 0
			return b.Correlator.Step(now, &other)
		}
	})},
	{name: "buckets are twice as wide", within: 20, build: breaking(func(cfg *correlate.Config) { cfg.QuantumNS *= 2 }, nil)},
	{name: "buckets begin elsewhere", within: 40, build: breaking(nil, func(b *broken) {
		b.step = func(now clock.Mono, m *correlate.Message) correlate.Verdict {
			other := *m
			if m.Raw == nil {
				other.CaptureNS += 12 * ms
			}
			return b.Correlator.Step(now, &other)
		}
	})},
	{name: "the window is a little wider", within: 100, build: breaking(withCamera(func(c *correlate.CameraConfig) {
		c.WindowNS = min(c.WindowNS*5/4, (c.FrameIntervalNS-1)/2)
	}), nil)},
	{name: "offsets are ignored", within: 40, build: breaking(withCamera(func(c *correlate.CameraConfig) { c.OffsetNS = nil }), nil)},
	{name: "frame ids are ignored", within: 40, build: breaking(withCamera(func(c *correlate.CameraConfig) {
		if c.Match != correlate.MatchWindow {
			c.Match = correlate.MatchBucket
		}
	}), nil)},
	{name: "too many frames are kept open", within: 40, build: breaking(func(cfg *correlate.Config) { cfg.MaxPending++ }, nil)},
	{name: "garbage is kept without bound", within: 200, build: breaking(func(cfg *correlate.Config) { cfg.Limits.RawKeys = 0 }, nil)},
	{name: "frames come out in another order", within: 20, build: withOutput(func(out func(*correlate.Group)) func(*correlate.Group) {
		var held *correlate.Group
		return func(g *correlate.Group) {
			if held == nil {
				kept := *g
				kept.Members = slices.Clone(g.Members)
				held = &kept
				return
			}
			out(g)
			out(held)
			held = nil
		}
	})},
	{name: "two runs of one seed differ", within: 20, build: withOutput(func(out func(*correlate.Group)) func(*correlate.Group) {
		return func(g *correlate.Group) {
			if rand.IntN(5) == 0 { // seeded by the system
				g.Generation++
			}
			out(g)
		}
	})},
	{name: "the path takes the time of its turn for every arrival", within: 20, build: sound, habits: habits{stepsAtNow: true}},
	{name: "the path reads ring after ring", within: 20, build: sound, habits: habits{unmerged: true}},
	{name: "the path tells progress before it has read the rings", within: 60, build: sound, habits: habits{promisesEarly: true}},
	{name: "the path buries a model before it has read its ring", within: 60, build: sound, habits: habits{buriesEarly: true}},
	{name: "the path never ticks", within: 20, build: sound, habits: habits{neverTicks: true}},
}

func faultNamed(t *testing.T, name string) (maker, habits) {
	t.Helper()
	for _, f := range faults {
		if f.name == name {
			return f.build, f.habits
		}
	}
	t.Fatalf("no fault is named %q", name)
	return nil, habits{}
}

// TestFaultsAreFound proves that the simulation can fail: every one of these is found, and by
// the first so many seeds.
func TestFaultsAreFound(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			for seed := uint64(1); seed <= uint64(f.within); seed++ {
				first, err := run(Draw(seed), f.build, f.habits)
				if err == nil {
					var again Result
					if again, err = run(Draw(seed), f.build, f.habits); err == nil && again == first {
						continue
					}
				}
				t.Logf("found by seed %d: %.300v", seed, err)
				return
			}
			t.Errorf("not found by %d seeds", f.within)
		})
	}
}
