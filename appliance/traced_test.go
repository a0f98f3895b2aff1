package appliance

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/appliance/trace"
)

// readOnly are the correlator's methods that change nothing a decision depends on. Stream and
// Model enter names, which the messages bring along.
var readOnly = []string{
	"AppendFigures", "AppendLags", "AppendModels", "AppendNote", "AppendSkew", "AppendTables", "CheckIdentities", "Counters", "Dead", "EachOpen", "Final", "Live", "Matched", "Model", "ModelName", "Models", "NearNS",
	"NextDeadline", "Pending", "Skew", "SkewOverflow", "Stream", "StreamName",
}

// A method that changes the correlator and is not told to the recorders would make every trace
// a lie: each one is either known to change nothing or stands in traced.go.
func TestTracedHasEveryChange(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "traced.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
			told[f.Name.Name] = true
		}
	}
	c := reflect.TypeFor[*correlate.Correlator]()
	for i := range c.NumMethod() {
		if name := c.Method(i).Name; !told[name] && !slices.Contains(readOnly, name) {
			t.Errorf("Correlator.%s is neither recorded by traced nor known to change nothing", name)
		}
	}
}

// A setting that a decision depends on and a trace does not say would do the same.
func TestSettingsNameEveryField(t *testing.T) {
	for _, tc := range []struct {
		config, settings reflect.Type
		left             []string // the replay has its own bounds and texts
	}{
		{reflect.TypeFor[correlate.Config](), reflect.TypeFor[trace.Settings](), []string{"Limits", "FrameIDs", "Watch"}},
		{reflect.TypeFor[correlate.CameraConfig](), reflect.TypeFor[trace.CameraSettings](), nil},
	} {
		for i := range tc.config.NumField() {
			name := tc.config.Field(i).Name
			if _, ok := tc.settings.FieldByName(name); !ok && !slices.Contains(tc.left, name) {
				t.Errorf("%s.%s is in no trace: add it to %s, settingsOf and the replay", tc.config, name, tc.settings)
			}
		}
	}
}

// traceLine is a line of a trace as somebody reads it who has only its description.
type traceLine struct {
	Now json.Number `json:"now_ms"`
	Msg *struct {
		Unit, Camera, Model string
		Timestamp           json.RawMessage
		RawHex              *string `json:"raw_hex"`
		Epoch               uint32
		FrameID             string `json:"frame_id"`
		Generation          uint64
		Boxes               *[]int
	}
	Watermark *struct {
		Unit, Camera, Model string
		Epoch               uint32
		TS                  json.Number `json:"ts_ms"`
	}
	Down     json.RawMessage `json:"model_down"`
	Expected json.RawMessage `json:"set_expected"`
	Tick     bool
	Slept    bool
	Refused  string
	Trace    *struct {
		End *struct{ Counters map[string]uint64 }
	}
}

