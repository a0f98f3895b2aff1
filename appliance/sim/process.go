package sim

import (
	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/shm"
)

// State is what the supervisor, or the attach socket, says of a detector's process.
type State uint8

const (
	Ready    State = iota // takes work, or has attached
	Draining              // was asked to go
	Gone                  // has ended
)

// process plays one detector: a managed one works on what the dispatcher gives it, a foreign
// one looks at pictures when it likes.
type process struct {
	w          *World
	index      int
	model      int
	plan       *ModelPlan
	generation uint64

	life    int // rises with each end, so that what an earlier one had planned does not happen
	up      bool
	hung    bool
	writer  *shm.Writer
	work    *shm.DispatchReader
	streams []uint32
	busy    bool
	stuck   func() // what it was about to do when it hung
	last    []sent // per camera, for one that sends again
	eyes    []eye  // per camera, of a foreign one
	body    []byte
	boxes   []detect.Box
}

type sent struct {
	set     bool
	picture int
}

// eye is a foreign detector's thread for one camera.
type eye struct {
	busy    bool
	skipped bool
	newest  int // picture last seen, −1 = none
}

// start begins a process: it takes the ring over and says ready.
func (p *process) start() {
	if p.up {
		return
	}
	p.up, p.hung, p.busy, p.stuck = true, false, false, nil
	ring := p.w.plant.Ring(p.index)
	var err error
	if p.writer, err = shm.NewWriter(ring, uint32(p.life+1), nil); err != nil {
		p.w.fail("%v", err)
	}
	p.streams, p.last, p.eyes = nil, make([]sent, len(p.w.cameras)), make([]eye, len(p.w.cameras))
	for i, c := range p.w.cameras {
		stream, err := p.writer.RegisterStream(Unit, c.plan.Name, c.epoch)
		if err != nil {
			p.w.fail("%v", err)
		}
		p.streams = append(p.streams, stream)
		p.eyes[i] = eye{newest: -1, skipped: true} // of what was there before it came
	}
	if p.plan.Managed {
		if p.work, err = shm.NewDispatchReader(p.w.plant.Work(p.index)); err != nil {
			p.w.fail("%v", err)
		}
		p.writer.ResetWork(p.work.Enq())
	}
	p.say(Ready, 0)
}

// end kills the process; the path hears of it a little later.
func (p *process) end() {
	if !p.up {
		return
	}
	p.up, p.hung, p.busy = false, false, false
	p.life++
	p.say(Gone, between(p.w.rng, 0, 3*ms))
}

func (p *process) say(s State, afterNS int64) {
	p.w.after(afterNS, func() {
		p.w.plant.Hear(p.index, s)
		p.w.wake()
	})
}

// hang stops the process where it is, until it goes on or dies.
func (p *process) hang() { p.hung = p.up }

func (p *process) goOn() {
	if !p.hung {
		return
	}
	p.hung = false
	p.w.Truth.befell("detector that hung goes on")
	if do := p.stuck; do != nil {
		p.stuck = nil
		do()
	}
	p.look()
}

// then does something later in the life of this process, or, if it hangs by then, when it goes on.
func (p *process) then(afterNS int64, do func()) {
	life := p.life
	p.w.after(afterNS, func() {
		switch {
		case !p.up || p.life != life:
		case p.hung:
			former := p.stuck
			p.stuck = func() {
				if former != nil {
					former()
				}
				do()
			}
		default:
			do()
		}
	})
}

func (p *process) latencyNS() int64 {
	ns := p.plan.LatencyNS + between(p.w.rng, 0, p.plan.JitterNS)
	if chance(p.w.rng, p.plan.SpikeP) {
		ns += p.plan.SpikeNS
	}
	return ns
}

// look takes the next assignment, if there is one and the process is free.
func (p *process) look() {
	if !p.plan.Managed || !p.up || p.hung || p.busy {
		return
	}
	var a shm.Assignment
	ok, err := p.work.Next(&a)
	if err != nil {
		p.w.fail("%v", err)
	}
	if !ok {
		return
	}
	p.writer.SetTaken(a.Seq)
	p.busy = true
	picture := p.w.pictureOf(int(a.Camera), a.StreamEpoch, a.FrameID)
	p.then(p.latencyNS(), func() {
		outcome := shm.OutcomeOK
		switch {
		case a.DeadlineNS > 0 && p.w.now > a.DeadlineNS:
			outcome = shm.OutcomeExpired
		case chance(p.w.rng, p.plan.SkipP):
			outcome = shm.OutcomeLapped
		default:
			p.answer(picture, a.CaptureNS, a.FrameID)
		}
		p.then(between(p.w.rng, 0, 50*us), func() {
			p.writer.SetDone(a.Seq, outcome)
			p.busy = false
			p.w.wake()
			p.look()
		})
	})
}

// see shows a foreign detector a picture.
func (p *process) see(camera, picture int) {
	if p.plan.Managed || !p.up || p.hung {
		return
	}
	e := &p.eyes[camera]
	e.newest = picture
	if e.busy {
		e.skipped = true
		return
	}
	e.busy = true
	pic := p.w.Truth.Pictures[picture]
	stamp, id := p.stamp(&pic), p.id(&pic)
	p.then(p.latencyNS(), func() {
		e := &p.eyes[camera]
		e.busy = false
		found := chance(p.w.rng, p.plan.FindP)
		if found || p.plan.Silence == Answers {
			p.publish(picture, stamp, id, found)
		}
		if (e.skipped || p.plan.Silence == Promises) && !p.plan.SilentToo {
			p.promise(camera, &pic, stamp)
		}
		e.skipped = false
	})
}
