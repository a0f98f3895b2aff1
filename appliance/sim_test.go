package appliance

import (
	"errors"
	"flag"
	"fmt"
	"hash"
	"hash/fnv"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skewgate/skewgate/appliance/attach"
	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/sim"
	"github.com/skewgate/skewgate/appliance/sink"
	"github.com/skewgate/skewgate/appliance/supervise"
)

var (
	oneSeed = flag.Uint64("sim.seed", 0, "run this seed of the simulation alone")
	seeds   = flag.Int("sim.seeds", 0, "how many seeds to run; 0 = 100, or 3,000 with SKEWGATE_LONG")
)

// TestSimPath plays seeded worlds to the whole path: all of the appliance between the rings and
// the sinks is real, its children and time are the world's. Each seed is run twice.
func TestSimPath(t *testing.T) {
	first, n := uint64(1), *seeds
	switch {
	case *oneSeed != 0:
		first, n = *oneSeed, 1
	case n == 0 && os.Getenv("SKEWGATE_LONG") != "":
		n = 3000
	case n == 0:
		n = 100
	}
	frames, messages, waited := 0, 0, 0
	for seed := first; seed < first+uint64(n); seed++ {
		s := playSeed(t, seed)
		if again := playSeed(t, seed); s.err == nil && again.sum() != s.sum() {
			s.err = errors.New("it came to something else the second time")
		}
		if s.err != nil {
			t.Errorf("seed %d: %v\nrerun it: go test ./appliance -run TestSimPath -sim.seed=%d", seed, s.err, seed)
		}
		frames, messages, waited = frames+int(s.seq), messages+len(s.world.Truth.Messages), waited+s.waited
	}
	t.Logf("%d seeds: %d messages, %d fused frames, %d of them by timeout", n, messages, frames, waited)
}

// simulated is an appliance that a world is played to.
type simulated struct {
	*Appliance
	plan   *sim.Plan
	world  *sim.World
	starts []uint64 // by process
	heard  []simWord

	desks map[int]*attach.Word
	boot  int64 // how long the machine has slept

	gone   map[string]clock.Mono // by model: when its process went
	seen   map[uint64]bool       // tags
	seq    uint64
	closed clock.Mono
	waited int
	mixed  map[simLine]int
	frames map[int]int // by picture: fused frames with a message of it
	digest hash.Hash64
	tape   *tape // nil = this run is not recorded
	err    error
}

type simWord struct {
	process int
	state   sim.State
}

type simLine struct {
	camera int
	epoch  uint32
}

// playSeed runs the world of a seed to its end and looks at what came out.
func playSeed(t *testing.T, seed uint64) *simulated {
	t.Helper()
	s := &simulated{
		plan: configurable(sim.Draw(seed)), desks: map[int]*attach.Word{}, gone: map[string]clock.Mono{}, seen: map[uint64]bool{},
		mixed: map[simLine]int{}, frames: map[int]int{}, digest: fnv.New64a(),
	}
	dir, err := os.MkdirTemp("", "skewgate-sim")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cfg := s.writeConfig(t, dir)
	o := Options{
		Log: slog.New(slog.DiscardHandler), RunDir: filepath.Join(dir, "run"), Self: "/bin/true", Detect: "/bin/true", Tap: s.saw,
	}
	if s.Appliance, err = New(cfg, o); err != nil {
		t.Fatal(err)
	}
	s.plan.Start = int64(clock.Now())
	s.path.lastTurn, s.path.nextView = clock.Mono(s.plan.Start), clock.Mono(s.plan.Start)
	s.path.sleeps.offset = func() clock.BootOffset { return clock.BootOffset{LowNS: s.boot, HighNS: s.boot + 200} }
	s.path.desk = func(i int) *attach.Word { return s.desks[i] }
	for _, r := range s.path.replicas {
		if r.foreign != nil {
			s.desks[r.foreign.desk] = r.foreign.heard
		}
	}
	if seed%recordedSeeds == 0 {
		s.record(t)
	}
	s.starts = make([]uint64, len(s.path.replicas))
	s.world = sim.NewWorld(s.plan, s)
	s.fail(s.world.Run())
	s.end()
	s.replay(t)
	if err := s.release(); err != nil {
		t.Error(err)
	}
	return s
}

