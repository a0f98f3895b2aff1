package sim

import (
	"fmt"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/shm"
)

// ring is a detection ring and what the path knows of its writer.
type ring struct {
	process   Process
	managed   bool
	bytes     []byte
	workBytes []byte
	work      *shm.DispatchWriter
	queue     int // the dispatcher's number
	reader    *shm.Reader
	model     correlate.ModelID
	up        bool
	attached  bool // managed, or somebody is there

	have        bool
	head        shm.SlotHeader
	body        []byte
	n           int
	arrival     clock.Mono
	lastArrival clock.Mono
	lastEmpty   clock.Mono
}

// messages steps what the rings hold, all of them merged by arrival.
func (s *path) messages(now clock.Mono) {
	for {
		var first *ring
		for _, r := range s.rings {
			if s.peek(now, r) && (first == nil || !s.habits.unmerged && r.arrival < first.arrival) {
				first = r
			}
		}
		if first == nil {
			return
		}
		first.have = false
		s.step(first)
	}
}

// peek makes sure that a ring's oldest unread message is at hand. Its arrival is the publish
// time, clamped into what can be true.
func (s *path) peek(now clock.Mono, r *ring) bool {
	if r.have {
		return true
	}
	if !r.attached {
		return false
	}
	n, ok, err := r.reader.Next(&r.head, r.body)
	if err != nil {
		s.fail(err)
		return false
	}
	if !ok {
		r.lastEmpty = now
		return false
	}
	r.have, r.n = true, n
	r.arrival = min(max(clock.Mono(r.head.PublishNS), r.lastArrival, r.lastEmpty), now)
	if r.arrival != clock.Mono(r.head.PublishNS) {
		s.judge.clamped++
	}
	if s.habits.stepsAtNow {
		r.arrival = now
	}
	r.lastArrival = r.arrival
	return true
}

func (s *path) step(r *ring) {
	h := &r.head
	info, ok := r.reader.Stream(h.Stream)
	if !ok {
		s.fail(fmt.Errorf("stream %d is not in the ring's table", h.Stream))
		return
	}
	stream, err := s.corr.Stream(info.Unit, info.Camera, h.StreamEpoch)
	if err != nil {
		s.fail(err)
		return
	}
	at := line{s.cameraIndex(info.Camera), h.StreamEpoch}
	name := s.plan.Models[r.process.Model].Says
	if h.Kind == shm.KindProgress {
		ok := s.corr.Progress(r.arrival, stream, r.model, h.CaptureNS)
		s.judge.promised(r.arrival, at, name, h.CaptureNS, ok)
		return
	}
	s.message = correlate.Message{
		Stream: stream, Model: r.model, Generation: r.reader.Info().Generation, CaptureNS: h.CaptureNS, FrameID: h.FrameID, Tag: h.Tag, HasBoxes: true,
	}
	body := r.body[:r.n]
	if h.CaptureNS == shm.RawCapture {
		if s.message.Raw, body, err = shm.SplitRaw(body); err != nil {
			s.fail(err)
			return
		}
	}
	if s.boxes, err = detect.AppendUnpacked(s.boxes[:0], body, int(h.Count)); err != nil {
		s.fail(err)
		return
	}
	s.message.Boxes = s.boxes
	verdict := s.corr.Step(r.arrival, &s.message)
	s.judge.stepped(r.arrival, at, name, &s.message, verdict)
}

func (s *path) cameraIndex(name string) int {
	for i := range s.plan.Cameras {
		if s.plan.Cameras[i].Name == name {
			return i
		}
	}
	s.fail(fmt.Errorf("no camera %q", name))
	return 0
}
