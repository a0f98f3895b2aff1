package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// replayCase is a line of testdata/cases/correlator.jsonl.
type replayCase struct {
	Name    string            `json:"name"`
	Profile string            `json:"profile"`
	Config  json.RawMessage   `json:"config"`
	Events  []json.RawMessage `json:"events"`
	Expect  struct {
		ConfigError bool             `json:"config_error"`
		Flushed     []map[string]any `json:"flushed"`
		Counters    map[string]any   `json:"counters"`
		Skew        map[string]any   `json:"skew"`
	} `json:"expect"`
}

func (c *replayCase) input() string {
	lines := []string{fmt.Sprintf(`{"config":%s}`, c.Config)}
	for _, event := range c.Events {
		lines = append(lines, string(event))
	}
	return strings.Join(lines, "\n") + "\n"
}

func replayCases(t *testing.T) []replayCase {
	t.Helper()
	file, err := os.Open("../../testdata/cases/correlator.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var cases []replayCase
	for dec := json.NewDecoder(file); ; {
		var c replayCase
		if err := dec.Decode(&c); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if len(cases) < 43 {
		t.Fatalf("%d cases, want all 43", len(cases))
	}
	return cases
}

// replaySummary is the last line of the output.
type replaySummary struct {
	Counters   map[string]any            `json:"counters"`
	Skew       map[string]any            `json:"skew"`
	LagByModel map[string]map[string]any `json:"lag_by_model"`
}

// replayOutput takes an output apart; every line must be JSON.
func replayOutput(t *testing.T, out []byte) (groups []map[string]any, summary replaySummary, configError string) {
	t.Helper()
	for line := range bytes.Lines(out) {
		var v struct {
			Summary     *replaySummary `json:"summary"`
			ConfigError *string        `json:"config_error"`
		}
		if err := json.Unmarshal(line, &v); err != nil || !utf8.Valid(line) {
			t.Fatalf("output line %q: %v", line, err)
		}
		switch {
		case v.Summary != nil:
			summary = *v.Summary
		case v.ConfigError != nil:
			configError = *v.ConfigError
		default:
			var g map[string]any
			if err := json.Unmarshal(line, &g); err != nil {
				t.Fatal(err)
			}
			groups = append(groups, g)
		}
	}
	return groups, summary, configError
}

var replayCounterNames = []string{
	"received", "accepted", "late", "dup_resend", "dup_collision", "wrong_generation", "unexpected", "unparsed",
	"flushed_quorum", "flushed_settled", "flushed_timeout", "flushed_eviction", "stale", "pending",
	"refused", "now_regressions", "progress_broken", "closed_forgotten", "no_frame_id", "suppressed_empty",
}

func (c *replayCase) check(t *testing.T, out []byte, code int) {
	t.Helper()
	groups, summary, configError := replayOutput(t, out)
	if c.Expect.ConfigError {
		if code != exitConfig || configError == "" {
			t.Fatalf("exit %d, config_error %q; want 78 and a reason", code, configError)
		}
		return
	}
	if code != 0 {
		t.Fatalf("exit %d, want 0; output %s", code, out)
	}
	if diff := cmp.Diff(c.Expect.Flushed, groups); diff != "" && len(c.Expect.Flushed)+len(groups) > 0 {
		t.Errorf("groups differ (-want +got):\n%s", diff)
	}
	want := map[string]any{}
	for _, name := range replayCounterNames {
		want[name] = 0.0 // what a case does not name has not happened
	}
	for name, value := range c.Expect.Counters {
		want[name] = value
	}
	if diff := cmp.Diff(want, summary.Counters); diff != "" {
		t.Errorf("counters differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(c.Expect.Skew, summary.Skew); diff != "" {
		t.Errorf("skew differs (-want +got):\n%s", diff)
	}
}

// R000-4, R000-5, R000-6 and the rest: every case, core and ext, through the real program,
// whatever the machine's time zone.
func TestReplayCasesThroughTheProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "skewgate")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is shipped
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build skewgate: %v\n%s", err, out)
	}
	for _, tz := range []string{"UTC", "Asia/Seoul"} {
		for _, c := range replayCases(t) {
			t.Run(tz+"/"+c.Name, func(t *testing.T) {
				cmd := exec.Command(path, "replay", "-")
				cmd.Env = append(os.Environ(), "TZ="+tz)
				cmd.Stdin = strings.NewReader(c.input())
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				out, err := cmd.Output()
				var exitErr *exec.ExitError
				if err != nil && !errors.As(err, &exitErr) {
					t.Fatal(err)
				}
				if stderr.Len() > 0 {
					t.Errorf("stderr: %s", stderr.String())
				}
				c.check(t, out, cmd.ProcessState.ExitCode())
			})
		}
	}
}

