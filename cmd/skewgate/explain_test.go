package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/status"
	"github.com/skewgate/skewgate/appliance/story"
)

// explained runs the verb as a user does.
func explained(t *testing.T, args ...string) (out, said string, code int) {
	t.Helper()
	cmd := exec.Command(program(t), append([]string{"explain"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exited := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exited) {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// story asks the box's appliance, or with a trace its recording, for one frame.
func (b *box) story(args ...string) *story.Frame {
	b.t.Helper()
	out, said, code := explained(b.t, append([]string{"--json", "--run-dir", b.path("run"), "shapes"}, args...)...)
	var d story.Document
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || d.Schema != 1 || len(d.Frames) != 1 {
		b.t.Fatalf("explain %q: exit %d, %v, %s\n%s", args, code, err, said, out)
	}
	return &d.Frames[0]
}

// common leaves of a story what a recording knows, too.
func common(f *story.Frame) *story.Frame {
	f.ClosedUnixNS = nil
	for i := range f.Messages {
		if n := f.Messages[i].Boxes; n != nil && *n > 0 {
			f.Messages[i].Boxes = nil
		}
	}
	for i := range f.Missing {
		m := &f.Missing[i]
		m.Cause, m.Dispatch = "", nil
		if m.Why == "hung" { // the correlator knows of no difference
			m.Why = "dead"
		}
	}
	f.Next = ""
	f.Verdict = strings.ReplaceAll(f.Verdict, "hangs", "is dead")
	return f
}

// A detector that is stopped, so that it hangs, and then killed, in a running appliance: the
// stories of the frames around both say so, and the recording tells the same ones.
func TestExplainARun(t *testing.T) {
	b := newBox(t, strings.Replace(realtimeLoop(), "emit_empty: true", "emit_empty: true, hung_after: 500ms", 1))
	b.args = []string{"--record", b.path("trace.jsonl")}
	b.start()
	before := b.until("both models fuse", 60*time.Second, func(d *status.Document) bool { return camera(d, "shapes").FusedMulti > 20 })
	pid := task(before, "detect/shapes_yolo/0").PID
	signal := func(s unix.Signal) {
		if err := unix.Kill(pid, s); err != nil {
			t.Fatal(err)
		}
	}
	var seqs []uint64
	keep := func(f *story.Frame) {
		for seq := max(*f.Seq, 4) - 3; seq <= *f.Seq+1; seq++ {
			seqs = append(seqs, seq)
		}
	}
	whole := b.story("seq:5")
	if whole.State != "published" || len(whole.Messages)+len(whole.Missing) != 2 {
		t.Errorf("the fifth frame: %+v", whole)
	}
	seqs = append(seqs, *whole.Seq)

	signal(unix.SIGSTOP)
	b.until("it hangs", 30*time.Second, func(d *status.Document) bool { return len(model(d, "shapes_yolo").HangsOn) > 0 })
	hung := b.untilStory("a frame does without it", "hung")
	if m := hung.Missing[0]; !strings.HasPrefix(m.Cause, "silent on shapes since ") || m.DownForNS == nil || m.Dispatch == nil {
		t.Errorf("hung: %+v", m)
	}
	keep(hung)
	signal(unix.SIGKILL)
	b.until("it is back and fuses", 60*time.Second, func(d *status.Document) bool {
		return task(d, "detect/shapes_yolo/0").Start == 2 && model(d, "shapes_yolo").Messages > model(before, "shapes_yolo").Messages+90
	})
	out, _, code := explained(t, "--run-dir", b.path("run"), "shapes", "--incomplete")
	if code != 0 || !strings.Contains(out, "missing") || !strings.Contains(out, "  = published after") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	// The first frames that the dead detector was missing in: the file says which.
	for _, f := range readFrames(t, b.path("out.jsonl")) {
		if f.Missing["shapes_yolo"] == "dead" && f.Seq > *hung.Seq+2 {
			seqs = append(seqs, f.Seq)
		}
	}
	if len(seqs) > 14 {
		seqs = append(seqs[:7], seqs[len(seqs)-7:]...)
	}
	live := make(map[uint64]*story.Frame)
	for _, seq := range seqs {
		live[seq] = b.story(fmt.Sprintf("seq:%d", seq))
	}
	died := false
	for _, f := range live {
		for _, m := range f.Missing {
			died = died || m.Why == "dead" && strings.HasPrefix(m.Cause, "its process: killed by SIGKILL (9) after ")
		}
	}
	if !died {
		t.Errorf("no story says that the detector was killed: %v", seqs)
	}
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"door"}, 1, "no camera door: there are shapes"},
		{[]string{"shapes", "99999999"}, 1, "it has not come"},
		{[]string{"shapes", "frame"}, 2, "neither a frame id"},
		{[]string{"shapes", "7", "--last", "2"}, 2, "one of the three"},
		{[]string{"shapes", "--last", "0"}, 2, "1 to 64"},
		{[]string{"shapes", ""}, 2, "leave it out"},
		{[]string{}, 2, "explain"},
		{[]string{"shapes", "--until", "1s"}, 2, "--trace"},
	} {
		out, said, code := explained(t, append(tc.args, "--run-dir", b.path("run"))...)
		if code != tc.code || !strings.Contains(said, tc.want) || out != "" {
			t.Errorf("%q: want exit %d and %q, got %d, %s%s", tc.args, tc.code, tc.want, code, said, out)
		}
	}
	b.stop()
	for _, seq := range seqs {
		recorded := b.story("--trace", b.path("trace.jsonl"), fmt.Sprintf("seq:%d", seq))
		if diff := cmp.Diff(common(live[seq]), common(recorded)); diff != "" {
			t.Errorf("seq %d (-live +recorded):\n%s", seq, diff)
		}
	}
}

// untilStory waits for a frame that shapes_yolo is missing in for a reason.
func (b *box) untilStory(what, why string) *story.Frame {
	b.t.Helper()
	for begun := time.Now(); time.Since(begun) < 30*time.Second; time.Sleep(20 * time.Millisecond) {
		if f := b.story(); len(f.Missing) == 1 && f.Missing[0].Why == why {
			return f
		}
	}
	b.t.Fatalf("does not happen: %s", what)
	return nil
}

// The text for a person, and what hostile names come to, word by word.
func TestExplainText(t *testing.T) {
	const config = `{"config":{"quantum_ms":25,"timeout_ms":300,"max_age_ms":2000,"max_pending":256,"expected":["general","people","plates","cars"]}}` + "\n"
	wall := `"timestamp":1764550000`
	msg := func(at, model, rest string) string {
		return fmt.Sprintf(`{"now_ms":%s,"msg":{"unit":"u","camera":"gate","model":"%s",%s}}`+"\n", at, model, rest)
	}
	path := filepath.Join(t.TempDir(), "t.jsonl")
	text := config + `{"now_ms":100,"model_down":"cars"}` + "\n" +
		msg("1000", "general", wall+`001,"frame_id":"7"`) +
		msg("1004.1", `a\u001b[31m\nb`, wall+`002,"frame_id":"7","boxes":[]`) +
		msg("1005", "general", wall+`001,"frame_id":"7"`) +
		msg("1006", "people", `"timestamp":"\u001b]0;x\u0007 noon"`) +
		`{"now_ms":1300,"tick":true}` + "\n" +
		msg("1312.3", "plates", wall+`003,"frame_id":"7"`)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, said, code := explained(t, "-f", path, "gate", "7")
	want := `u/gate  id:7  seq 1  stream_epoch 0
  captured 2025-12-01 00:46:40.001 UTC, its models' pictures 1.0 ms apart
    +0.0 ms  general         accepted
    +4.1 ms  "a\x1b[31m\nb"  accepted         found nothing, captured +1.0 ms, name not expected
    +5.0 ms  general         dup_resend
  +300.0 ms  ──              closed           by timeout, published as seq 1
  +312.3 ms  plates          late             12.3 ms after the frame was closed, captured +2.0 ms
    missing  cars            dead             for 1200.0 ms
    missing  people          unreadable_time  it sent "\x1b]0;x\a noon"
    missing  plates          late             by 12.3 ms, see above
  = published after 300.0 ms by timeout with 1 of 4 expected models; cars is dead, people sent a time that cannot be read, plates came late
    next: mend how people writes its timestamps: a number of milliseconds, or ISO 8601
`
	if diff := cmp.Diff(want, out); diff != "" || code != 0 || said != "" {
		t.Errorf("exit %d, %s(-want +got):\n%s", code, said, diff)
	}
}

// Recordings that are incomplete, of other cameras, with ids that are no numbers, or none at all.
func TestExplainTrace(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ids := strings.NewReplacer(`"timestamp"`, `"frame_id":"door-1","timestamp"`, `"camera":"c"`, `"camera":"d"`).Replace(aMessage(400, "A", 4))
	begun := write("a", aHeader(2, "running", `{"open":1,"down":["B"]}`)+aMessage(0, "A", 1)+ids)
	later := write("c", aHeader(2, "running", `{"open":1,"down":["B"]}`)+aMessage(1000, "A", 1))
	next := write("b", aHeader(3, "running", `{"open":0,"down":[]}`)+aMessage(500, "A", 9)+`{"now_ms":900,"tick":true}`+"\n")
	for _, tc := range []struct {
		args []string
		code int
		out  string
		said string
	}{
		{[]string{"-f", begun, "c"}, 0, "B   dead      since before the recording began", ""},
		{[]string{"-f", begun, "c"}, 0, "note: this begins with part 2", ""},
		{[]string{"-f", later, "c", "--json"}, 0, `"down_for_ns": 0,`, ""},
		{[]string{"-f", begun, "d"}, 0, "id:door-1", ""},
		{[]string{"-f", begun, "u/d", "door-1"}, 0, "id:door-1", ""},
		{[]string{"-f", begun, "d", "door-2"}, 2, "", "neither a frame id"},
		{[]string{"-f", next, "-f", begun, "c", "seq:1"}, 0, "q25:40", ""},
		{[]string{"-f", next, "-f", begun, "c"}, 0, "q25:360", ""},
		{[]string{"-f", next, "-f", begun, "--until", "450ms", "c"}, 0, "q25:40", ""},
		{[]string{"-f", begun, "x/c"}, 1, "", "no frame of camera c"},
		{[]string{"-f", begun, "e"}, 1, "", "it holds some of u/c, u/d"},
		{[]string{"-f", begun, "c", "77"}, 1, "", "it has not come"},
		{[]string{"-f", begun, "c", "--incomplete"}, 0, "q25:40", ""},
		{[]string{"-f", filepath.Join(dir, "none"), "c"}, 1, "", "open recording"},
		{[]string{"-f", write("bad", "{}\n"), "c"}, 78, "", "config"},
		{[]string{"-f", "-", "-f", begun, "c"}, 2, "", "stands alone"},
		{[]string{"-f", begun, "c", "--last", "99"}, 2, "", "1 to 64"},
	} {
		out, said, code := explained(t, tc.args...)
		if code != tc.code || !strings.Contains(out, tc.out) || !strings.Contains(said, tc.said) {
			t.Errorf("%q: exit %d, want %d\n%s%s", tc.args, code, tc.code, out, said)
		}
	}
}