// fataler is a test of any kind.
type fataler interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// feed gives the events of a trace to a correlator, whose own code reads nothing of it.
func feed(t fataler, c *correlate.Correlator, lines []byte) (end map[string]uint64) {
	ns := func(n json.Number) int64 {
		whole, fraction, _ := strings.Cut(n.String(), ".")
		v, err := strconv.ParseInt(whole+(fraction + "000000")[:6], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	id := func(unit, camera, model string, epoch uint32) (correlate.StreamID, correlate.ModelID) {
		s, err := c.Stream(unit, camera, epoch)
		if err != nil {
			t.Fatal(err)
		}
		m, err := c.Model(model)
		if err != nil {
			t.Fatal(err)
		}
		return s, m
	}
	for line := range bytes.Lines(lines) {
		if trace.IsHeader(line) {
			continue
		}
		var l traceLine
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		now := clock.Mono(ns(l.Now))
		var place struct{ Unit, Camera, Model string }
		var change struct {
			Unit, Camera string
			Models       []string
		}
		var err error
		switch {
		case l.Msg != nil:
			m := correlate.Message{Generation: l.Msg.Generation, HasBoxes: l.Msg.Boxes != nil}
			m.Stream, m.Model = id(l.Msg.Unit, l.Msg.Camera, l.Msg.Model, l.Msg.Epoch)
			if l.Msg.FrameID != "" {
				m.FrameID, err = strconv.ParseUint(l.Msg.FrameID, 10, 64)
			}
			text := ""
			switch {
			case l.Msg.RawHex != nil:
				m.Raw, err = hex.DecodeString(*l.Msg.RawHex)
			case json.Unmarshal(l.Msg.Timestamp, &text) == nil:
				m.Raw = []byte(text)
			default:
				m.CaptureNS, err = strconv.ParseInt(string(l.Msg.Timestamp), 10, 64)
				m.Exact = true
			}
			if m.Raw != nil {
				m.CaptureNS = detect.RawInstant
			}
			c.Step(now, &m)
		case l.Watermark != nil:
			s, m := id(l.Watermark.Unit, l.Watermark.Camera, l.Watermark.Model, l.Watermark.Epoch)
			c.Progress(now, s, m, ns(l.Watermark.TS)+999_999)
		case l.Down != nil && json.Unmarshal(l.Down, &place.Model) == nil:
			err = c.ModelDown(now, place.Model)
		case l.Down != nil:
			if err = json.Unmarshal(l.Down, &place); err == nil {
				s, _ := id(place.Unit, place.Camera, place.Model, 0)
				err = c.ModelDownAt(now, s, place.Model)
			}
		case l.Expected != nil && json.Unmarshal(l.Expected, &change.Models) == nil:
			err = c.SetExpected(now, change.Models)
		case l.Expected != nil:
			if err = json.Unmarshal(l.Expected, &change); err == nil {
				s, _ := id(change.Unit, change.Camera, "a", 0)
				err = c.SetCameraExpected(now, s, change.Models)
			}
		case l.Slept:
			c.Slept(now)
		case l.Refused != "":
			c.Refuse()
		case l.Tick:
			c.Tick(now)
		default:
			t.Fatalf("%s: no event", line)
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if l.Trace != nil && l.Trace.End != nil {
			end = l.Trace.End.Counters
		}
	}
	return end
}

// Whatever the correlator hears, a trace of it gives the same groups at the same instants and
// the same counters, in one piece or in parts.
func TestTraceReplaysExactly(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const ms = int64(1e6)
		cfg := correlate.DefaultConfig()
		cfg.QuantumNS = rapid.SampledFrom([]int64{0, ms, 25 * ms}).Draw(rt, "quantum")
		cfg.TimeoutNS = rapid.Int64Range(0, 40).Draw(rt, "timeout") * ms
		cfg.MaxAgeNS = cfg.TimeoutNS + rapid.Int64Range(1, 60).Draw(rt, "age")*ms
		cfg.ClosedTTLNS = rapid.SampledFrom([]int64{correlate.DefaultTTL, 30 * ms}).Draw(rt, "ttl")
		cfg.MaxPending = rapid.IntRange(1, 4).Draw(rt, "pending")
		cfg.EmitEmpty = rapid.Bool().Draw(rt, "empty")
		cfg.ImplicitProgress = rapid.Bool().Draw(rt, "implicit")
		cfg.Limits.RawKeys = 2
		cfg.Cameras = map[string]correlate.CameraConfig{
			"u/ids":    {Match: correlate.MatchFrameID, Expected: []string{"a", "b"}},
			"u/bucket": {Match: correlate.MatchBucket, Expected: []string{"a", "b", "c"}, OffsetNS: map[string]int64{"b": ms}},
			"u/window": {Match: correlate.MatchWindow, WindowNS: 5 * ms, FrameIntervalNS: 20 * ms, Expected: []string{"a", "b"}},
		}
		run := func(log *[]string) *correlate.Correlator {
			var c *correlate.Correlator
			c, err := correlate.New(cfg, func(g *correlate.Group) {
				line := fmt.Sprintf("%s/%s %s %s %d %d %d", g.Unit, g.Camera, c.AppendNote(nil, g.Key), g.Reason, g.Epoch, g.FirstArrival, g.ClosedAt)
				for _, m := range g.Members {
					line += fmt.Sprintf(" %s@%d %q", c.ModelName(m.Model), m.Arrival, m.Raw)
				}
				*log = append(*log, line)
			})
			if err != nil {
				rt.Fatal(err)
			}
			return c
		}
		var want, got []string
		c := &traced{Correlator: run(&want), settings: settingsOf(&cfg)}
		o := trace.Options{Header: trace.Header{ID: "x"}, Settings: c.settings}
		if rapid.Bool().Draw(rt, "parts") {
			o.PartBytes = trace.MinPartBytes
		}
		rec, err := trace.NewRecorder(o)
		if err != nil {
			rt.Fatal(err)
		}
		c.attach(rec)
		now := clock.Mono(0)
		for range rapid.IntRange(1, 60).Draw(rt, "events") {
			now += clock.Mono(rapid.SampledFrom([]int64{0, 1, ms, 7 * ms, 20 * ms, -3 * ms, 100 * ms}).Draw(rt, "later"))
			camera := rapid.SampledFrom([]string{"ids", "bucket", "window"}).Draw(rt, "camera")
			s, err := c.Stream("u", camera, rapid.Uint32Range(1, 2).Draw(rt, "epoch"))
			if err != nil {
				rt.Fatal(err)
			}
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "model")
			m, err := c.Model(name)
			if err != nil {
				rt.Fatal(err)
			}
			capture := rapid.Int64Range(0, 60).Draw(rt, "capture") * ms / 2
			models := rapid.SampledFrom([][]string{{"a"}, {"a", "b"}, {"c", "b", "a"}, {}}).Draw(rt, "models")
			switch rapid.IntRange(0, 16).Draw(rt, "what") {
			case 0:
				c.Refuse()
			case 1:
				c.Slept(now)
			case 2:
				err = c.SetExpected(now, models)
			case 3:
				err = c.SetCameraExpected(now, s, models)
			case 4:
				err = c.ModelDown(now, name)
			case 5:
				err = c.ModelDownAt(now, s, name)
			case 6, 7:
				c.Progress(now, s, m, capture)
			case 8, 9:
				c.Tick(now)
			case 10:
				c.Step(now, &correlate.Message{Stream: 99 << 32, Model: m}) // nobody knows it
			case 11:
				raw := rapid.SampledFrom([]string{"", "soon", "99999999999999999", "\xff", strings.Repeat("x", 99)}).Draw(rt, "raw")
				c.Step(now, &correlate.Message{Stream: s, Model: m, CaptureNS: detect.RawInstant, Raw: []byte(raw)})
			default:
				msg := correlate.Message{
					Stream: s, Model: m, CaptureNS: capture, Generation: rapid.Uint64Range(0, 2).Draw(rt, "generation"),
					FrameID: rapid.Uint64Range(0, 6).Draw(rt, "frame"), HasBoxes: true, Boxes: make([]detect.Box, rapid.IntRange(0, 1).Draw(rt, "boxes")),
				}
				if rapid.IntRange(0, 9).Draw(rt, "first instant of all") == 0 {
					msg.CaptureNS, msg.Exact = math.MinInt64, true
				}
				c.Step(now, &msg)
			}
			if err != nil {
				rt.Fatal(err)
			}
		}
		c.detach(rec)
		var lines []byte
		for !rec.Finished() {
			lines = rec.Drain(lines)
		}
		again := run(&got)
		end := feed(rt, again, lines)
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Errorf("groups differ (-appliance +replay):\n%s\n%s", diff, lines)
		}
		if diff := cmp.Diff(c.Counters(), again.Counters()); diff != "" {
			rt.Errorf("counters differ (-appliance +replay):\n%s\n%s", diff, lines)
		}
		counters := c.Counters()
		counters.Each(func(name string, value uint64) {
			if end[name] != value {
				rt.Errorf("the trace ends with %s %d, want %d", name, end[name], value)
			}
		})
		for _, m := range c.Models(now) {
			if i := slices.IndexFunc(again.Models(now), func(o correlate.ModelStats) bool { return o.Name == m.Name }); i >= 0 {
				if o := again.Models(now)[i]; o.Lag != m.Lag || o.Late != m.Late {
					rt.Errorf("lag of %s: want %+v, got %+v", m.Name, m.Lag, o.Lag)
				}
			}
		}
	})
}