// The same in this process, with the identities asserted after every event.
func TestReplayCases(t *testing.T) {
	for _, c := range replayCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			var out bytes.Buffer
			r := &replay{out: bufio.NewWriter(&out)}
			if err := r.configure(fmt.Appendf(nil, `{"config":%s}`, c.Config)); err != nil {
				r.printConfigError(err)
				r.out.Flush()
				c.check(t, out.Bytes(), exitConfig)
				return
			}
			for i, event := range c.Events {
				if err := r.event(event); err != nil {
					t.Fatalf("event %d: %v", i, err)
				}
				if err := r.c.CheckIdentities(); err != nil {
					t.Fatalf("after event %d: %v", i, err)
				}
			}
			r.printSummary()
			r.out.Flush()
			c.check(t, out.Bytes(), 0)
		})
	}
}

// runReplay replays text and returns what it printed, what it complained of and its exit code.
func runReplay(t testing.TB, text string) (out []byte, complaints string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if err := replayAll(strings.NewReader(text), &stdout, &stderr); err != nil {
		var ee *exitError
		if !errors.As(err, &ee) {
			t.Fatal(err)
		}
		code = ee.code
	}
	return stdout.Bytes(), stderr.String(), code
}

const plainConfig = `{"config":{"quantum_ms":25,"timeout_ms":300,"max_age_ms":2000,"max_pending":256,"expected":["A","B"]}}` + "\n"

func TestReplayConfigIsRefused(t *testing.T) {
	with := func(more string) string {
		return `{"config":{"quantum_ms":25,"timeout_ms":300,"max_age_ms":2000,"max_pending":256,"expected":["A","B"]` + more + `}}`
	}
	for _, tc := range []struct{ name, line, want string }{
		{"nothing at all", "", "first line"},
		{"not JSON", "{", "first line"},
		{"no config", `{"now_ms":0}`, "config: missing"},
		{"missing keys", `{"config":{}}`, "quantum_ms: missing"},
		{"every missing key is named", `{"config":{}}`, "expected: missing"},
		{"unknown key", with(`,"quantun_ms":1`), "quantun_ms"},
		{"key twice", with(`,"quantum_ms":1`), "quantum_ms twice"},
		{"no number", with(`,"skew_window_ms":"1"`), "skew_window_ms"},
		{"too many places", with(`,"skew_window_ms":0.0000001`), "6 decimal places"},
		{"negative", with(`,"closed_ttl_ms":-1`), "closed_ttl_ms"},
		{"unit", with(`,"number_unit":"min"`), "use ms, s, us, ns or auto"},
		{"match", with(`,"match":"exact"`), "use auto, frame_id, bucket or window"},
		{"window without its interval", with(`,"match":"window","window_ms":5`), "frame_interval_ms"},
		{"window too wide", with(`,"match":"window","window_ms":20,"frame_interval_ms":40`), "window_ms: twice 20ms is not less"},
		{"flag", with(`,"emit_empty":1`), "emit_empty"},
		{"offset", with(`,"offset_ms":{"A":"1"}`), "offset_ms of A"},
		{"camera without unit", with(`,"cameras":{"c1":{}}`), `write "unit/camera"`},
		{"camera's window", with(`,"cameras":{"u1/c1":{"match":"window","window_ms":9,"frame_interval_ms":18}}`), "camera u1/c1: window_ms"},
		{"camera's unknown key", with(`,"cameras":{"u1/c1":{"timeout_ms":1}}`), "timeout_ms"},
		{"max age", strings.Replace(with(""), "2000", "300", 1), "max_age_ms: 300ms is not greater than timeout 300ms"},
		{"no room", strings.Replace(with(""), "256", "0", 1), "max_pending"},
		{"too many expected", strings.Replace(with(""), `"A"`, strings.Repeat(`"x",`, 2)+manyNames(65), 1), "at most 64"},
		{"long line", strings.Repeat(" ", replayLineMax+2) + with(""), "longer than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, _, code := runReplay(t, tc.line+"\n")
			_, _, got := replayOutput(t, out)
			if code != exitConfig || !strings.Contains(got, tc.want) {
				t.Errorf("exit %d, %q; want 78 and %q", code, got, tc.want)
			}
		})
	}
}

