package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/skewgate/skewgate/appliance/advise"
	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
)

// drawRecording draws a config and some seconds of two cameras with three detectors: late ones,
// silent ones, deaths, progress, messages sent twice, generations that change.
func drawRecording(t *rapid.T) string {
	var b strings.Builder
	cameras := ""
	if rapid.Bool().Draw(t, "a camera of its own") {
		cameras = `,"cameras":{"u/d":{"match":"bucket","expected":["a","b"],"offset_ms":{"b":2}}}`
	}
	fmt.Fprintf(&b, `{"config":{"quantum_ms":%d,"timeout_ms":%d,"max_age_ms":%d,"max_pending":%d,"implicit_watermark":%v,"expected":["a","b","c"]%s}}`+"\n",
		rapid.IntRange(1, 60).Draw(t, "quantum"), rapid.IntRange(1, 300).Draw(t, "timeout"), rapid.SampledFrom([]int{301, 5000}).Draw(t, "age"),
		rapid.IntRange(1, 100).Draw(t, "pending"), rapid.IntRange(0, 4).Draw(t, "implicit") == 0, cameras)
	type event struct {
		at   int64 // µs
		text string
	}
	var events []event
	coarse := rapid.Bool().Draw(t, "whole milliseconds") // so that lags are as long as a timeout
	add := func(at int64, format string, args ...any) {
		if coarse {
			at -= at % 1000
		}
		events = append(events, event{at, fmt.Sprintf(format, args...)})
	}
	names := []string{"a", "b", "c"}
	ids := rapid.Bool().Draw(t, "ids")
	n := rapid.Int64Range(1, 60).Draw(t, "pictures")
	seed := rapid.Uint64().Draw(t, "seed") // a draw for each message would make the runs slow
	r := rand.New(rand.NewPCG(seed, 0))
	for _, camera := range []string{"c", "d"} {
		for i := range n {
			for m, model := range names {
				if r.IntN(8) == 0 {
					continue
				}
				at := i*33_000 + int64(m)*5_000 + r.Int64N(40_000)
				if r.IntN(15) == 0 {
					at += r.Int64N(2_000_000)
				}
				text := fmt.Sprintf(`"msg":{"unit":"u","camera":%q,"model":%q,"timestamp":%d.%03d,"epoch":%d`, camera, model, 1000+i*33+r.Int64N(4), r.IntN(1000), i/30)
				if ids {
					text += fmt.Sprintf(`,"frame_id":"%d"`, i+1)
				}
				if r.IntN(3) == 0 {
					text += `,"boxes":[]`
				}
				if r.IntN(3) == 0 {
					text += fmt.Sprintf(`,"generation":%d`, 1+r.IntN(2))
				}
				add(at, "%s}", text)
				if r.IntN(12) == 0 {
					add(at+r.Int64N(50_000), "%s}", text)
				}
				if r.IntN(6) == 0 {
					add(at+r.Int64N(90_000), `"watermark":{"unit":"u","camera":%q,"model":%q,"ts_ms":%d,"epoch":%d}`, camera, names[r.IntN(3)], 1000+i*33, i/30)
				}
			}
			switch at := i * 33_000; r.IntN(20) {
			case 0:
				add(at, `"model_down":%q`, names[r.IntN(3)])
			case 1:
				add(at, `"model_down":{"unit":"u","camera":%q,"model":%q}`, camera, names[r.IntN(3)])
			case 2:
				add(at, `"set_expected":[%s]`, []string{`"a"`, `"a","b"`, `"a","b","c"`}[r.IntN(3)])
			case 3:
				add(at, `"tick":true`)
			}
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return int(a.at - b.at) })
	for _, e := range events {
		fmt.Fprintf(&b, `{"now_ms":%d.%03d,%s}`+"\n", e.at/1000, e.at%1000, e.text)
	}
	return b.String()
}

// ranFrame is how one frame went in a run.
type ranFrame struct {
	camera string
	first  clock.Mono
	lagNS  int64
	own    bool // it closed by itself
	waited bool // for more than one model
}

