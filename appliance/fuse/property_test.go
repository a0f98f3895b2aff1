package fuse

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/skewgate/skewgate/appliance/detect"
)

// drawAnswers draws what n models say about a frame: some answer, some do not, boxes huddle
// around a few objects so that groups form, and scores repeat now and then.
func drawAnswers(t *rapid.T, n int) []ModelBoxes {
	coarse := rapid.Bool().Draw(t, "coarse scores")
	objects := rapid.IntRange(1, 4).Draw(t, "objects")
	var in []ModelBoxes
	for m := range n {
		if rapid.IntRange(0, 4).Draw(t, "answers") == 0 {
			continue
		}
		a := ModelBoxes{Model: m}
		for range rapid.IntRange(0, 8).Draw(t, "boxes") {
			o := float32(rapid.IntRange(0, objects-1).Draw(t, "object"))
			jitter := func(name string) float32 { return rapid.Float32Range(-0.05, 0.05).Draw(t, name) }
			x, y := 0.1+o*0.2+jitter("x"), 0.1+o*0.2+jitter("y")
			b := detect.Box{X1: x, Y1: y, X2: x + 0.2 + jitter("w"), Y2: y + 0.2 + jitter("h"), Label: uint32(rapid.IntRange(0, 2).Draw(t, "label"))}
			if coarse {
				b.Score = float32(rapid.IntRange(0, 4).Draw(t, "score")) / 4
			} else {
				b.Score = rapid.Float32Range(0, 1).Draw(t, "score")
			}
			a.Boxes = append(a.Boxes, b)
		}
		in = append(in, a)
	}
	return in
}

func drawModels(t *rapid.T, n int) []Model {
	models := make([]Model, n)
	for i := range models {
		models[i] = Model{Name: fmt.Sprint(i), Weight: rapid.SampledFrom([]float64{0.25, 1, 1, 3, 7.5}).Draw(t, "weight")}
	}
	return models
}

func mustNew(t interface{ Fatal(...any) }, s Settings) *Fuser {
	f, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// copied keeps fused boxes past the next Fuse.
func copied(b []FusedBox) []FusedBox {
	b = slices.Clone(b)
	for i := range b {
		b[i].Scores = slices.Clone(b[i].Scores)
	}
	return b
}

func TestAgainstNaive(t *testing.T) {
	total, edges := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "models")
		s := Settings{
			Algorithm: WBF, Models: drawModels(t, n),
			IoU:       rapid.SampledFrom([]float64{0.01, 0.3, 0.55, 0.8, 0.99}).Draw(t, "iou"),
			Rule:      rapid.SampledFrom([]Rule{AvgPresent, ReferenceAvg, Max, AbsentAware}).Draw(t, "rule"),
			MinModels: rapid.IntRange(0, n).Draw(t, "min models"),
		}
		s.Overflow = s.Rule == ReferenceAvg && rapid.Bool().Draw(t, "overflow")
		in := drawAnswers(t, n)
		got := mustNew(t, s).Fuse(in, nil)

		var boxes []naiveBox
		var present []int
		weights := make([]float64, n)
		for i, m := range s.Models {
			weights[i] = m.Weight
		}
		for _, a := range in {
			present = append(present, a.Model)
			for i, b := range a.Boxes {
				boxes = append(boxes, naiveBox{[4]float64{float64(b.X1), float64(b.Y1), float64(b.X2), float64(b.Y2)}, float64(b.Score), a.Model, i, int(b.Label)})
			}
		}
		want, onEdge := naiveWBF(boxes, present, weights, s.IoU, s.Rule, s.Overflow, s.MinModels)
		total++
		if onEdge {
			edges++
			return
		}
		compareNaive(t, got, want)
	})
	if edges*2 > total {
		t.Errorf("rounding decided %d of %d frames: the drawn boxes are no test", edges, total)
	}
}

func compareNaive(t *rapid.T, got []FusedBox, want []naiveFused) {
	const eps = 1e-9
	if len(got) != len(want) {
		t.Fatalf("got %d boxes, want %d", len(got), len(want))
	}
	used := make([]bool, len(want))
next:
	for _, g := range got {
		for i, w := range want {
			same := !used[i] && int(g.Class) == w.class && math.Abs(g.Score-w.score) < eps && len(g.Scores) == len(w.models)
			for k, v := range [4]float64{g.X1, g.Y1, g.X2, g.Y2} {
				same = same && math.Abs(v-w.corners[k]) < eps
			}
			for m, score := range w.models {
				own, ok := g.ScoreOf(m)
				same = same && ok && float64(own) == score
			}
			if same {
				used[i] = true
				continue next
			}
		}
		t.Fatalf("box %+v is none of %+v", g, want)
	}
}

// sameBits compares two answers bit for bit.
func sameBits(a, b []FusedBox) bool {
	return slices.EqualFunc(a, b, func(x, y FusedBox) bool {
		return x.X1 == y.X1 && x.Y1 == y.Y1 && x.X2 == y.X2 && x.Y2 == y.Y2 &&
			x.Score == y.Score && x.Class == y.Class && x.Models == y.Models && slices.Equal(x.Scores, y.Scores)
	})
}

