package fuse

// join groups candidates lo…hi, which are sorted best first.
func (e *engine) join(p *plan, lo, hi int, iou float64) {
	start := len(e.groups)
	for i := lo; i < hi; i++ {
		c := &e.candidates[i]
		g := -1
		switch {
		case p.algorithm == WBF || p.algorithm == NMW:
			g = e.bestMatch(&c.rect, start, iou)
		case p.single:
			g = e.firstMatch32(&c.rect, start, p, iou)
		default:
			g = e.firstMatch(&c.rect, start, p, iou)
		}
		if g < 0 {
			g = e.open(p, int32(i), iou)
		} else {
			e.add(p, g, c)
		}
		c.group = int32(g)
	}
}

// bestMatch finds the group, from start on, that overlaps r most and by more than iou; −1
// if there is none. The earliest wins a tie. This is the inner loop of fusion.
func (e *engine) bestMatch(r *rect, start int, iou float64) int {
	best, at := iou, -1
	area := r.area()
	for i := range e.matched[start:] {
		m := &e.matched[start+i]
		w := min(m.x2, r.x2) - max(m.x1, r.x1)
		if w <= 0 {
			continue
		}
		h := min(m.y2, r.y2) - max(m.y1, r.y1)
		if h <= 0 {
			continue
		}
		inter := float64(w * h)
		if v := inter / (area + m.area() - inter); v > best {
			best, at = v, start+i
		}
	}
	return at
}

// firstMatch finds the first group whose first box overlaps r enough; −1 if there is none.
func (e *engine) firstMatch(r *rect, start int, p *plan, iou float64) int {
	for i := start; i < len(e.matched); i++ {
		v := overlap(&e.matched[i], r, p.metric)
		if v > iou || v == iou && p.algorithm == NMM {
			return i
		}
	}
	return -1
}

// firstMatch32 is firstMatch in supervision's mixed precision: its nms compares the
// float32 overlap with the float64 threshold, its nmm with the threshold in float32.
func (e *engine) firstMatch32(r *rect, start int, p *plan, iou float64) int {
	for i := start; i < len(e.matched); i++ {
		v := overlap32(&e.matched[i], r, p.metric)
		if p.algorithm == NMM && v >= float32(iou) || p.algorithm == NMS && float64(v) > iou {
			return i
		}
	}
	return -1
}

// open starts a group with one candidate.
func (e *engine) open(p *plan, i int32, iou float64) int {
	c := &e.candidates[i]
	e.groups = append(e.groups, group{})
	g := &e.groups[len(e.groups)-1]
	g.rect, g.class, g.first = c.rect, c.class, i
	g.best, g.ranks, g.score = c.rank, c.rank, c.rank
	g.weights, g.models, g.boxes = p.weights[c.model], 1<<c.model, 1
	w := g.weigh(c.rank)
	g.sums = rect{float64(w * c.x1), float64(w * c.y1), float64(w * c.x2), float64(w * c.y2)}
	g.sumW = w
	// Supervision takes 1 off a box's overlap with itself and compares the rest with the
	// threshold too; in float32 the overlap may exceed 1, and then the box is lost.
	g.hidden = p.single && p.algorithm == NMS && float64(overlap32(&c.rect, &c.rect, p.metric))-1 > iou
	e.matched = append(e.matched, c.rect)
	return len(e.groups) - 1
}

// weigh is the weight of a box of that rank in the mean. Where all ranks are 0, which
// shows in the first, the boxes weigh the same instead of 0/0.
func (g *group) weigh(rank float64) float64 {
	if g.best == 0 {
		return 1
	}
	return rank
}

// add joins a candidate to group at.
func (e *engine) add(p *plan, at int, c *candidate) {
	g := &e.groups[at]
	g.boxes++
	g.models |= 1 << c.model
	g.ranks += c.rank
	g.weights += p.weights[c.model]
	switch p.algorithm {
	case WBF:
		g.average(&c.rect, g.weigh(c.rank))
		e.matched[at] = g.rect
	case NMW:
		g.average(&c.rect, float64(g.weigh(c.rank)*overlap(&c.rect, &e.matched[at], IOU)))
	case NMM:
		g.merge(c)
	}
}

// average moves the fused box to the weighted mean of its boxes.
func (g *group) average(r *rect, w float64) {
	g.sums.x1 += float64(w * r.x1)
	g.sums.y1 += float64(w * r.y1)
	g.sums.x2 += float64(w * r.x2)
	g.sums.y2 += float64(w * r.y2)
	g.sumW += w
	g.rect = rect{g.sums.x1 / g.sumW, g.sums.y1 / g.sumW, g.sums.x2 / g.sumW, g.sums.y2 / g.sumW}
}

// merge widens the fused box over c. The score becomes the mean weighted by area, pair by
// pair: the area so far is that of the union. Boxes without area, which only supervision
// takes, make it NaN, which sends the verb to the strict gate.
func (g *group) merge(c *candidate) {
	mine, its := g.rect.area(), c.rect.area()
	if g.score < c.rank { // the higher score of the two names the class
		g.class = c.class
	}
	g.score = (float64(mine*g.score) + float64(its*c.rank)) / (mine + its)
	g.rect = rect{min(g.x1, c.x1), min(g.y1, c.y1), max(g.x2, c.x2), max(g.y2, c.y2)}
}
