package sim

import (
	"fmt"
	"math/rand/v2"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/shm"
)

// Plant is the appliance that the world is played to: cameras and detectors write into its
// memory, and it is told what a supervisor would tell it.
type Plant interface {
	Frames(camera int) []byte  // the camera's frame ring
	Ring(process int) []byte   // the process's detection ring
	Work(process int) []byte   // its dispatch segment, nil for a foreign one
	Hear(process int, s State) // heard at the next turn
	Expect(r Reload)           // done at the next turn
	Hung(model, camera int)    // somebody has waited long enough; told at the next turn
	Slept()                    // the machine has slept
	Turn(now clock.Mono)       // all that there is to do
	Deadline() (clock.Mono, bool)
	Err() error // what is wrong with it; the run ends
}

// World is everything outside of the appliance, and time.
type World struct {
	agenda
	plan      *Plan
	rng       *rand.Rand
	plant     Plant
	cameras   []*camera
	processes []*process
	turnAt    int64 // when the next turn is planned, 0 = none
	overdue   int   // turns in a row that left something open that was due
	byID      map[pictureID]int
	Truth     Truth
	err       error
}

type pictureID struct {
	line
	id uint64
}

// Processes lists the processes of a plan: model by model, the first of each model; then the
// second of each managed one, if there is a cutover.
func (p *Plan) Processes() (all []Process) {
	for i := range p.Models {
		all = append(all, Process{Model: i, Generation: p.Models[i].generation(1)})
	}
	for i := range p.Models {
		if p.CutoverNS > 0 && p.Models[i].Managed {
			all = append(all, Process{Model: i, Replica: 1, Generation: 2})
		}
	}
	return all
}

// Process is one detector process.
type Process struct {
	Model, Replica int
	Generation     uint64 // 0 = outside of generations
}

func (m *ModelPlan) generation(g uint64) uint64 {
	if m.Managed {
		return g
	}
	return 0
}

// maxOverdue bounds the turns that a path under a flood may put off what is due. One that never
// does it would turn for ever.
const maxOverdue = 10_000

// NewWorld sets the scene.
func NewWorld(p *Plan, plant Plant) *World {
	w := &World{plan: p, plant: plant, rng: rand.New(rand.NewPCG(p.Seed, 0x776f726c64)), byID: map[pictureID]int{}}
	w.now = p.Start
	for i := range p.Cameras {
		writer, err := shm.NewFrameWriter(plant.Frames(i), 1, nil)
		if err != nil {
			w.fail("%v", err)
			return w
		}
		w.cameras = append(w.cameras, &camera{w: w, index: i, plan: &p.Cameras[i], writer: writer, endsNS: p.LengthNS, newest: -1})
	}
	for i, d := range p.Processes() {
		w.processes = append(w.processes, &process{w: w, index: i, model: d.Model, plan: &p.Models[d.Model], generation: d.Generation})
	}
	w.schedule()
	return w
}

// schedule plans all that the plan says.
func (w *World) schedule() {
	at := func(ns int64, do func()) { w.at(w.plan.Start+ns, do) }
	w.planTurn(w.plan.Start) // a path looks around before anything is said to it
	for _, c := range w.cameras {
		at(0, func() { c.start(false, 0) })
		for _, r := range c.plan.Restarts {
			at(r.AtNS, func() { c.pass++ }) // what was on its way is lost
			at(r.AtNS+r.OutNS, func() {
				c.start(r.ZeroClock, r.BackNS)
				w.Truth.befell(r.String())
			})
		}
	}
	for _, p := range w.processes {
		if p.generation == 2 {
			at(w.plan.CutoverNS, p.start)
			continue
		}
		at(p.plan.StartNS, p.start)
		if p.generation == 1 && w.plan.CutoverNS > 0 {
			at(w.plan.CutoverNS+w.plan.OverlapNS, func() { w.retire(p, func() {}) })
		}
		for _, t := range p.plan.Troubles {
			w.trouble(p, t)
		}
	}
	for _, r := range w.plan.Reloads {
		at(r.AtNS, func() {
			w.plant.Expect(r)
			w.Truth.befell("expected set changes")
			w.wake()
		})
	}
	for _, o := range w.plan.Outages {
		at(o.AtNS, func() {
			w.Truth.befell("all detectors die at once")
			for _, p := range w.processes {
				if p.up && !p.retired(w) {
					p.end()
					w.comeBack(p, max(o.BackNS, 1))
				}
			}
		})
	}
	for _, ns := range w.plan.Sleeps {
		at(ns, func() {
			w.plant.Slept()
			w.Truth.befell("machine sleeps")
			w.wake()
			for _, c := range w.cameras { // wall time has moved on: a new anchor
				c.start(false, -3600*sec)
			}
		})
	}
}

