package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/advise"
	"github.com/skewgate/skewgate/appliance/status"
)

// published lists the fused frames that the appliance wrote, as a replay would tell them.
func published(t *testing.T, path string) []string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []string
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var f struct {
			Unit    string   `json:"unit"`
			Camera  string   `json:"camera"`
			FrameID string   `json:"frame_id"`
			Reason  string   `json:"reason"`
			Models  []string `json:"models"`
			Closed  int64    `json:"closed_mono_ns"`
		}
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		slices.Sort(f.Models)
		all = append(all, fmt.Sprintf("%s/%s id:%s %s %s at %d", f.Unit, f.Camera, f.FrameID, f.Models, f.Reason, f.Closed))
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// replayed replays a recording through the program and lists its groups in the same form.
func replayed(t *testing.T, args ...string) (groups []string, stderr string) {
	t.Helper()
	cmd := exec.Command(program(t), append([]string{"replay"}, args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("replay: %v\n%s", err, errs.String())
	}
	for line := range bytes.Lines(out) {
		var g struct {
			Note, Unit, Camera, Reason string
			Models                     []string
			At                         json.Number
		}
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(line, &keys); err != nil {
			t.Fatal(err)
		}
		if keys["summary"] != nil {
			continue
		}
		for key, into := range map[string]any{"key_note": &g.Note, "unit": &g.Unit, "camera": &g.Camera, "reason": &g.Reason, "models": &g.Models, "at_ms": &g.At} {
			if err := json.Unmarshal(keys[key], into); err != nil {
				t.Fatalf("%s of %s: %v", key, line, err)
			}
		}
		at, err := parseMillis(g.At.String())
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, fmt.Sprintf("%s/%s %s %s %s at %d", g.Unit, g.Camera, g.Note, g.Models, g.Reason, at))
	}
	return groups, errs.String()
}

// R000-26: a run that is recorded from its first message on, with a detector killed in its
// middle, replays to the appliance's own frames, in their order, with the same models, reasons
// and instants, and to its own counters.
func TestRecordedRunReplaysExactly(t *testing.T) {
	for _, tc := range []struct {
		name, config string
		frames       uint64 // after the kill
	}{
		{"fast", paced("fast", true), 60},
		{"realtime and no empty frames", strings.Replace(realtimeLoop(), "emit_empty: true", "emit_empty: false, timeout: 60ms", 1), 90},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBox(t, tc.config)
			b.args = []string{"--record", b.path("trace.jsonl")}
			b.start()
			before := b.until("both models fuse", 60*time.Second, func(d *status.Document) bool { return camera(d, "shapes").FusedMulti > 40 })
			if err := unix.Kill(task(before, "detect/shapes_yolo/0").PID, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			after := b.until("the killed detector is back and fuses", 60*time.Second, func(d *status.Document) bool {
				return task(d, "detect/shapes_yolo/0").Start == 2 && model(d, "shapes_yolo").Messages > model(before, "shapes_yolo").Messages+tc.frames
			})
			if len(after.Recordings) != 1 || after.Recordings[0].Events < 100 || after.Recordings[0].Lost != 0 {
				t.Errorf("recordings in status: %+v", after.Recordings)
			}
			b.stop()
			want := published(t, b.path("out.jsonl"))
			got, said := replayed(t, "--verify", b.path("trace.jsonl"))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("frames differ (-appliance +replay):\n%s", diff)
			}
			if !strings.Contains(said, "all 20 counters are the appliance's") || strings.Count(said, "\n") != 1 {
				t.Errorf("replay said: %s", said)
			}
			out, err := exec.Command(program(t), "advise", "--json", b.path("trace.jsonl")).Output()
			var advice advise.Report
			if err == nil {
				err = json.Unmarshal(out, &advice)
			}
			if all := advice.Timeout.All; err != nil || all.Answered < 40 || advice.Quantum.Cameras[0].Pictures < 40 || len(advice.Notes) != 0 {
				t.Errorf("advise: %v, %+v", err, all)
			}
			if alone := strings.Count(strings.Join(want, "\n"), "[proposals] quorum"); alone == 0 {
				t.Error("no frame went without the killed detector at once; the kill has tested nothing")
			}
		})
	}
}

