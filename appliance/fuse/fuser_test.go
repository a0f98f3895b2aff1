package fuse

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skewgate/skewgate/appliance/detect"
)

func box(x1, y1, x2, y2, score float32, label uint32) detect.Box {
	return detect.Box{X1: x1, Y1: y1, X2: x2, Y2: y2, Score: score, Label: label}
}

// round makes an answer comparable: float32 corners and scores.
type round struct {
	X1, Y1, X2, Y2, Score float32
	Class                 int32
	Models                uint64
	Scores                []float32
}

func rounded(out []FusedBox) []round {
	var r []round
	for _, b := range out {
		r = append(r, round{float32(b.X1), float32(b.Y1), float32(b.X2), float32(b.Y2), float32(b.Score), b.Class, b.Models, b.Scores})
	}
	return r
}

func TestFuse(t *testing.T) {
	half := box(0, 0, 0.5, 0.5, 0.75, 0)
	tall := box(0, 0, 0.5, 0.75, 0.25, 0) // IoU with half: 2/3
	apart := box(0.75, 0.75, 1, 1, 0.5, 0)
	person, dog := box(0, 0, 0.5, 0.5, 0.75, 0), box(0, 0, 0.5, 0.5, 0.5, 1)
	three := models(1, 1, 1)
	answers := func(boxes ...[]detect.Box) (in []ModelBoxes) {
		for m, b := range boxes {
			in = append(in, ModelBoxes{Model: m, Boxes: b})
		}
		return in
	}
	one := func(b ...detect.Box) []detect.Box { return b }
	for name, c := range map[string]struct {
		s    Settings
		in   []ModelBoxes
		want []round
	}{
		"nothing":   {Settings{Models: three}, nil, nil},
		"all empty": {Settings{Models: three}, answers(nil, nil, nil), nil},
		"wbf": {
			Settings{Models: three, IoU: 0.5}, answers(one(half), one(tall, apart)),
			[]round{{0, 0, 0.5, 0.5625, 0.5, 0, 0b11, []float32{0.75, 0.25}}, {0.75, 0.75, 1, 1, 0.25, 0, 0b10, []float32{0.5}}},
		},
		"wbf, weight 3 to 1": {
			Settings{Models: models(1, 3), IoU: 0.5}, answers(one(half), one(tall)),
			[]round{{0, 0, 0.5, 0.625, 0.375, 0, 0b11, []float32{0.75, 0.25}}},
		},
		"wbf, two of one model": {
			Settings{Models: three, IoU: 0.5}, answers(one(half, tall)),
			[]round{{0, 0, 0.5, 0.5625, 0.5, 0, 0b1, []float32{0.75}}},
		},
		"wbf at the threshold": { // > iou: equal does not join
			Settings{Models: three, IoU: 0.5}, answers(one(box(0, 0, 0.5, 0.5, 0.75, 0)), one(box(0, 0, 0.5, 1, 0.5, 0))),
			[]round{{0, 0, 0.5, 0.5, 0.375, 0, 0b1, []float32{0.75}}, {0, 0, 0.5, 1, 0.25, 0, 0b10, []float32{0.5}}},
		},
		"nmm at the threshold": { // >= iou: equal merges; area-weighted score (0.25·0.75+0.5·0.5)/0.75
			Settings{Algorithm: NMM, Models: three, IoU: 0.5}, answers(one(box(0, 0, 0.5, 0.5, 0.75, 0)), one(box(0, 0, 0.5, 1, 0.5, 0))),
			[]round{{0, 0, 0.5, 1, float32(0.4375 / 0.75), 0, 0b11, []float32{0.75, 0.5}}},
		},
		"nms at the threshold": {
			Settings{Algorithm: NMS, Models: three, IoU: 0.5}, answers(one(box(0, 0, 0.5, 0.5, 0.75, 0)), one(box(0, 0, 0.5, 1, 0.5, 0))),
			[]round{{0, 0, 0.5, 0.5, 0.75, 0, 0b1, []float32{0.75}}, {0, 0, 0.5, 1, 0.5, 0, 0b10, []float32{0.5}}},
		},
		"nms names those it stands for": {
			Settings{Algorithm: NMS, Models: three, IoU: 0.5}, answers(one(tall), nil, one(half)),
			[]round{{0, 0, 0.5, 0.5, 0.75, 0, 0b101, []float32{0.25, 0.75}}},
		},
		"nms, light model": { // scores fall by weight over the heaviest
			Settings{Algorithm: NMS, Models: models(1, 4), IoU: 0.5}, answers(one(half), one(tall)),
			[]round{{0, 0, 0.5, 0.75, 0.25, 0, 0b11, []float32{0.75, 0.25}}},
		},
		"nms by IOS": { // one inside the other: IoU 1/4, over the smaller 1
			Settings{Algorithm: NMS, Models: three, IoU: 0.5, Metric: IOS}, answers(one(box(0, 0, 0.5, 0.5, 0.75, 0)), one(box(0, 0, 0.25, 0.25, 0.5, 0))),
			[]round{{0, 0, 0.5, 0.5, 0.75, 0, 0b11, []float32{0.75, 0.5}}},
		},
		"nmw": { // weights 0.75·1 and 0.25·2/3
			Settings{Algorithm: NMW, Models: three, IoU: 0.5}, answers(one(half), one(tall)),
			[]round{{0, 0, 0.5, float32((0.375 + 0.125) / (0.75 + 1./6)), 0.75, 0, 0b11, []float32{0.75, 0.25}}},
		},
		"soft_nms, linear": {
			Settings{Algorithm: SoftNMS, Decay: Linear, Models: three, IoU: 0.5}, answers(one(half), one(tall)),
			[]round{{0, 0, 0.5, 0.5, 0.75, 0, 0b1, []float32{0.75}}, {0, 0, 0.5, 0.75, float32(0.25 / 3), 0, 0b10, []float32{0.25}}},
		},
		"soft_nms, gaussian": {
			Settings{Algorithm: SoftNMS, Models: three, IoU: 0.5}, answers(one(half), one(tall)),
			[]round{{0, 0, 0.5, 0.5, 0.75, 0, 0b1, []float32{0.75}}, {0, 0, 0.5, 0.75, float32(0.25 * math.Exp(-8./9)), 0, 0b10, []float32{0.25}}},
		},
		"soft_nms, lowest score": {
			Settings{Algorithm: SoftNMS, Models: three, MinScore: 0.2}, answers(one(half), one(tall)),
			[]round{{0, 0, 0.5, 0.5, 0.75, 0, 0b1, []float32{0.75}}},
		},
		"classes apart": {
			Settings{Models: three, IoU: 0.5}, answers(one(person), one(dog)),
			[]round{{0, 0, 0.5, 0.5, 0.375, 0, 0b1, []float32{0.75}}, {0, 0, 0.5, 0.5, 0.25, 1, 0b10, []float32{0.5}}},
		},
		"classes together, voted": { // two dogs of 0.5 outvote a person of 0.75
			Settings{Models: three, IoU: 0.5, ClassAgnostic: true}, answers(one(person), one(dog), one(dog)),
			[]round{{0, 0, 0.5, 0.5, float32(1.75 / 3), 1, 0b111, []float32{0.75, 0.5, 0.5}}},
		},
		"classes together, equal votes": { // the lower class
			Settings{Models: three, IoU: 0.5, ClassAgnostic: true}, answers(one(dog), one(box(0, 0, 0.5, 0.5, 0.5, 0)), nil),
			[]round{{0, 0, 0.5, 0.5, float32(1. / 3), 0, 0b11, []float32{0.5, 0.5}}},
		},
		"classes together, nms": { // the best box keeps its class
			Settings{Algorithm: NMS, Models: three, IoU: 0.5, ClassAgnostic: true}, answers(one(person), one(dog), one(dog)),
			[]round{{0, 0, 0.5, 0.5, 0.75, 0, 0b111, []float32{0.75, 0.5, 0.5}}},
		},
		"iou of a class": { // class 1 needs more overlap
			Settings{Models: three, IoU: 0.5, ClassIoU: map[int32]float64{1: 0.7}},
			answers(one(half, box(0, 0, 0.5, 0.5, 0.5, 1)), one(tall, box(0, 0, 0.5, 0.75, 0.25, 1))),
			[]round{
				{0, 0, 0.5, 0.5625, 0.5, 0, 0b11, []float32{0.75, 0.25}},
				{0, 0, 0.5, 0.5, 0.25, 1, 0b1, []float32{0.5}}, {0, 0, 0.5, 0.75, 0.125, 1, 0b10, []float32{0.25}},
			},
		},
		"two of three models": {
			Settings{Models: three, IoU: 0.5, MinModels: 2}, answers(one(half, half), one(tall, apart), one(box(0.5, 0, 1, 0.5, 1, 0), box(0.5, 0, 1, 0.5, 1, 0))),
			[]round{{0, 0, 0.5, 0.53571427, float32(1.75 / 3 * 2 / 3), 0, 0b11, []float32{0.75, 0.25}}},
		},
		"scores of zero": { // equal weights in place of 0/0
			Settings{Models: three, IoU: 0.5}, answers(one(box(0, 0, 0.5, 0.5, 0, 0)), one(box(0, 0, 0.5, 0.75, 0, 0))),
			[]round{{0, 0, 0.5, 0.625, 0, 0, 0b11, []float32{0, 0}}},
		},
		"reference_avg with overflow is cut at 1": { // 4 boxes of 1 over W = 2
			Settings{Models: models(1, 1), IoU: 0.5, Rule: ReferenceAvg, Overflow: true},
			answers(one(box(0, 0, 0.5, 0.5, 1, 0), box(0, 0, 0.5, 0.5, 1, 0)), one(box(0, 0, 0.5, 0.5, 1, 0), box(0, 0, 0.5, 0.5, 1, 0))),
			[]round{{0, 0, 0.5, 0.5, 1, 0, 0b11, []float32{1, 1}}},
		},
		"equal scores": { // lower model first, then lower index: nms keeps model 0's first
			Settings{Algorithm: NMS, Models: three, IoU: 0.5},
			answers(one(box(0, 0, 0.5, 0.5, 0.5, 0), box(0, 0, 0.5, 0.625, 0.5, 0)), one(box(0, 0, 0.5, 0.75, 0.5, 0))),
			[]round{{0, 0, 0.5, 0.5, 0.5, 0, 0b11, []float32{0.5, 0.5}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := mustNew(t, c.s)
			if d := cmp.Diff(c.want, rounded(f.Fuse(c.in, nil))); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if want := uint64(2); name == "two of three models" && f.TooFew() != want {
				t.Errorf("%d groups of too few models, want %d", f.TooFew(), want)
			}
		})
	}
}

// TestAppends: Fuse appends to what it is given, and settings are the Fuser's own.
func TestAppends(t *testing.T) {
	classes := []int32{4}
	s := Settings{Models: []Model{{Name: "a", Weight: 1, Classes: classes}}, IoU: 0.5}
	f := mustNew(t, s)
	classes[0] = -1
	s.Models[0].Weight = -1
	in := []ModelBoxes{{Boxes: []detect.Box{box(0, 0, 0.5, 0.5, 0.75, 0)}}}
	kept := FusedBox{Class: 99}
	out := f.Fuse(in, []FusedBox{kept})
	if len(out) != 2 || out[0].Class != 99 || out[1].Class != 4 || !slices.Equal(out[1].Scores, []float32{0.75}) {
		t.Errorf("%+v", out)
	}
	for _, m := range []int{-1, 1, 64} {
		if _, ok := out[1].ScoreOf(m); ok {
			t.Errorf("a score of model %d", m)
		}
	}
}
