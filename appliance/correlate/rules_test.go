package correlate

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/appliance/hist"
)

// rig is a Correlator with short ways to drive it; out collects what it published.
type rig struct {
	t   *testing.T
	c   *Correlator
	out []string
}

func newRig(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Camera.Expected = []string{"A", "B"}
	if change != nil {
		change(&cfg)
	}
	r := &rig{t: t}
	c, err := New(cfg, func(g *Group) {
		line := fmt.Sprintf("%s %s:", r.c.AppendNote(nil, g.Key), g.Reason)
		for i := range g.Members {
			line += " " + r.c.ModelName(g.Members[i].Model)
		}
		for _, m := range g.Missing {
			line += fmt.Sprintf(" (%s %s)", r.c.ModelName(m.Model), m.Reason)
		}
		r.out = append(r.out, line)
	})
	if err != nil {
		t.Fatal(err)
	}
	r.c = c
	return r
}

func (r *rig) stream(camera string) StreamID {
	r.t.Helper()
	s, err := r.c.Stream("u1", camera, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *rig) model(name string) ModelID {
	r.t.Helper()
	id, err := r.c.Model(name)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// step sends a message of a model for camera c1 at nowMS with a capture time.
func (r *rig) step(nowMS int64, model string, captureMS int64) Verdict {
	r.t.Helper()
	return r.send(nowMS, Message{Stream: r.stream("c1"), Model: r.model(model), CaptureNS: captureMS * ms})
}

func (r *rig) send(nowMS int64, m Message) Verdict {
	r.t.Helper()
	v := r.c.Step(clock.Mono(nowMS*ms), &m)
	if err := errors.Join(r.c.CheckIdentities(), r.c.checkTables()); err != nil {
		r.t.Fatal(err)
	}
	return v
}

func (r *rig) tick(nowMS int64) { r.c.Tick(clock.Mono(nowMS * ms)) }

func (r *rig) want(lines ...string) {
	r.t.Helper()
	if diff := cmp.Diff(lines, r.out); diff != "" {
		r.t.Errorf("groups differ (-want +got):\n%s", diff)
	}
	r.out = nil
}

// What the fusion gets: every member with its own boxes, tag and id, valid in the callback.
func TestGroupCarriesWhatWasSent(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Camera.Expected = []string{"A", "B"}
	var got []Member
	var group Group
	c, err := New(cfg, func(g *Group) {
		group = *g
		for _, m := range g.Members {
			m.Boxes = append([]detect.Box(nil), m.Boxes...)
			m.Raw = append([]byte(nil), m.Raw...)
			m.boxesAt, m.boxesN, m.rawAt, m.rawN = 0, 0, 0, 0
			got = append(got, m)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := c.Stream("u1", "c1", 3)
	a, _ := c.Model("A")
	b, _ := c.Model("B")
	boxes := []detect.Box{{Score: 0.5, Label: 1}, {Score: 0.25, Label: 2}}
	c.Step(10, &Message{Stream: s, Model: a, CaptureNS: 5, FrameID: 7, Tag: 70, Generation: 9, HasBoxes: true, Boxes: boxes})
	boxes[0].Score = 1 // Step has copied them
	c.Step(12, &Message{Stream: s, Model: b, CaptureNS: detect.RawInstant, Raw: []byte("soon"), FrameID: 7, Tag: 71, HasBoxes: true, Boxes: boxes[1:]})
	want := []Member{
		{Model: a, Arrival: 10, CaptureNS: 5, FrameID: 7, Tag: 70, HasBoxes: true, Boxes: []detect.Box{{Score: 0.5, Label: 1}, {Score: 0.25, Label: 2}}},
		{Model: b, Arrival: 12, CaptureNS: detect.RawInstant, Unreadable: true, FrameID: 7, Tag: 71, HasBoxes: true, Boxes: []detect.Box{{Score: 0.25, Label: 2}}, Raw: []byte("soon")},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Member{})); diff != "" {
		t.Errorf("members differ (-want +got):\n%s", diff)
	}
	if g := group; g.Unit != "u1" || g.Camera != "c1" || g.Epoch != 3 || g.Generation != 9 || g.Reason != Quorum ||
		g.FirstArrival != 10 || g.LastArrival != 12 || g.ClosedAt != 12 || g.Key != (Key{s, 7, TagID}) {
		t.Errorf("group is %+v", g)
	}
}

// R000-20: the kinds of duplicate, in the open group and after it closed.
func TestDuplicates(t *testing.T) {
	r := newRig(t, nil)
	r.step(0, "A", 1000)
	for _, tc := range []struct {
		name string
		got  Verdict
		want Verdict
	}{
		{"other instant, open", r.step(1, "A", 1024), DupCollision},
		{"same instant, open", r.step(2, "A", 1000), DupResend},
		{"completes", r.step(3, "B", 1001), Accepted},
		{"other instant, closed", r.step(4, "A", 1001), DupCollision},
		{"same instant, closed", r.step(5, "A", 1000), DupResend},
		{"unexpected and late", r.step(6, "X", 1002), Late},
		{"late once, duplicate from then on", r.step(7, "X", 1002), DupResend},
		{"the late one's instant counts", r.step(8, "X", 1003), DupCollision},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, tc.got, tc.want)
		}
	}
}

// A message at the deadline is late, tick or no tick.
func TestMessageAtTheDeadlineIsLate(t *testing.T) {
	r := newRig(t, nil)
	r.step(0, "A", 1000)
	if got := r.step(300, "B", 1000); got != Late {
		t.Errorf("at the deadline: %s, want late", got)
	}
	r.want("q25:40 timeout: A (B late)")
	if got, want := r.c.Skew(clock.Mono(300*ms)), (hist.Summary{Count: 1, P50: 300 * ms, P99: 300 * ms, Max: 300 * ms}); got != want {
		t.Errorf("skew %+v, want %+v", got, want)
	}
}

// A stale group is dropped without a trace in the skew, but its key stays closed.
func TestStaleKeyStaysClosed(t *testing.T) {
	r := newRig(t, nil)
	r.step(0, "A", 1000)
	r.step(1, "B", 2000)
	if got := r.step(2500, "B", 1000); got != Late {
		t.Errorf("for a stale group: %s, want late", got)
	}
	r.want()
	if n := r.c.Counters(); n.Stale != 2 || n.Published != 0 {
		t.Errorf("counters %+v", n)
	}
}

// R000-15, and the identity: a suppressed group is not published, so it gives no sample.
func TestEmptyGroupsAreSuppressed(t *testing.T) {
	empty := func(r *rig, now int64, model string, capture int64) {
		r.send(now, Message{Stream: r.stream("c1"), Model: r.model(model), CaptureNS: capture * ms, HasBoxes: true})
	}
	r := newRig(t, nil)
	empty(r, 0, "A", 1000)
	empty(r, 5, "B", 1000)
	r.want()
	if n := r.c.Counters(); n.FlushedQuorum != 1 || n.SuppressedEmpty != 1 || n.Published != 0 {
		t.Errorf("counters %+v", n)
	}
	if got := r.c.Skew(clock.Mono(5 * ms)); got.Count != 0 {
		t.Errorf("skew %+v of a frame that was not published", got)
	}
	empty(r, 10, "A", 2000)
	r.step(11, "B", 2000) // says nothing of boxes: counts as a finding
	r.want("q25:80 quorum: A B")

	r = newRig(t, func(cfg *Config) { cfg.EmitEmpty = true })
	empty(r, 0, "A", 1000)
	empty(r, 5, "B", 1000)
	r.want("q25:40 quorum: A B")
}

// R000-24: a dead detector leaves the quorum at once and returns with its first message.
func TestDeadModelReturnsWithAMessage(t *testing.T) {
	r := newRig(t, nil)
	other := r.stream("c2")
	r.step(0, "A", 1000)
	if err := r.c.ModelDown(clock.Mono(10*ms), "B"); err != nil {
		t.Fatal(err)
	}
	r.want("q25:40 quorum: A (B dead)")
	if r.c.Live(other, r.model("B")) {
		t.Error("dead everywhere, yet alive on another camera")
	}
	// Late for the frame that went without it, but alive again: the next frame waits.
	if got := r.step(20, "B", 1000); got != Late {
		t.Errorf("verdict %s, want late", got)
	}
	r.step(30, "A", 1040)
	r.want()
	r.step(31, "B", 1040)
	r.want("q25:41 quorum: A B")
	if !r.c.Live(other, r.model("B")) {
		t.Error("a message anywhere must end a death everywhere")
	}
}

func TestDeadOnOneCamera(t *testing.T) {
	r := newRig(t, nil)
	here, there := r.stream("c1"), r.stream("c2")
	if err := r.c.ModelDownAt(0, here, "B"); err != nil {
		t.Fatal(err)
	}
	if r.c.Live(here, r.model("B")) || !r.c.Live(there, r.model("B")) {
		t.Error("want B dead on c1 and alive on c2")
	}
	r.c.Progress(1, there, r.model("B"), 0)
	if r.c.Live(here, r.model("B")) {
		t.Error("progress elsewhere must not bring it back here")
	}
	r.c.Progress(2, here, r.model("B"), 0)
	if !r.c.Live(here, r.model("B")) {
		t.Error("progress here must bring it back")
	}
}

// All dead: no early close, "all of nobody is here" closes nothing.
func TestAllDeadWaitsForTheTimeout(t *testing.T) {
	r := newRig(t, nil)
	for _, name := range []string{"A", "B"} {
		if err := r.c.ModelDown(0, name); err != nil {
			t.Fatal(err)
		}
	}
	r.step(1, "X", 1000)
	r.tick(300)
	r.want()
	r.tick(301)
	r.want("q25:40 timeout: X (A dead) (B dead)")
}

// R000-23: progress settles, also a group that is opened after it was said.
func TestProgressSettles(t *testing.T) {
	r := newRig(t, nil)
	s := r.stream("c1")
	r.c.Progress(0, s, r.model("B"), 1025*ms-2)
	r.step(1, "A", 1000)
	r.want() // one nanosecond of the bucket is open
	r.c.Progress(clock.Mono(2*ms), s, r.model("B"), 1025*ms-1)
	r.want("q25:40 settled: A (B passed)")
	r.c.Progress(clock.Mono(3*ms), s, r.model("B"), 5000*ms)
	r.step(4, "A", 2000)
	r.want("q25:80 settled: A (B passed)")
	r.c.Progress(clock.Mono(5*ms), s, r.model("B"), 2000*ms) // lower: the promise stands
	r.step(6, "A", 3000)
	r.want("q25:120 settled: A (B passed)")
}

// A broken promise settles nothing any more, until the next stream epoch.
func TestBrokenProgressIsDistrusted(t *testing.T) {
	r := newRig(t, nil)
	s := r.stream("c1")
	r.c.Progress(0, s, r.model("B"), 1000*ms)
	r.step(1, "B", 1000) // at W: broken
	r.step(2, "B", 900)  // again
	r.c.Progress(clock.Mono(3*ms), s, r.model("B"), 9000*ms)
	r.step(4, "A", 2000)
	r.want()
	next, err := r.c.Stream("u1", "c1", 1)
	if err != nil {
		t.Fatal(err)
	}
	r.c.Progress(clock.Mono(5*ms), next, r.model("B"), 9000*ms)
	r.send(6, Message{Stream: next, Model: r.model("A"), CaptureNS: 2000 * ms})
	r.want("q25:80 settled: A (B passed)")
	if n := r.c.Counters(); n.ProgressBroken != 2 {
		t.Errorf("progress_broken %d, want 2", n.ProgressBroken)
	}
}

// A group takes the generation of its first managed message; 0 joins any.
func TestGenerations(t *testing.T) {
	r := newRig(t, func(cfg *Config) { cfg.Camera.Expected = []string{"A", "B", "C", "D"} })
	of := func(now int64, model string, generation uint64) Verdict {
		return r.send(now, Message{Stream: r.stream("c1"), Model: r.model(model), CaptureNS: 1000 * ms, Generation: generation})
	}
	for _, tc := range []struct {
		name      string
		got, want Verdict
	}{
		{"outside generations opens", of(0, "A", 0), Accepted},
		{"first managed one decides", of(1, "B", 2), Accepted},
		{"another is dropped", of(2, "C", 1), WrongGeneration},
		{"before it could be a duplicate", of(3, "A", 1), WrongGeneration},
		{"the same joins", of(4, "C", 2), Accepted},
		{"outside generations joins", of(5, "D", 0), Accepted},
		{"closed: a duplicate, whatever the generation", of(6, "A", 1), DupResend},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, tc.got, tc.want)
		}
	}
	r.want("q25:40 quorum: A B C D")
}

