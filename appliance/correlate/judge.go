package correlate

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/detect"
)

// live returns the models whose answers a camera's groups wait for.
func (c *Correlator) live(cam *camera) uint64 { return cam.expected &^ (c.down | cam.down) }

// judge returns why a group can be closed now, 0 if it must wait. With nobody alive to wait
// for, "all of nobody is here" closes nothing.
func (c *Correlator) judge(g *group) Reason {
	live := c.live(g.camera)
	if live == 0 {
		return 0
	}
	missing := live &^ g.in
	if missing == 0 {
		return Quorum
	}
	if g.settleNode == 0 || len(g.epoch.progress) == 0 {
		return 0 // an unreadable instant is never passed
	}
	ns := c.order.nodes[g.settleNode].key
	for ; missing != 0; missing &= missing - 1 {
		if !g.epoch.passed(c.bitModels[bits.TrailingZeros64(missing)].id, ns) {
			return 0
		}
	}
	return Settled
}

// settleNS returns the progress that a missing model must have made for a group with at least
// one readable capture time to go without it.
func (c *Correlator) settleNS(g *group) int64 {
	switch g.Key.Tag {
	case TagBucket:
		return bucketEnd(g.Key.Value, c.cfg.QuantumNS)
	case TagWindow:
		return addSaturating(g.Key.Value, g.camera.windowNS)
	}
	return g.maxNS
}

// bucketEnd returns the last instant of bucket k: (k+1)·q − 1 ns.
func bucketEnd(k, q int64) int64 { return addSaturating(k*q, q-1) }

// judgeAll closes every open group that can be, in order of first arrival.
func (c *Correlator) judgeAll(now clock.Mono) {
	c.returned = false
	for g := c.oldest; g != nil; {
		next := g.next
		if reason := c.judge(g); reason != 0 {
			c.close(now, g, reason)
		}
		g = next
	}
}

// judgePassed closes, in order of first arrival, the groups of one timeline that can be closed
// because a model's progress has passed the instants from … upTo: nothing else can have changed.
// touched, if not nil, is judged too. Each group is visited at most once for each model.
func (c *Correlator) judgePassed(now clock.Mono, ep *epoch, from, upTo int64, touched *group) {
	c.ready = c.ready[:0]
	if touched != nil && c.judge(touched) != 0 {
		touched.ready = true
		c.ready = append(c.ready, touched)
	}
	if from <= upTo {
		for n := c.order.from(ep.settle, from); n != ep.settle && c.order.nodes[n].key <= upTo; n = c.order.nodes[n].next[0] {
			g := c.groups[c.order.nodes[n].ref]
			if !g.ready && c.judge(g) != 0 {
				g.ready = true
				c.ready = append(c.ready, g)
			}
		}
	}
	slices.SortFunc(c.ready, func(a, b *group) int { return cmp.Compare(a.seq, b.seq) })
	for _, g := range c.ready {
		c.close(now, g, c.judge(g))
	}
}

// close ends an open group: it is put on record, measured and published, unless it is stale
// (dropped) or empty (suppressed).
func (c *Correlator) close(now clock.Mono, g *group, reason Reason) {
	c.unlink(g)
	if g.settleNode != 0 {
		c.order.remove(g.settleNode)
	}
	// On record first: out may look at the counters, and must find this group closed.
	remembered := c.remember(now, g)
	g.camera.take(now, g, reason)
	switch reason {
	case Quorum:
		c.n.FlushedQuorum++
	case Settled:
		c.n.FlushedSettled++
	case Timeout:
		c.n.FlushedTimeout++
	case Eviction:
		c.n.FlushedEviction++
	case Stale:
		c.n.Stale++
	}
	publish := false
	switch {
	case reason == Stale:
	case !g.found && !c.cfg.EmitEmpty:
		c.n.SuppressedEmpty++
	default:
		publish = true
		c.n.Published++
		c.measure(now, g)
	}
	if publish || c.cfg.Watch != nil {
		g.Reason, g.ClosedAt = reason, now
		c.present(g)
	}
	if c.cfg.Watch != nil {
		c.tellClosed(g, remembered, publish)
	}
	if publish {
		c.out(&g.Group)
	}
	if !remembered {
		c.forget(g.Key)
	}
	c.recycle(g)
}

// measure takes the skew samples of a published group. One model alone has no skew: not 0.
func (c *Correlator) measure(now clock.Mono, g *group) {
	if len(g.Members) < 2 {
		return
	}
	c.skew.Add(int64(now), int64(g.LastArrival-g.FirstArrival))
	c.judgeMix(now, g)
	for i := range g.Members {
		m := &g.Members[i]
		mod := c.models[m.Model]
		mod.fused++
		mod.lag.Add(int64(now), int64(m.Arrival-g.FirstArrival))
	}
}

// present completes a group for the callback: who is missing, and the members' boxes, whose
// place is known only now that no more are added.
func (c *Correlator) present(g *group) {
	for i := range g.Members {
		m := &g.Members[i]
		m.Boxes = g.boxes[m.boxesAt : m.boxesAt+m.boxesN : m.boxesAt+m.boxesN]
		m.Raw = g.raw[m.rawAt : m.rawAt+m.rawN : m.rawAt+m.rawN]
	}
	g.CaptureNS = detect.RawInstant
	if g.timed {
		g.CaptureNS = Readable(g.minNS)
	}
	g.Missing = g.Missing[:0]
	for set := g.camera.expected &^ g.in; set != 0; set &= set - 1 {
		g.Missing = append(g.Missing, c.whyMissing(g, c.bitModels[bits.TrailingZeros64(set)]))
	}
}
