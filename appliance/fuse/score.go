package fuse

import (
	"cmp"
	"math/bits"
	"slices"
)

// rank is a score weighted by its model. Wbf takes the product as it is, since its rules
// divide by sums of weights; the others scale it so that the heaviest model keeps its
// scores bit for bit. The original nms divides by the sum: there a box that one of N
// models saw ends at 1/N of its score.
func (p *plan) rank(score float64, model int32) float64 {
	return score * (p.weights[model] / p.norm)
}

// rescale turns the ranks of wbf and nmw groups into scores.
func (e *engine) rescale(p *plan) {
	for i := range e.groups {
		g := &e.groups[i]
		if p.algorithm == NMW {
			g.score = g.best
			continue
		}
		switch p.rule {
		case AvgPresent:
			g.score = float64(g.ranks/g.weights*p.weightOf(g.models)) / p.sumW
		case AbsentAware:
			g.score = g.ranks / (g.weights + p.weightOf(p.present&^g.models))
		case Max:
			g.score = g.best / p.maxW
		case ReferenceAvg:
			n := g.boxes
			if !p.overflow {
				n = min(n, int32(bits.OnesCount64(p.present)))
			}
			g.score = float64(g.ranks/float64(g.boxes)*float64(n)) / p.sumW
		}
	}
}

// weightOf adds up the weights of a set of models.
func (p *plan) weightOf(models uint64) (sum float64) {
	for ; models != 0; models &= models - 1 {
		sum += p.weights[bits.TrailingZeros64(models)]
	}
	return sum
}

// vote is one candidate's say on the class of its group.
type vote struct {
	group, class int32
	rank         float64
}

// vote names each group's class by the greatest sum of ranks; the lower class wins a tie.
func (e *engine) vote() {
	e.votes = e.votes[:0]
	for i := range e.candidates {
		c := &e.candidates[i]
		e.votes = append(e.votes, vote{c.group, c.class, c.rank})
	}
	slices.SortStableFunc(e.votes, func(a, b vote) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.class, b.class))
	})
	lead := 0.0
	for i := 0; i < len(e.votes); {
		v := e.votes[i]
		sum := 0.0
		newGroup := i == 0 || e.votes[i-1].group != v.group
		for ; i < len(e.votes) && e.votes[i].group == v.group && e.votes[i].class == v.class; i++ {
			sum += e.votes[i].rank
		}
		if newGroup || sum > lead {
			lead = sum
			e.groups[v.group].class = v.class
		}
	}
}
