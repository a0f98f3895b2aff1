package fuse

import (
	"math"
	"testing"

	"github.com/skewgate/skewgate/appliance/detect"
)

func TestGateReasons(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	good := detect.Box{X1: 0.1, Y1: 0.1, X2: 0.3, Y2: 0.3, Score: 0.9}
	with := func(change func(*detect.Box)) detect.Box { b := good; change(&b); return b }
	for name, c := range map[string]struct {
		box             detect.Box
		reason          Reason
		swapped, cut    uint64
		x1, y1, x2, y2  float32
		scoreInstead    float32
		classInstead    int32
		useClassesTable bool
	}{
		"good":             {box: good},
		"NaN x1":           {box: with(func(b *detect.Box) { b.X1 = nan }), reason: NotFinite},
		"NaN y2":           {box: with(func(b *detect.Box) { b.Y2 = nan }), reason: NotFinite},
		"infinite":         {box: with(func(b *detect.Box) { b.X2 = inf }), reason: NotFinite},
		"opposite infinit": {box: with(func(b *detect.Box) { b.X1, b.X2 = -inf, inf }), reason: NotFinite},
		"NaN score":        {box: with(func(b *detect.Box) { b.Score = nan }), reason: NotFinite},
		"infinite score":   {box: with(func(b *detect.Box) { b.Score = inf }), reason: NotFinite},
		"pixels":           {box: detect.Box{X1: 0, Y1: 0, X2: 300, Y2: 200, Score: 0.9}, reason: Units},
		"far left":         {box: with(func(b *detect.Box) { b.X1 = -1.5 }), reason: Units},
		"negative score":   {box: with(func(b *detect.Box) { b.Score = -0.1 }), reason: ScoreRange},
		"score above one":  {box: with(func(b *detect.Box) { b.Score = 1.7 }), reason: ScoreRange},
		"rounded score":    {box: with(func(b *detect.Box) { b.Score = 1.0000002 }), cut: 1, scoreInstead: 1},
		"no width":         {box: with(func(b *detect.Box) { b.X2 = b.X1 }), reason: NoArea},
		"outside":          {box: detect.Box{X1: 1.1, Y1: 0.1, X2: 1.3, Y2: 0.3, Score: 0.9}, reason: NoArea},
		"inside out":       {box: detect.Box{X1: 0.3, Y1: 0.3, X2: 0.1, Y2: 0.1, Score: 0.9}, swapped: 1, x1: 0.1, y1: 0.1, x2: 0.3, y2: 0.3},
		"sticks out":       {box: detect.Box{X1: -0.1, Y1: 0.5, X2: 0.25, Y2: 1.5, Score: 0.9}, cut: 1, x1: 0, y1: 0.5, x2: 0.25, y2: 1},
		"unknown label":    {box: with(func(b *detect.Box) { b.Label = 3 }), reason: UnknownLabel, useClassesTable: true},
		"huge label":       {box: with(func(b *detect.Box) { b.Label = math.MaxUint32 }), reason: UnknownLabel},
		"dropped class":    {box: with(func(b *detect.Box) { b.Label = 1 }), reason: DroppedClass, useClassesTable: true},
		"mapped class":     {box: with(func(b *detect.Box) { b.Label = 2 }), classInstead: 7, useClassesTable: true},
		"below skip":       {box: with(func(b *detect.Box) { b.Score = 0.69 }), reason: BelowSkip},
		"at skip":          {box: with(func(b *detect.Box) { b.Score = 0.7 }), scoreInstead: 0.7}, // float32 0.7 is below float64 0.7
	} {
		t.Run(name, func(t *testing.T) {
			m := Model{Name: "m", Weight: 1}
			if c.useClassesTable {
				m.Classes = []int32{0, -1, 7}
			}
			f := mustNew(t, Settings{Models: []Model{m}, IoU: 0.5, Skip: 0.7})
			out := f.Fuse([]ModelBoxes{{Boxes: []detect.Box{c.box}}}, nil)
			want := Counts{Boxes: 1, Swapped: c.swapped, Clipped: c.cut}
			if c.reason == passed {
				want.Fused = 1
			} else {
				want.Removed[c.reason] = 1
			}
			if got := f.Counts(0); got != want {
				t.Errorf("counts: got %+v, want %+v", got, want)
			}
			if (len(out) == 1) != (c.reason == passed) {
				t.Fatalf("got %d boxes, reason %s", len(out), c.reason)
			}
			if c.reason != passed {
				return
			}
			b := c.box
			if c.x2 != 0 {
				b.X1, b.Y1, b.X2, b.Y2 = c.x1, c.y1, c.x2, c.y2
			}
			if c.scoreInstead != 0 {
				b.Score = c.scoreInstead
			}
			o := out[0]
			if got := (detect.Box{X1: float32(o.X1), Y1: float32(o.Y1), X2: float32(o.X2), Y2: float32(o.Y2), Score: o.Scores[0], Label: c.box.Label}); got != b {
				t.Errorf("got %+v, want %+v", got, b)
			}
			if o.Class != c.classInstead {
				t.Errorf("class %d, want %d", o.Class, c.classInstead)
			}
		})
	}
}

func TestGateBounds(t *testing.T) {
	f := mustNew(t, Settings{Models: models(1, 1), IoU: 0.5, MaxBoxes: 3})
	boxes := make([]detect.Box, 5)
	for i := range boxes {
		x := float32(i) / 10
		boxes[i] = detect.Box{X1: x, Y1: 0, X2: x + 0.1, Y2: 0.1, Score: 0.5}
	}
	in := []ModelBoxes{{Model: 1, Boxes: boxes}, {Model: 1, Boxes: boxes}, {Model: 2, Boxes: boxes}, {Model: -1, Boxes: boxes}}
	if out := f.Fuse(in, nil); len(out) != 3 {
		t.Errorf("%d boxes, want the first 3", len(out))
	}
	want := Counts{Boxes: 5, Fused: 3}
	want.Removed[OverCap] = 2
	if got := f.Counts(1); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := f.Strange(); got != 3 {
		t.Errorf("%d strange answers, want 3: one model twice, two unknown", got)
	}
}
