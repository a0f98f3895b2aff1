package fuse

import (
	"cmp"
	"fmt"
	"slices"
)

// dialect is how one of the public references works, where it differs from production.
// WBF, nmw, nms and soft_nms are those of ensemble-boxes 1.0.9, batched_nms torchvision's,
// the others supervision's.
type dialect struct {
	name      string
	algorithm Algorithm
	policy    policy  // how it prepares boxes
	order     order   // how it sorts its answer
	iou       float64 // its default threshold
	weights   weights
	lastFirst bool
	single    bool
	truncates bool // takes labels as int(label)
}

type order uint8

const (
	byScore   order = iota
	byClass         // classes upwards, in a class as the groups came up
	asEntered       // as the boxes stood in the input
)

// weights is what a dialect does with the models' weights.
type weights uint8

const (
	noWeights   weights = iota // has none
	productOnly                // score·weight
	overMax                    // score·weight/max
	overSum                    // score·weight/Σ, and the plain score without weights
)

var dialects = []dialect{
	{name: "wbf", algorithm: WBF, policy: clipped, order: byScore, iou: 0.55, weights: productOnly, lastFirst: true, truncates: true},
	{name: "nmw", algorithm: NMW, policy: clipped, order: byScore, iou: 0.55, weights: overMax, lastFirst: true, truncates: true},
	{name: "nms", algorithm: NMS, policy: clipped, order: byClass, iou: 0.5, weights: overSum, lastFirst: true},
	{name: "soft_nms", algorithm: SoftNMS, policy: clipped, order: byClass, iou: 0.5, weights: overSum},
	{name: "batched_nms", algorithm: NMS, policy: asGiven, order: byScore, iou: 0.5},
	{name: "supervision_nms", algorithm: NMS, policy: asGiven, order: asEntered, iou: 0.5, lastFirst: true, single: true},
	{name: "supervision_nmm", algorithm: NMM, policy: asGiven, order: byClass, iou: 0.5, lastFirst: true, single: true},
}

// request is one line of the verb's input.
type request struct {
	dialect *dialect
	plan    plan
	weights []float64 // nil without
	skip    float64
	inputs  []input
	labels  []float64 // the distinct labels, upwards; a class is an index into it
}

// input is one model's answer, as the references take it.
type input struct {
	boxes  []rect
	scores []float64
	labels []float64
}

// tolerance is how far outside 0…1 rounding may carry a reference's value.
const tolerance = 2e-6

// fuse answers a request with the reference's value where that lies within 0…1. Where it
// does not, the boxes go through the production gate and are fused again, and what is
// still above 1 (wbf avg can be) is cut to 1. Groups are then in e.groups, in order.
func (e *engine) fuse(r *request, notes *notes) error {
	if err := r.settle(notes); err != nil {
		return err
	}
	kept := *notes
	e.load(r, r.dialect.policy, notes)
	if e.dialectRun(r); e.within01() {
		return nil
	}
	*notes = kept
	notes.add("the reference's answer is not within 0…1: fused again with all boxes through the gate")
	e.load(r, strict, notes)
	e.dialectRun(r)
	for i := range e.groups {
		g := &e.groups[i]
		if g.score > 1+tolerance {
			notes.add(fmt.Sprintf("score %.6g cut to 1", g.score))
		}
	}
	return nil
}

// settle works out the weights. A model of weight 0 is left out, as production leaves it
// out of its config; it does not count as a model that answered.
func (r *request) settle(notes *notes) error {
	p := &r.plan
	if r.weights != nil && len(r.weights) != len(r.inputs) {
		notes.add(fmt.Sprintf("%d weights for %d models: all taken as equal, as the reference does", len(r.weights), len(r.inputs)))
		r.weights = nil
	}
	p.weights, p.present, p.sumW, p.maxW = p.weights[:0], 0, 0, 0
	for i := range r.inputs {
		w := 1.0
		if r.weights != nil {
			w = r.weights[i]
		}
		if w != 0 && !(w >= minWeight && w <= maxWeight) {
			return fmt.Errorf("params.weights[%d]: %v: must be within %g…%g, or 0 to leave the model out", i, w, minWeight, maxWeight)
		}
		p.weights = append(p.weights, w)
		if w == 0 {
			notes.add(fmt.Sprintf("model %d left out: weight 0", i))
			continue
		}
		p.present |= 1 << i
		p.sumW += w
		p.maxW = max(p.maxW, w)
	}
	if p.present == 0 && len(r.inputs) > 0 {
		return fmt.Errorf("params.weights: all are 0: at least one must be above 0")
	}
	p.norm = 1
	switch {
	case r.dialect.weights == overMax && p.present != 0:
		p.norm = p.maxW
	case r.dialect.weights == overSum && r.weights != nil:
		p.norm = p.sumW
	}
	return nil
}

// load makes candidates of the boxes that pass.
func (e *engine) load(r *request, p policy, notes *notes) {
	e.reset()
	for m := range r.inputs {
		in := &r.inputs[m]
		if r.plan.present&(1<<m) == 0 {
			continue
		}
		for i := range in.boxes {
			score := in.scores[i]
			if (r.dialect.algorithm == WBF || r.dialect.algorithm == NMW) && score < r.skip {
				continue
			}
			c := candidate{rect: in.boxes[i], model: int32(m), index: int32(i), group: -1}
			if reason, _, _ := p.clean(&c.rect, &score); reason != passed {
				notes.add(fmt.Sprintf("model %d box %d removed: %s", m, i, reason))
				continue
			}
			c.score = score
			c.rank = r.plan.rank(score, c.model)
			at, _ := slices.BinarySearch(r.labels, in.labels[i])
			c.class = int32(at)
			e.candidates = append(e.candidates, c)
		}
	}
}

// dialectRun fuses and sorts as the dialect does.
func (e *engine) dialectRun(r *request) {
	e.run(&r.plan)
	e.groups = slices.DeleteFunc(e.groups, func(g group) bool { return g.hidden })
	switch r.dialect.order {
	case byScore:
		slices.SortStableFunc(e.groups, func(a, b group) int { return cmp.Compare(b.score, a.score) })
	case asEntered:
		slices.SortFunc(e.groups, func(a, b group) int { return byInput(e.candidates[a.first], e.candidates[b.first]) })
	}
}

// within01 says whether all of the answer is finite and within 0…1, rounding aside.
func (e *engine) within01() bool {
	for i := range e.groups {
		g := &e.groups[i]
		for _, v := range [5]float64{g.x1, g.y1, g.x2, g.y2, g.score} {
			if !(v >= -tolerance && v <= 1+tolerance) {
				return false
			}
		}
	}
	return true
}

// notes are what a line's answer left out, for stderr. Only the first are kept.
type notes struct {
	text []string
	more int
}

const maxNotes = 20

func (n *notes) add(text string) {
	if len(n.text) == maxNotes {
		n.more++
		return
	}
	n.text = append(n.text, text)
}