func drawSettings(t *rapid.T, n int) Settings {
	s := Settings{
		Algorithm:     rapid.SampledFrom([]Algorithm{WBF, NMS, NMM, NMW, SoftNMS}).Draw(t, "algorithm"),
		Models:        drawModels(t, n),
		IoU:           rapid.Float64Range(0, 1).Draw(t, "iou"),
		Rule:          rapid.SampledFrom([]Rule{AvgPresent, ReferenceAvg, Max, AbsentAware}).Draw(t, "rule"),
		Skip:          rapid.SampledFrom([]float64{0, 0.05, 0.5}).Draw(t, "skip"),
		ClassAgnostic: rapid.Bool().Draw(t, "agnostic"),
		Metric:        rapid.SampledFrom([]Metric{IOU, IOS}).Draw(t, "metric"),
		Decay:         rapid.SampledFrom([]Decay{Gaussian, Linear}).Draw(t, "decay"),
	}
	s.Overflow = s.Algorithm == WBF && s.Rule == ReferenceAvg && rapid.Bool().Draw(t, "overflow")
	if s.Algorithm != SoftNMS {
		s.MinModels = rapid.IntRange(0, n).Draw(t, "min models")
	}
	return s
}

// checkAnswer is what holds of every answer to whatever input.
func checkAnswer(t interface{ Fatalf(string, ...any) }, s *Settings, in []ModelBoxes, out []FusedBox) {
	total, answered := 0, uint64(0)
	best := map[int]float32{}
	for _, a := range in {
		if a.Model < 0 || a.Model >= len(s.Models) {
			continue
		}
		answered |= 1 << a.Model
		total += len(a.Boxes)
		for _, b := range a.Boxes {
			if b.Score > best[a.Model] {
				best[a.Model] = min(b.Score, 1)
			}
		}
	}
	if len(out) > total {
		t.Fatalf("%d boxes of %d", len(out), total)
	}
	for i, b := range out {
		for _, v := range []float64{b.X1, b.Y1, b.X2, b.Y2, b.Score} {
			if !within01(v) {
				t.Fatalf("box %d: %v not within 0…1: %+v", i, v, b)
			}
		}
		if b.X1 > b.X2 || b.Y1 > b.Y2 {
			t.Fatalf("box %d: corners out of order: %+v", i, b)
		}
		if i > 0 && out[i-1].Score < b.Score {
			t.Fatalf("box %d: score %v after %v", i, b.Score, out[i-1].Score)
		}
		if b.Models == 0 || b.Models&^answered != 0 {
			t.Fatalf("box %d: models %b of %b that answered", i, b.Models, answered)
		}
		seen := 0
		for m := range s.Models {
			if own, ok := b.ScoreOf(m); ok {
				seen++
				if own > best[m] || float64(own) < float64(float32(s.Skip)) {
					t.Fatalf("box %d: score %v of model %d", i, own, m)
				}
			}
		}
		if seen != len(b.Scores) || seen < s.MinModels {
			t.Fatalf("box %d: %d models, %d scores, at least %d wanted", i, seen, len(b.Scores), s.MinModels)
		}
	}
}

// TestInvariants: inputs within 0…1 give outputs within 0…1 for every algorithm and rule;
// the order of the models in the call changes no bit; nor does what was fused before.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "models")
		s := drawSettings(t, n)
		f := mustNew(t, s)
		in := drawAnswers(t, n)
		first := copied(f.Fuse(in, nil))
		checkAnswer(t, &s, in, first)
		f.Fuse(drawAnswers(t, n), nil)
		slices.Reverse(in)
		if again := f.Fuse(in, nil); !sameBits(first, again) {
			t.Fatalf("models in another order, after another frame: %+v, before %+v", again, first)
		}
	})
}

// TestBoxOrder: with weighted scores that differ, the order of a model's boxes changes no
// bit, for every algorithm.
func TestBoxOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "models")
		s := drawSettings(t, n)
		in := drawAnswers(t, n)
		step := 0
		for _, a := range in { // scores k/512 and weights 1, 2, 4…: no two products are equal
			for i := range a.Boxes {
				a.Boxes[i].Score = float32(2*step+1) / 512
				step++
			}
			s.Models[a.Model].Weight = float64(int(1) << a.Model)
		}
		f := mustNew(t, s)
		first := copied(f.Fuse(in, nil))
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "shuffle"), 1))
		for _, a := range in {
			r.Shuffle(len(a.Boxes), func(i, j int) { a.Boxes[i], a.Boxes[j] = a.Boxes[j], a.Boxes[i] })
		}
		if again := f.Fuse(in, nil); !sameBits(first, again) {
			t.Fatalf("boxes in another order: %+v, before %+v", again, first)
		}
	})
}

// TestAbsentIsNotEmpty: a model that found nothing lowers the averages, one that did not
// answer does not.
func TestAbsentIsNotEmpty(t *testing.T) {
	box := []detect.Box{{X1: 0.1, Y1: 0.1, X2: 0.3, Y2: 0.3, Score: 0.5}}
	for rule, want := range map[Rule][2]float64{
		AvgPresent: {0.5, 0.25}, ReferenceAvg: {0.5, 0.25}, Max: {0.5, 0.5}, AbsentAware: {0.5, 0.25},
	} {
		f := mustNew(t, Settings{Models: []Model{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}}, IoU: 0.5, Rule: rule})
		absent := f.Fuse([]ModelBoxes{{Model: 0, Boxes: box}}, nil)[0].Score
		empty := f.Fuse([]ModelBoxes{{Model: 0, Boxes: box}, {Model: 1}}, nil)[0].Score
		if absent != want[0] || empty != want[1] {
			t.Errorf("%s: alone %v, beside an empty answer %v; want %v", rule, absent, empty, want)
		}
	}
}
