package correlate

import (
	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/detect"
)

// Verdict says what became of a message.
type Verdict uint8

const (
	Refused         Verdict = iota // unknown stream or model, or a table is full; not counted as received
	Accepted                       // in its group, which may have closed with it
	Late                           // its group is closed; the arrival is a skew sample
	DupResend                      // the model's message for this picture is there: sent twice
	DupCollision                   // the model has another picture in this bucket: the quantum is too wide
	WrongGeneration                // its group belongs to another generation
)

var verdictNames = [...]string{"refused", "accepted", "late", "dup_resend", "dup_collision", "wrong_generation"}

func (v Verdict) String() string { return verdictNames[v] }

// Step judges one message at its arrival. The message and what it points to are copied.
func (c *Correlator) Step(now clock.Mono, m *Message) Verdict {
	cam, mod := c.cameraOf(m.Stream), c.modelOf(m.Model)
	if cam == nil || mod == nil {
		c.n.Refused++
		return Refused
	}
	now, back := c.clamp(now)
	readable, t := !m.Unreadable(), int64(0)
	if readable {
		t = cam.matched(m.Model, m.CaptureNS)
	} else {
		c.rawText = detect.AppendRaw(c.rawText[:0], m.Raw)
	}
	c.sweepBefore(now, cam, m, t, readable) // so that a message at the deadline is late even if nobody ticked

	at := c.find(cam, m, t, readable)
	if at.full { // before anything else is counted
		c.n.Refused++
		return Refused
	}

	if back {
		c.n.NowRegressions++
	}
	c.n.Received++
	mod.seen = true
	mod.received++
	if !readable {
		c.n.Unparsed++
		mod.unparsed++
	}
	// Before the group is looked at: a misnamed model is mostly late too, and the name is the clue.
	if cam.expected&mod.bit == 0 {
		c.n.Unexpected++
		mod.unexpected++
	}
	c.heard(cam, mod)
	c.note(now, cam, m, mod, t, readable)
	ep := c.epochOf(cam, m.Stream.Epoch())
	if readable && len(ep.progress) > 0 {
		c.holdToPromise(ep, mod, t)
	}
	if m.FrameID == 0 && cam.match == MatchFrameID {
		c.n.NoFrameID++
	}

	g, verdict := c.place(now, cam, ep, &at, m, mod, t, readable)
	if g == nil && c.cfg.Watch != nil {
		c.tellApart(now, cam, &at, m, mod, verdict)
	}
	// A message alone can complete only the group that it joined; with a promise in it, others.
	if c.cfg.ImplicitProgress && readable {
		c.promise(now, cam, ep, mod, subSaturating(t, 1), g)
	} else if g != nil {
		if reason := c.judge(g); reason != 0 {
			c.close(now, g, reason)
		}
	}
	if verdict > Late {
		c.turnedAway(cam, mod, verdict)
	}
	if c.pending > c.cfg.MaxPending {
		c.close(now, c.oldest, Eviction)
	}
	return verdict
}

// found is where a message belongs: an open group, a closed record, or neither, which makes it
// the first of a new group with that key.
type found struct {
	open   *group
	closed *record
	key    Key
	full   bool // what it needs room in has none left
}

// find changes nothing, so that a message that finds no room leaves no trace but its count.
func (c *Correlator) find(cam *camera, m *Message, t int64, readable bool) (at found) {
	if cam.match == MatchWindow && readable {
		at.key = Key{Stream: m.Stream, Value: t, Tag: TagWindow}
		crowd := 0
		at.open, at.closed, crowd = c.nearest(cam.epochAt(m.Stream.Epoch()), m.Model, t, cam.windowNS)
		at.full = at.open == nil && at.closed == nil && crowd >= c.limits.WindowGroups
	} else {
		at.key = c.keyOf(cam, m, t, readable)
		r := ref(0)
		if at.key.Tag != TagRaw || at.key.Value != 0 {
			r = c.index.find(&at.key)
		}
		switch {
		case r.closed():
			at.closed = c.closed.at(r.id())
		case r != 0:
			at.open = c.groups[r.id()]
		case at.key.Tag == TagRaw:
			at.full = at.key.Value == 0 && c.raw.Full()
		}
	}
	switch {
	case at.closed != nil && len(at.closed.held) >= c.limits.GroupModels:
		at.full = at.closed.holds(m.Model) == nil
	case at.open != nil && len(at.open.Members) >= c.limits.GroupModels:
		at.full = at.open.member(m.Model) < 0 && !at.open.foreign(m.Generation)
	}
	return at
}

// place lets a message into the group that was found for it, or says why not. The group is
// returned only if the message joined it.
func (c *Correlator) place(now clock.Mono, cam *camera, ep *epoch, at *found, m *Message, mod *model, t int64, readable bool) (*group, Verdict) {
	if at.closed != nil {
		return nil, c.meetClosed(now, cam, at.closed, m, mod, t, readable)
	}
	// A new group needs no further questions; an open one may belong to another generation,
	// which is asked before duplicates are told.
	g := at.open
	if g == nil {
		if at.key.Tag == TagRaw {
			at.key.Value = c.raw.Add(c.rawText)
		}
		g = c.open(now, at.key, cam, ep)
	} else {
		if g.foreign(m.Generation) {
			c.n.WrongGeneration++
			g.turnedAway |= mod.bit
			return nil, WrongGeneration
		}
		if i := g.member(m.Model); i >= 0 {
			have := &g.Members[i]
			return nil, c.duplicate(!have.Unreadable, have.CaptureNS, readable, m.CaptureNS)
		}
	}
	c.n.Accepted++
	c.join(now, g, m, mod, t, readable)
	return g, Accepted
}

// duplicate tells the two kinds apart. Only two readable instants that differ are evidence
// against the quantum; without it nobody is made to doubt his settings.
func (c *Correlator) duplicate(haveReadable bool, have int64, readable bool, ns int64) Verdict {
	if haveReadable && readable && have != ns {
		c.n.DupCollision++
		return DupCollision
	}
	c.n.DupResend++
	return DupResend
}
