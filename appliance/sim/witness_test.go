package sim

import (
	"math/bits"
	"slices"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/fuse"
)

// saw takes a published group as the path got it.
func (j *judge) saw(g *correlate.Group, fused []fuse.FusedBox) {
	out := &group{
		first: g.FirstArrival, last: g.LastArrival, closedAt: g.ClosedAt, generation: g.Generation, reason: g.Reason,
	}
	at := line{j.cameraIndex(g.Camera), g.Epoch}
	out.line = j.timeline(at)
	for i := range g.Members {
		m := &g.Members[i]
		out.members = append(out.members, member{
			model: j.corr.ModelName(m.Model), tag: m.Tag, arrival: m.Arrival, sentNS: m.CaptureNS, readable: !m.Unreadable, empty: len(m.Boxes) == 0,
		})
	}
	for _, m := range g.Missing {
		out.missing = append(out.missing, j.corr.ModelName(m.Model)+" "+m.Reason.String())
	}
	slices.Sort(out.missing)
	j.got = append(j.got, out)
	if j.onGroup != nil {
		j.onGroup(out)
	}
	j.hash.group(out, fused)
	j.checkGroup(out)
	j.checkFusion(out, fused)
}

// checkArrival: an honest detector's message arrives when it was published, whenever the path
// got round to reading it.
func (j *judge) checkArrival(now clock.Mono, at line, m *correlate.Message) {
	truth := j.truth.Of(m.Tag)
	if truth == nil {
		j.fail("message with tag %d was never sent", m.Tag)
		return
	}
	if pic := &j.truth.Pictures[truth.Picture]; pic.line() != at {
		j.fail("message %d of %+v is taken for one of %+v", m.Tag, pic.line(), at)
	}
	if j.plan.Models[truth.Model].LieP == 0 && int64(now) != truth.PublishedNS {
		j.fail("message %d arrived at %d, and was published at %d", m.Tag, int64(now)-j.plan.Start, truth.PublishedNS-j.plan.Start)
	}
}

// checkGroup: order, and what pictures are in it.
func (j *judge) checkGroup(g *group) {
	if g.closedAt < j.last {
		j.fail("a group closed at %d came out after one closed at %d", g.closedAt, j.last)
	}
	j.last = g.closedAt
	pictures := map[int]bool{}
	for _, m := range g.members {
		truth := j.truth.Of(m.tag)
		if truth == nil {
			j.fail("a group has message %d, which was never sent", m.tag)
			continue
		}
		pictures[truth.Picture] = true
		if pic := &j.truth.Pictures[truth.Picture]; pic.line() != g.line.line {
			j.fail("a group of %+v has message %d of %+v", g.line.line, m.tag, pic.line())
		}
	}
	if len(pictures) < 2 {
		return
	}
	j.mixed[g.line.line]++
	// It shows: stamps that came out of one capture differ from picture to picture.
	stamps, honest := map[int64]bool{}, j.plan.Shared
	for _, m := range g.members {
		truth := j.truth.Of(m.tag)
		stamps[m.sentNS] = true
		honest = honest && m.readable && truth.StampNS == j.truth.Pictures[truth.Picture].StampNS
	}
	if honest && len(stamps) == 1 {
		j.fail("a frame mixes %d pictures, and no capture time in it says so: %s", len(pictures), g)
	}
}

// checkWait: when everybody tells how far he is, no frame waits for its timeout, unless there
// was nobody to wait for. A frame never waits longer than that.
func (j *judge) checkWait(g *group) {
	if g.reason != correlate.Timeout {
		if waited := int64(g.closedAt - g.first); waited > 0 && waited >= j.plan.Config.TimeoutNS {
			j.fail("a frame was closed as %s after its timeout, at %d ns", g.reason, waited)
		}
		return
	}
	poll := &j.plan.Poll
	read := poll.Awake(j.plan.Start, int64(g.first)+poll.WakeNS+poll.IntervalNS) // by then the path knew of it
	due := max(int64(g.first)+j.plan.Config.TimeoutNS, read+1)
	lies := slices.ContainsFunc(j.plan.Models, func(m ModelPlan) bool { return m.LieP > 0 })
	if !lies && int64(g.closedAt) > poll.Awake(j.plan.Start, due) {
		j.fail("a frame that was due at %d was closed at %d, and nothing held the path up: %s", due, g.closedAt, g)
	}
	lastPicture := j.plan.Start + j.plan.LengthNS - j.plan.Config.TimeoutNS // what comes last may have no successor to settle it
	byTime := g.key.tag != correlate.TagID && g.key.tag != correlate.TagInstant
	// Who comes back knows nothing of a stream_epoch that is over, and promises nothing about it.
	over := false
	for at := range j.lines {
		over = over || at.camera == g.line.camera && at.epoch > g.line.epoch
	}
	excused := g.alone || byTime && int64(g.first) > lastPicture || over && g.mourned || j.missedIt(g)
	if j.plan.Calm && !excused {
		j.fail("everybody answers or promises, and yet this frame waited for its timeout: %s", g)
	}
}

// missedIt: somebody who is missing came back only after the last picture of the timeline had
// been taken. He has seen none of them, and so promises nothing.
func (j *judge) missedIt(g *group) bool {
	last := int64(0)
	for i := range j.truth.Pictures {
		if p := &j.truth.Pictures[i]; p.line() == g.line.line {
			last = p.AtNS
		}
	}
	return slices.ContainsFunc(j.expected[g.line.camera], func(name string) bool {
		back, ok := j.backAt[name]
		return ok && g.of(name) == nil && int64(back)-j.plan.Start > last
	})
}

// checkFusion: one object a picture, seen by those who found it and nobody else.
func (j *judge) checkFusion(g *group, fused []fuse.FusedBox) {
	want := map[int]uint64{} // place → models
	for _, m := range g.members {
		if truth := j.truth.Of(m.tag); truth != nil && truth.Found {
			want[truth.Picture%Places] |= 1 << truth.Model
		}
	}
	if len(want) != len(fused) {
		j.fail("%d boxes were fused, want %d: %s", len(fused), len(want), g)
		return
	}
	for _, b := range fused {
		place := PlaceOf(b.X1, b.Y1)
		if want[place] != b.Models {
			j.fail("the box at place %d is of %d models %b, want %b: %s", place, bits.OnesCount64(b.Models), b.Models, want[place], g)
		}
	}
}
