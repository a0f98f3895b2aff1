package sim

import (
	"slices"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/detect"
)

func (j *judge) say(l *timeline, model string, ns int64) {
	p := l.promised[model]
	switch {
	case p != nil:
		p.ns = max(p.ns, ns)
	case len(l.promised) < limit(j.plan.Config.Limits.GroupModels, 128):
		l.promised[model] = &promise{ns: ns}
	}
	if j.returned {
		j.judgeAll()
		return
	}
	for _, g := range slices.Clone(j.open) {
		if g.line == l {
			j.judgeOne(g)
		}
	}
}

func (j *judge) advance(now clock.Mono) {
	if now < j.now {
		j.fail("the clock runs back by %d ns", j.now-now)
	}
	j.now = max(j.now, now)
	ttl := j.plan.Config.ClosedTTLNS
	if ttl == correlate.DefaultTTL {
		ttl = max(60*sec, 4*j.plan.Config.TimeoutNS)
	}
	for len(j.closed) > 0 && int64(j.now-j.closed[0].closedAt) >= ttl {
		j.forget()
	}
	for len(j.open) > 0 {
		g := j.open[0]
		age := int64(j.now - g.first)
		if age < j.plan.Config.TimeoutNS {
			return
		}
		if age >= j.plan.Config.MaxAgeNS {
			j.close(g, correlate.Stale)
		} else {
			j.close(g, correlate.Timeout)
		}
	}
}

// forget drops the closed group that was closed first.
func (j *judge) forget() {
	g := j.closed[0]
	j.closed = j.closed[1:]
	if g.key.tag == correlate.TagWindow {
		g.line.anchored = slices.DeleteFunc(g.line.anchored, func(o *group) bool { return o == g })
		return
	}
	delete(g.line.keyed, g.key)
	if g.key.tag == correlate.TagRaw {
		if j.texts[g.key.text]--; j.texts[g.key.text] == 0 {
			delete(j.texts, g.key.text)
		}
	}
}

func (j *judge) matched(camera int, model string, ns int64) int64 {
	return ns - j.plan.settings(camera).OffsetNS[model]
}

func (j *judge) message(l *timeline, m *correlate.Message, me member) correlate.Verdict {
	g, room := j.find(l, m, me)
	if !room {
		j.n.Refused++
		return correlate.Refused
	}
	f := j.figures(me.model)
	j.n.Received++
	f.Received, f.Seen = f.Received+1, true
	if !me.readable {
		j.n.Unparsed++
		f.Unparsed++
	}
	if !slices.Contains(j.expected[l.camera], me.model) {
		j.n.Unexpected++
		f.Unexpected++
	}
	j.heard(l.camera, me.model)
	if p := l.promised[me.model]; p != nil && me.readable && me.ns <= p.ns {
		p.broken = true
		j.n.ProgressBroken++
		f.ProgressBroken++
	}
	if l.match == correlate.MatchFrameID && m.FrameID == 0 {
		j.n.NoFrameID++
	}
	joined, verdict := j.place(l, g, m, me)
	if j.plan.Config.ImplicitProgress && me.readable {
		j.say(l, me.model, me.ns-1)
	} else if joined != nil {
		j.judgeOne(joined)
	}
	if len(j.open) > j.plan.Config.MaxPending {
		j.close(j.open[0], correlate.Eviction)
	}
	return verdict
}

// find returns the group that a message belongs to, nil for a new one, and whether there is room.
func (j *judge) find(l *timeline, m *correlate.Message, me member) (g *group, room bool) {
	limits := &j.plan.Config.Limits
	k := j.keyOf(l, m, me)
	if k.tag == correlate.TagWindow {
		crowd := 0
		if g, crowd = l.nearest(me); g == nil && crowd >= limit(limits.WindowGroups, 256) {
			return nil, false
		}
	} else if g = l.keyed[k]; g == nil && k.tag == correlate.TagRaw {
		return nil, j.texts[k.text] > 0 || len(j.texts) < limit(limits.RawKeys, 16384)
	}
	if g == nil || g.of(me.model) != nil || !g.isClosed && g.foreign(m.Generation) {
		return g, true
	}
	return g, len(g.members) < limit(limits.GroupModels, 128)
}

