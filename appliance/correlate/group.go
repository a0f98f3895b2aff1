package correlate

import (
	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/detect"
)

// Message is one model's answer about one picture. Step keeps nothing of it.
type Message struct {
	Stream     StreamID
	Model      ModelID
	Generation uint64 // 0 = a detector outside generations, which may join any group
	CaptureNS  int64  // when the picture was taken; detect.RawInstant = not readable
	Raw        []byte // the text of an unreadable timestamp; nil if CaptureNS is one
	Exact      bool   // CaptureNS is an instant even if it equals detect.RawInstant
	FrameID    uint64 // the source's id of the picture; 0 = none
	Tag        uint64 // passed on
	HasBoxes   bool   // Boxes is the whole answer; no boxes then means "looked, found nothing"
	Boxes      []detect.Box
}

// Member is a message inside a group.
type Member struct {
	Model      ModelID
	Unreadable bool
	HasBoxes   bool
	Expected   bool // told to Config.Watch alone: the model is, at closing
	Arrival    clock.Mono
	CaptureNS  int64 // as received; detect.RawInstant if not readable
	FrameID    uint64
	Tag        uint64
	Boxes      []detect.Box
	Raw        []byte // the text of an unreadable timestamp, shortened by detect.AppendRaw

	// Where Boxes and Raw are in the group's own memory, which may still move.
	boxesAt, boxesN, rawAt, rawN int32
}

// Reason says why a group was closed.
type Reason uint8

const (
	Quorum Reason = iota + 1
	Settled
	Timeout
	Eviction
	Stale // dropped, never published
)

var reasonNames = [...]string{"", "quorum", "settled", "timeout", "eviction", "stale"}

func (r Reason) String() string { return reasonNames[r] }

// Group is what belongs to one picture. It and all that it points to is valid only until the
// callback that it was given to returns.
type Group struct {
	Key          Key
	Unit, Camera string
	Epoch        uint32
	Generation   uint64 // of its first managed message, 0 if there was none
	Reason       Reason
	FirstArrival clock.Mono
	LastArrival  clock.Mono
	ClosedAt     clock.Mono
	CaptureNS    int64    // earliest of the members, less their models' offsets; detect.RawInstant if none is readable
	Members      []Member // in order of arrival, one a model
	Missing      []Missing
}

// group is an open group, pooled.
type group struct {
	Group
	id     uint32 // its place in Correlator.groups
	seq    uint64 // rises with each opening: the order of first arrival
	mark   uint64 // of the watch, 0 while it has said none
	camera *camera
	epoch  *epoch
	in     uint64 // members that have a bit
	// Models whose message was of another generation, those with a bit then.
	turnedAway uint64

	// Matched capture times, of the members whose timestamp could be read.
	timed        bool
	minNS, maxNS int64

	found      bool   // somebody found something, or did not say
	settleNode uint32 // in epoch.settle, 0 while nothing can settle it
	anchorNode uint32 // in epoch.anchors, for window matches
	ready      bool   // chosen to be closed by the judging under way
	boxes      []detect.Box
	raw        []byte

	prev, next *group // in order of first arrival
}

// Room that a pooled group may keep, so that one huge picture is not paid for for ever.
const (
	keepMembers = 32
	keepBoxes   = 4096
)

// member returns the place of a model among the members, or -1.
func (g *group) member(id ModelID) int {
	for i := range g.Members {
		if g.Members[i].Model == id {
			return i
		}
	}
	return -1
}

// foreign reports whether a message of that generation must not join the group.
func (g *group) foreign(generation uint64) bool {
	return generation != 0 && g.Generation != 0 && generation != g.Generation
}

