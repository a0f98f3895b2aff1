package correlate

// nearest finds what a message of a model captured at t belongs to: an open group, a closed
// record, or neither. What holds the model at this very instant is it, for the message is the
// same once more. Else, among the open groups and closed records that lack the model and whose
// capture times including t spread over at most windowNS, it is the one whose first instant is
// nearest to t. A closed one must be strictly nearer than every open one; of two as near the
// one with the earlier instant wins.
//
// Every member lies within windowNS of the first instant, so only first instants that near to t
// are looked at; crowd says how many there were. A message that finds Limits.WindowGroups of
// them opens no more, which bounds them: of those in one window, the last in each of its halves
// was opened in sight of all others there, so that no search looks at more than twice as many.
func (c *Correlator) nearest(ep *epoch, id ModelID, t, windowNS int64) (open *group, closed *record, crowd int) {
	if ep == nil || ep.anchor == 0 {
		return nil, nil, 0
	}
	var openNS, closedNS int64
	upTo := addSaturating(t, windowNS)
	for n := c.order.from(ep.anchor, subSaturating(t, windowNS)); n != ep.anchor; n = c.order.nodes[n].next[0] {
		node := &c.order.nodes[n]
		if node.key > upTo {
			break
		}
		crowd++
		distance := max(node.key-t, t-node.key)
		if r := ref(node.ref); r.closed() {
			rec := c.closed.at(r.id())
			switch have := rec.holds(id); {
			case have != nil && ep.camera.matched(id, have.ns) == t:
				return nil, rec, crowd
			case have == nil && fits(rec.minNS, rec.maxNS, t, windowNS) && (closed == nil || distance < closedNS):
				closed, closedNS = rec, distance
			}
			continue
		}
		g := c.groups[ref(node.ref).id()]
		switch i := g.member(id); {
		case i >= 0 && ep.camera.matched(id, g.Members[i].CaptureNS) == t:
			return g, nil, crowd
		case i < 0 && fits(g.minNS, g.maxNS, t, windowNS) && (open == nil || distance < openNS):
			open, openNS = g, distance
		}
	}
	if closed != nil && (open == nil || closedNS < openNS) {
		return nil, closed, crowd
	}
	return open, nil, crowd
}

// fits reports whether minNS … maxNS stretched to t is no wider than windowNS.
func fits(minNS, maxNS, t, windowNS int64) bool {
	return subSaturating(max(maxNS, t), min(minNS, t)) <= windowNS
}
