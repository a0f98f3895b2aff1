package correlate

import "github.com/skewgate/skewgate/appliance/clock"

// Missing is an expected model that is not in a group, and why.
type Missing struct {
	Model    ModelID
	Reason   MissingReason
	Since    clock.Mono // Dead: since when
	PassedNS int64      // Passed: its progress, a matched capture time
}

// MissingReason is why an expected model is not in a group, as far as the closing could tell. What
// comes afterwards is told to Config.Watch alone.
type MissingReason uint8

const (
	Absent          MissingReason = iota // neither a message nor a word of it
	Dead                                 // known dead
	Passed                               // its progress had gone beyond this picture
	CameLate                             // its message is the one that shows that the group's time is over
	OtherBucket                          // its message of this picture is in another group
	OtherGeneration                      // its message came and was of another generation
)

var missingNames = [...]string{"absent", "dead", "passed", "late", "other_bucket", "wrong_generation"}

func (r MissingReason) String() string { return missingNames[r] }

// hand is the message that Step has in hand while it closes what was due before it.
type hand struct {
	cam      *camera // nil while there is none
	m        Message // what find looks at
	ns       int64
	readable bool
}

// sweepBefore closes what is due when a message arrives. A group whose deadline nobody ticked at
// is closed with the message that came too late for it known.
func (c *Correlator) sweepBefore(now clock.Mono, cam *camera, m *Message, t int64, readable bool) {
	if g := c.oldest; g != nil && int64(now-g.FirstArrival) >= c.cfg.TimeoutNS {
		c.hand = hand{cam, Message{Stream: m.Stream, Model: m.Model, FrameID: m.FrameID}, t, readable}
	}
	c.sweep(now)
	c.hand.cam = nil
}

// whyMissing says why an expected model is not in a group. Who is dead was not waited for,
// wherever its last message went; who has passed may have answered for this picture in another
// group, and then had something to say.
func (c *Correlator) whyMissing(g *group, mod *model) Missing {
	miss := Missing{Model: mod.id}
	switch {
	case (c.down|g.camera.down)&mod.bit != 0:
		miss.Reason, miss.Since = Dead, c.downSince(g.camera, mod)
	case c.inHand(g, mod):
		miss.Reason = CameLate
	case g.turnedAway&mod.bit != 0:
		miss.Reason = OtherGeneration
	case c.elsewhere(g, mod):
		miss.Reason = OtherBucket
	case g.Reason == Settled:
		miss.Reason = Passed
		if p := g.epoch.of(mod.id); p != nil {
			miss.PassedNS = p.wNS
		}
	}
	return miss
}

// inHand reports whether the message in hand is the model's and will find itself late for the
// group, which is on record by now.
func (c *Correlator) inHand(g *group, mod *model) bool {
	h := &c.hand
	if h.cam != g.camera || h.m.Model != mod.id || c.closed.newest == 0 {
		return false
	}
	at := c.find(h.cam, &h.m, h.ns, h.readable)
	return at.closed != nil && at.closed == c.closed.at(c.closed.newest-1)
}

// elsewhere reports whether the model has answered for a group's picture and the answer went to
// another group, as far back as its seat remembers: to one that lacks a model which this one has,
// for of a picture that was split in two each half does.
func (c *Correlator) elsewhere(g *group, mod *model) bool {
	s := &g.camera.seats
	i := s.of(mod.id)
	if i < 0 || !g.timed || s.epoch != g.Epoch {
		return false
	}
	have := g.in & g.camera.expected
	near := c.NearNS(g.Key)
	for _, said := range s.taken[i].recent[:min(s.heads[i].n, seatMessages)] {
		if max(subSaturating(g.minNS, said.ns), subSaturating(said.ns, g.maxNS)) > near {
			continue
		}
		m := Message{Stream: g.Key.Stream, Model: mod.id, FrameID: said.frame}
		at := c.find(g.camera, &m, said.ns, true)
		if at.answers(g.camera, mod.id, said.ns) && c.modelsOf(&at)&have != have {
			return true
		}
	}
	return false
}

// answers reports whether a model's message in what was found was captured at ns.
func (at *found) answers(cam *camera, id ModelID, ns int64) bool {
	switch {
	case at.open != nil:
		i := at.open.member(id)
		return i >= 0 && !at.open.Members[i].Unreadable && cam.matched(id, at.open.Members[i].CaptureNS) == ns
	case at.closed != nil:
		have := at.closed.holds(id)
		return have != nil && have.readable && cam.matched(id, have.ns) == ns
	}
	return false
}

// modelsOf returns the models that have a message in what was found, those that came late too.
func (c *Correlator) modelsOf(at *found) (set uint64) {
	if at.open != nil {
		return at.open.in
	}
	for i := range at.closed.held {
		set |= c.models[at.closed.held[i].model].bit
	}
	return set
}

// NearNS returns how far apart two capture times may at most lie to be taken for one picture in
// two groups, if one of them has this key. Less than half an interval is one picture (setMixing).
// While no interval is known, a quantum is taken for it. A frame id is the source's word that two
// pictures are two, against which only the very same capture time stands.
func (c *Correlator) NearNS(k Key) int64 {
	cam := c.cameraOf(k.Stream)
	switch {
	case cam == nil || k.Tag == TagID:
		return 0
	case cam.mixNS > 0:
		return cam.mixNS - 1
	case k.Tag == TagBucket:
		return c.cfg.QuantumNS
	}
	return 0
}