// open starts a group for a key and puts it last in the order of first arrival.
func (c *Correlator) open(now clock.Mono, k Key, cam *camera, ep *epoch) *group {
	g := c.spare
	if g != nil {
		c.spare = g.next
	} else {
		g = &group{id: uint32(len(c.groups))}
		c.groups = append(c.groups, g)
	}
	c.seq++
	g.seq, g.camera, g.epoch = c.seq, cam, ep
	g.Key, g.Unit, g.Camera, g.Epoch = k, cam.unit, cam.name, k.Stream.Epoch()
	g.Generation, g.Reason = 0, 0
	g.FirstArrival, g.LastArrival = now, now
	g.in, g.turnedAway, g.timed, g.found, g.ready = 0, 0, false, false, false
	g.settleNode, g.anchorNode, g.mark = 0, 0, 0
	g.prev, g.next = c.newest, nil
	if c.newest != nil {
		c.newest.next = g
	} else {
		c.oldest = g
	}
	c.newest = g
	c.pending++
	c.n.Opened++
	ep.hold()
	if k.Tag == TagWindow {
		g.anchorNode = c.order.insert(ep.anchors(&c.order), k.Value, uint32(openRef(g.id)))
	} else {
		c.index.add(&g.Key, openRef(g.id))
	}
	switch {
	case k.Tag == TagRaw:
		c.raw.Use(k.Value)
	case k.Tag == TagID && c.cfg.FrameIDs != nil:
		c.cfg.FrameIDs.Use(k.Value)
	}
	return g
}

// join takes a message into an open group.
func (c *Correlator) join(now clock.Mono, g *group, m *Message, mod *model, t int64, readable bool) {
	g.Members = append(g.Members, Member{})
	mem := &g.Members[len(g.Members)-1] // filled in place: a copy would wait for the stores before it
	mem.Model, mem.Arrival, mem.CaptureNS, mem.Unreadable = m.Model, now, m.CaptureNS, !readable
	mem.HasBoxes, mem.FrameID, mem.Tag = m.HasBoxes, m.FrameID, m.Tag
	mem.boxesAt, mem.boxesN, mem.rawAt = int32(len(g.boxes)), int32(len(m.Boxes)), int32(len(g.raw))
	g.boxes = append(g.boxes, m.Boxes...)
	if !readable {
		mem.CaptureNS = detect.RawInstant
		g.raw = append(g.raw, c.rawText...)
		mem.rawN = int32(len(c.rawText))
	}
	mod.accepted++
	g.LastArrival = now
	g.in |= mod.bit
	if g.Generation == 0 {
		g.Generation = m.Generation
	}
	if !m.HasBoxes || len(m.Boxes) > 0 {
		g.found = true
	}
	if readable {
		c.span(g, t)
	}
}

// span widens the capture times of a group and moves the instant at which it is settled.
func (c *Correlator) span(g *group, t int64) {
	first := !g.timed
	if first {
		g.timed, g.minNS, g.maxNS = true, t, t
	} else if t >= g.minNS && t <= g.maxNS {
		return
	}
	grown := t > g.maxNS
	g.minNS, g.maxNS = min(g.minNS, t), max(g.maxNS, t)
	// A bucket ends where it ends; what a frame id stands for may turn out to be later.
	if first || grown && g.Key.Tag == TagID {
		if g.settleNode != 0 {
			c.order.remove(g.settleNode)
		}
		g.settleNode = c.order.insert(g.epoch.settle, c.settleNS(g), g.id)
	}
}

// unlink takes a group out of the order of first arrival.
func (c *Correlator) unlink(g *group) {
	if g.prev != nil {
		g.prev.next = g.next
	} else {
		c.oldest = g.next
	}
	if g.next != nil {
		g.next.prev = g.prev
	} else {
		c.newest = g.prev
	}
	c.pending--
}

// recycle gives a closed group back to the pool.
func (c *Correlator) recycle(g *group) {
	if cap(g.Members) > keepMembers {
		g.Members = nil
	}
	if cap(g.boxes) > keepBoxes {
		g.boxes = nil
	}
	g.Members, g.boxes, g.raw = g.Members[:0], g.boxes[:0], g.raw[:0]
	g.camera, g.epoch = nil, nil
	g.prev, g.next = nil, c.spare
	c.spare = g
}
