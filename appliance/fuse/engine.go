package fuse

import "cmp"

// candidate is a box that passed the gate.
type candidate struct {
	rect
	score float64 // the model's own
	rank  float64 // weighted: what orders the boxes and weighs them
	class int32
	model int32 // bit in group.models
	index int32 // place within its model
	group int32 // into engine.groups, −1 while in none
}

// group is boxes that became one.
type group struct {
	rect            // the fused box
	sums    rect    // Σ weight·corner, under wbf and nmw
	sumW    float64 // Σ weight
	ranks   float64 // Σ rank
	best    float64 // rank of the first, best box
	weights float64 // Σ of the model weights of its boxes, a model counted at each box
	score   float64 // the fused score
	models  uint64  // bit set: which models have a box in it
	boxes   int32   // how many boxes
	first   int32   // its best box, into engine.candidates
	class   int32
	slot    int32 // place in the output, −1 if left out
	hidden  bool  // suppresses others but is no answer itself (supervision only, group.go)
}

// plan is all that one run needs to know. The references' dialects differ from
// production only in the last block.
type plan struct {
	algorithm Algorithm
	metric    Metric
	rule      Rule
	overflow  bool
	agnostic  bool
	decay     Decay
	sigma     float64
	minScore  float64
	iou       float64
	classIoU  map[int32]float64

	weights []float64 // by model
	present uint64    // the models that answered
	sumW    float64   // over those
	maxW    float64   // over those
	norm    float64   // divides the product of score and weight, see rank

	lastFirst bool // equal ranks: the later box goes first
	single    bool // overlap in float32, as supervision does
	undecayed bool // soft_nms answers with the scores it started from
}

// engine fuses candidates class by class. Its buffers are kept from run to run.
type engine struct {
	candidates []candidate
	groups     []group
	matched    []rect // by group: what new boxes are compared with
	votes      []vote
	keys       []sortKey
	spare      []candidate // the candidates as they came, once they are sorted
}

func (e *engine) reset() {
	e.candidates = e.candidates[:0]
	e.groups = e.groups[:0]
	e.matched = e.matched[:0]
}

// run turns e.candidates into e.groups: classes upwards, within a class in the order the
// groups were opened. The candidates are left sorted.
func (e *engine) run(p *plan) {
	e.sort(p)
	for lo := 0; lo < len(e.candidates); {
		hi, iou := lo+1, p.iou
		if p.agnostic {
			hi = len(e.candidates)
		} else {
			class := e.candidates[lo].class
			for hi < len(e.candidates) && e.candidates[hi].class == class {
				hi++
			}
			if v, ok := p.classIoU[class]; ok {
				iou = v
			}
		}
		if p.algorithm == SoftNMS {
			e.soft(p, lo, hi, iou)
		} else {
			e.join(p, lo, hi, iou)
		}
		lo = hi
	}
	if p.algorithm == WBF || p.algorithm == NMW {
		if p.agnostic {
			e.vote()
		}
		e.rescale(p)
	}
}

// sort orders the candidates: by class unless that does not matter, then by rank, the highest
// first, then as they were given, which is by model and place. Soft_nms picks the best itself.
func (e *engine) sort(p *plan) {
	e.keys = e.keys[:0]
	for i := range e.candidates {
		c := &e.candidates[i]
		class, rank, at := c.class, c.rank, uint32(i)
		if p.agnostic {
			class = 0
		}
		if p.algorithm == SoftNMS {
			rank = 0
		} else if p.lastFirst {
			at = ^at
		}
		e.keys = append(e.keys, newSortKey(class, rank, at))
	}
	sortKeys(e.keys)
	e.spare = e.spare[:0]
	for _, k := range e.keys {
		at := k.at()
		if p.lastFirst && p.algorithm != SoftNMS {
			at = ^at
		}
		e.spare = append(e.spare, e.candidates[at])
	}
	e.candidates, e.spare = e.spare, e.candidates
}

func byInput(a, b candidate) int {
	return cmp.Or(cmp.Compare(a.model, b.model), cmp.Compare(a.index, b.index))
}