// A recorder that nobody drains costs the path nothing but what it loses, and says so.
func TestStalledRecorderDoesNotStopThePath(t *testing.T) {
	r := newRig(t, rigConfig)
	rec, err := r.path.newRecorder(true, 0)
	if err != nil {
		t.Fatal(err)
	}
	r.path.corr.attach(rec)
	const frames = trace.QueueEvents
	for id := uint64(1); id <= frames; id++ {
		r.publish(0, id, r.now)
		r.publish(1, id, r.now, aBox)
		r.turn(1000)
	}
	if n := r.path.corr.Counters().FlushedQuorum; n != frames {
		t.Errorf("%d frames fused, want %d", n, frames)
	}
	r.path.corr.detach(rec)
	var out []byte
	for !rec.Finished() {
		out = rec.Drain(out[:0])
	}
	if events, lost := rec.Stats(); events != frames || lost != frames {
		t.Errorf("%d events and %d lost, want %d of each", events, lost, frames)
	}
	if !bytes.Contains(out, fmt.Appendf(nil, `"lost":%d`, frames)) {
		t.Errorf("the end does not say what is missing: %s", out)
	}
}

// A recorder on the path costs no allocation either.
func TestRecordedPathAllocatesNothing(t *testing.T) {
	r := newRig(t, rigConfig)
	r.o.Tap = nil
	r.path.nextView = 1 << 62
	rec, err := r.path.newRecorder(true, 0)
	if err != nil {
		t.Fatal(err)
	}
	r.path.corr.attach(rec)
	buf := make([]byte, 0, 1<<18)
	id := uint64(0)
	frame := func() {
		id++
		r.now += 33_000_000
		r.publish(0, id, r.now)
		r.publish(1, id, r.now)
		r.path.turn(r.now)
		buf = rec.Drain(buf[:0])
	}
	for range 5000 {
		frame()
	}
	if n := testing.AllocsPerRun(1000, frame); n != 0 {
		t.Errorf("allocations per recorded frame: want 0, got %v", n)
	}
	if events, lost := rec.Stats(); events < 12000 || lost != 0 {
		t.Errorf("%d events, %d lost", events, lost)
	}
}

