package correlate

import (
	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/detect"
)

// Watch hears how every group ends and what becomes of the messages that join none: together
// the story of each picture. It is called on the correlator's thread, must not call what
// changes the correlator, and what it is given is valid only during the call.
//
// Messages that are accepted are told with their group, so that a watch costs the usual message
// nothing.
type Watch interface {
	// Closed tells of a group that was closed, whether it is published or not. The mark it
	// returns stands for the group in later calls of Apart.
	Closed(e *Closing) (mark uint64)
	// Apart tells of a message that belongs to a group and did not join it. The mark it returns
	// is taken for a group that is open.
	Apart(a *Apart) (mark uint64)
}

// Closing is the end of a group.
type Closing struct {
	*Group
	Published uint64 // the number of its frame among all published ones, from 1; 0 = not published
	Slept     bool   // stale because the machine slept
	Mark      uint64 // what Apart said while it was open, or 0
}

// Apart is a message that did not join its group.
type Apart struct {
	Unit, Camera string
	Member           // the message, as it would have joined, without its boxes
	Boxes        int // how many, if HasBoxes
	Generation   uint64
	Verdict      Verdict
	Open         bool // the group still is; ClosedAt is then 0
	Key          Key  // of the group
	First        clock.Mono
	ClosedAt     clock.Mono
	Mark         uint64 // what the last call about the group returned, or 0
}

// tellClosed tells the watch of a group that is complete in all parts.
func (c *Correlator) tellClosed(g *group, remembered, published bool) {
	for i := range g.Members {
		m := &g.Members[i]
		m.Expected = g.camera.expected&c.models[m.Model].bit != 0
	}
	e := &c.closing
	*e = Closing{Group: &g.Group, Slept: c.sleeping, Mark: g.mark}
	if published {
		e.Published = c.n.Published
	}
	mark := c.cfg.Watch.Closed(e)
	if remembered {
		c.closed.at(c.closed.newest - 1).mark = mark
	}
}

// tellApart tells the watch of a message that did not join at.
func (c *Correlator) tellApart(now clock.Mono, cam *camera, at *found, m *Message, mod *model, v Verdict) {
	a := &c.apart
	*a = Apart{
		Unit: cam.unit, Camera: cam.name,
		Member: Member{
			Model: m.Model, Arrival: now, CaptureNS: m.CaptureNS, FrameID: m.FrameID, Tag: m.Tag,
			HasBoxes: m.HasBoxes, Expected: cam.expected&mod.bit != 0,
		},
		Boxes: len(m.Boxes), Generation: m.Generation, Verdict: v,
	}
	if m.Unreadable() {
		a.Unreadable, a.CaptureNS, a.Raw = true, detect.RawInstant, c.rawText
	}
	if r := at.closed; r != nil {
		a.Key, a.First, a.ClosedAt, a.Mark = r.key, r.first, r.closedAt, r.mark
		r.mark = c.cfg.Watch.Apart(a)
		return
	}
	g := at.open
	a.Open, a.Key, a.First, a.Mark = true, g.Key, g.FirstArrival, g.mark
	g.mark = c.cfg.Watch.Apart(a)
}

// EachOpen calls f for every open group of a camera in order of first arrival, with the mark
// that the watch gave it. The groups are as they would be closed now, without a reason.
func (c *Correlator) EachOpen(unit, camera string, f func(g *Group, mark uint64)) {
	for g := c.oldest; g != nil; g = g.next {
		if g.camera.unit != unit || g.camera.name != camera {
			continue
		}
		g.Reason = 0
		c.present(g)
		for i := range g.Members {
			m := &g.Members[i]
			m.Expected = g.camera.expected&c.models[m.Model].bit != 0
		}
		f(&g.Group, g.mark)
	}
}

// Matched returns the capture time that a model's messages of a stream are matched by: as
// received, less the model's offset.
func (c *Correlator) Matched(s StreamID, id ModelID, ns int64) int64 {
	if cam := c.cameraOf(s); cam != nil {
		return cam.matched(id, ns)
	}
	return ns
}
