package correlate

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/appliance/hist"
)

const ms = int64(1e6)

// pair drives a Correlator and the naive model side by side.
type pair struct {
	t   *rapid.T
	c   *Correlator
	v   *naive
	out []string
}

func newPair(t *rapid.T, cfg Config) *pair {
	p := &pair{t: t, v: newNaive(cfg)}
	var err error
	p.c, err = New(cfg, func(g *Group) {
		var names []string
		for i := range g.Members {
			names = append(names, p.c.ModelName(g.Members[i].Model))
		}
		sort.Strings(names)
		var missing []string
		for _, m := range g.Missing {
			missing = append(missing, fmt.Sprintf(" (%s %s)", p.c.ModelName(m.Model), m.Reason))
		}
		sort.Strings(missing)
		p.out = append(p.out, fmt.Sprintf("%s/%s %d %s [%s] %s gen %d at %d%s", g.Unit, g.Camera, g.Epoch, p.c.AppendNote(nil, g.Key),
			strings.Join(names, " "), g.Reason, g.Generation, g.ClosedAt, strings.Join(missing, "")))
	})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return p
}

func (p *pair) stream(camera string, epoch uint32) StreamID {
	unit, name, _ := strings.Cut(camera, "/")
	s, err := p.c.Stream(unit, name, epoch)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

func (p *pair) model(name string) ModelID {
	id, err := p.c.Model(name)
	if err != nil {
		p.t.Fatal(err)
	}
	return id
}

func (p *pair) message(now int64, m naiveMessage) {
	in := &Message{
		Stream: p.stream(m.camera, m.epoch), Model: p.model(m.model), Generation: m.generation,
		CaptureNS: m.ns, FrameID: m.frame, HasBoxes: m.hasBoxes, Boxes: make([]detect.Box, m.boxes), Exact: true,
	}
	if !m.readable {
		in.Raw = []byte(m.text)
	}
	p.c.Step(clock.Mono(now), in)
	p.v.message(now, m)
}

// check compares all that can be seen.
func (p *pair) check() {
	p.t.Helper()
	if err := p.c.CheckIdentities(); err != nil {
		p.t.Fatal(err)
	}
	if err := p.c.checkTables(); err != nil {
		p.t.Fatal(err)
	}
	if diff := cmp.Diff(p.v.out, p.out); diff != "" {
		p.t.Fatalf("groups differ (-naive +correlator):\n%s", diff)
	}
	want, got := p.v.n, p.c.Counters()
	want.Pending = uint64(len(p.v.open))
	if diff := cmp.Diff(want, got); diff != "" {
		p.t.Fatalf("counters differ (-naive +correlator):\n%s", diff)
	}
	if got, want := p.c.Skew(clock.Mono(p.v.now)), p.v.summary(p.v.skew); got != want {
		p.t.Fatalf("skew %+v, want %+v", got, want)
	}
	got2, want2 := map[string]hist.Summary{}, map[string]hist.Summary{}
	for _, m := range p.c.Models(clock.Mono(p.v.now)) {
		if m.Seen || m.Expected {
			got2[m.Name] = m.Lag
		}
	}
	for name := range p.v.known {
		want2[name] = p.v.summary(p.v.lag[name])
	}
	if diff := cmp.Diff(want2, got2); diff != "" {
		p.t.Fatalf("lags differ (-naive +correlator):\n%s", diff)
	}
}

// checkFigures compares what is measured on the way.
func (p *pair) checkFigures() {
	p.t.Helper()
	sorted := cmp.Options{
		cmpopts.EquateEmpty(),
		cmpopts.SortSlices(func(a, b Pair) bool { return a.A+"|"+a.B < b.A+"|"+b.B }),
		cmpopts.SortSlices(func(a, b Alone) bool { return a.Model < b.Model }),
	}
	for _, got := range p.c.AppendFigures(nil, clock.Mono(p.v.now)) {
		name := got.Unit + "/" + got.Camera
		want := p.v.figures.of(name).look(p.v, name)
		want.Unit, want.Camera = got.Unit, got.Camera
		if diff := cmp.Diff(want, got, sorted); diff != "" {
			p.t.Fatalf("figures of %s differ (-naive +correlator):\n%s", name, diff)
		}
	}
	want := Final{
		HorizonNS: p.v.horizon(), SkewNS: p.v.values(p.v.figures.final, 1<<16),
		Beyond: uint64(p.v.figures.beyond), BeyondNS: p.v.values(p.v.figures.beyondNS, 64), Cut: uint64(p.v.figures.cut),
	}
	if diff := cmp.Diff(want, p.c.Final(clock.Mono(p.v.now)), cmpopts.EquateEmpty()); diff != "" {
		p.t.Fatalf("final skew differs (-naive +correlator):\n%s", diff)
	}
}

var (
	someModels  = []string{"A", "B", "C", "X"}
	someCameras = []string{"u1/c1", "u1/c2", "u2/c1"}
	someTexts   = []string{"", "null", "???", strings.Repeat("x", 41), strings.Repeat("x", 42)}
)

func drawSubset(t *rapid.T, label string, names []string) []string {
	var subset []string
	for _, name := range names {
		if rapid.Bool().Draw(t, label+" "+name) {
			subset = append(subset, name)
		}
	}
	return subset
}

func drawCamera(t *rapid.T, label string) CameraConfig {
	cc := CameraConfig{
		Match:           Match(rapid.IntRange(0, 3).Draw(t, label+" match")),
		WindowNS:        rapid.SampledFrom([]int64{0, 3 * ms, 15 * ms, 19*ms + 999_999}).Draw(t, label+" window"),
		FrameIntervalNS: 40 * ms,
		Expected:        drawSubset(t, label+" expects", []string{"A", "B", "C"}),
	}
	if rapid.Bool().Draw(t, label+" has offsets") {
		cc.OffsetNS = map[string]int64{"A": 7 * ms, "X": -3*ms - 1}
	}
	return cc
}

func drawConfig(t *rapid.T) Config {
	cfg := Config{
		QuantumNS:        rapid.SampledFrom([]int64{0, 10 * ms, 25 * ms, 16_666_667}).Draw(t, "quantum"),
		TimeoutNS:        rapid.SampledFrom([]int64{0, 20 * ms, 100 * ms, 300 * ms}).Draw(t, "timeout"),
		MaxAgeNS:         Never,
		ClosedTTLNS:      rapid.SampledFrom([]int64{DefaultTTL, 0, 1, 50 * ms, 400 * ms}).Draw(t, "ttl"),
		MaxPending:       rapid.SampledFrom([]int{1, 2, 4, 100}).Draw(t, "pending"),
		EmitEmpty:        rapid.Bool().Draw(t, "emit empty"),
		ImplicitProgress: rapid.Bool().Draw(t, "implicit"),
		SkewWindowNS:     rapid.SampledFrom([]int64{0, 80 * ms, 60_000 * ms}).Draw(t, "skew window"),
		Camera:           drawCamera(t, "all"),
	}
	if rapid.Bool().Draw(t, "ages") {
		cfg.MaxAgeNS = cfg.TimeoutNS + 1 + rapid.Int64Range(0, 50).Draw(t, "age beyond timeout")*ms
	}
	cfg.Limits.Closed = rapid.SampledFrom([]int{0, 1, 2, 5}).Draw(t, "closed")
	cfg.Limits.GroupModels = rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "models in a group")
	cfg.Limits.WindowGroups = rapid.SampledFrom([]int{0, 0, 0, 1, 2, 4}).Draw(t, "groups in a window")
	if rapid.Bool().Draw(t, "own settings") {
		cfg.Cameras = map[string]CameraConfig{"u1/c2": drawCamera(t, "c2")}
	}
	return cfg
}