// R000-3: a detector that never fuses is named with what happens to its messages.
func TestWhyAlone(t *testing.T) {
	r := newRig(t, func(cfg *Config) { cfg.Camera.Expected = []string{"A", "B", "late", "off", "garbled", "gone"} })
	for frame := range int64(5) {
		now, capture := frame*1000, frame*1000
		r.step(now, "A", capture)
		r.step(now+1, "B", capture)
		r.step(now+2, "off", capture+500)
		r.send(now+3, Message{Stream: r.stream("c1"), Model: r.model("garbled"), CaptureNS: detect.RawInstant, Raw: fmt.Append(nil, frame, "?")})
		r.step(now+4, "renamed", capture+700)
		r.step(now+400, "late", capture)
	}
	got := map[string]string{}
	for _, a := range r.c.AppendFigures(nil, 0)[0].Apartness {
		got[a.Model] = a.Why
	}
	want := map[string]string{"late": WhyLate, "off": WhyOtherBucket, "garbled": WhyUnreadableTime, "gone": WhyAbsent}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reasons differ (-want +got):\n%s", diff)
	}
}

// F55: the machine slept; what was on its way is stale at once.
func TestSleep(t *testing.T) {
	r := newRig(t, nil)
	r.step(0, "A", 1000)
	r.step(1, "A", 2000)
	r.c.Slept(clock.Mono(2 * ms))
	if n := r.c.Counters(); n.Stale != 2 || n.Pending != 0 {
		t.Errorf("counters %+v, want 2 stale and none open", n)
	}
	r.want()
}