// configurable takes out of a plan what this version's config cannot say.
func configurable(p *sim.Plan) *sim.Plan {
	c := &p.Config
	if c.TimeoutNS < int64(40*time.Millisecond) {
		c.TimeoutNS = int64(40 * time.Millisecond)
	}
	c.MaxAgeNS = min(c.MaxAgeNS, int64(10*time.Minute))
	c.MaxAgeNS = max(c.MaxAgeNS, c.TimeoutNS+1)
	c.ImplicitProgress, c.Limits, c.ClosedTTLNS = false, correlate.Limits{}, correlate.DefaultTTL
	var names []string
	ids := true
	for i := range p.Models {
		m := &p.Models[i]
		m.Says, m.MaxOngoing = m.Name, 1
		ids = ids && !m.NoIDs
		names = append(names, m.Name)
	}
	sayable(&c.Camera, names, ids)
	for name, own := range c.Cameras {
		sayable(&own, names, ids)
		c.Cameras[name] = own
	}
	p.Reloads, p.CutoverNS = nil, 0
	return p
}

// sayable makes the settings of a camera such as the config can say and the plan's rules expect:
// without auto, with an interval that fps can say and with models that are there.
func sayable(cc *correlate.CameraConfig, names []string, ids bool) {
	switch {
	case cc.Match == correlate.MatchAuto && ids:
		cc.Match = correlate.MatchFrameID
	case cc.Match == correlate.MatchAuto, cc.Match == correlate.MatchFrameID && !ids:
		cc.Match = correlate.MatchBucket
	}
	cc.FrameIntervalNS = int64(float64(time.Second) / fpsOf(cc))
	cc.WindowNS = min(cc.WindowNS, (cc.FrameIntervalNS-1)/2)
	cc.Expected = slices.DeleteFunc(slices.Clone(cc.Expected), func(name string) bool { return !slices.Contains(names, name) })
	if len(cc.Expected) == 0 {
		cc.Expected = names
	}
}

func fpsOf(cc *correlate.CameraConfig) float64 {
	return float64(time.Second) / float64(cc.FrameIntervalNS)
}

func (s *simulated) writeConfig(t *testing.T, dir string) *config.Config {
	t.Helper()
	models, err := filepath.Abs("../testdata/models")
	if err != nil {
		t.Fatal(err)
	}
	c := &s.plan.Config
	var text strings.Builder
	fmt.Fprintf(&text, "unit: %s\nstate_dir: state\n", sim.Unit)
	fmt.Fprintf(&text, "correlation: {match: %s, window: %s, quantum: %s, timeout: %s, max_age: %s, max_pending: %d, emit_empty: %t}\ncameras:\n",
		c.Camera.Match, time.Duration(c.Camera.WindowNS), time.Duration(c.QuantumNS), time.Duration(c.TimeoutNS), time.Duration(c.MaxAgeNS), c.MaxPending, c.EmitEmpty)
	var names []string
	for i := range s.plan.Cameras {
		name, cc := s.plan.Cameras[i].Name, &c.Camera
		own := ""
		if mine, ok := c.Cameras[sim.Unit+"/"+name]; ok {
			cc, own = &mine, fmt.Sprintf(", match: %s, window: %s", mine.Match, time.Duration(mine.WindowNS))
		}
		fmt.Fprintf(&text, "  - {name: %s, source: none.mp4, max_picture: 16x16, fps: %s, expected: [%s]%s}\n",
			name, strconv.FormatFloat(fpsOf(cc), 'f', -1, 64), strings.Join(cc.Expected, ", "), own)
		names = append(names, name)
	}
	fmt.Fprintln(&text, "models:")
	for i := range s.plan.Models {
		m := &s.plan.Models[i]
		how := "manifest: m.yaml"
		if !m.Managed {
			how = fmt.Sprintf(`command: attach, frame_ids: %t, max_boxes: 4, classes: {"0": circle}`, s.plan.Shared && !m.NoIDs)
		}
		fmt.Fprintf(&text, "  - {name: %s, %s, cameras: [%s], offset: %s}\n", m.Name, how, strings.Join(names, ", "), time.Duration(c.Camera.OffsetNS[m.Name]))
	}
	manifest := fmt.Sprintf("model: %s\nlayout: yolov8\nmax_boxes: 4\n", filepath.Join(models, "shapes_yolo.onnx"))
	for name, content := range map[string]string{"skewgate.yaml": text.String(), "m.yaml": manifest} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cfg, problems := config.Load(filepath.Join(dir, "skewgate.yaml"), config.Options{})
	if cfg == nil {
		t.Fatalf("%v\n%s", problems, &text)
	}
	return cfg
}

