package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// replayAll replays in to out as the verb does.
func replayAll(in io.Reader, out, complain io.Writer) error {
	return newReplay(out).print(in, complain)
}

const traceConfig = `{"quantum_ms":25,"timeout_ms":300,"max_age_ms":2000,"max_pending":64,"number_unit":"ns","expected":["A","B"]}`

// aHeader is the first line of a part of the recording "r1".
func aHeader(part int, start, state string) string {
	return fmt.Sprintf(`{"config":%s,"trace":{"schema":1,"id":"r1","part":%d,"start":%q,"version":"v","wall_ns":0,"mono_ns":0,"state":%s}}`+"\n", traceConfig, part, start, state)
}

// aMessage is a message of a model at an instant, of the picture taken in that second.
func aMessage(ms int, model string, second int) string {
	return fmt.Sprintf(`{"now_ms":%d,"msg":{"unit":"u","camera":"c","model":%q,"timestamp":%d000000000}}`+"\n", ms, model, second)
}

func anEnd(ms int, counters string) string {
	return fmt.Sprintf(`{"now_ms":%d,"tick":true,"trace":{"end":{"events":4,"lost":0,"counters":%s}}}`+"\n", ms, counters)
}

// told lists the groups of an output as "at_ms models reason".
func told(t *testing.T, out []byte) (groups []string, s replaySummary) {
	t.Helper()
	all, s, _ := replayOutput(t, out)
	for _, g := range all {
		groups = append(groups, fmt.Sprint(g["at_ms"], " ", g["models"], " ", g["reason"]))
	}
	return groups, s
}

func TestReplayTakesOverTheState(t *testing.T) {
	out, notes, code := runReplay(t, aHeader(3, "empty", `{"open":0,"down":["C",{"model":"B","unit":"u","camera":"c"}],"expected":["A","B","C"],"expected_at":[{"unit":"u","camera":"d","models":["A"]}]}`)+
		aMessage(0, "A", 1)+aMessage(1, "B", 2)+aMessage(2, "A", 2)+strings.ReplaceAll(aMessage(3, "A", 4), `"camera":"c"`, `"camera":"d"`)+anEnd(400, "{}"))
	got, _ := told(t, out)
	want := []string{"0 [A] quorum", "2 [A B] quorum", "3 [A] quorum"}
	if diff := cmp.Diff(want, got); diff != "" || code != 0 {
		t.Errorf("exit %d, groups (-want +got):\n%s", code, diff)
	}
	if !strings.Contains(notes, "begins with part 3") {
		t.Errorf("notes: %s", notes)
	}
}

// Events that only an appliance's recording has.
func TestReplayOfRecordedEvents(t *testing.T) {
	out, notes, _ := runReplay(t, aHeader(1, "running", `{"open":7,"down":[]}`)+aMessage(0, "A", 1)+
		`{"now_ms":1,"msg":{"unit":"u","camera":"c","model":"A","raw_hex":"313233"}}`+"\n"+
		`{"now_ms":2,"set_expected":{"unit":"u","camera":"e","models":["B"]}}`+"\n"+
		strings.ReplaceAll(aMessage(3, "B", 1), `"camera":"c"`, `"camera":"e"`)+
		`{"now_ms":4,"refused":"malformed"}`+"\n"+
		`{"now_ms":5,"slept":true}`+"\n"+
		`{"now_ms":6,"tick":true,"trace":{"lost":3}}`+"\n")
	groups, s := told(t, out)
	if diff := cmp.Diff([]string{"3 [B] quorum"}, groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	for name, want := range map[string]float64{"received": 3, "unparsed": 1, "refused": 1, "stale": 2, "pending": 0} {
		if s.Counters[name] != want {
			t.Errorf("%s: want %v, got %v", name, want, s.Counters[name])
		}
	}
	for _, want := range []string{`the appliance had refused it: "malformed"`, "7 frames were open", "3 events are missing", "has no end"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes lack %q:\n%s", want, notes)
		}
	}
	for _, bad := range []string{
		`{"now_ms":1,"msg":{"unit":"u","camera":"c","model":"A","raw_hex":"31","timestamp":1}}`,
		`{"now_ms":1,"msg":{"unit":"u","camera":"c","model":"A","raw_hex":"3"}}`,
		`{"now_ms":1,"slept":false}`, `{"now_ms":1,"refused":1}`, `{"now_ms":1,"tick":true,"trace":{}}`,
		`{"now_ms":1,"set_expected":{"unit":"u","models":[]}}`,
	} {
		out, _, _ := runReplay(t, aHeader(1, "empty", "{}")+bad+"\n")
		if _, s := told(t, out); s.Counters["refused"] != 1.0 || s.Counters["received"] != 0.0 {
			t.Errorf("%s: counters %v, want 1 refused", bad, s.Counters)
		}
	}
}

