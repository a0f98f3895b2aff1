package appliance

import (
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
)

// silence is how long a detector owes one camera a word: from the first word that
// another detector of that camera gave since its own last. A camera that pauses keeps
// all its detectors silent, and none of them owes anything.
type silence struct {
	since  clock.Mono // 0 = owes nothing
	stream correlate.StreamID
	hung   bool // has left the quorum for it
}

// seat is a replica that looks at a camera, and its own number of that camera.
type seat struct {
	r     *replica
	local int
}

// seatReplicas notes who looks at each camera.
func (p *path) seatReplicas() {
	p.seats = make([][]seat, len(p.cameras))
	for _, r := range p.replicas {
		r.owes = make([]silence, len(r.cameras))
		for local, c := range r.cameras {
			p.seats[c.index] = append(p.seats[c.index], seat{r, local})
		}
	}
	for _, r := range p.replicas {
		r.others = make([][]*silence, len(r.cameras))
		for local, c := range r.cameras {
			for _, s := range p.seats[c.index] {
				if s.r != r {
					r.others[local] = append(r.others[local], &s.r.owes[s.local])
				}
			}
		}
	}
}

// spoke notes a message or progress on one of the replica's cameras.
func (r *replica) spoke(at clock.Mono, local int, stream correlate.StreamID) {
	if owes := &r.owes[local]; owes.since != 0 {
		*owes = silence{}
	}
	for _, owes := range r.others[local] {
		if owes.since == 0 {
			owes.since, owes.stream = at, stream
		}
	}
}

// lookForHung takes detectors that hang out of the quorum of the camera they hang on;
// they return with their next message. One whose process is not up is not hung but dead.
func (p *path) lookForHung(now clock.Mono) {
	after := p.a.cfg.Correlation.HungAfter
	for _, r := range p.replicas {
		for local := range r.owes {
			owes := &r.owes[local]
			if r.foreign == nil && !r.ready && !(r.leaving && owes.hung) || !r.attached() {
				*owes = silence{} // one that was asked to go gets no pictures to speak of
			}
			if owes.since == 0 || owes.hung || now.Sub(owes.since) < after {
				continue
			}
			owes.hung = true
			r.endings.add(now, "silent on "+r.cameras[local].cfg.Name+" since "+now.Sub(owes.since).Round(time.Millisecond).String()+" while others answered", true)
			p.log.Warn("detector hangs, frames no longer wait for it", "task", r.task, "camera", r.cameras[local].cfg.Name,
				"silent", now.Sub(owes.since).Round(time.Millisecond))
			if err := p.corr.ModelDownAt(now, owes.stream, r.cfg.Name); err != nil {
				p.log.Error("take a hung model out of the quorum", "task", r.task, "err", err)
			}
		}
	}
}

// hangsOn names the cameras on which a detector hangs.
func (r *replica) hangsOn() []string {
	var names []string
	for local := range r.owes {
		if r.owes[local].hung {
			names = append(names, r.cameras[local].cfg.Name)
		}
	}
	return names
}