func (j *judge) place(l *timeline, g *group, m *correlate.Message, me member) (*group, correlate.Verdict) {
	f := j.figures(me.model)
	if g != nil && !g.isClosed && g.foreign(m.Generation) {
		j.n.WrongGeneration++
		f.WrongGeneration++
		if j.followed[me.model] {
			g.turnedAway = append(g.turnedAway, me.model)
		}
		return nil, correlate.WrongGeneration
	}
	if g != nil {
		if have := g.of(me.model); have != nil {
			if have.readable && me.readable && have.sentNS != me.sentNS {
				j.n.DupCollision++
				f.DupCollision++
				return nil, correlate.DupCollision
			}
			j.n.DupResend++
			f.DupResend++
			return nil, correlate.DupResend
		}
	}
	if g != nil && g.isClosed {
		j.n.Late++
		f.Late++
		lag := sample{int64(j.now), int64(j.now - g.first)}
		j.skew, f.lag = append(j.skew, lag), append(f.lag, lag)
		g.take(me)
		return nil, correlate.Late
	}
	if g == nil {
		g = &group{line: l, key: j.keyOf(l, m, me), first: j.now}
		j.open = append(j.open, g)
		j.mark()
		if g.key.tag == correlate.TagWindow {
			l.anchored = append(l.anchored, g)
		} else {
			l.keyed[g.key] = g
		}
		if g.key.tag == correlate.TagRaw {
			j.texts[g.key.text]++
		}
		j.n.Opened++
		if truth := j.truth.Of(me.tag); truth != nil {
			j.opened[truth.Picture]++
		}
	}
	j.n.Accepted++
	f.Accepted++
	g.take(me)
	g.last = j.now
	if g.generation == 0 {
		g.generation = m.Generation
	}
	return g, correlate.Accepted
}

func (j *judge) keyOf(l *timeline, m *correlate.Message, me member) key {
	q := j.plan.Config.QuantumNS
	switch {
	case m.FrameID != 0 && (l.match == correlate.MatchFrameID || l.match == correlate.MatchAuto):
		return key{tag: correlate.TagID, value: int64(m.FrameID)}
	case !me.readable:
		return key{tag: correlate.TagRaw, text: string(detect.AppendRaw(nil, m.Raw))}
	case l.match == correlate.MatchWindow:
		return key{tag: correlate.TagWindow, value: me.ns}
	case q == 0:
		return key{tag: correlate.TagInstant, value: me.ns}
	}
	return key{tag: correlate.TagBucket, value: floorDiv(me.ns, q)}
}

func (j *judge) heard(camera int, model string) {
	if j.dead(camera, model) {
		delete(j.down, model)
		delete(j.silent[camera], model)
		j.returned, j.backAt[model] = true, j.now
	}
}

func (j *judge) nobody(camera int) bool {
	return !slices.ContainsFunc(j.expected[camera], func(name string) bool { return !j.dead(camera, name) })
}

// mark notes which open groups have lost somebody to wait for.
func (j *judge) mark() {
	for _, g := range j.open {
		g.alone = g.alone || j.nobody(g.line.camera)
		for _, name := range j.expected[g.line.camera] {
			g.mourned = g.mourned || j.dead(g.line.camera, name) && g.of(name) == nil
		}
	}
}

func (j *judge) judgeAll() {
	j.returned = false
	for _, g := range slices.Clone(j.open) {
		j.judgeOne(g)
	}
}

func (j *judge) judgeOne(g *group) {
	if g.isClosed || j.nobody(g.line.camera) {
		return
	}
	reason := correlate.Quorum
	for _, name := range j.expected[g.line.camera] {
		if j.dead(g.line.camera, name) || g.of(name) != nil {
			continue
		}
		reason = correlate.Settled
		if p := g.line.promised[name]; p == nil || p.broken || !g.passedBy(p.ns, j.plan.Config.QuantumNS) {
			return
		}
	}
	j.close(g, reason)
}

func (j *judge) close(g *group, reason correlate.Reason) {
	j.open = slices.DeleteFunc(j.open, func(o *group) bool { return o == g })
	g.isClosed, g.closedAt, g.reason = true, j.now, reason
	if len(j.closed) >= limit(j.plan.Config.Limits.Closed, 65536) {
		j.n.ClosedForgotten++
		j.forget()
	}
	j.closed = append(j.closed, g)
	switch reason {
	case correlate.Quorum:
		j.n.FlushedQuorum++
	case correlate.Settled:
		j.n.FlushedSettled++
	case correlate.Timeout:
		j.n.FlushedTimeout++
	case correlate.Eviction:
		j.n.FlushedEviction++
	case correlate.Stale:
		j.n.Stale++
		return
	}
	if !j.plan.Config.EmitEmpty && !slices.ContainsFunc(g.members, func(m member) bool { return !m.empty }) {
		j.n.SuppressedEmpty++
		return
	}
	j.n.Published++
	if len(g.members) > 1 {
		j.skew = append(j.skew, sample{int64(j.now), int64(g.last - g.first)})
		for _, m := range g.members {
			f := j.figures(m.model)
			f.Fused++
			f.lag = append(f.lag, sample{int64(j.now), int64(m.arrival - g.first)})
		}
	}
	j.whoIsMissing(g, reason)
	// What late messages add to the record does not belong to what was published.
	published := *g
	published.members = slices.Clone(g.members)
	j.due = append(j.due, &published)
	j.checkWait(&published)
}

func limit(configured, byDefault int) int {
	if configured == 0 {
		return byDefault
	}
	return configured
}