func manyNames(n int) string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf(`"m%d"`, i))
	}
	return strings.Join(names, ",")
}

// A line that is malformed or over a bound is counted, moves nothing else, and the run goes on.
func TestReplayRefusesEvents(t *testing.T) {
	msg := func(fields string) string { return `{"now_ms":1,"msg":{` + fields + `}}` }
	const who = `"unit":"u1","camera":"c1","model":"A"`
	for _, tc := range []struct{ name, line, reason string }{
		{"not JSON", `nonsense`, "not JSON"},
		{"NaN", msg(who + `,"timestamp":NaN`), "not JSON"},
		{"leading zero", msg(who + `,"timestamp":01`), "not JSON"},
		{"two values", `{"now_ms":1,"tick":true} {}`, "not JSON"},
		{"control character", msg(who + ",\"timestamp\":\"\x01\""), "not JSON"},
		{"not UTF-8", msg(who + ",\"timestamp\":\"\xff\""), "not UTF-8"},
		{"too deep", msg(who + `,"timestamp":` + strings.Repeat("[", 400) + strings.Repeat("]", 400)), "depth"},
		{"too long", msg(who + `,"timestamp":"` + strings.Repeat("x", replayLineMax) + `"`), "longer than"},
		{"no object", `[]`, "not an object"},
		{"no clock", `{"tick":true}`, "now_ms"},
		{"clock as text", `{"now_ms":"1","tick":true}`, "now_ms"},
		{"clock too fine", `{"now_ms":0.0000001,"tick":true}`, "6 decimal places"},
		{"clock out of range", `{"now_ms":99999999999999999999,"tick":true}`, "too large"},
		{"clock twice", `{"now_ms":1,"now_ms":2,"tick":true}`, "twice"},
		{"no kind", `{"now_ms":1}`, "none of"},
		{"unknown kind", `{"now_ms":1,"tock":true}`, "none of"},
		{"two kinds", `{"now_ms":1,"tick":true,"set_expected":[]}`, "two kinds"},
		{"tick is false", `{"now_ms":1,"tick":false}`, "tick"},
		{"message is a list", `{"now_ms":1,"msg":[]}`, "not an object"},
		{"no unit", msg(`"camera":"c1","model":"A","timestamp":1`), "unit"},
		{"empty camera", msg(`"unit":"u1","camera":"","model":"A","timestamp":1`), "empty"},
		{"model is a number", msg(`"unit":"u1","camera":"c1","model":1,"timestamp":1`), "model"},
		{"model too long", msg(`"unit":"u1","camera":"c1","model":"` + strings.Repeat("m", 256) + `","timestamp":1`), "too long"},
		{"no timestamp", msg(who), "timestamp"},
		{"timestamp twice", msg(who + `,"timestamp":1,"timestamp":2`), "twice"},
		{"epoch negative", msg(who + `,"timestamp":1,"epoch":-1`), "epoch"},
		{"epoch too large", msg(who + `,"timestamp":1,"epoch":4294967296`), "epoch"},
		{"generation no integer", msg(who + `,"timestamp":1,"generation":1.0`), "generation"},
		{"generation is true", msg(who + `,"timestamp":1,"generation":true`), "generation"},
		{"frame id is a number", msg(who + `,"timestamp":1,"frame_id":7`), "frame_id"},
		{"frame id too long", msg(who + `,"timestamp":1,"frame_id":"` + strings.Repeat("f", 256) + `"`), "frame_id"},
		{"boxes is text", msg(who + `,"timestamp":1,"boxes":"none"`), "boxes"},
		{"expected is text", `{"now_ms":1,"set_expected":"A"}`, "set_expected"},
		{"expected holds a number", `{"now_ms":1,"set_expected":["A",1]}`, "set_expected"},
		{"expected without end", `{"now_ms":1,"set_expected":[` + manyNames(70) + `]}`, "at most 64"},
		{"watermark without time", `{"now_ms":1,"watermark":{` + who + `}}`, "ts_ms"},
		{"watermark too fine", `{"now_ms":1,"watermark":{` + who + `,"ts_ms":1e-7}}`, "6 decimal places"},
		{"down is a number", `{"now_ms":1,"model_down":1}`, "model_down"},
		{"down at no camera", `{"now_ms":1,"model_down":{"model":"A","unit":"u1"}}`, "camera"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, complaint, code := runReplay(t, plainConfig+`{"now_ms":5,"tick":true}`+"\n"+tc.line+"\n"+`{"now_ms":5,"msg":{`+who+`,"timestamp":1000}}`)
			_, summary, _ := replayOutput(t, out)
			want := map[string]any{}
			for _, name := range replayCounterNames {
				want[name] = 0.0
			}
			want["refused"], want["received"], want["accepted"], want["pending"] = 1.0, 1.0, 1.0, 1.0
			if diff := cmp.Diff(want, summary.Counters); code != 0 || diff != "" {
				t.Errorf("exit %d, counters differ (-want +got):\n%s", code, diff)
			}
			if !strings.Contains(complaint, "line 3 is refused") || !strings.Contains(complaint, tc.reason) || len(complaint) > 1000 {
				t.Errorf("complaint %.1000q, want line 3 and %q", complaint, tc.reason)
			}
		})
	}
}

