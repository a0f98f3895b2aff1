package appliance

import (
	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/dispatch"
)

// promises carries the progress of the appliance's own detectors (CORRELATION §6) from the
// dispatcher to the correlator. A detector publishes its answer before it says done, and the
// dispatcher looks at done: between looking and telling, all rings are read to their end.
type promises struct {
	seen []dispatch.Progress // looked at, not yet told; reused
}

// look asks the dispatcher what has moved. What could not be told yet is told first, so a path
// that does not come to the end of its rings gathers no more than one round.
func (s *promises) look(d *dispatch.Dispatcher) {
	if len(s.seen) == 0 {
		s.seen = d.AppendProgress(s.seen)
	}
}

// keepPromises tells the correlator what was looked at before the rings were read to their end.
func (p *path) keepPromises(now clock.Mono) int {
	n := len(p.promises.seen)
	for i := range p.promises.seen {
		p.promise(now, &p.promises.seen[i])
	}
	p.promises.seen = p.promises.seen[:0]
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