func TestNextDeadline(t *testing.T) {
	r := newRig(t, nil)
	if _, ok := r.c.NextDeadline(); ok {
		t.Error("a deadline with nothing open")
	}
	r.step(0, "A", 1000)
	r.step(10, "A", 2000)
	if at, ok := r.c.NextDeadline(); !ok || at != clock.Mono(300*ms) {
		t.Errorf("next deadline %d, %t; want 300 ms", at, ok)
	}
	r.step(20, "B", 1000)
	if at, _ := r.c.NextDeadline(); at != clock.Mono(310*ms) {
		t.Errorf("next deadline %d, want 310 ms", at)
	}
}

// R000-11 and its neighbours: each refusal names the setting.
func TestConfigIsRefused(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Config)
		keys   []string
	}{
		{"max age equals timeout", func(c *Config) { c.MaxAgeNS = c.TimeoutNS }, []string{"max_age"}},
		{"zero config", func(c *Config) { *c = Config{} }, []string{"max_age", "max_pending"}},
		{"negative", func(c *Config) { c.QuantumNS, c.TimeoutNS, c.SkewWindowNS, c.ClosedTTLNS = -1, -1, -1, -2 }, []string{"quantum", "timeout", "skew_window", "closed_ttl"}},
		{"no room", func(c *Config) { c.MaxPending = 0 }, []string{"max_pending"}},
		{"room without bound", func(c *Config) { c.MaxPending = 1 << 30 }, []string{"max_pending"}},
		{"window without interval", func(c *Config) { c.Camera.Match, c.Camera.WindowNS = MatchWindow, ms }, []string{"frame_interval"}},
		{"window is half the interval", func(c *Config) {
			c.Camera.Match, c.Camera.WindowNS, c.Camera.FrameIntervalNS = MatchWindow, 20*ms, 40*ms
		}, []string{"window"}},
		{"a camera's own", func(c *Config) {
			c.Cameras = map[string]CameraConfig{"u1/c1": {Match: 9, OffsetNS: map[string]int64{"A": Never}}}
		}, []string{"u1/c1 match", "u1/c1 offset"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := DefaultConfig()
			tc.change(&cfg)
			_, err := New(cfg, func(*Group) {})
			if err == nil {
				t.Fatal("accepted")
			}
			var keys []string
			for _, part := range err.(interface{ Unwrap() []error }).Unwrap() {
				var ce *ConfigError
				if !errors.As(part, &ce) || !strings.Contains(ce.Problem, ":") {
					t.Fatalf("%v names no setting or no cure", part)
				}
				keys = append(keys, strings.TrimSpace(ce.Camera+" "+ce.Key))
			}
			if diff := cmp.Diff(tc.keys, keys); diff != "" {
				t.Errorf("settings differ (-want +got):\n%s\n%v", diff, err)
			}
		})
	}
}