func TestReplayComplaintsAreBounded(t *testing.T) {
	out, complaints, _ := runReplay(t, plainConfig+strings.Repeat("x\n", 1000))
	if _, summary, _ := replayOutput(t, out); summary.Counters["refused"] != 1000.0 {
		t.Errorf("refused %v, want 1000", summary.Counters["refused"])
	}
	if n := strings.Count(complaints, "\n"); n != replayComplaints+1 || !strings.Contains(complaints, "990 more") {
		t.Errorf("%d lines of complaint:\n%s", n, complaints)
	}
}

// What each form of key looks like, and that decimals go through exactly.
func TestReplayNotes(t *testing.T) {
	long := strings.Repeat("x", 23) + "é" + strings.Repeat("y", 30) // the cut falls inside é
	for _, tc := range []struct{ name, config, msg, note string }{
		{"bucket", `"quantum_ms":25`, `"timestamp":1000`, "q25:40"},
		{"bucket of a fraction", `"quantum_ms":16.666667`, `"timestamp":"-0.000001"`, "q16.666667:-1"},
		{"instant", `"quantum_ms":0`, `"timestamp":1000.0000019`, "q0:1000000001ns"},
		{"frame id", `"quantum_ms":25`, `"timestamp":1000,"frame_id":"f \"7\""`, `id:f "7"`},
		{"frame id ignored", `"quantum_ms":25,"match":"bucket"`, `"timestamp":1000,"frame_id":"f7"`, "q25:40"},
		{"frame id null", `"quantum_ms":25`, `"timestamp":1000,"frame_id":null`, "q25:40"},
		{"frame id empty", `"quantum_ms":25,"match":"frame_id"`, `"timestamp":1000,"frame_id":""`, "q25:40"},
		{"frame id of an unreadable time", `"quantum_ms":25`, `"timestamp":"?","frame_id":"f7"`, "id:f7"},
		{"window", `"quantum_ms":25,"match":"window","window_ms":1,"frame_interval_ms":3`, `"timestamp":-1`, "w:-1000000ns"},
		{"raw null", `"quantum_ms":25`, `"timestamp":null`, "raw:null"},
		{"raw exponent", `"quantum_ms":25`, `"timestamp":1e3`, "raw:1e3"},
		{"raw empty", `"quantum_ms":25`, `"timestamp":""`, "raw:"},
		{"raw object", `"quantum_ms":25`, `"timestamp":{ "a" : [1.50] }`, `raw:{"a":[1.50]}`},
		{"raw escapes", `"quantum_ms":25`, `"timestamp":"a\u0001\n\u00e9"`, "raw:a\x01\né"},
		{"raw long", `"quantum_ms":25`, `"timestamp":"` + long + `"`, "raw:" + strings.Repeat("x", 23) + "\uFFFD…c2b09a764a0acd81"},
		{"smallest instant", `"quantum_ms":0,"number_unit":"ns"`, `"timestamp":-9223372036854775808`, "q0:-9223372036854775808ns"},
		{"offset", `"quantum_ms":25,"offset_ms":{"A":0.5}`, `"timestamp":1000`, "q25:39"},
		{"camera's own", `"quantum_ms":25,"cameras":{"u1/c1":{"match":"window","window_ms":1,"frame_interval_ms":3,"offset_ms":{"A":-1}}}`, `"timestamp":1`, "w:2000000ns"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, complaints, _ := runReplay(t, `{"config":{"timeout_ms":300,"max_age_ms":null,"max_pending":1,"expected":["A"],`+tc.config+`}}`+"\n"+
				`{"now_ms":0.000001,"msg":{"unit":"u1","camera":"c1","model":"A",`+tc.msg+`}}`+"\n")
			groups, _, _ := replayOutput(t, out)
			if len(groups) != 1 || groups[0]["key_note"] != tc.note || !bytes.Contains(out, []byte(`"at_ms":0.000001}`)) {
				t.Errorf("got %s%s, want key_note %q", out, complaints, tc.note)
			}
		})
	}
}

