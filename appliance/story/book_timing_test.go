package story

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/detect"
)

// field is the traffic that the correlator's own benchmark measures: every model of every camera
// answers every picture.
type field struct {
	c       *correlate.Correlator
	streams []correlate.StreamID
	models  []correlate.ModelID
	m       correlate.Message
	now     clock.Mono
	frame   int64
	i       int
}

func newField(tb testing.TB, cameras, models int, watched bool) *field {
	tb.Helper()
	cfg := correlate.DefaultConfig()
	cfg.Camera.Match = correlate.MatchFrameID
	cfg.ClosedTTLNS = 1e6 // so that the tables are full at once
	for i := range models {
		cfg.Camera.Expected = append(cfg.Camera.Expected, fmt.Sprintf("model-%d", i))
	}
	if watched {
		o := Options{Cameras: cameras, Messages: MessagesFor(models)}
		o.Frames = min(16<<20/(o.FrameBytes()*cameras), 2048)
		cfg.Watch = NewBook(&cfg, o)
	}
	c, err := correlate.New(cfg, func(*correlate.Group) {})
	if err != nil {
		tb.Fatal(err)
	}
	f := &field{c: c, m: correlate.Message{HasBoxes: true, Generation: 1, Boxes: make([]detect.Box, 8)}}
	for _, name := range cfg.Camera.Expected {
		id, err := c.Model(name)
		if err != nil {
			tb.Fatal(err)
		}
		f.models = append(f.models, id)
	}
	for i := range cameras {
		s, err := c.Stream("box-7", fmt.Sprintf("camera-%d", i), 1)
		if err != nil {
			tb.Fatal(err)
		}
		f.streams = append(f.streams, s)
	}
	for range 3 * cameras * models * 3000 {
		f.step()
	}
	return f
}

func (f *field) step() {
	camera, model := f.i%len(f.streams), f.i/len(f.streams)%len(f.models)
	if camera == 0 && model == 0 {
		f.frame++
	}
	f.i++
	f.now += 100
	f.m.Stream, f.m.Model = f.streams[camera], f.models[model]
	f.m.FrameID, f.m.CaptureNS = uint64(f.frame), f.frame*33_333_333+int64(camera)
	f.c.Step(f.now, &f.m)
}

// BenchmarkStep is what a message costs the path with the book open and without.
func BenchmarkStep(b *testing.B) {
	for _, watched := range []bool{false, true} {
		b.Run(fmt.Sprintf("watched=%t", watched), func(b *testing.B) {
			f := newField(b, 16, 3, watched)
			b.ReportAllocs()
			before := processorNS(b)
			for b.Loop() {
				f.step()
			}
			// Beside the wall's time, which neighbours on a shared machine stretch.
			b.ReportMetric(float64(processorNS(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

func processorNS(b *testing.B) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// Nothing is allocated for a message: neither for those that join nor for those that are late,
// sent twice or of another generation.
func TestBookAllocatesNothing(t *testing.T) {
	f := newField(t, 4, 3, true)
	if n := testing.AllocsPerRun(20_000, f.step); n != 0 {
		t.Errorf("%v allocations a message", n)
	}
	text := []byte("no time at all, and more text than is kept of it")
	aside := func() {
		f.step()
		f.c.Step(f.now, &f.m) // once more
		m := f.m
		m.Generation = 2
		m.Raw = text
		f.c.Step(f.now, &m)
	}
	if n := testing.AllocsPerRun(20_000, aside); n != 0 {
		t.Errorf("%v allocations with messages aside", n)
	}
}
