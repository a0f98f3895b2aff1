package fuse

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/skewgate/skewgate/appliance/detect"
)

// scene makes the answers of n models to a frame with so many objects: each model sees
// each object, a little off.
func scene(n, objects int) []ModelBoxes {
	r := rand.New(rand.NewPCG(1, 2))
	type spot struct{ x, y, w, h float32 }
	spots := make([]spot, objects)
	for i := range spots {
		spots[i] = spot{r.Float32() * 0.8, r.Float32() * 0.8, 0.03 + r.Float32()*0.1, 0.03 + r.Float32()*0.1}
	}
	in := make([]ModelBoxes, n)
	for m := range in {
		in[m].Model = m
		for i, s := range spots {
			off := func() float32 { return (r.Float32() - 0.5) * 0.01 }
			x, y := max(s.x+off(), 0), max(s.y+off(), 0)
			in[m].Boxes = append(in[m].Boxes, detect.Box{X1: x, Y1: y, X2: x + s.w + off(), Y2: y + s.h + off(), Score: 0.3 + r.Float32()*0.7, Label: uint32(i % 3)})
		}
	}
	return in
}

func sceneSettings(n int, a Algorithm) Settings {
	s := Settings{Algorithm: a, IoU: 0.55}
	for m := range n {
		s.Models = append(s.Models, Model{Name: fmt.Sprint(m), Weight: float64(1 + m%2)})
	}
	return s
}

// TestAllocs: once the buffers have grown, a frame costs no allocation.
func TestAllocs(t *testing.T) {
	in := scene(4, 40)
	for a := range algorithmNames {
		for _, agnostic := range []bool{false, true} {
			s := sceneSettings(4, Algorithm(a))
			s.ClassAgnostic = agnostic
			f := mustNew(t, s)
			out := f.Fuse(in, nil)
			if got := testing.AllocsPerRun(100, func() { out = f.Fuse(in, out[:0]) }); got != 0 {
				t.Errorf("%s, agnostic %v: %v allocations a frame, want 0", s.Algorithm, agnostic, got)
			}
		}
	}
}

// BenchmarkFuse: 3×8 is an ordinary frame of three models, 4×40 a crowded one, 16×1000 the
// most that a Fuser takes, all of it groups of 16; 16×1000 apart is the worst a hostile
// set of detectors can send: nothing overlaps.
func BenchmarkFuse(b *testing.B) {
	for _, c := range []struct {
		a          Algorithm
		n, objects int
	}{
		{WBF, 3, 8}, {WBF, 4, 40}, {NMS, 4, 40}, {NMM, 4, 40}, {NMW, 4, 40}, {SoftNMS, 4, 40}, {WBF, 16, 1000},
	} {
		b.Run(fmt.Sprintf("%s/%dx%d", c.a, c.n, c.objects), func(b *testing.B) {
			run(b, sceneSettings(c.n, c.a), scene(c.n, c.objects))
		})
	}
	for _, a := range []Algorithm{WBF, SoftNMS} {
		b.Run(a.String()+"/16x1000_apart", func(b *testing.B) { run(b, sceneSettings(16, a), apart(16, 1000)) })
	}
}

// apart is n×each boxes of one class of which no two overlap.
func apart(n, each int) []ModelBoxes {
	in := make([]ModelBoxes, n)
	const columns = 128
	for i := range n * each {
		a := &in[i/each]
		a.Model = i / each
		x, y := float32(i%columns)/columns, float32(i/columns)/columns
		a.Boxes = append(a.Boxes, detect.Box{X1: x, Y1: y, X2: x + 0.9/columns, Y2: y + 0.9/columns, Score: float32(i) / 20000})
	}
	return in
}

func run(b *testing.B, s Settings, in []ModelBoxes) {
	f := mustNew(b, s)
	out := f.Fuse(in, nil)
	b.ReportAllocs()
	for b.Loop() {
		out = f.Fuse(in, out[:0])
	}
}