func drawCapture(t *rapid.T) int64 {
	frame := rapid.Int64Range(-2, 4).Draw(t, "frame")
	jitter := rapid.SampledFrom([]int64{0, 0, 0, 1, ms, 5 * ms, 9 * ms, 12 * ms, 15 * ms, 18 * ms, 24 * ms, 24*ms + 999_999, -1, -5 * ms}).Draw(t, "jitter")
	return frame*40*ms + jitter
}

func (w world) message(t *rapid.T) naiveMessage {
	m := naiveMessage{
		camera:     rapid.SampledFrom(w.cameras).Draw(t, "camera"),
		model:      rapid.SampledFrom(someModels).Draw(t, "model"),
		epoch:      rapid.SampledFrom([]uint32{0, 0, 0, 1}).Draw(t, "epoch"),
		readable:   rapid.IntRange(0, 9).Draw(t, "readable") > 0,
		generation: rapid.SampledFrom([]uint64{0, 0, 1, 1, 1, 2}).Draw(t, "generation"),
	}
	if rapid.Bool().Draw(t, "has id") {
		m.frame = rapid.Uint64Range(1, 5).Draw(t, "frame id")
	}
	if m.readable {
		m.ns = w.capture(t)
	} else {
		m.text = rapid.SampledFrom(someTexts).Draw(t, "text")
	}
	if rapid.Bool().Draw(t, "says boxes") {
		m.hasBoxes = true
		m.boxes = rapid.SampledFrom([]int{0, 0, 2}).Draw(t, "boxes")
	}
	return m
}

