package sim

import (
	"errors"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/appliance/dispatch"
	"github.com/skewgate/skewgate/appliance/fuse"
	"github.com/skewgate/skewgate/appliance/hist"
	"github.com/skewgate/skewgate/shm"
)

// correlator is what the path asks of the correlator; a test may break one.
type correlator interface {
	Stream(unit, camera string, epoch uint32) (correlate.StreamID, error)
	Model(name string) (correlate.ModelID, error)
	ModelName(id correlate.ModelID) string
	Step(now clock.Mono, m *correlate.Message) correlate.Verdict
	Progress(now clock.Mono, s correlate.StreamID, id correlate.ModelID, wNS int64) bool
	Tick(now clock.Mono)
	Slept(now clock.Mono)
	ModelDown(now clock.Mono, name string) error
	ModelDownAt(now clock.Mono, s correlate.StreamID, name string) error
	SetExpected(now clock.Mono, names []string) error
	SetCameraExpected(now clock.Mono, s correlate.StreamID, names []string) error
	NextDeadline() (clock.Mono, bool)
	Counters() correlate.Counters
	CheckIdentities() error
	Skew(now clock.Mono) hist.Summary
	Models(now clock.Mono) []correlate.ModelStats
	AppendTables(dst []correlate.Table) []correlate.Table
}

// maker makes a correlator.
type maker func(cfg correlate.Config, out func(*correlate.Group)) (correlator, error)

// sound is the appliance's own.
func sound(cfg correlate.Config, out func(*correlate.Group)) (correlator, error) {
	return correlate.New(cfg, out)
}

// habits are the ways in which a path can be wrong; a test has one of them.
type habits struct {
	stepsAtNow    bool // takes the turn's instant for every arrival
	unmerged      bool // reads ring after ring
	promisesEarly bool // tells the dispatcher's progress before it has read the rings
	buriesEarly   bool // tells of a death before it has read the dead one's ring
	neverTicks    bool
}

// Sizes of the path's memory.
const (
	frameSlots    = 8
	ringSlots     = 64
	dispatchSlots = 16
	payloadBytes  = 128
)

// path is the appliance's path without its processes: rings, dispatcher, correlator and fuser
// are the real ones, and it does in one turn what the appliance does.
type path struct {
	plan      *Plan
	habits    habits
	judge     *judge
	cameras   []*pathCamera
	rings     []*ring
	heard     []word
	reloads   []Reload
	hung      []seat
	slept     bool
	unclear   bool // a process ended and another began between two turns: its account has a gap
	disp      *dispatch.Dispatcher
	corr      correlator
	fuser     *fuse.Fuser
	fused     []fuse.FusedBox
	answers   []fuse.ModelBoxes
	fuseIndex map[correlate.ModelID]int
	said      []dispatch.Progress
	message   correlate.Message
	boxes     []detect.Box
	lookedAt  uint64 // pictures handed to the dispatcher
	lastTurn  clock.Mono
	err       error
}

type word struct {
	process int
	state   State
}

// seat is a model and a camera that it looks at.
type seat struct{ model, camera int }

type pathCamera struct {
	bytes  []byte
	reader *shm.FrameReader
	seen   uint64
	lost   uint64
}

func newPath(p *Plan, mk maker, h habits, j *judge) (*path, error) {
	s := &path{plan: p, habits: h, judge: j, fuseIndex: map[correlate.ModelID]int{}, lastTurn: clock.Mono(p.Start)}
	var err error
	if s.corr, err = mk(p.Config, s.publish); err != nil {
		return nil, err
	}
	for i := range p.Cameras {
		layout := shm.FrameRingConfig{Slots: frameSlots, PixelBytes: pixelBytes, Unit: Unit, Camera: p.Cameras[i].Name, Index: i}
		c := &pathCamera{bytes: make([]byte, layout.Bytes())}
		if err := shm.FormatFrameRing(c.bytes, layout); err != nil {
			return nil, err
		}
		if c.reader, err = shm.NewFrameReader(c.bytes); err != nil {
			return nil, err
		}
		s.cameras = append(s.cameras, c)
	}
	var replicas []dispatch.Replica
	for i, d := range p.Processes() {
		r, err := s.newRing(i, d)
		if err != nil {
			return nil, err
		}
		if r.managed {
			replicas = append(replicas, s.replica(r))
		}
	}
	if s.disp, err = dispatch.New(len(p.Cameras), replicas, p.Config.TimeoutNS*4, func(_ int, err error) { s.fail(err) }); err != nil {
		return nil, err
	}
	settings := fuse.Settings{Algorithm: fuse.WBF, IoU: 0.55}
	for i := range p.Models {
		settings.Models = append(settings.Models, fuse.Model{Name: p.Models[i].Name, Weight: 1})
	}
	if s.fuser, err = fuse.New(settings); err != nil {
		return nil, err
	}
	for i := range p.Models { // nobody has attached yet
		if !p.Models[i].Managed {
			s.bury(clock.Mono(p.Start), i)
		}
	}
	return s, s.err
}