// Each camera may have its own expected models, until they change for all.
func TestReplayCameraOverrides(t *testing.T) {
	out, _, _ := runReplay(t, `{"config":{"quantum_ms":25,"timeout_ms":300,"max_age_ms":null,"max_pending":9,"expected":["A","B"],"cameras":{"u1/c2":{"expected":["A"]}}}}
{"now_ms":0,"msg":{"unit":"u1","camera":"c2","model":"A","timestamp":1000}}
{"now_ms":1,"msg":{"unit":"u1","camera":"c1","model":"A","timestamp":1000}}
{"now_ms":2,"set_expected":["A","C"]}
{"now_ms":3,"msg":{"unit":"u1","camera":"c2","model":"A","timestamp":2000}}
{"now_ms":4,"model_down":{"model":"C","unit":"u1","camera":"c2"}}
{"now_ms":5,"watermark":{"unit":"u1","camera":"c1","model":"C","ts_ms":1e30}}
`)
	var got []string
	groups, summary, _ := replayOutput(t, out)
	for _, g := range groups {
		got = append(got, fmt.Sprint(g["camera"], " ", g["key_note"], " ", g["reason"], " ", g["at_ms"]))
	}
	want := []string{"c2 q25:40 quorum 0", "c2 q25:80 quorum 4", "c1 q25:40 settled 5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups differ (-want +got):\n%s", diff)
	}
	if len(summary.LagByModel) != 3 {
		t.Errorf("lags of %v, want A, B and C", summary.LagByModel)
	}
}