// ran replays a recording through the correlator with another timeout, ticking whenever a frame
// is due, and lists its frames. Nothing but the timeout closes a frame early.
func ran(t *rapid.T, recording string, timeoutNS int64) (frames map[string]ranFrame, last clock.Mono) {
	frames = make(map[string]ranFrame)
	r := newReplay(io.Discard)
	r.adjust = func(cfg *correlate.Config) {
		cfg.TimeoutNS, cfg.MaxAgeNS, cfg.MaxPending, cfg.EmitEmpty = timeoutNS, correlate.Never, 1<<20, true
	}
	r.group = func(g *correlate.Group) {
		f := ranFrame{camera: g.Unit + "/" + g.Camera, first: g.FirstArrival, lagNS: int64(g.ClosedAt - g.FirstArrival)}
		f.own = g.Reason == correlate.Quorum || g.Reason == correlate.Settled
		f.waited = len(g.Members) > 1 || f.lagNS > 0
		key := fmt.Sprintf("%s %d %s %d", f.camera, g.Epoch, r.c.AppendNote(nil, g.Key), g.FirstArrival)
		if _, twice := frames[key]; twice {
			t.Fatalf("two frames %s", key)
		}
		frames[key] = f
	}
	first, rest, _ := strings.Cut(recording, "\n")
	if err := r.configure([]byte(first)); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(rest) {
		var e struct {
			Now json.Number `json:"now_ms"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		ns, err := parseMillis(e.Now.String())
		if err != nil {
			t.Fatal(err)
		}
		last = clock.Mono(ns)
		for at, due := r.c.NextDeadline(); due && at < last; at, due = r.c.NextDeadline() {
			r.c.Tick(at)
		}
		if err := r.event([]byte(strings.TrimSpace(line))); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	for at, due := r.c.NextDeadline(); due; at, due = r.c.NextDeadline() {
		r.c.Tick(at)
	}
	if n := r.c.Counters(); n.FlushedEviction != 0 || n.Stale != 0 || n.ClosedForgotten != 0 || n.NowRegressions != 0 {
		t.Fatalf("counters %+v", n)
	}
	return frames, last
}

// R000-26: what advise says of a timeout is what a run with that timeout does, frame for frame,
// to the nanosecond. Closing does not influence arrival, so this is no estimate.
func TestAdviseIsExact(t *testing.T) {
	points := 0
	rapid.Check(t, func(t *rapid.T) {
		recording := drawRecording(t)
		report, err := adviseOn(strings.NewReader(recording), io.Discard, maxAdviseMessages)
		if err != nil {
			t.Fatal(err)
		}
		horizon := int64(report.Timeout.Horizon)
		// Which frames there are, and which of them count, shows the run in which none is cut off.
		natural, last := ran(t, recording, int64(adviseHorizon))
		counted := make(map[string]bool)
		notFinal := 0
		for key, f := range natural {
			switch {
			case !f.waited:
			case int64(last-f.first) < horizon:
				notFinal++
			default:
				counted[key] = true
			}
		}
		if notFinal != report.Timeout.NotFinal {
			t.Fatalf("%d frames are not final, want %d", report.Timeout.NotFinal, notFinal)
		}
		curves := slices.Concat([]advise.TimeoutCurve{report.Timeout.All}, report.Timeout.Cameras)
		for i, p := range report.Timeout.All.Points {
			frames, _ := ran(t, recording, int64(p.Timeout))
			for _, curve := range curves {
				n, complete, waitNS := 0, 0, int64(0)
				for key := range counted {
					f, ok := frames[key]
					if !ok {
						t.Fatalf("timeout %s: frame %s is not there", p.Timeout, key)
					}
					if curve.Camera != "" && curve.Camera != f.camera {
						continue
					}
					if n++; f.own {
						complete++
					}
					waitNS += f.lagNS
				}
				if n != curve.Frames {
					t.Fatalf("%s: %d frames, want %d", curve.Camera, curve.Frames, n)
				}
				got := p
				if curve.Camera != "" {
					at := slices.IndexFunc(curve.Points, func(o advise.TimeoutPoint) bool { return o.Timeout == p.Timeout })
					if at < 0 {
						continue // a percentile of another camera
					}
					got = curve.Points[at]
				}
				points++
				if n > 0 && (got.Complete != complete || got.Wait != advise.Millis(waitNS/int64(n)) || got.Yield != float64(complete)/float64(n)) {
					t.Fatalf("timeout %s (%d) of %q: advise says %d complete and a mean wait of %d ns, a run has %d and %d",
						p.Timeout, i, curve.Camera, got.Complete, got.Wait, complete, waitNS/int64(n))
				}
			}
		}
	})
	if points < 1000 {
		t.Errorf("%d points compared, want 1000 at least", points)
	}
}

// steady is n pictures of a fast and a slow detector, matched by buckets.
func steady(n int, from int) string {
	var b strings.Builder
	for i := from; i < from+n; i++ {
		for m, model := range []string{"fast", "slow"} {
			fmt.Fprintf(&b, `{"now_ms":%d,"msg":{"unit":"u","camera":"gate","model":%q,"timestamp":%d,"frame_id":"%d"}}`+"\n", i*40+10+m*(10+i%20), model, 1000+i*40+m*3, i+1)
		}
	}
	return b.String()
}

const steadyConfig = `{"quantum_ms":50,"timeout_ms":300,"max_age_ms":2000,"max_pending":64,"match":"bucket","expected":["fast","slow"]}`

// runAdvise runs the verb in this process.
func runAdvise(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := newAdviseCmd()
	var out, errs bytes.Buffer
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.Execute(); err != nil {
		code = exitFailed
		if ee := (*exitError)(nil); errors.As(err, &ee) {
			code = ee.code
		}
		fmt.Fprint(&errs, err)
	}
	return out.String(), errs.String(), code
}

func TestAdvise(t *testing.T) {
	recording := `{"config":` + steadyConfig + "}\n" + steady(600, 0)
	svg := filepath.Join(t.TempDir(), "a.svg")
	text, stderr, code := runAdvise(t, recording, "-", "--svg", svg)
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{
		"timeout 300 ms, quantum 50.0 ms in force", "TIMEOUT: keep 300 ms, on ", "99 % of the complete frames",
		"QUANTUM: 35.0 ms in place of 50.0 ms, on 600 samples", "u/gate: pictures are 40.0 ms apart and their capture times spread up to 3.00 ms",
		"match: frame_id splits nothing", "with another quantum the frames are other ones", "u/gate: ", "never complete", "Quanta of u/gate: matched by bucket, 1200 of 1200 messages by bucket",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
	drawing, err := os.ReadFile(svg)
	if err != nil || !bytes.HasPrefix(drawing, []byte("<svg ")) || !bytes.Contains(drawing, []byte("advised 35.0 ms")) {
		t.Errorf("drawing: %v\n%.200s", err, drawing)
	}
	out, _, _ := runAdvise(t, recording, "-", "--json")
	var r advise.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if r.Schema != 1 || r.Events != 1200 || r.Quantum.Advice.Advised == nil || *r.Quantum.Advice.Advised != 35_000_000 || r.Quantum.Cameras[0].Method != advise.ByFrameID {
		t.Errorf("JSON: %+v", r)
	}
	// Without ids the pictures are estimated, and it is said.
	blind := strings.NewReplacer(`,"frame_id"`, `,"x"`).Replace(recording)
	if text, _, _ := runAdvise(t, blind, "-"); !strings.Contains(text, "QUANTUM: 35.0 ms in place of 50.0 ms") || !strings.Contains(text, "is estimated") {
		t.Errorf("without ids:\n%s", text)
	}
	// A recording in parts, with what it says of itself.
	dir := t.TempDir()
	for part, events := range []string{steady(200, 0), steady(400, 200)} {
		head := fmt.Sprintf(`{"config":%s,"trace":{"schema":1,"id":"x","part":%d,"start":"running","state":{"open":2}}}`+"\n", steadyConfig, part+1)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("t.", part)), []byte(head+events), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, stderr, code = runAdvise(t, "", filepath.Join(dir, "t.1"), filepath.Join(dir, "t.0"), "--json")
	var parts advise.Report
	if err := json.Unmarshal([]byte(out), &parts); err != nil || code != 0 {
		t.Fatalf("exit %d, %v: %s", code, err, stderr)
	}
	if len(parts.Notes) != 2 || !strings.Contains(parts.Notes[0], "2 frames were open") || !strings.Contains(parts.Notes[1], "has no end") {
		t.Errorf("notes: %q", parts.Notes)
	}
	if parts.Notes = nil; fmt.Sprint(parts.Timeout.All) != fmt.Sprint(r.Timeout.All) && len(parts.Timeout.All.Points) != len(r.Timeout.All.Points) {
		t.Errorf("in parts: %+v, in one piece: %+v", parts.Timeout.All, r.Timeout.All)
	}
}

// Who was waited for and never came counts as missing for whatever reason: with its answers in
// the buckets beside, each model is missing in every frame of the other's. For those that were
// open when it died it was waited for no more.
func TestAdviseCountsWhoIsElsewhere(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"config":` + strings.Replace(steadyConfig, "50", "20", 1) + "}\n")
	say := func(i, nowMS int, model string, at int) {
		fmt.Fprintf(&b, `{"now_ms":%d,"msg":{"unit":"u","camera":"gate","model":%q,"timestamp":%d}}`+"\n", i*200+nowMS, model, i*200+at)
	}
	for i := range 600 {
		say(i, 0, "fast", 1019)
		say(i, 1, "slow", 1021)
	}
	b.WriteString(`{"now_ms":119990,"model_down":"slow"}` + "\n") // 50 frames have waited for less than 10 s
	for i := 600; i < 700; i++ {
		say(i, 0, "fast", 1019)
	}
	r, err := adviseOn(strings.NewReader(b.String()), io.Discard, maxAdviseMessages)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, m := range r.Timeout.Models {
		got[m.Model] = m.Missing
	}
	if want := map[string]int{"fast": 600, "slow": 550}; !maps.Equal(want, got) {
		t.Errorf("missing in so many frames: want %v, got %v", want, got)
	}
}

func TestAdviseRefusals(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		args     []string
		code     int
		want     string
	}{
		{"no file", "", nil, 2, "needs a FILE"},
		{"file that is not there", "", []string{"/nonexistent/x"}, 1, "no such file"},
		{"bad settings", `{"config":{}}`, []string{"-"}, 78, "quantum_ms: missing"},
		{"timeout of hours", strings.Replace(`{"config":`+steadyConfig+"}\n", "2000", "20000000", 1) + "\n", []string{"-"}, 0, ""},
		{"timeout too long", strings.NewReplacer("2000", "20000000", ":300", ":10000000").Replace(`{"config":` + steadyConfig + "}\n"), []string{"-"}, 1, "nothing to advise above 30m0s"},
		{"drawing to nowhere", `{"config":` + steadyConfig + "}\n", []string{"-", "--svg", "/nonexistent/x"}, 1, "no such file"},
	} {
		_, stderr, code := runAdvise(t, tc.in, tc.args...)
		if code != tc.code || !strings.Contains(stderr, tc.want) {
			t.Errorf("%s: exit %d and %q, want %d and %q", tc.name, code, stderr, tc.code, tc.want)
		}
	}
}

// A recording beyond the bound is looked at as far as the bound goes, and that is said.
func TestAdviseIsBounded(t *testing.T) {
	r, err := adviseOn(strings.NewReader(`{"config":`+steadyConfig+"}\n"+steady(600, 0)), io.Discard, 500)
	if err != nil {
		t.Fatal(err)
	}
	if r.LeftOut != 700 || r.Quantum.Cameras[0].Messages != 500 || !strings.Contains(strings.Join(r.Notes, ""), "only the first 500 messages") {
		t.Errorf("left out %d, looked at %d, notes %q", r.LeftOut, r.Quantum.Cameras[0].Messages, r.Notes)
	}
}

// Whatever a file holds: no crash, and figures that can be written down.
func FuzzAdvise(f *testing.F) {
	f.Add([]byte(`{"config":` + steadyConfig + "}\n" + steady(5, 0)))
	f.Add([]byte(`{"config":{"quantum_ms":0,"timeout_ms":1,"max_age_ms":null,"max_pending":1,"expected":["a","b"],"offset_ms":{"a":4611686018427.387904}}}
{"now_ms":0,"msg":{"unit":"u","camera":"c","model":"a","timestamp":"-9223372036854.775808"}}
{"now_ms":4611686018427.387904,"msg":{"unit":"u","camera":"c","model":"b","timestamp":4611686018427.387903,"frame_id":"x"}}
{"now_ms":-1,"model_down":"a"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := adviseOn(bytes.NewReader(text), io.Discard, 200)
		if err != nil {
			return
		}
		if _, err := json.Marshal(r); err != nil {
			t.Fatal(err)
		}
		if err := printAdvice(io.Discard, r); err != nil {
			t.Fatal(err)
		}
		if err := advise.WriteSVG(io.Discard, r); err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Timeout.All.Points {
			if p.Yield < 0 || p.Yield > 1 || p.Wait < 0 || p.Wait > p.Timeout {
				t.Fatalf("point %+v", p)
			}
		}
	})
}