func (s *path) newRing(i int, d Process) (*ring, error) {
	m := &s.plan.Models[d.Model]
	layout := shm.RingConfig{Slots: ringSlots, PayloadBytes: payloadBytes, Model: m.Says, Replica: uint32(d.Replica), Generation: d.Generation, Index: i}
	r := &ring{process: d, managed: m.Managed, attached: m.Managed, bytes: make([]byte, layout.Bytes()), body: make([]byte, payloadBytes)}
	r.lastArrival, r.lastEmpty = clock.Mono(s.plan.Start), clock.Mono(s.plan.Start)
	if err := shm.FormatRing(r.bytes, layout); err != nil {
		return nil, err
	}
	var err error
	if r.reader, err = shm.NewReader(r.bytes); err != nil {
		return nil, err
	}
	if r.model, err = s.corr.Model(m.Says); err != nil {
		return nil, err
	}
	s.fuseIndex[r.model] = d.Model
	s.rings = append(s.rings, r)
	return r, nil
}

func (s *path) replica(r *ring) dispatch.Replica {
	m := &s.plan.Models[r.process.Model]
	r.workBytes = make([]byte, shm.DispatchBytes(dispatchSlots))
	if err := shm.FormatDispatch(r.workBytes, dispatchSlots); err != nil {
		s.fail(err)
	}
	work, err := shm.NewDispatchWriter(r.workBytes)
	if err != nil {
		s.fail(err)
	}
	r.work = work
	t := dispatch.Replica{
		Name: m.Name, Model: int(r.model), Out: work, Words: r.reader, MaxOngoing: m.MaxOngoing, Generation: r.process.Generation,
	}
	for c := range s.plan.Cameras {
		t.Routes = append(t.Routes, dispatch.Route{Camera: c, Local: uint32(c)})
	}
	for _, other := range s.rings[:len(s.rings)-1] {
		if other.managed {
			r.queue++
		}
	}
	return t
}

func (s *path) Frames(camera int) []byte { return s.cameras[camera].bytes }

func (s *path) Ring(process int) []byte { return s.rings[process].bytes }

func (s *path) Work(process int) []byte { return s.rings[process].workBytes }

func (s *path) Hear(process int, state State) { s.heard = append(s.heard, word{process, state}) }

func (s *path) Deadline() (clock.Mono, bool) { return s.corr.NextDeadline() }

// Expect changes an expected set at the next turn.
func (s *path) Expect(r Reload) { s.reloads = append(s.reloads, r) }

// Hung takes a model out of a camera's quorum at the next turn.
func (s *path) Hung(model, camera int) { s.hung = append(s.hung, seat{model, camera}) }

// Slept has what is open dropped at the next turn.
func (s *path) Slept() { s.slept = true }

// publish is the correlator's callback: the group is fused and shown to the judge.
func (s *path) publish(g *correlate.Group) {
	s.answers = s.answers[:0]
	for i := range g.Members {
		if index, ok := s.fuseIndex[g.Members[i].Model]; ok {
			s.answers = append(s.answers, fuse.ModelBoxes{Model: index, Boxes: g.Members[i].Boxes})
		}
	}
	s.fused = s.fuser.Fuse(s.answers, s.fused[:0])
	s.judge.saw(g, s.fused)
}

// Err returns the first thing that was wrong.
func (s *path) Err() error { return errors.Join(s.judge.problem, s.err) }

func (s *path) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}
