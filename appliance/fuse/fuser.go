package fuse

import (
	"cmp"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/skewgate/skewgate/appliance/detect"
)

// ModelBoxes is one model's answer about a frame. No boxes is an answer: it looked and
// found nothing. A model that did not answer is not in the call.
type ModelBoxes struct {
	Model int // index in Settings.Models
	Boxes []detect.Box
}

// FusedBox is one box of the answer, in fractions of the frame, corners in order, all
// values within 0…1.
type FusedBox struct {
	X1, Y1, X2, Y2 float64
	Score          float64
	Class          int32

	// Models has bit m set if model m has a box in this one. Under nms these are the model
	// of the box and those whose boxes it stands for.
	Models uint64

	// Scores are the best own score of each contributing model, in order of rising model
	// index, one for each bit of Models. They are valid until the next Fuse.
	Scores []float32
}

// ScoreOf is the best own score of a model, false if it has no box in b.
func (b *FusedBox) ScoreOf(model int) (float32, bool) {
	if model < 0 || model >= MaxModels || b.Models&(1<<model) == 0 {
		return 0, false
	}
	return b.Scores[bits.OnesCount64(b.Models&(1<<model-1))], true
}

// Fuser fuses frame after frame with one set of settings. It is not for use by two
// goroutines at once, and after its buffers have grown it allocates nothing.
type Fuser struct {
	settings Settings
	plan     plan
	engine   engine
	answers  []int // by model: its place in the call, from 1; 0 means it did not answer
	ranked   []place
	scores   []float32
	counts   []Counts
	strange  uint64
	tooFew   uint64
}

// place is a group on its way to the output.
type place struct {
	score float64
	class int32
	group int32
}

// New checks the settings and makes a Fuser of a copy of them. The error names the setting
// that cannot work.
func New(s Settings) (*Fuser, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	s.Models = slices.Clone(s.Models)
	for i := range s.Models {
		s.Models[i].Classes = slices.Clone(s.Models[i].Classes)
	}
	f := &Fuser{settings: s, answers: make([]int, len(s.Models)), counts: make([]Counts, len(s.Models))}
	f.plan = plan{
		algorithm: s.Algorithm, metric: s.Metric, rule: s.Rule, overflow: s.Overflow,
		agnostic: s.ClassAgnostic, decay: s.Decay, sigma: s.Sigma, minScore: s.MinScore,
		iou: s.IoU, classIoU: maps.Clone(s.ClassIoU),
	}
	for _, m := range s.Models {
		f.plan.weights = append(f.plan.weights, m.Weight)
	}
	return f, nil
}

// Fuse appends the fused boxes of one frame to out, best score first, and returns it. in
// holds the models that answered, in any order.
func (f *Fuser) Fuse(in []ModelBoxes, out []FusedBox) []FusedBox {
	f.attend(in)
	f.engine.reset()
	for model, a := range f.answers {
		if a > 0 {
			f.admit(model, in[a-1].Boxes)
		}
	}
	f.engine.run(&f.plan)
	f.order()
	return f.emit(out)
}

// attend notes which models answered and sums up their weights. Weights are added in
// order of the model index, so the order of the call changes no bit of the result.
func (f *Fuser) attend(in []ModelBoxes) {
	clear(f.answers)
	for i := range in {
		m := in[i].Model
		if m < 0 || m >= len(f.answers) || f.answers[m] > 0 {
			f.strange++
			continue
		}
		f.answers[m] = i + 1
	}
	p := &f.plan
	p.present, p.sumW, p.maxW, p.norm = 0, 0, 0, 1
	for m, a := range f.answers {
		if a > 0 {
			p.present |= 1 << m
			p.sumW += p.weights[m]
			p.maxW = max(p.maxW, p.weights[m])
		}
	}
	if p.algorithm != WBF {
		p.norm = p.maxW
	}
}

