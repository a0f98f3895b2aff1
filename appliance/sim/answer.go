package sim

import (
	"fmt"

	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/shm"
)

// stamp is the capture time that a detector gives a picture.
func (p *process) stamp(pic *Picture) int64 {
	if p.w.plan.Shared {
		return pic.StampNS
	}
	// Every picture has its own jitter, whoever asks and how often.
	jitter := int64(0)
	if p.plan.SkewJitterNS > 0 {
		jitter = int64(uint64(pic.ID*2654435761+uint64(p.model)*40503) % uint64(p.plan.SkewJitterNS))
	}
	return p.plan.Clock.read(pic.AtNS) + p.plan.SkewNS + jitter
}

// id is the frame id that a detector passes on, 0 = none.
func (p *process) id(pic *Picture) uint64 {
	if !p.w.plan.Shared || p.plan.NoIDs {
		return 0
	}
	return pic.ID
}

// promise tells that nothing more will come of the pictures seen so far.
func (p *process) promise(camera int, pic *Picture, stamp int64) {
	newest := p.eyes[camera].newest
	if edge, ok := p.windowEdge(camera, pic); ok && edge < stamp {
		p.sayProgress(camera, pic.Epoch, edge)
		p.w.Truth.befell("a promise ends at a window's edge")
	}
	if newest >= 0 && p.w.Truth.Pictures[newest].Epoch == pic.Epoch {
		p.sayProgress(camera, pic.Epoch, max(stamp, p.stamp(&p.w.Truth.Pictures[newest])))
		return
	}
	p.sayProgress(camera, pic.Epoch, 1<<62)
	if newest >= 0 {
		p.sayProgress(camera, p.w.Truth.Pictures[newest].Epoch, p.stamp(&p.w.Truth.Pictures[newest]))
	}
}

// windowEdge is the last instant, or the one before it, that may still be joined to what was last
// said about the picture's timeline: where a promise begins to settle it.
func (p *process) windowEdge(camera int, pic *Picture) (ns int64, ok bool) {
	s, t := p.w.plan.settings(camera), &p.w.Truth
	if s.Match != correlate.MatchWindow || len(t.Messages) == 0 || !chance(p.w.rng, 0.3) {
		return 0, false
	}
	for i := len(t.Messages) - 1; i >= max(0, len(t.Messages)-20); i-- {
		if m := &t.Messages[i]; t.Pictures[m.Picture].line() == pic.line() && m.Model != p.model && !m.Garbage {
			anchor := m.StampNS - s.OffsetNS[p.w.plan.Models[m.Model].Says]
			return anchor + s.WindowNS - pick[int64](p.w.rng, 0, 1) + s.OffsetNS[p.plan.Says], true
		}
	}
	return 0, false
}

// between is a capture time in the middle of the last two that others have given on the picture's
// timeline, for one who gives wrong times now and then; 0 = not now.
func (p *process) between(pic *Picture) int64 {
	s, t := p.w.plan.settings(pic.Camera), &p.w.Truth
	if p.plan.CollideP == 0 || s.Match != correlate.MatchWindow || !chance(p.w.rng, 0.2) {
		return 0
	}
	var newest int64
	for i := len(t.Messages) - 1; i >= max(0, len(t.Messages)-20); i-- {
		m := &t.Messages[i]
		if t.Pictures[m.Picture].line() != pic.line() || m.Model == p.model || m.Garbage {
			continue
		}
		anchor := m.StampNS - s.OffsetNS[p.w.plan.Models[m.Model].Says]
		apart := max(anchor-newest, newest-anchor)
		if newest != 0 && apart > 0 && apart <= 2*s.WindowNS && apart%2 == 0 {
			return (anchor+newest)/2 + s.OffsetNS[p.plan.Says]
		}
		newest = anchor
	}
	return 0
}

func (p *process) sayProgress(camera int, epoch uint32, ns int64) {
	p.w.Truth.Promises = append(p.w.Truth.Promises, Promise{p.model, camera, epoch, ns, p.w.now})
	p.put(shm.SlotHeader{CaptureNS: ns, PublishNS: p.w.now, Stream: p.streams[camera], StreamEpoch: epoch, Kind: shm.KindProgress}, nil)
}

