package sim

import (
	"fmt"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
)

// Turn does all that there is to do.
func (s *path) Turn(now clock.Mono) {
	// Who has come is read from now on, and before anything is said of those who went: a death
	// is dated now, and what was published earlier must not come after it.
	for _, w := range s.heard {
		if r := s.rings[w.process]; w.state == Ready && !r.attached {
			r.attached, r.lastEmpty = true, max(r.lastEmpty, s.lastTurn)
		}
	}
	for i, w := range s.heard {
		for _, before := range s.heard[:i] {
			s.unclear = s.unclear || before.process == w.process
		}
		s.hear(now, w)
	}
	s.heard = s.heard[:0]
	s.lastTurn = now
	for i, c := range s.cameras {
		s.look(now, i, c)
	}
	s.said = s.disp.AppendProgress(s.said[:0])
	if s.habits.promisesEarly {
		s.tell(now)
	}
	s.messages(now)
	if !s.habits.promisesEarly {
		s.tell(now)
	}
	if s.slept {
		s.slept = false
		s.corr.Slept(now)
		s.judge.slept(now)
	}
	for _, at := range s.hung {
		s.silence(now, at)
	}
	s.hung = s.hung[:0]
	for _, r := range s.reloads {
		s.reload(now, r)
	}
	s.reloads = s.reloads[:0]
	s.disp.Pump(now)
	if !s.habits.neverTicks {
		s.corr.Tick(now)
		s.judge.ticked(now)
	}
}

// look hands a camera's new pictures to the dispatcher.
func (s *path) look(now clock.Mono, index int, c *pathCamera) {
	head := c.reader.Head()
	first := max(c.seen+1, c.reader.Oldest())
	if head > c.seen {
		c.lost += first - (c.seen + 1)
	}
	for seq := first; seq <= head; seq++ {
		if m, ok := c.reader.Meta(seq); ok {
			s.disp.Offer(now, index, &m)
			s.lookedAt++
		} else {
			s.fail(fmt.Errorf("picture %d of camera %d is gone between two looks: %w", seq, index, c.reader.Err()))
		}
	}
	c.seen = max(c.seen, head)
}

// tell gives the dispatcher's progress to the correlator.
func (s *path) tell(now clock.Mono) {
	for _, p := range s.said {
		stream, err := s.corr.Stream(Unit, s.plan.Cameras[p.Camera].Name, p.StreamEpoch)
		if err != nil {
			s.fail(err)
		}
		ok := s.corr.Progress(now, stream, correlate.ModelID(p.Model), p.CaptureNS)
		s.judge.promised(now, line{p.Camera, p.StreamEpoch}, s.corr.ModelName(correlate.ModelID(p.Model)), p.CaptureNS, ok)
	}
}

// hear follows one process: it gets work while it is ready, and its model leaves the quorum
// when the last process of it is gone and all that it wrote has been read.
func (s *path) hear(now clock.Mono, w word) {
	r := s.rings[w.process]
	switch w.state {
	case Ready:
		r.up = true
		if r.managed {
			s.disp.SetReady(now, r.queue)
		}
	case Draining:
		if r.up && r.managed {
			s.disp.SetDraining(r.queue)
		}
	case Gone:
		if !r.up {
			return
		}
		if !s.habits.buriesEarly {
			s.messages(now)
		}
		r.up = false
		if r.managed {
			s.disp.SetDown(r.queue, false)
		} else {
			r.attached = s.comes(w.process)
		}
		for _, other := range s.rings {
			if other.up && other.model == r.model {
				return
			}
		}
		s.bury(now, r.process.Model)
	}
}

// comes reports whether another process follows among the words in hand.
func (s *path) comes(process int) bool {
	last := Gone
	for _, w := range s.heard {
		if w.process == process {
			last = w.state
		}
	}
	return last == Ready
}

// bury takes a model out of the quorum.
func (s *path) bury(now clock.Mono, model int) {
	name := s.plan.Models[model].Says
	if err := s.corr.ModelDown(now, name); err != nil {
		s.fail(err)
	}
	s.judge.died(now, name)
}

// silence takes a model that hangs out of one camera's quorum.
func (s *path) silence(now clock.Mono, at seat) {
	name := s.plan.Models[at.model].Says
	stream, err := s.corr.Stream(Unit, s.plan.Cameras[at.camera].Name, 0)
	if err == nil {
		err = s.corr.ModelDownAt(now, stream, name)
	}
	if err != nil {
		s.fail(err)
	}
	s.judge.fellSilent(now, at.camera, name)
}

// reload changes an expected set. All that came before has been read.
func (s *path) reload(now clock.Mono, r Reload) {
	err := error(nil)
	if r.Camera < 0 {
		err = s.corr.SetExpected(now, r.Names)
	} else {
		var stream correlate.StreamID
		if stream, err = s.corr.Stream(Unit, s.plan.Cameras[r.Camera].Name, 0); err == nil {
			err = s.corr.SetCameraExpected(now, stream, r.Names)
		}
	}
	if err != nil {
		s.fail(err)
	}
	s.judge.reloaded(now, r)
}