// world is what random events are drawn from.
type world struct {
	config  func(*rapid.T) Config
	cameras []string
	capture func(*rapid.T) int64
	steps   []int64 // of the clock
}

// sparse has the field's magnitudes.
var sparse = world{
	config: drawConfig, cameras: someCameras, capture: drawCapture,
	steps: []int64{0, 0, 1, ms, ms, 2 * ms, 5 * ms, 20 * ms, 100 * ms, 301 * ms, -3 * ms},
}

// dense has so few instants that every tie and every edge is hit all the time.
var dense = world{
	cameras: []string{"u1/c1"},
	steps:   []int64{0, 0, 0, 1, 1, 2, 7, -1},
	capture: func(t *rapid.T) int64 { return rapid.Int64Range(-4, 16).Draw(t, "capture") },
	config: func(t *rapid.T) Config {
		cfg := drawConfig(t)
		cfg.QuantumNS = rapid.Int64Range(0, 4).Draw(t, "quantum ns")
		cfg.TimeoutNS = rapid.Int64Range(0, 12).Draw(t, "timeout ns")
		cfg.ClosedTTLNS = rapid.Int64Range(-1, 20).Draw(t, "ttl ns")
		cfg.SkewWindowNS = rapid.Int64Range(0, 20).Draw(t, "skew window ns")
		if cfg.MaxAgeNS != Never {
			cfg.MaxAgeNS = cfg.TimeoutNS + rapid.Int64Range(1, 4).Draw(t, "age beyond timeout ns")
		}
		cfg.Camera.WindowNS, cfg.Camera.FrameIntervalNS = rapid.Int64Range(0, 5).Draw(t, "window ns"), 11
		cfg.Camera.OffsetNS = rapid.SampledFrom([]map[string]int64{nil, {"A": 1}, {"B": -2}}).Draw(t, "offset ns")
		return cfg
	},
}

// R000: every rule, against a second writing of the rules. Identities hold after every event.
func TestAgainstNaive(t *testing.T) {
	for name, w := range map[string]world{"sparse": sparse, "dense": dense} {
		t.Run(name, func(t *testing.T) {
			for range 5 { // times -rapid.checks
				rapid.Check(t, w.run)
			}
		})
	}
}

// The same, steered by coverage.
func FuzzAgainstNaive(f *testing.F) { f.Fuzz(rapid.MakeFuzz(dense.run)) }

func (w world) run(t *rapid.T) {
	p := newPair(t, w.config(t))
	now := rapid.SampledFrom([]int64{0, -500 * ms, 1_000_000 * ms}).Draw(t, "start")
	for range rapid.IntRange(1, 120).Draw(t, "events") {
		now += rapid.SampledFrom(w.steps).Draw(t, "dt")
		switch rapid.IntRange(0, 19).Draw(t, "event") {
		case 0:
			p.c.Tick(clock.Mono(now))
			p.v.advance(now)
		case 1:
			names := drawSubset(t, "expect", someModels)
			if err := p.c.SetExpected(clock.Mono(now), names); err != nil {
				t.Fatal(err)
			}
			p.v.setExpected(now, names)
		case 2:
			model := rapid.SampledFrom(someModels).Draw(t, "model")
			if err := p.c.ModelDown(clock.Mono(now), model); err != nil {
				t.Fatal(err)
			}
			p.v.down(now, model)
		case 3:
			camera, model := rapid.SampledFrom(w.cameras).Draw(t, "camera"), rapid.SampledFrom(someModels).Draw(t, "model")
			if err := p.c.ModelDownAt(clock.Mono(now), p.stream(camera, 0), model); err != nil {
				t.Fatal(err)
			}
			p.v.downOn(now, camera, model)
		case 4, 5, 6:
			camera, model := rapid.SampledFrom(w.cameras).Draw(t, "camera"), rapid.SampledFrom(someModels).Draw(t, "model")
			epoch, w := rapid.SampledFrom([]uint32{0, 0, 1}).Draw(t, "epoch"), w.capture(t)
			p.c.Progress(clock.Mono(now), p.stream(camera, epoch), p.model(model), w)
			p.v.watermark(now, camera, epoch, model, w)
		default:
			p.message(now, w.message(t))
		}
		p.check()
		if rapid.IntRange(0, 7).Draw(t, "look at figures") == 0 {
			p.checkFigures()
		}
	}
	p.checkFigures()
}