func (s *simulated) fail(err error) {
	if s.err == nil && err != nil {
		s.err = err
	}
}

// The world's side.

func (s *simulated) Frames(camera int) []byte { return s.path.cameras[camera].ring.Bytes() }
func (s *simulated) Ring(process int) []byte  { return s.path.replicas[process].segment.Bytes() }
func (s *simulated) Work(process int) []byte {
	if r := s.path.replicas[process]; r.workSegment != nil {
		return r.workSegment.Bytes()
	}
	return nil
}
func (s *simulated) Expect(sim.Reload)            {}
func (s *simulated) Hung(int, int)                {} // the path looks for itself
func (s *simulated) Slept()                       { s.boot += int64(time.Hour) }
func (s *simulated) Deadline() (clock.Mono, bool) { return s.path.corr.NextDeadline() }
func (s *simulated) Err() error                   { return s.err }

func (s *simulated) Hear(process int, state sim.State) {
	s.heard = append(s.heard, simWord{process, state})
}

func (s *simulated) Turn(now clock.Mono) {
	for _, w := range s.heard {
		s.tell(now, w)
	}
	s.heard = s.heard[:0]
	for range 1000 {
		if s.path.turn(now) == 0 {
			s.check(now)
			s.tape.drain()
			return
		}
	}
	s.fail(errors.New("1000 turns of one instant all had something to do"))
}

// tell says what the supervisor, or the attach server, would say.
func (s *simulated) tell(now clock.Mono, w simWord) {
	r := s.path.replicas[w.process]
	switch w.state {
	case sim.Ready:
		s.starts[w.process]++
		delete(s.gone, r.cfg.Name)
	case sim.Gone:
		s.gone[r.cfg.Name] = now
	}
	if r.foreign != nil && w.state == sim.Draining {
		return // its own affair
	}
	if r.foreign != nil {
		word := &attach.Word{Serial: s.starts[w.process]}
		if w.state == sim.Ready {
			word.Peer = &attach.Peer{Since: now}
		}
		s.desks[r.foreign.desk] = word
		s.deskNews.Store(true)
		return
	}
	e := supervise.Event{Task: r.task, Start: s.starts[w.process], State: supervise.StateReady, Ready: []byte(`{"names":["circle","square","triangle"]}`)}
	switch w.state {
	case sim.Draining:
		e.State = supervise.StateStopping
	case sim.Gone:
		e.State = supervise.StateExited
	}
	s.mail.put(e)
}

// What came out.

