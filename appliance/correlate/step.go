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
	c.sweep(now) // first, so that a message at the deadline is late even if nobody ticked

	readable := !m.unreadable()
	t, rawText := int64(0), int64(0)
	if readable {
		t = cam.matched(m.Model, m.CaptureNS)
	} else {
		// The text becomes the key unless a frame id does. A new one that finds no room is
		// refused before anything else is counted.
		c.rawText = detect.AppendRaw(c.rawText[:0], m.Raw)
		if c.keyOf(cam, m, 0, false, 0).Tag == TagRaw {
			if rawText = c.raw.Lookup(c.rawText); rawText == 0 && c.raw.Full() {
				c.n.Refused++
				return Refused
			}
		}
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
	ep := c.epochOf(cam, m.Stream.Epoch())
	if readable && len(ep.progress) > 0 {
		c.holdToPromise(ep, mod, t)
	}
	if m.FrameID == 0 && cam.match == MatchFrameID {
		c.n.NoFrameID++
	}

	g, verdict := c.place(now, cam, ep, m, mod, t, readable, rawText)
	// A message alone can complete only the group that it joined; with a promise in it, others.
	if c.cfg.ImplicitProgress && readable {
		c.promise(now, cam, ep, mod, subSaturating(t, 1), g)
	} else if g != nil {
		if reason := c.judge(g); reason != 0 {
			c.close(now, g, reason)
		}
	}
	if c.pending > c.cfg.MaxPending {
		c.close(now, c.oldest, Eviction)
	}
	return verdict
}

// place finds the group of a message and lets it in, or says why not. The group is returned
// only if the message joined it.
func (c *Correlator) place(now clock.Mono, cam *camera, ep *epoch, m *Message, mod *model, t int64, readable bool, rawText int64) (*group, Verdict) {
	var g *group
	var k Key
	if cam.match == MatchWindow && readable {
		open, closed := c.nearest(ep, m.Model, t, cam.windowNS)
		if closed != nil {
			return nil, c.meetClosed(now, closed, m, mod, t, true)
		}
		g = open
		k = Key{Stream: m.Stream, Value: t, Tag: TagWindow}
	} else {
		k = c.keyOf(cam, m, t, readable, rawText)
		r := ref(0)
		if k.Tag != TagRaw || rawText != 0 {
			r = c.index.find(&k)
		}
		switch {
		case r.closed():
			return nil, c.meetClosed(now, c.closed.at(r.id()), m, mod, t, readable)
		case r != 0:
			g = c.groups[r.id()]
		case k.Tag == TagRaw:
			k.Value = c.raw.Add(c.rawText)
		}
	}
	// A new group needs no further questions; an open one may belong to another generation,
	// which is asked before duplicates are told.
	if g == nil {
		g = c.open(now, k, cam, ep)
	} else {
		if m.Generation != 0 && g.Generation != 0 && m.Generation != g.Generation {
			c.n.WrongGeneration++
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