// checkTables is the structure behind the rules: every table agrees with every other.
func (c *Correlator) checkTables() error {
	open, hashed, refs := 0, 0, map[*epoch]int{}
	settle := map[*epoch]int{}
	var prev *group
	for g := c.oldest; g != nil; prev, g = g, g.next {
		open++
		if g.prev != prev || prev != nil && (prev.seq >= g.seq || prev.FirstArrival > g.FirstArrival) {
			return fmt.Errorf("group %d is out of the order of first arrival", g.id)
		}
		refs[g.epoch]++
		if g.settleNode != 0 {
			settle[g.epoch]++
			if n := c.order.nodes[g.settleNode]; n.ref != g.id || n.key != c.settleNS(g) {
				return fmt.Errorf("group %d settles at %d by its node %+v", g.id, c.settleNS(g), n)
			}
		}
		if g.Key.Tag == TagWindow {
			continue
		}
		hashed++
		if r := c.index.find(&g.Key); r != openRef(g.id) {
			return fmt.Errorf("group %d is indexed as %x", g.id, r)
		}
	}
	records := 0
	for id := c.closed.oldest; id != 0; id = c.closed.at(id - 1).next {
		records++
		r := c.closed.at(id - 1)
		if r.key.Tag == TagWindow {
			refs[r.epoch]++
			continue
		}
		hashed++
		if found := c.index.find(&r.key); found != closedRef(id-1) {
			return fmt.Errorf("record %d is indexed as %x", id-1, found)
		}
	}
	if open != c.pending || hashed != c.index.n || records != c.closed.n || records > c.limits.Closed {
		return fmt.Errorf("%d groups open, counted %d; %d keys, indexed %d; %d records, counted %d of %d", open, c.pending, hashed, c.index.n, records, c.closed.n, c.limits.Closed)
	}
	for _, cam := range c.cameras[1:] {
		idle := 0
		for _, ep := range cam.all {
			if ep.refs != refs[ep] {
				return fmt.Errorf("epoch %d of %s has %d references, counted %d", ep.number, cam.name, refs[ep], ep.refs)
			}
			if ep.refs == 0 {
				idle++
			}
			for _, list := range []uint32{ep.settle, ep.anchor} {
				keys := c.order.keys(list)
				if !slices.IsSorted(keys) || list == ep.settle && len(keys) != settle[ep] {
					return fmt.Errorf("epoch %d of %s keeps the order %v", ep.number, cam.name, keys)
				}
			}
			delete(refs, ep)
		}
		if idle != cam.idle || idle > idleEpochs {
			return fmt.Errorf("camera %s has %d idle epochs, counted %d", cam.name, idle, cam.idle)
		}
	}
	for _, table := range c.AppendTables(nil) {
		if table.Len > table.Bound {
			return fmt.Errorf("table %s holds %d, bound %d", table.Name, table.Len, table.Bound)
		}
	}
	if len(refs) != 0 {
		return fmt.Errorf("%d epochs are referred to but dropped", len(refs))
	}
	return nil
}

func (o *order) keys(list uint32) (keys []int64) {
	if list == 0 {
		return nil
	}
	for n := o.nodes[list].next[0]; n != list; n = o.nodes[n].next[0] {
		keys = append(keys, o.nodes[n].key)
	}
	return keys
}