// admit lets one model's boxes through the gate.
func (f *Fuser) admit(model int, boxes []detect.Box) {
	n := &f.counts[model]
	n.Boxes += uint64(len(boxes))
	if over := len(boxes) - f.settings.MaxBoxes; over > 0 {
		n.Removed[OverCap] += uint64(over)
		boxes = boxes[:f.settings.MaxBoxes]
	}
	classes := f.settings.Models[model].Classes
	// Candidates are made where they stay: a copy of what was only just written part by part
	// waits for those parts.
	all := slices.Grow(f.engine.candidates, len(boxes))
	for i := range boxes {
		b := &boxes[i]
		all = all[:len(all)+1]
		c := &all[len(all)-1]
		c.x1, c.y1, c.x2, c.y2 = float64(b.X1), float64(b.Y1), float64(b.X2), float64(b.Y2)
		c.score, c.model, c.index, c.group = float64(b.Score), int32(model), int32(i), -1
		reason, swapped, cut := strict.clean(&c.rect, &c.score)
		if reason == passed {
			c.class, reason = classOf(classes, b.Label)
		}
		if reason == passed && b.Score < float32(f.settings.Skip) { // equal in the model's precision stays
			reason = BelowSkip
		}
		if reason != passed {
			n.Removed[reason]++
			all = all[:len(all)-1]
			continue
		}
		if swapped {
			n.Swapped++
		}
		if cut {
			n.Clipped++
		}
		n.Fused++
		c.rank = f.plan.rank(c.score, c.model)
	}
	f.engine.candidates = all
}

// classOf looks a model's label up in its class table.
func classOf(classes []int32, label uint32) (int32, Reason) {
	switch {
	case classes == nil && label <= math.MaxInt32:
		return int32(label), passed
	case classes == nil || uint64(label) >= uint64(len(classes)):
		return 0, UnknownLabel
	case classes[label] == dropClass:
		return 0, DroppedClass
	}
	return classes[label], passed
}

// order ranks the groups that have enough models, best score first, then class, then the
// order in which they were opened.
func (f *Fuser) order() {
	f.ranked = f.ranked[:0]
	for i := range f.engine.groups {
		g := &f.engine.groups[i]
		g.slot = -1
		if bits.OnesCount64(g.models) < f.settings.MinModels {
			f.tooFew++
			continue
		}
		f.ranked = append(f.ranked, place{unit(g.score), g.class, int32(i)})
	}
	slices.SortFunc(f.ranked, func(a, b place) int {
		if a.score != b.score {
			return cmp.Compare(b.score, a.score)
		}
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.group, b.group))
	})
}

// emit writes the ranked groups out, with each model's best score.
func (f *Fuser) emit(out []FusedBox) []FusedBox {
	total := 0
	for _, r := range f.ranked {
		total += bits.OnesCount64(f.engine.groups[r.group].models)
	}
	// Grown at once: the boxes hold parts of it.
	f.scores = slices.Grow(f.scores[:0], total)[:total]
	clear(f.scores)
	first, used := len(out), 0
	out = slices.Grow(out, len(f.ranked))[:first+len(f.ranked)]
	for i, r := range f.ranked {
		g := &f.engine.groups[r.group]
		g.slot = int32(first + i)
		n := bits.OnesCount64(g.models)
		b := &out[first+i]
		b.X1, b.Y1 = unit(g.x1), unit(g.y1)
		b.X2, b.Y2 = max(b.X1, unit(g.x2)), max(b.Y1, unit(g.y2))
		b.Score, b.Class, b.Models = r.score, g.class, g.models
		b.Scores = f.scores[used : used+n : used+n]
		used += n
	}
	for i := range f.engine.candidates {
		c := &f.engine.candidates[i]
		if c.group < 0 || f.engine.groups[c.group].slot < 0 {
			continue
		}
		b := &out[f.engine.groups[c.group].slot]
		s := &b.Scores[bits.OnesCount64(b.Models&(1<<c.model-1))]
		*s = max(*s, float32(c.score))
	}
	return out
}

// Counts is what the gate did with a model's boxes so far.
func (f *Fuser) Counts(model int) Counts { return f.counts[model] }

// Strange counts answers that named a model twice or one that the Fuser does not have.
func (f *Fuser) Strange() uint64 { return f.strange }

// TooFew counts groups left out because fewer than Settings.MinModels models saw them.
func (f *Fuser) TooFew() uint64 { return f.tooFew }
