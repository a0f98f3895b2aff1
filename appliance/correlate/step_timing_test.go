package correlate

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/detect"
)

// traffic is the field's shape: every model of every camera answers every picture, in order,
// and the arrival clock moves on so that closed records fill up to their bound.
type traffic struct {
	c       *Correlator
	streams []StreamID
	models  []ModelID
	m       Message
	now     clock.Mono
	frame   int64
	i       int
}

func newTraffic(tb testing.TB, cameras, models, boxes int, change func(*Config)) *traffic {
	cfg := DefaultConfig()
	cfg.Camera.Match = MatchFrameID
	cfg.Limits.Cameras = max(cameras, 8192)
	names := make([]string, models)
	for i := range names {
		names[i] = fmt.Sprintf("model-%d", i)
	}
	cfg.Camera.Expected = names
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg, func(*Group) {})
	if err != nil {
		tb.Fatal(err)
	}
	tr := &traffic{c: c, m: Message{HasBoxes: true, Generation: 1, Boxes: make([]detect.Box, boxes)}}
	for _, name := range names {
		id, err := c.Model(name)
		if err != nil {
			tb.Fatal(err)
		}
		tr.models = append(tr.models, id)
	}
	for i := range cameras {
		s, err := c.Stream("box-7", fmt.Sprintf("camera-%d", i), 1)
		if err != nil {
			tb.Fatal(err)
		}
		tr.streams = append(tr.streams, s)
	}
	return tr
}

// next makes one message: picture by picture, model by model, over all cameras, as rings are
// polled.
func (tr *traffic) next() {
	camera := tr.i % len(tr.streams)
	model := tr.i / len(tr.streams) % len(tr.models)
	if camera == 0 && model == 0 {
		tr.frame++
	}
	tr.i++
	tr.now += 100
	tr.m.Stream, tr.m.Model = tr.streams[camera], tr.models[model]
	tr.m.FrameID, tr.m.CaptureNS = uint64(tr.frame), tr.frame*33_333_333+int64(camera)
}

func (tr *traffic) step() {
	tr.next()
	tr.c.Step(tr.now, &tr.m)
}

// warm runs until the closed records are at their bound and nothing grows any more.
func (tr *traffic) warm() {
	for tr.c.n.ClosedForgotten < 1000 {
		tr.step()
	}
}

// loop times f in the processor time of this process beside the wall's, which neighbours on a
// shared machine stretch.
func loop(b *testing.B, f func()) {
	b.ReportAllocs()
	before := processorNS(b)
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64(processorNS(b)-before)/float64(b.N), "cpu-ns/op")
}

func processorNS(b *testing.B) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func BenchmarkStep(b *testing.B) {
	for _, bench := range []struct {
		name           string
		cameras, boxes int
		change         func(*Config)
		progress       bool
	}{
		{name: "cameras=16", cameras: 16, boxes: 8},
		{name: "cameras=16/boxes=0", cameras: 16, change: func(cfg *Config) { cfg.EmitEmpty = true }},
		{name: "cameras=16/bucket", cameras: 16, boxes: 8, change: func(cfg *Config) { cfg.Camera.Match = MatchBucket }},
		{name: "cameras=16/window", cameras: 16, boxes: 8, change: func(cfg *Config) {
			cfg.Camera.Match, cfg.Camera.WindowNS, cfg.Camera.FrameIntervalNS = MatchWindow, 10*ms, 33*ms
		}},
		{name: "cameras=16/progress", cameras: 16, boxes: 8, progress: true},
		{name: "cameras=4096", cameras: 4096, boxes: 8},
	} {
		b.Run(bench.name, func(b *testing.B) {
			tr := newTraffic(b, bench.cameras, 3, bench.boxes, bench.change)
			tr.warm()
			loop(b, func() {
				tr.step()
				if bench.progress {
					tr.c.Progress(tr.now, tr.m.Stream, tr.m.Model, tr.m.CaptureNS)
				}
			})
		})
	}
}

// BenchmarkOpen keeps that many groups open: one more model is expected and never answers.
func BenchmarkOpen(b *testing.B) {
	for _, progress := range []bool{false, true} {
		for _, open := range []int{100, 1000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("progress=%t/%d", progress, open), func(b *testing.B) {
				tr := newTraffic(b, 16, 3, 8, func(cfg *Config) {
					cfg.MaxPending = open
					cfg.Camera.Expected = append(cfg.Camera.Expected, "silent")
					cfg.TimeoutNS, cfg.MaxAgeNS = maxSpanNS, Never
				})
				tr.warm()
				loop(b, func() {
					tr.step()
					if progress {
						tr.c.Progress(tr.now, tr.m.Stream, tr.m.Model, tr.m.CaptureNS)
					}
				})
			})
		}
	}
}