// recordClient starts skewgate record against the box.
func (b *box) recordClient(args ...string) (*exec.Cmd, *lockedBuffer) {
	b.t.Helper()
	cmd := exec.Command(program(b.t), append([]string{"record", "--run-dir", b.path("run")}, args...)...)
	said := &lockedBuffer{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd, said
}

// A client that comes later: for a time, in parts, until a signal, until the appliance ends, or
// until the appliance is killed.
func TestRecordFromALiveAppliance(t *testing.T) {
	b := newBox(t, strings.Replace(realtimeLoop(), "emit_empty: true", "emit_empty: true, timeout: 60ms", 1))
	b.start()
	b.until("both models fuse", 60*time.Second, func(d *status.Document) bool { return camera(d, "shapes").FusedMulti > 20 })

	timed, timedSaid := b.recordClient("--for", "3s", "-o", b.path("timed.jsonl"), "--max-size", "65536", "--keep", "9")
	stopped, _ := b.recordClient("-o", b.path("stopped.jsonl"))
	drained, _ := b.recordClient("-o", b.path("drained.jsonl"))
	if err := timed.Wait(); err != nil {
		t.Fatalf("record --for 3s: %v\n%s", err, timedSaid.String())
	}
	b.until("two recordings are left", 5*time.Second, func(d *status.Document) bool { return len(d.Recordings) == 2 })

	// No more than four at a time.
	third, _ := b.recordClient("-o", b.path("third.jsonl"))
	fourth, _ := b.recordClient("-o", b.path("fourth.jsonl"))
	b.until("four recordings run", 5*time.Second, func(d *status.Document) bool { return len(d.Recordings) == 4 })
	fifth, said := b.recordClient("-o", b.path("fifth.jsonl"))
	if err := fifth.Wait(); err == nil || !strings.Contains(said.String(), "4 recordings run already") {
		t.Errorf("the fifth recording: %v, %s", err, said.String())
	}
	for _, cmd := range []*exec.Cmd{stopped, third, fourth} {
		if err := cmd.Process.Signal(unix.SIGINT); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("record after SIGINT: %v", err)
		}
	}
	b.until("one recording is left", 5*time.Second, func(d *status.Document) bool { return len(d.Recordings) == 1 })
	b.stop()
	if err := drained.Wait(); err != nil {
		t.Errorf("record after the appliance ended: %v", err)
	}

	// Frames of which all was recorded are the appliance's own. A timeout of 60 ms bounds what
	// can lie before a recording's first event.
	own := published(t, b.path("out.jsonl"))
	parts, err := filepath.Glob(b.path("timed.jsonl*"))
	if err != nil || len(parts) < 1 {
		t.Fatalf("parts: %v, %v", parts, err)
	}
	for _, rec := range []struct {
		files []string
		notes []string
	}{
		{parts, []string{"ran already"}},
		{[]string{b.path("stopped.jsonl")}, []string{"ran already", "ended by whoever recorded"}},
		{[]string{b.path("drained.jsonl")}, []string{"ran already"}},
	} {
		got, notes := replayed(t, rec.files...)
		for _, want := range rec.notes {
			if !strings.Contains(notes, want) {
				t.Errorf("%s: notes lack %q: %s", rec.files, want, notes)
			}
		}
		if n := strings.Count(notes, "\n"); n != len(rec.notes) {
			t.Errorf("%s: %d notes, want %d: %s", rec.files, n, len(rec.notes), notes)
		}
		if len(got) < 40 {
			t.Fatalf("%s: %d frames, want a second's at least", rec.files, len(got))
		}
		// The first ones were open when it began; the last may have been when it ended.
		got = got[5 : len(got)-5]
		from := slices.Index(own, got[0])
		if from < 0 {
			t.Fatalf("%s: frame %s is not among the appliance's", rec.files, got[0])
		}
		if diff := cmp.Diff(own[from:from+len(got)], got); diff != "" {
			t.Errorf("%s: frames differ (-appliance +replay):\n%s", rec.files, diff)
		}
	}
}

func TestRecordOfAKilledAppliance(t *testing.T) {
	b := newBox(t, realtimeLoop())
	b.args = []string{"--record", b.path("own.jsonl")}
	b.start()
	b.until("it fuses", 60*time.Second, func(d *status.Document) bool { return d.Fusion.Published > 10 })
	client, said := b.recordClient("-o", "-")
	b.until("two recordings run", 5*time.Second, func(d *status.Document) bool { return len(d.Recordings) == 2 })
	time.Sleep(500 * time.Millisecond)
	if err := b.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-b.done
	if err := client.Wait(); err == nil || client.ProcessState.ExitCode() != 1 || !strings.Contains(said.String(), "without ending") {
		t.Errorf("record after SIGKILL of the appliance: %v\n%s", err, said.String())
	}
	groups, notes := replayed(t, b.path("own.jsonl"))
	if len(groups) < 10 || !strings.Contains(notes, "has no end") {
		t.Errorf("%d frames replay, notes %s", len(groups), notes)
	}
	// Nobody answers now.
	none, said := b.recordClient("-o", b.path("none.jsonl"))
	if err := none.Wait(); err == nil || !strings.Contains(said.String(), "no appliance answers") {
		t.Errorf("record without an appliance: %v\n%s", err, said.String())
	}
	if _, err := os.Stat(b.path("none.jsonl")); !os.IsNotExist(err) {
		t.Errorf("a file was made for nothing: %v", err)
	}
}

// A recorder that cannot write ends itself, is named, and the appliance goes on.
func TestRecordOnAFullDisk(t *testing.T) {
	b := newBox(t, realtimeLoop())
	b.args = []string{"--record", b.path("trace.jsonl")}
	b.start()
	before := b.until("it fuses", 60*time.Second, func(d *status.Document) bool { return d.Fusion.Published > 10 })
	limit := unix.Rlimit{Cur: 4096, Max: 4096} // no file may grow beyond that: the sink's neither
	if err := unix.Prlimit(b.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		t.Fatal(err)
	}
	d := b.until("the recording is named and frames go on", 30*time.Second, func(d *status.Document) bool {
		return len(d.Recordings) == 1 && d.Recordings[0].Error != "" && d.Fusion.Published > before.Fusion.Published+30
	})
	if text := d.Recordings[0].Error; !strings.Contains(text, "trace.jsonl") || !strings.Contains(text, "file too large") {
		t.Errorf("error in status: %q", text)
	}
	b.stop()
	if _, notes := replayed(t, b.path("trace.jsonl")); !strings.Contains(notes, "has no end") {
		t.Errorf("notes: %s", notes)
	}
}
