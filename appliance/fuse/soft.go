package fuse

import "math"

// soft runs soft-NMS over candidates lo…hi: the best remaining box is taken and lowers the
// scores of those that overlap it, until none is left. Each box that stays above
// p.minScore becomes a group of its own, in the order taken.
func (e *engine) soft(p *plan, lo, hi int, iou float64) {
	c := e.candidates[lo:hi]
	first := len(e.groups)
	for i := range c {
		best := i
		for j := i + 1; j < len(c); j++ {
			if c[j].rank > c[best].rank {
				best = j
			}
		}
		// An exchange and not an insertion: the references' order of equal scores hangs on it.
		c[i], c[best] = c[best], c[i]
		for j := i + 1; j < len(c); j++ {
			c[j].rank = float64(c[j].rank * p.fade(overlap(&c[i].rect, &c[j].rect, IOU), iou))
		}
		if !(c[i].rank > p.minScore) {
			c[i].group = -1
			continue
		}
		c[i].group = int32(e.open(p, int32(lo+i), iou))
	}
	if p.undecayed {
		for g := first; g < len(e.groups); g++ {
			c := &e.candidates[e.groups[g].first]
			e.groups[g].score = p.rank(c.score, c.model)
		}
	}
}

// fade is the factor by which a score falls beside a better box.
func (p *plan) fade(overlap, iou float64) float64 {
	if p.decay == Linear {
		if overlap > iou {
			return 1 - overlap
		}
		return 1
	}
	if overlap == 0 {
		return 1
	}
	return math.Exp(-float64(overlap*overlap) / p.sigma)
}