// saw holds a fused frame against the truth.
func (s *simulated) saw(f *Fused) {
	truth, fr := &s.world.Truth, f.Frame
	since := func(at clock.Mono) int64 { return int64(at) - s.plan.Start }
	fmt.Fprintln(s.digest, fr.Seq, fr.Camera, fr.StreamEpoch, fr.FrameID, fr.Reason, since(fr.FirstArrival), since(fr.LastArrival), since(fr.Closed))
	if s.seq++; fr.Seq != s.seq || fr.Closed < s.closed {
		s.fail(fmt.Errorf("frame %d, closed at %d, follows frame %d, closed at %d", fr.Seq, fr.Closed, s.seq-1, s.closed))
	}
	s.closed = fr.Closed
	s.tape.saw(f)
	camera := slices.IndexFunc(s.plan.Cameras, func(c sim.CameraPlan) bool { return c.Name == fr.Camera })
	first, last, pictures, want := int64(1<<62), int64(-1<<62), map[int]bool{}, map[int][]string{}
	for _, m := range f.Members {
		sent := truth.Of(m.Tag)
		if sent == nil || s.seen[m.Tag] {
			s.fail(fmt.Errorf("frame %d has message %d, which was sent %v and seen before %t", fr.Seq, m.Tag, sent != nil, s.seen[m.Tag]))
			return
		}
		s.seen[m.Tag] = true
		pic := &truth.Pictures[sent.Picture]
		if pic.Camera != camera || pic.Epoch != fr.StreamEpoch || s.plan.Models[sent.Model].Name != m.Model {
			s.fail(fmt.Errorf("frame %d of %s, epoch %d, has a message of %s about camera %d, epoch %d", fr.Seq, fr.Camera, fr.StreamEpoch, m.Model, pic.Camera, pic.Epoch))
		}
		pictures[sent.Picture] = true
		first, last = min(first, sent.PublishedNS), max(last, sent.PublishedNS)
		if sent.Found {
			place := sent.Picture % sim.Places
			want[place] = append(want[place], m.Model)
		}
		fmt.Fprintln(s.digest, m.Model, m.Tag)
	}
	for picture := range pictures {
		s.frames[picture]++
	}
	if len(pictures) > 1 {
		s.mixed[simLine{camera, fr.StreamEpoch}]++
	}
	if !s.lies() && (int64(fr.FirstArrival) != first || int64(fr.LastArrival) != last) {
		s.fail(fmt.Errorf("frame %d arrived at %d … %d, and was published at %d … %d", fr.Seq, since(fr.FirstArrival), since(fr.LastArrival), first-s.plan.Start, last-s.plan.Start))
	}
	if len(fr.Boxes) != len(want) {
		s.fail(fmt.Errorf("frame %d has %d boxes, want %v", fr.Seq, len(fr.Boxes), want))
	}
	for _, b := range fr.Boxes {
		var by []string
		for _, v := range b.By {
			by = append(by, v.Model)
		}
		saw := want[sim.PlaceOf(b.X1, b.Y1)]
		slices.Sort(saw)
		slices.Sort(by)
		if !slices.Equal(saw, by) {
			s.fail(fmt.Errorf("frame %d: a box is by %v, want %v", fr.Seq, by, saw))
		}
	}
	for _, m := range fr.Missing {
		if gone, ok := s.gone[m.Model]; ok && fr.FirstArrival > gone && m.Why != "dead" {
			s.fail(fmt.Errorf("frame %d began at %d without %s, whose process went at %d, and calls it %s", fr.Seq, since(fr.FirstArrival), m.Model, since(gone), m.Why))
		}
	}
	s.checkWait(f)
}

func (s *simulated) lies() bool {
	return slices.ContainsFunc(s.plan.Models, func(m sim.ModelPlan) bool { return m.LieP > 0 })
}

// checkWait: a frame that was due is closed as soon as the path runs.
func (s *simulated) checkWait(f *Fused) {
	fr, poll := f.Frame, &s.plan.Poll
	if fr.Reason != "timeout" {
		return
	}
	s.waited++
	if s.plan.Calm && !s.excused(f) {
		s.fail(fmt.Errorf("everybody answers or promises, and yet frame %d waited for its timeout, without %v", fr.Seq, fr.Missing))
	}
	read := poll.Awake(s.plan.Start, int64(fr.FirstArrival)+poll.WakeNS+poll.IntervalNS)
	due := max(int64(fr.FirstArrival)+s.plan.Config.TimeoutNS, read+1)
	if !s.lies() && int64(fr.Closed) > poll.Awake(s.plan.Start, due) {
		s.fail(fmt.Errorf("frame %d was due at %d and closed at %d, and nothing held the path up", fr.Seq, due-s.plan.Start, int64(fr.Closed)-s.plan.Start))
	}
}