// Parts in a row are one recording: a frame that is open at a cut is whole, and what the later
// header says of the state changes nothing.
func TestReplayOfParts(t *testing.T) {
	dir := t.TempDir()
	part := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	first := part("t.2", aHeader(1, "empty", "{}")+aMessage(0, "A", 1)+`{"now_ms":0,"model_down":"B"}`+"\n"+strings.TrimSuffix(aMessage(1, "A", 2), "\n"))
	second := part("t.1", aHeader(2, "empty", `{"down":["B"]}`)+aMessage(2, "B", 1)+aMessage(3, "A", 3))
	third := part("t", aHeader(3, "empty", `{"down":["A"]}`)+aMessage(4, "B", 3)+anEnd(9, "{}"))
	other := part("o", strings.Replace(aHeader(2, "empty", "{}"), `"r1"`, `"r2"`, 1))
	edited := part("e", strings.Replace(aHeader(2, "empty", "{}"), `"timeout_ms":300`, `"timeout_ms":301`, 1))
	plain := part("p", `{"config":`+traceConfig+"}\n")
	for _, tc := range []struct {
		name, want string
		files      []string
	}{
		{"all", "0 [A] quorum, 1 [A] quorum, 4 [A B] quorum", []string{third, first, second}},
		{"one", "4 [A B] quorum", []string{second, third}}, // B's first word makes it live again
		{"missing", "part 3 follows part 1", []string{third, first}},
		{"twice", "part 1 follows part 1", []string{first, first}},
		{"other", "another recording begins", []string{first, other}},
		{"edited", "other settings than part 1", []string{first, edited}},
		{"plain", "p: its first line is no header", []string{first, plain}},
		{"gone", "no such file", []string{first, filepath.Join(dir, "x")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := newReplayCmd()
			var out, notes bytes.Buffer
			cmd.SetOut(&out)
			cmd.SetErr(&notes)
			cmd.SetArgs(tc.files)
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			if err := cmd.Execute(); err != nil {
				if !strings.Contains(err.Error(), tc.want) {
					t.Errorf("want %q, got %v", tc.want, err)
				}
				return
			}
			if got, _ := told(t, out.Bytes()); strings.Join(got, ", ") != tc.want {
				t.Errorf("want %s, got %s", tc.want, strings.Join(got, ", "))
			}
		})
	}
}

func TestReplayUntil(t *testing.T) {
	text := aHeader(1, "empty", "{}") + aMessage(1000, "A", 1) + aMessage(1010, "B", 1) + aMessage(1020, "A", 2) + aMessage(1020, "B", 2) + anEnd(1400, "{}")
	for until, want := range map[time.Duration]int{0: 2, time.Millisecond: 0, 10 * time.Millisecond: 1, time.Second: 2} {
		var out, notes bytes.Buffer
		r := newReplay(&out)
		r.until = until
		if err := r.print(strings.NewReader(text), &notes); err != nil {
			t.Fatal(err)
		}
		if got, _ := told(t, out.Bytes()); len(got) != want || notes.Len() > 0 {
			t.Errorf("until %v: %d groups, want %d; notes %s", until, len(got), want, notes.String())
		}
	}
}

func TestReplayVerify(t *testing.T) {
	all := map[string]int{}
	for _, name := range replayCounterNames {
		all[name] = 0
	}
	all["received"], all["accepted"], all["flushed_quorum"] = 2, 2, 1
	right, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	events := aMessage(0, "A", 1) + aMessage(1, "B", 1)
	for _, tc := range []struct {
		name, text string
		code       int
		want       string
	}{
		{"right", aHeader(1, "empty", "{}") + events + anEnd(9, string(right)), 0, "all 20 counters"},
		{"wrong", aHeader(1, "empty", "{}") + events + anEnd(9, strings.Replace(string(right), `"late":0`, `"late":1`, 1)), 3, "late: the appliance counted 1, the replay 0"},
		{"unknown counter", aHeader(1, "empty", "{}") + events + anEnd(9, strings.Replace(string(right), `"late"`, `"new"`, 1)), 3, "new: the appliance"},
		{"no recording", `{"config":` + traceConfig + "}\n" + events, 1, "no recording"},
		{"no counters", aHeader(1, "empty", "{}") + events + anEnd(9, "{}"), 1, "does not have"},
		{"running", aHeader(1, "running", "{}") + events + anEnd(9, string(right)), 1, "does not begin with the appliance"},
		{"later part", aHeader(2, "empty", "{}") + events + anEnd(9, string(right)), 1, "does not begin with the appliance"},
		{"lost", aHeader(1, "empty", "{}") + events + `{"now_ms":2,"tick":true,"trace":{"lost":1}}` + "\n" + anEnd(9, string(right)), 1, "events are missing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var notes bytes.Buffer
			r := newReplay(io.Discard)
			if err := r.print(strings.NewReader(tc.text), &notes); err != nil {
				t.Fatal(err)
			}
			err, code := r.verify(&notes), 0
			if err != nil {
				code = 1
				fmt.Fprint(&notes, err)
			}
			if ee := (*exitError)(nil); errors.As(err, &ee) {
				code = ee.code
			}
			if code != tc.code || !strings.Contains(notes.String(), tc.want) {
				t.Errorf("exit %d and %q, want %d and %q", code, notes.String(), tc.code, tc.want)
			}
		})
	}
}