func (w *World) trouble(p *process, t Trouble) {
	w.at(w.plan.Start+t.AtNS, func() {
		switch life := p.life; {
		case !p.up || p.retired(w):
		case t.Hang:
			p.hang()
			w.Truth.befell("detector hangs")
			w.after(hungAfterNS, func() {
				if p.life == life && p.hung {
					w.takeForHung(p)
				}
			})
			if t.BackNS > 0 {
				w.after(t.BackNS, func() {
					if p.life == life {
						p.goOn()
					}
				})
			}
		case t.Stop:
			w.retire(p, func() { w.comeBack(p, t.BackNS) })
			w.Truth.befell("detector is asked to go")
		default:
			p.end()
			w.Truth.befell("detector dies")
			w.comeBack(p, t.BackNS)
		}
	})
}

// hungAfterNS is how long a detector may hang before frames no longer wait for it.
const hungAfterNS = 150 * ms

// takeForHung has frames no longer wait for a process, on one camera or more.
func (w *World) takeForHung(p *process) {
	first := w.rng.IntN(len(w.cameras))
	for camera := first; camera < len(w.cameras); camera++ {
		w.plant.Hung(p.model, camera)
	}
	w.Truth.befell("detector is taken for hung")
	w.wake()
}

// comeBack starts a process that has ended once more, after a while.
func (w *World) comeBack(p *process, backNS int64) {
	if backNS == 0 {
		return
	}
	w.after(backNS+3*ms, func() {
		if !p.retired(w) {
			p.start()
			w.Truth.befell("detector comes back")
		}
	})
}

// retired: the process was asked to go and is not started again.
func (p *process) retired(w *World) bool {
	return p.generation == 1 && w.plan.CutoverNS > 0 && w.since() >= w.plan.CutoverNS+w.plan.OverlapNS
}

// retire asks a process to go: it finishes what it holds, and is killed if that takes too long.
func (w *World) retire(p *process, ended func()) {
	p.say(Draining, 0)
	life, deadline := p.life, w.now+200*ms
	var wait func()
	wait = func() {
		switch {
		case p.life != life: // it died by itself
		case p.up && p.busy && w.now < deadline:
			w.after(5*ms, wait)
		default:
			p.end()
			ended()
		}
	}
	w.after(10*ms, wait)
}

// since is the time since the start.
func (w *World) since() int64 { return w.now - w.plan.Start }

// told lets detectors that stamp for themselves know of a new stream_epoch; those who look at
// the frame ring read it there.
func (w *World) told(c *camera) {
	for _, p := range w.processes {
		if p.up {
			p.eyes[c.index].newest = -1
		}
	}
}

// pictureOf finds the picture that an assignment is about.
func (w *World) pictureOf(camera int, epoch uint32, id uint64) int {
	for n := len(w.byID); n < len(w.Truth.Pictures); n++ {
		p := &w.Truth.Pictures[n]
		w.byID[pictureID{p.line(), p.ID}] = n
	}
	n, ok := w.byID[pictureID{line{camera, epoch}, id}]
	if !ok {
		w.fail("an assignment is about frame %d of epoch %d of camera %d, which was never taken", id, epoch, camera)
	}
	return n
}

// wake plans a turn of the path soon after something was published.
func (w *World) wake() {
	at := w.now + between(w.rng, 0, w.plan.Poll.WakeNS)
	if interval := w.plan.Poll.IntervalNS; interval > 0 {
		at = w.plan.Start + (floorDiv(w.since(), interval)+1)*interval
	}
	w.planTurn(at)
}

// planTurn plans a turn unless one is planned before. A stall moves it to the stall's end.
func (w *World) planTurn(at int64) {
	at = w.plan.Poll.Awake(w.plan.Start, at)
	if w.turnAt != 0 && w.turnAt <= at {
		return
	}
	w.turnAt = at
	w.at(at, func() {
		if w.turnAt == at {
			w.turn()
		}
	})
}

func (w *World) turn() {
	w.turnAt = 0
	w.plant.Turn(clock.Mono(w.now))
	if err := w.plant.Err(); err != nil {
		w.stop(err)
		return
	}
	for _, p := range w.processes {
		p.look()
	}
	at, ok := w.plant.Deadline()
	if !ok || int64(at) > w.now {
		w.overdue = 0
	} else if w.overdue++; w.overdue > maxOverdue {
		w.fail("%d turns in a row have left a frame open that was due", w.overdue)
		return
	}
	if ok {
		w.planTurn(max(int64(at), w.now+1))
	}
}

// Run lets the plan happen, and then waits until nobody has anything more to say and every
// frame is closed.
func (w *World) Run() error {
	end := w.plan.Start + w.plan.LengthNS
	w.agenda.run(end)
	for len(w.events) > 0 && w.err == nil {
		if w.now > end+3600*sec {
			w.fail("the run does not come to an end")
		}
		w.agenda.run(w.events[0].at)
	}
	w.turn()
	for len(w.events) > 0 && w.err == nil {
		w.agenda.run(w.events[0].at)
	}
	return w.err
}

// fail keeps the first error and ends the run.
func (w *World) fail(format string, args ...any) {
	w.stop(fmt.Errorf("at %d ns: "+format, append([]any{w.since()}, args...)...))
}

func (w *World) stop(err error) {
	if w.err == nil {
		w.err = err
	}
	w.events = nil
}