// excused: there was nobody to wait for, or nobody who would know of what comes after the frame.
func (s *simulated) excused(f *Fused) bool {
	troubled := slices.ContainsFunc(s.plan.Models, func(m sim.ModelPlan) bool { return len(m.Troubles) > 0 })
	over := slices.ContainsFunc(s.path.cameras, func(c *camera) bool {
		return c.cfg.Name == f.Frame.Camera && c.frames.Info().StreamEpoch > f.StreamEpoch
	})
	lastPicture := s.plan.Start + s.plan.LengthNS - s.plan.Config.TimeoutNS
	cc := s.plan.Config.Camera
	if own, ok := s.plan.Config.Cameras[sim.Unit+"/"+f.Frame.Camera]; ok {
		cc = own
	}
	byTime := cc.Match != correlate.MatchFrameID
	alone := !slices.ContainsFunc(f.Frame.Missing, func(m sink.Missing) bool { return m.Why != "dead" })
	return alone || byTime && int64(f.Frame.FirstArrival) > lastPicture || over && troubled
}

func (s *simulated) check(now clock.Mono) {
	s.fail(s.path.corr.CheckIdentities())
	for _, table := range s.path.corr.AppendTables(nil) {
		if table.Len > table.Bound {
			s.fail(fmt.Errorf("table %s holds %d, bound %d", table.Name, table.Len, table.Bound))
		}
	}
}

// end wants every message accounted for, no frame mixed that cannot be, and no picture torn.
func (s *simulated) end() {
	n := s.path.corr.Counters()
	if want := uint64(len(s.plan.Sleeps)); s.path.sleeps.count != want {
		s.fail(fmt.Errorf("the machine slept %d times, and %d were noticed", want, s.path.sleeps.count))
	}
	fmt.Fprintf(s.digest, "%+v", n)
	read, lost, promises := uint64(0), uint64(0), uint64(len(s.world.Truth.Promises))
	for i, r := range s.path.replicas {
		a := r.account()
		if a.written != a.read+a.lost || r.quarantine != "" {
			s.fail(fmt.Errorf("ring %d: written %d, read %d, lost %d, quarantine %q", i, a.written, a.read, a.lost, r.quarantine))
		}
		read, lost = read+a.read, lost+a.lost
	}
	if sent := uint64(len(s.world.Truth.Messages)) + promises; sent != read+lost {
		s.fail(fmt.Errorf("%d messages were published, %d read and %d lost", sent, read, lost))
	}
	if lost == 0 && n.Received+n.Refused != read-promises {
		s.fail(fmt.Errorf("%d messages were read; received %d, refused %d", read-promises, n.Received, n.Refused))
	}
	if n.Pending != 0 || n.NowRegressions != 0 || n.Published != s.seq {
		s.fail(fmt.Errorf("at the end %d groups are open, the clock ran back %d times, %d frames were published and %d seen", n.Pending, n.NowRegressions, n.Published, s.seq))
	}
	torn := map[simLine]int{}
	for picture, frames := range s.frames {
		if pic := &s.world.Truth.Pictures[picture]; frames > 1 {
			torn[simLine{pic.Camera, pic.Epoch}]++
		}
	}
	for at, pictures := range torn {
		if m := s.plan.Margin(&s.world.Truth, at.camera, at.epoch); m.Whole {
			s.fail(fmt.Errorf("%d pictures of camera %d, epoch %d are torn, though %s", pictures, at.camera, at.epoch, m))
		}
	}
	for at, mixed := range s.mixed {
		if m := s.plan.Margin(&s.world.Truth, at.camera, at.epoch); m.Safe {
			s.fail(fmt.Errorf("%d frames of camera %d, epoch %d mix two pictures, though %s", mixed, at.camera, at.epoch, m))
		}
	}
}

func (s *simulated) sum() uint64 { return s.digest.Sum64() }