func BenchmarkStepWithRecorders(b *testing.B) {
	for _, n := range []int{0, 1, 4} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			cfg := correlate.DefaultConfig()
			cfg.Camera.Expected = []string{"a", "b"}
			corr, err := correlate.New(cfg, func(*correlate.Group) {})
			if err != nil {
				b.Fatal(err)
			}
			c := &traced{Correlator: corr, settings: settingsOf(&cfg)}
			var recs []*trace.Recorder
			for range n {
				rec, err := trace.NewRecorder(trace.Options{Header: trace.Header{ID: "x"}, Settings: c.settings})
				if err != nil {
					b.Fatal(err)
				}
				c.attach(rec)
				recs = append(recs, rec)
			}
			s, _ := c.Stream("u", "c", 1)
			var m [2]correlate.ModelID
			for i, name := range cfg.Camera.Expected {
				m[i], _ = c.Model(name)
			}
			var buf []byte
			msg := correlate.Message{Stream: s, HasBoxes: true}
			b.ReportAllocs()
			for i := range b.N {
				msg.Model, msg.CaptureNS = m[i&1], int64(i/2)*40e6
				c.Step(clock.Mono(i)*1000, &msg)
				if i%(trace.QueueEvents/2) == 0 {
					b.StopTimer()
					for _, r := range recs {
						for r.Queued() > 0 {
							buf = r.Drain(buf[:0])
						}
					}
					b.StartTimer()
				}
			}
		})
	}
}