// Numbers of frame ids are reused once nothing remembers them, so a long recording stays small.
func TestReplayFrameIDsAreForgotten(t *testing.T) {
	var out bytes.Buffer
	r := &replay{out: bufio.NewWriter(&out)}
	if err := r.configure([]byte(strings.TrimSpace(plainConfig))); err != nil {
		t.Fatal(err)
	}
	for i := range 5000 {
		for _, model := range []string{"A", "B"} {
			line := fmt.Sprintf(`{"now_ms":%d,"msg":{"unit":"u1","camera":"c1","model":%q,"timestamp":1,"frame_id":"f%d"}}`, i*100, model, i)
			if err := r.event([]byte(line)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := r.ids.Len(); n != 600 { // 60 s at 10 a second
		t.Errorf("%d frame ids are remembered, want 600", n)
	}
}

// The last group that a frame id was known by may be forgotten by the very message that carries
// the id, which comes too late for it. Found by TestReplayAgainstReading.
func TestReplayFrameIDOfAMessageOnItsWay(t *testing.T) {
	out, _, _ := runReplay(t, `{"config":{"quantum_ms":25,"timeout_ms":100,"closed_ttl_ms":0,"expected":[]}}
{"now_ms":0,"msg":{"unit":"u","camera":"c","model":"A","timestamp":1,"frame_id":"first"}}
{"now_ms":200,"msg":{"unit":"u","camera":"d","model":"A","timestamp":1,"frame_id":"first"}}
{"now_ms":200,"msg":{"unit":"u","camera":"c","model":"A","timestamp":1,"frame_id":"second"}}
{"now_ms":400,"tick":true}
`)
	groups, _, _ := replayOutput(t, out)
	var notes []string
	for _, g := range groups {
		notes = append(notes, fmt.Sprintf("%s %s", g["camera"], g["key_note"]))
	}
	if diff := cmp.Diff([]string{"c id:first", "d id:first", "c id:second"}, notes); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
}

func TestReplayReadError(t *testing.T) {
	in := io.MultiReader(strings.NewReader(plainConfig), errReader{})
	err := replayAll(in, io.Discard, io.Discard)
	var ee *exitError
	if !errors.As(err, &ee) || ee.code != exitFailed || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v, want exit 1 and the read error", err)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestReplayLines(t *testing.T) {
	exact := strings.Repeat("x", replayLineMax)
	in := "a\r\n\n  b \n" + exact + "\n" + exact + "yy\nlast"
	l := &replayLines{r: bufio.NewReaderSize(strings.NewReader(in), 4096)}
	for i, want := range []string{"a", "", "b", exact, "long", "last", "EOF"} {
		line, err := l.next()
		got := string(line)
		switch {
		case errors.Is(err, errReplayLine):
			got = "long"
		case err == io.EOF:
			got = "EOF"
		case err != nil:
			t.Fatal(err)
		}
		if got != want || l.number != i+1 {
			t.Fatalf("line %d (%d) is %.20q, want %.20q", i+1, l.number, got, want)
		}
	}
}

// Lines however they fall across the reader's buffer, against a split of the whole.
func FuzzReplayLines(f *testing.F) {
	f.Add([]byte("a\r\n\n  b \nlast"))
	f.Add([]byte(strings.Repeat("x", 40) + "\n" + strings.Repeat("y", 16) + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		want := strings.SplitAfter(string(text), "\n")
		if want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		l := &replayLines{r: bufio.NewReaderSize(bytes.NewReader(text), 16)}
		for i, w := range want {
			line, err := l.next()
			if w = strings.Trim(w, " \t\r\n"); err != nil || string(line) != w {
				t.Fatalf("line %d is %q, %v; want %q", i+1, line, err, w)
			}
		}
		if line, err := l.next(); err != io.EOF {
			t.Fatalf("after the last line: %q, %v", line, err)
		}
	})
}

// Decimals against exact rational numbers.
func TestParseMillis(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,15})(\.[0-9]{1,8})?([eE][-+]?[0-9]{1,2})?`).Draw(t, "text")
		want, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%q is no number", text)
		}
		want.Mul(want, big.NewRat(1e6, 1))
		got, err := parseMillis(text)
		switch {
		case !want.IsInt():
			if err == nil || errors.Is(err, errTooLarge) {
				t.Fatalf("%s: %d, %v; want too fine", text, got, err)
			}
		case !want.Num().IsInt64():
			if !errors.Is(err, errTooLarge) || (got < 0) != (want.Sign() < 0) {
				t.Fatalf("%s: %d, %v; want too large on its side", text, got, err)
			}
		case err != nil || got != want.Num().Int64():
			t.Fatalf("%s: %d, %v; want %s", text, got, err, want.Num())
		}
	})
}

// Whatever the lines hold: no crash, JSON out, identities kept.
func FuzzReplay(f *testing.F) {
	file, err := os.ReadFile("../../testdata/cases/correlator.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for dec := json.NewDecoder(bytes.NewReader(file)); dec.More(); {
		var c replayCase
		if err := dec.Decode(&c); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(c.input()))
	}
	f.Add([]byte(plainConfig + `{"now_ms":1,"model_down":{"model":"A","unit":"u1","camera":"c1"}}` + "\n" + `{"now_ms":-1e2,"msg":{"unit":"u1","camera":"c1","model":"A","timestamp":"2026-03-01T00:00:60Z","generation":2,"boxes":[]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var out bytes.Buffer
		first, rest, _ := bytes.Cut(text, []byte("\n"))
		r := &replay{out: bufio.NewWriter(&out)}
		if err := r.configure(first); err != nil {
			if configErrorText(err) == "" {
				t.Fatal("refused without a reason")
			}
			return
		}
		for line := range bytes.Lines(rest) {
			if err := r.event(bytes.TrimSpace(line)); err == nil {
				if err := r.c.CheckIdentities(); err != nil {
					t.Fatal(err)
				}
			}
		}
		r.printSummary()
		r.out.Flush()
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) || !utf8.Valid(line) {
				t.Fatalf("output %q is not JSON", line)
			}
		}
	})
}