// answer is what a managed detector publishes of a picture: always something.
func (p *process) answer(picture int, stamp int64, id uint64) {
	p.publish(picture, stamp, id, chance(p.w.rng, p.plan.FindP))
}

// publish sends a message, and whatever else this detector sends with it.
func (p *process) publish(picture int, stamp int64, id uint64, found bool) {
	r, camera := p.w.rng, p.w.Truth.Pictures[picture].Camera
	m := Message{Picture: picture, StampNS: stamp, FrameID: id, Found: found, Lie: chance(r, p.plan.LieP)}
	text := ""
	if chance(r, p.plan.GarbageP) {
		m.Garbage, text = true, fmt.Sprintf("garbage %d", r.IntN(p.plan.GarbageTexts))
	}
	if between := p.between(&p.w.Truth.Pictures[picture]); between != 0 && !m.Garbage {
		stray := m
		stray.StampNS = between
		p.send(stray, "")
		p.w.Truth.befell("a time is as near to one picture as to another")
	}
	p.send(m, text)
	if chance(r, p.plan.DupP) {
		p.send(m, text)
	}
	if chance(r, p.plan.CollideP) {
		other := m
		other.StampNS++
		otherText := text
		if p.plan.GarbageP > 0 && chance(r, 0.5) { // one of the two can be read
			if other.Garbage = !m.Garbage; other.Garbage {
				otherText = "garbage 0"
			}
		}
		p.send(other, otherText)
	}
	if old := p.last[camera]; old.set && chance(r, p.plan.ResendP) {
		pic := &p.w.Truth.Pictures[old.picture]
		again := m
		again.Picture, again.StampNS, again.FrameID, again.Garbage = old.picture, p.stamp(pic), p.id(pic), false
		p.send(again, "")
	}
	p.last[camera] = sent{true, picture}
}

func (p *process) send(m Message, text string) {
	pic := &p.w.Truth.Pictures[m.Picture]
	m.Model, m.Process, m.PublishedNS, m.Generation = p.model, p.index, p.w.now, p.generation
	p.w.Truth.Messages = append(p.w.Truth.Messages, m)
	h := shm.SlotHeader{
		CaptureNS: m.StampNS, PublishNS: m.PublishedNS, FrameID: m.FrameID, Tag: uint64(len(p.w.Truth.Messages)),
		Stream: p.streams[pic.Camera], StreamEpoch: pic.Epoch, Kind: shm.KindBoxes,
	}
	if m.Lie {
		h.PublishNS = p.w.now + pick(p.w.rng, -1*sec, 1*sec, -1<<62, 1<<62)
	}
	p.boxes = p.boxes[:0]
	if m.Found {
		p.boxes = append(p.boxes, BoxOf(m.Picture))
	}
	h.Count = uint16(len(p.boxes))
	body := detect.AppendPacked(p.body[:0], p.boxes)
	if m.Garbage {
		h.CaptureNS = shm.RawCapture
		var err error
		if body, err = shm.AppendRaw(nil, text, body); err != nil {
			p.w.fail("%v", err)
		}
	}
	p.body = body[:0]
	p.put(h, body)
}

func (p *process) put(h shm.SlotHeader, body []byte) {
	if err := p.writer.Publish(&h, body); err != nil {
		p.w.fail("%v", err)
	}
	p.w.wake()
}

// BoxOf is the one object that there is to see in a picture. It stands in one of 25 places
// that do not overlap, so that boxes of two pictures are not fused into one; PlaceOf tells it.
func BoxOf(picture int) detect.Box {
	x, y := float32(picture%5)*0.2, float32(picture/5%5)*0.2
	return detect.Box{X1: x + 0.02, Y1: y + 0.02, X2: x + 0.18, Y2: y + 0.18, Score: 0.75}
}

// PlaceOf is the place of a box whose upper left corner is there: that of a picture is its
// number modulo Places.
func PlaceOf(x1, y1 float64) int { return int((x1+0.1)/0.2) + 5*int((y1+0.1)/0.2) }

// Places is how many places there are for an object to stand.
const Places = 25
