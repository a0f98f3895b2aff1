package appliance

import (
	"slices"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/dispatch"
)

// promises carries the progress of the appliance's own detectors (CORRELATION §6) from the
// dispatcher to the correlator. A detector publishes its answer before it says done, and the
// dispatcher looks at done: between looking and telling, what the model's rings held then is read.
// A path that never comes to the end of its rings gets there all the same, for no writer is ahead
// of the others by more than two rings full (replica.peek): within 2 × ringSlots messages of each
// ring, maxMessagesPerTurn of them a turn, everything that was looked at is told.
type promises struct {
	seen []dispatch.Progress // looked at, not yet told; reused
}

// lookForPromises asks the dispatcher what has moved, and notes how far the rings have to be read.
// What could not be told yet is told first, so no more than one round is gathered.
func (p *path) lookForPromises() {
	if len(p.promises.seen) > 0 {
		return
	}
	p.promises.seen = p.disp.AppendProgress(p.promises.seen)
	if len(p.promises.seen) == 0 {
		return
	}
	for _, r := range p.replicas {
		if r.foreign == nil {
			r.promised = r.stepped() + r.unstepped()
		}
	}
}

// keepPromises tells the correlator what was looked at, as far as the rings are read, and returns
// how much that was. Of a path that has not come to the end of its rings, at is the arrival it has
// reached.
func (p *path) keepPromises(at clock.Mono) int {
	left := p.promises.seen[:0]
	for _, said := range p.promises.seen {
		if p.answersRead(correlate.ModelID(said.Model)) {
			p.promise(at, &said)
		} else {
			left = append(left, said)
		}
	}
	n := len(p.promises.seen) - len(left)
	p.promises.seen = left
	return n
}

// forget drops what was not told of a model one of whose processes is gone: told after its death,
// it would be a sign of life.
func (s *promises) forget(model correlate.ModelID) {
	s.seen = slices.DeleteFunc(s.seen, func(said dispatch.Progress) bool { return correlate.ModelID(said.Model) == model })
}

// answersRead reports whether all that a model had published when its progress was looked at has
// been stepped.
func (p *path) answersRead(model correlate.ModelID) bool {
	for _, r := range p.replicas {
		if r.foreign == nil && r.model == model && r.stepped() < r.promised {
			return false
		}
	}
	return true
}

// stepped is the sequence number up to which a ring's messages are dealt with or lost.
func (r *replica) stepped() uint64 {
	n := r.ring.Start() + r.ring.Read() + r.ring.Lost()
	if r.have {
		n--
	}
	return n
}

// unstepped is how many messages of the ring are not.
func (r *replica) unstepped() uint64 {
	n := r.ring.Pending()
	if r.have {
		n++
	}
	return n
}

// promise tells one. A detector that hangs on a camera is not believed to be back because
// pictures that waited for it were dropped: only one that it finished is a word of its own.
func (p *path) promise(now clock.Mono, said *dispatch.Progress) {
	c := p.cameras[said.Camera]
	model := correlate.ModelID(said.Model)
	if !c.stream.known || c.stream.epoch != said.StreamEpoch {
		id, err := p.corr.Stream(p.a.cfg.Unit, c.cfg.Name, said.StreamEpoch)
		if err != nil {
			p.log.Error("tell a detector's progress", "camera", c.cfg.Name, "err", err)
			return
		}
		c.stream = streamCache{known: true, epoch: said.StreamEpoch, id: id}
	}
	stream := c.stream.id
	hangs := false
	for _, s := range p.seats[said.Camera] {
		switch {
		case s.r.foreign != nil || s.r.model != model:
		case said.Finished:
			s.r.spoke(now, s.local, stream)
		case s.r.owes[s.local].hung:
			hangs = true
		}
	}
	if !hangs {
		p.corr.Progress(now, stream, model, said.CaptureNS)
	}
}
