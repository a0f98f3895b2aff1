package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/detect"
)

// flood is one way to send what never comes twice.
type flood struct {
	name  string
	match correlate.Match
	send  func(f *flooded, i int64) correlate.Verdict
}

// flooded is a correlator under a flood.
type flooded struct {
	c       *correlate.Correlator
	now     clock.Mono
	gate    correlate.StreamID
	model   correlate.ModelID
	turned  uint64 // refused before there was a message to step
	rng     *rand.Rand
	message correlate.Message
}

// stream and name are what a reader does with the names in what it has read.
func (f *flooded) step(m correlate.Message, err error) correlate.Verdict {
	if err != nil {
		if !errors.Is(err, correlate.ErrFull) {
			panic(err)
		}
		f.c.Refuse()
		f.turned++
		return correlate.Refused
	}
	f.message = m
	return f.c.Step(f.now, &f.message)
}

var floods = []flood{
	{"cameras", correlate.MatchBucket, func(f *flooded, i int64) correlate.Verdict {
		s, err := f.c.Stream(Unit, fmt.Sprintf("camera-%d", i), 1)
		return f.step(correlate.Message{Stream: s, Model: f.model, CaptureNS: i}, err)
	}},
	{"names", correlate.MatchBucket, func(f *flooded, i int64) correlate.Verdict {
		id, err := f.c.Model(fmt.Sprintf("model-%d", i))
		return f.step(correlate.Message{Stream: f.gate, Model: id, CaptureNS: 1}, err)
	}},
	{"garbage timestamps", correlate.MatchBucket, func(f *flooded, i int64) correlate.Verdict {
		return f.step(correlate.Message{Stream: f.gate, Model: f.model, CaptureNS: detect.RawInstant, Raw: fmt.Appendf(nil, "%d o'clock", i)}, nil)
	}},
	{"capture times", correlate.MatchBucket, func(f *flooded, i int64) correlate.Verdict {
		return f.step(correlate.Message{Stream: f.gate, Model: f.model, CaptureNS: f.rng.Int64() - 1<<62}, nil)
	}},
	{"capture times in one window", correlate.MatchWindow, func(f *flooded, i int64) correlate.Verdict {
		return f.step(correlate.Message{Stream: f.gate, Model: f.model, CaptureNS: i % (20 * ms)}, nil)
	}},
	{"capture times in all windows", correlate.MatchWindow, func(f *flooded, i int64) correlate.Verdict {
		return f.step(correlate.Message{Stream: f.gate, Model: f.model, CaptureNS: f.rng.Int64() - 1<<62}, nil)
	}},
	{"frame ids", correlate.MatchFrameID, func(f *flooded, i int64) correlate.Verdict {
		return f.step(correlate.Message{Stream: f.gate, Model: f.model, FrameID: f.rng.Uint64() | 1}, nil)
	}},
	{"stream epochs", correlate.MatchWindow, func(f *flooded, i int64) correlate.Verdict {
		s, err := f.c.Stream(Unit, "gate", f.rng.Uint32())
		f.c.Progress(f.now, s, f.model, i)
		return f.step(correlate.Message{Stream: s, Model: f.model, CaptureNS: i}, err)
	}},
	{"generations", correlate.MatchBucket, func(f *flooded, i int64) correlate.Verdict {
		return f.step(correlate.Message{Stream: f.gate, Model: f.model, Generation: f.rng.Uint64() | 1, CaptureNS: i / 3}, nil)
	}},
	{"answers of all names to all frames", correlate.MatchBucket, func(f *flooded, i int64) correlate.Verdict {
		id, err := f.c.Model(fmt.Sprintf("model-%d", i%1500))
		return f.step(correlate.Message{Stream: f.gate, Model: id, CaptureNS: i / 1500 * 25 * ms}, err)
	}},
}

// Point by point: a flood of what is new every time ends in a counted refusal, an eviction or a
// counted forgetting, never in growth; and whoever is honest beside it still gets his frames.
func TestFloods(t *testing.T) {
	for _, fl := range floods {
		t.Run(fl.name, func(t *testing.T) {
			cfg := correlate.DefaultConfig()
			cfg.Camera = correlate.CameraConfig{Match: fl.match, WindowNS: 15 * ms, FrameIntervalNS: 33 * ms, Expected: []string{"mine", "yours"}}
			published := map[string]int{}
			c, err := correlate.New(cfg, func(g *correlate.Group) {
				if g.Reason == correlate.Quorum {
					published[g.Camera]++
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			f := &flooded{c: c, rng: rand.New(rand.NewPCG(1, 2))}
			f.gate, _ = c.Stream(Unit, "gate", 1)
			f.model, _ = c.Model("flooder")
			honest, _ := c.Stream(Unit, "honest", 1)
			mine, _ := c.Model("mine")
			yours, _ := c.Model("yours")
			const n, frames = 200_000, 2000
			before := heapInUse()
			got := map[correlate.Verdict]uint64{}
			for i := range int64(n) {
				f.now += 3 * clock.Mono(us)
				got[fl.send(f, i)]++
				if i%(n/frames) != 0 {
					continue
				}
				frame := i / (n / frames)
				for _, id := range []correlate.ModelID{mine, yours} {
					got[c.Step(f.now, &correlate.Message{Stream: honest, Model: id, CaptureNS: frame * 33 * ms, FrameID: uint64(frame + 1)})]++
				}
				if err := c.CheckIdentities(); err != nil {
					t.Fatal(err)
				}
				for _, table := range c.AppendTables(nil) {
					if table.Len > table.Bound {
						t.Fatalf("after %d: table %s holds %d, bound %d", i, table.Name, table.Len, table.Bound)
					}
				}
			}
			grown := heapInUse() - before
			counts := c.Counters()
			if sum := counts.Received + counts.Refused; sum != n+2*frames || counts.Refused != got[correlate.Refused] {
				t.Errorf("%d messages were sent; received %d, refused %d; verdicts %v", n+2*frames, counts.Received, counts.Refused, got)
			}
			if published["honest"] != frames {
				t.Errorf("the honest camera got %d of its %d frames", published["honest"], frames)
			}
			// Every table full, the most that this may come to.
			if grown > 96<<20 {
				t.Errorf("the heap grew by %d MiB", grown>>20)
			}
			t.Logf("%v; %d evicted, %d forgotten, heap + %d MiB", got, counts.FlushedEviction, counts.ClosedForgotten, grown>>20)
		})
	}
}

// heapInUse is what is in use after a collection.
func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