// A frame's capture time is that of the camera, not that of a model's clock; a stranger's
// instant may lie at the ends of what an int64 holds.
func TestCaptureTimeIsWithoutOffsets(t *testing.T) {
	for _, row := range []struct{ offset, a, b, want int64 }{
		{0, 100e6, 90e6, 90e6}, {40e6, 100e6, 90e6, 60e6}, {-3600e9, 100e6, 90e6, 90e6},
		{40e6, math.MinInt64 + 1, 0, math.MinInt64 + 1}, {-3600e9, math.MaxInt64, math.MaxInt64, math.MaxInt64},
		{40e6, detect.RawInstant, 90e6, 90e6}, {40e6, detect.RawInstant, detect.RawInstant, detect.RawInstant},
	} {
		cfg := DefaultConfig()
		cfg.Camera = CameraConfig{Match: MatchFrameID, Expected: []string{"A", "B"}, OffsetNS: map[string]int64{"A": row.offset}}
		got := int64(-1)
		c, err := New(cfg, func(g *Group) { got = g.CaptureNS })
		if err != nil {
			t.Fatal(err)
		}
		stream, err := c.Stream("u1", "c1", 1)
		if err != nil {
			t.Fatal(err)
		}
		for name, ns := range map[string]int64{"A": row.a, "B": row.b} {
			id, err := c.Model(name)
			if err != nil {
				t.Fatal(err)
			}
			m := Message{Stream: stream, Model: id, CaptureNS: ns, FrameID: 7}
			if ns == detect.RawInstant {
				m.Raw = []byte("?")
			}
			c.Step(10, &m)
		}
		if got != row.want {
			t.Errorf("%+v: got %d", row, got)
		}
	}
}