// What the client writes is what the appliance sent, whole lines, with an end in any case.
func TestCopyTrace(t *testing.T) {
	events := aHeader(1, "running", `{"open":2}`) + aMessage(0, "A", 1) + aMessage(1, "B", 1)
	done := anEnd(9, "{}")
	cutBy := func(why string) string {
		return fmt.Sprintf(`{"now_ms":1,"tick":true,"trace":{"end":{"events":2,"lost":0,"cut":%q}}}`+"\n", why)
	}
	for _, tc := range []struct{ name, in, out, err string }{
		{"in order", events + done, events + done, ""},
		{"broken off", events, events + cutBy("the connection to the appliance broke"), "ended without ending"},
		{"in the middle of a line", events + `{"now_ms":3,"ti`, events + cutBy("the connection to the appliance broke"), "ended without ending"},
		{"nothing", "", "", "ended without ending"},
		{"nonsense", events + "nonsense\n", events + cutBy("the connection to the appliance broke"), "no line of a recording"},
		{"no header", aMessage(0, "A", 1), "", "no line of a recording"},
		{"bad header", `{"config":{}}` + "\n", "", "trace is not an object"},
		{"after the end", events + done + aMessage(10, "A", 2), events + done, "went on after the end"},
		{"long line", events + `{"now_ms":` + strings.Repeat("1", recordLineMax), events + cutBy("the connection to the appliance broke"), "more than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			_, err := copyTrace(context.Background(), &out, strings.NewReader(tc.in), nil)
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("want error %q, got %v", tc.err, err)
			}
			if diff := cmp.Diff(tc.out, out.String()); diff != "" {
				t.Errorf("file (-want +got):\n%s", diff)
			}
		})
	}
	// Whoever asked for it has had enough.
	ctx, cancel := context.WithCancel(context.Background())
	in, feed := io.Pipe()
	go func() {
		_, _ = feed.Write([]byte(events))
		cancel()
		feed.CloseWithError(context.Canceled)
	}()
	var out bytes.Buffer
	tally, err := copyTrace(ctx, &out, in, nil)
	if err != nil || out.String() != events+cutBy("ended by whoever recorded") || tally.events != 2 {
		t.Errorf("cancelled: %v, %+v\n%s", err, tally, out.String())
	}
}

// Whatever an appliance sends: no crash, and what is written are whole lines of it.
func FuzzCopyTrace(f *testing.F) {
	f.Add([]byte(aHeader(1, "running", `{"open":2}`) + aMessage(0, "A", 1) + anEnd(9, `{"late":1}`)))
	f.Add([]byte(aHeader(1, "empty", `{}`) + `{"now_ms":1,"tick":true,"trace":{"lost":3}}` + "\n" + aMessage(0, `,"trace":{`, 1)))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		_, err := copyTrace(context.Background(), &out, bytes.NewReader(in), nil)
		whole := out.Bytes()
		if err != nil {
			if i := bytes.LastIndex(whole, []byte(`"cut":"the connection to the appliance broke"`)); i >= 0 {
				whole = whole[:bytes.LastIndexByte(whole[:i], '\n')+1]
			}
		}
		if !bytes.HasPrefix(in, whole) || len(whole) > 0 && whole[len(whole)-1] != '\n' {
			t.Fatalf("wrote %q of %q (%v)", whole, in, err)
		}
	})
}

// Whatever a file of a recording holds: no crash, JSON out, identities kept.
func FuzzReplayRecording(f *testing.F) {
	events := aMessage(0, "A", 1) + `{"now_ms":1,"msg":{"unit":"u","camera":"c","model":"A","raw_hex":"313233"}}` + "\n"
	f.Add([]byte(aHeader(1, "running", `{"open":7,"down":["C",{"model":"B","unit":"u","camera":"c"}],"expected":["A"],"expected_at":[{"unit":"u","camera":"d","models":["A"]}]}`) + events))
	f.Add([]byte(aHeader(1, "empty", "{}") + events + `{"now_ms":5,"slept":true,"trace":{"lost":3}}` + "\n" + aHeader(2, "empty", "{}") + anEnd(9, `{"late":1}`)))
	f.Add([]byte(aHeader(1, "empty", "{}") + `{"now_ms":2,"set_expected":{"unit":"u","camera":"e","models":["B"]}}` + "\n" + `{"now_ms":4,"refused":"x"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var out, notes bytes.Buffer
		r := newReplay(&out)
		err := r.print(bytes.NewReader(text), &notes)
		if ee := (*exitError)(nil); err != nil && !errors.As(err, &ee) {
			t.Fatalf("an error without an exit code: %v", err)
		}
		if err == nil {
			_ = r.verify(&notes)
			if err := r.c.CheckIdentities(); err != nil {
				t.Fatal(err)
			}
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) || !utf8.Valid(line) {
				t.Fatalf("output %q is not JSON", line)
			}
		}
	})
}
