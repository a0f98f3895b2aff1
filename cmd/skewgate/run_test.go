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

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/status"
)

// twoModels is one camera with two detectors, as fast as they go or in real time.
const twoModels = `
unit: test
state_dir: $DIR/state
runtime: {library: $LIB}
correlation: {emit_empty: true}
cameras:
  - {name: shapes, source: $DIR/film.mp4, pace: PACE, loop: LOOP, tag: barcode, max_picture: 640x360}
models:
  - {name: shapes_yolo, manifest: $MODELS/shapes_yolo.yaml, cameras: [shapes]}
  - {name: proposals, manifest: $MODELS/proposals.yaml, cameras: [shapes]}
sinks:
  - jsonl: {path: $DIR/out.jsonl, max_size: 100MB, keep: 1}
`

func realtimeLoop() string { return paced("realtime", true) }

func paced(pace string, loop bool) string {
	return strings.NewReplacer("PACE", pace, "LOOP", fmt.Sprint(loop)).Replace(twoModels)
}

// outFrame is a fused frame as a user of the JSON lines reads it.
type outFrame struct {
	Seq         uint64            `json:"seq"`
	Camera      string            `json:"camera"`
	StreamEpoch uint32            `json:"stream_epoch"`
	FrameID     string            `json:"frame_id"`
	CaptureNS   int64             `json:"capture_ns"`
	Reason      string            `json:"reason"`
	Models      []string          `json:"models"`
	Missing     map[string]string `json:"missing"`
	SkewNS      *int64            `json:"arrival_skew_ns"`
	FirstNS     int64             `json:"first_arrival_mono_ns"`
	ClosedNS    int64             `json:"closed_mono_ns"`
	Boxes       []struct {
		Label string `json:"label"`
	} `json:"boxes"`
}

func readFrames(t *testing.T, path string) []outFrame {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var frames []outFrame
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var o outFrame
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			t.Fatalf("line %d of the output is not JSON: %v", len(frames)+1, err)
		}
		frames = append(frames, o)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return frames
}

// Fast means: wait for the detectors and lose nothing. Every picture of the film comes
// out once, in order, from both models.
func TestFastFilmLosesNothing(t *testing.T) {
	b := newBox(t, paced("fast", false))
	b.start()
	b.until("the film has ended and everything is written", 90*time.Second, func(d *status.Document) bool {
		return camera(d, "shapes").State == "ended" && len(d.Sinks) == 1 && d.Sinks[0].Written == 300
	})
	b.stop()
	frames := readFrames(t, b.path("out.jsonl"))
	if len(frames) != 300 {
		t.Fatalf("fused frames: want 300, got %d", len(frames))
	}
	for i, f := range frames {
		if f.FrameID != fmt.Sprint(i+1) || f.Seq != uint64(i+1) || len(f.Models) != 2 || f.Reason != "quorum" || len(f.Missing) != 0 {
			t.Fatalf("frame %d: got %+v", i+1, f)
		}
		if i > 0 && f.CaptureNS-frames[i-1].CaptureNS < 33_000_000 {
			t.Fatalf("frame %d: capture times %d and %d are not a film's interval apart", i+1, frames[i-1].CaptureNS, f.CaptureNS)
		}
	}
}

// R002-1, R002-3, F1: SIGKILL of one detector. The other and the output go on, the
// killed one is back and fusing within 3 s, its record says signal 9, nothing else
// restarts.
func TestKilledDetectorComesBack(t *testing.T) {
	b := newBox(t, realtimeLoop())
	b.start()
	before := b.until("both models fuse", 30*time.Second, func(d *status.Document) bool {
		return camera(d, "shapes").FusedMulti > 30
	})
	victim := task(before, "detect/shapes_yolo/0")
	if err := unix.Kill(victim.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	back := b.until("the killed detector is back and fuses", 10*time.Second, func(d *status.Document) bool {
		m := task(d, "detect/shapes_yolo/0")
		return m.Start == 2 && m.State == "ready" && model(d, "shapes_yolo").Messages > model(before, "shapes_yolo").Messages+30
	})
	// The 30 frames waited for take a second of their own, which is not part of the bound.
	if took := time.Since(killed) - time.Second; took > 3*time.Second {
		t.Errorf("back and fusing after %v, want 3 s at most", took)
	}
	elapsed := time.Since(killed)
	e := task(back, "detect/shapes_yolo/0").LastExit
	if e == nil || e.Signal != 9 || e.Cause != "signal" || e.PID != victim.PID || e.Start != 1 || !strings.Contains(e.Text, "SIGKILL") || e.LastFrame == "" {
		t.Errorf("exit record: got %+v", e)
	}
	for _, other := range []string{"detect/proposals/0", "capture/shapes"} {
		if got := task(back, other); got.Restarts != 0 || got.PID != task(before, other).PID {
			t.Errorf("%s: want no restart, got %+v", other, got)
		}
	}
	if back.PID != before.PID {
		t.Errorf("the appliance restarted: pid %d, then %d", before.PID, back.PID)
	}
	// The other detector's rate and the output: a frame each 33 ms the whole time.
	want := uint64(elapsed.Seconds() * 30 * 0.9)
	if got := model(back, "proposals").Messages - model(before, "proposals").Messages; got < want {
		t.Errorf("proposals answered %d frames in %v, want at least %d", got, elapsed, want)
	}
	if got := back.Fusion.Published - before.Fusion.Published; got < want {
		t.Errorf("%d frames came out in %v, want at least %d", got, elapsed, want)
	}
	if back.Correlation.IdentityFault != "" {
		t.Error(back.Correlation.IdentityFault)
	}
	b.stop()
	// While it was dead the frames did not wait for it: no timeout had to close them.
	dead := 0
	for _, f := range readFrames(t, b.path("out.jsonl")) {
		if f.Missing["shapes_yolo"] == "dead" && f.Reason == "quorum" {
			dead++
		}
	}
	if dead == 0 {
		t.Error("no frame says that shapes_yolo was dead")
	}
}

// F8: SIGKILL of the appliance. No child is alive 2 s later, nothing is left behind,
// and the next start on the same folders runs.
func TestKilledApplianceLeavesNothing(t *testing.T) {
	b := newBox(t, realtimeLoop())
	b.start()
	b.until("it fuses", 30*time.Second, func(d *status.Document) bool { return d.Fusion.Published > 10 })
	if n := len(b.family()); n < 5 {
		t.Fatalf("want the appliance, 2 detectors, a capture and ffmpeg, found %d processes: %v", n, b.family())
	}
	if err := b.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	if left := b.family(); len(left) != 0 {
		t.Fatalf("processes alive 2 s after SIGKILL of the appliance: %v", left)
	}
	// Segments have no names, so with the last process they are gone too: what could be
	// left are files.
	for dir, want := range map[string][]string{"run": {"attach.sock", "control.sock"}, "state": {"lock"}} {
		if got := listing(t, b.path(dir)); !slices.Equal(got, want) {
			t.Errorf("files in %s after SIGKILL: want %v, which the next start takes over, got %v", dir, want, got)
		}
	}
	<-b.done
	b.start()
	b.until("the next start fuses", 30*time.Second, func(d *status.Document) bool { return d.Fusion.Published > 10 })
	b.stop()
	if left := b.family(); len(left) != 0 {
		t.Errorf("processes alive after an orderly end: %v", left)
	}
	for _, name := range []string{"run/control.sock", "run/attach.sock"} {
		if _, err := os.Stat(b.path(name)); !os.IsNotExist(err) {
			t.Errorf("%s after an orderly end: %v", name, err)
		}
	}
}

// listing names what is in a folder.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// A camera that is not there, and later is: the appliance runs, names it, retries.
func TestMissingCameraIsRetriedAndNamed(t *testing.T) {
	config := realtimeLoop() + "\n"
	config = strings.Replace(config, "models:\n", "  - {name: late, source: $DIR/late.mp4, pace: realtime, loop: true, tag: barcode, max_picture: 640x360}\nmodels:\n", 1)
	config = strings.ReplaceAll(config, "cameras: [shapes]", "cameras: [shapes, late]")
	b := newBox(t, config)
	b.start()
	d := b.until("the camera is named", 30*time.Second, func(d *status.Document) bool {
		return camera(d, "late").State == "retrying" && camera(d, "shapes").Fused > 10
	})
	if c := camera(d, "late"); !strings.Contains(c.Detail, "late.mp4") || !strings.Contains(c.Detail, "No such file") {
		t.Errorf("detail of the missing camera: got %q", c.Detail)
	}
	if len(d.Health) == 0 || d.Health[0].Code != status.CodeCameraDown || d.Health[0].Subject != "late" {
		t.Errorf("findings: got %+v", d.Health)
	}
	if err := os.Link(b.path("film.mp4"), b.path("late.mp4")); err != nil {
		t.Fatal(err)
	}
	d = b.until("the camera streams", 40*time.Second, func(d *status.Document) bool {
		return camera(d, "late").FusedMulti > 10
	})
	if r := task(d, "capture/late").Restarts; r != 0 {
		t.Errorf("capture restarted %d times; a missing source is retried inside", r)
	}
	b.stop()
}

// A model file that is not a model: the others run, the text names file and cure.
func TestBrokenModelIsNamed(t *testing.T) {
	config := strings.Replace(realtimeLoop(), "manifest: $MODELS/proposals.yaml", "manifest: $DIR/broken.yaml", 1)
	b := newBox(t, config)
	model, err := os.ReadFile("../../testdata/models/proposals.onnx")
	if err != nil {
		t.Fatal(err)
	}
	// A whole protobuf, so the cheap check of the config passes it, with an operator
	// that ONNX Runtime does not have.
	if err := os.WriteFile(b.path("broken.onnx"), bytes.ReplaceAll(model, []byte("Conv"), []byte("Konv")), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.path("broken.yaml"), []byte("model: broken.onnx\nlayout: yolov8\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.start()
	d := b.until("the broken model is named while the other fuses", 30*time.Second, func(d *status.Document) bool {
		return task(d, "detect/proposals/0").LastExit != nil && camera(d, "shapes").Fused > 30
	})
	e := task(d, "detect/proposals/0").LastExit
	if last := strings.Join(e.LastStderr, "\n"); !strings.Contains(last, b.path("broken.onnx")) {
		t.Errorf("last stderr lines do not name the file:\n%s", last)
	}
	found := false
	for _, f := range d.Health {
		if f.Subject == "proposals/0" && strings.Contains(f.Text, "broken.onnx") && f.Next != "" {
			found = true
		}
	}
	if !found {
		t.Errorf("findings do not name the broken model: %+v", d.Health)
	}
	b.stop()
}

// Only config errors end the appliance, with all of them at once and code 78.
func TestConfigErrorsEndWith78(t *testing.T) {
	config := strings.Replace(realtimeLoop(), "correlation: {emit_empty: true}", "correlation: {timeout: 2s, max_age: 2s}\nunit: twice\nnonsense: 1", 1)
	b := newBox(t, config)
	b.start()
	if code := b.wait(10 * time.Second); code != 78 {
		t.Errorf("exit code: want 78, got %d", code)
	}
	for _, want := range []string{"max_age", "nonsense", "unit", "skewgate.yaml:"} {
		if !strings.Contains(b.stderr.String(), want) {
			t.Errorf("stderr lacks %q:\n%s", want, b.stderr.String())
		}
	}
	if entries, err := os.ReadDir(b.path("run")); err == nil && len(entries) > 0 {
		t.Errorf("a refused config left %v behind", entries)
	}
}

func TestMissingFFmpegIsNamed(t *testing.T) {
	b := newBox(t, realtimeLoop())
	b.start("PATH=" + b.dir)
	if code := b.wait(10 * time.Second); code != 1 {
		t.Errorf("exit code: want 1, got %d", code)
	}
	if s := b.stderr.String(); !strings.Contains(s, "ffmpeg") || !strings.Contains(s, "install") {
		t.Errorf("stderr does not name ffmpeg and the cure:\n%s", s)
	}
}

// F12: the second appliance on the same state names the holder; the first goes on.
func TestSecondApplianceIsRefused(t *testing.T) {
	b := newBox(t, realtimeLoop())
	b.start()
	b.until("it fuses", 30*time.Second, func(d *status.Document) bool { return d.Fusion.Published > 10 })
	out, err := exec.Command(program(t), "run", "-c", b.path("skewgate.yaml"), "--run-dir", b.path("run2")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), fmt.Sprintf("process %d", b.cmd.Process.Pid)) {
		t.Errorf("second appliance: err %v, said %s", err, out)
	}
	d, err := b.status()
	if err != nil || d.PID != b.cmd.Process.Pid {
		t.Errorf("the first appliance: %v, %v", d, err)
	}
	b.stop()
}

// A sink whose reader stalls never stops the path; what it lost is counted.
func TestStalledSinkDoesNotStopThePath(t *testing.T) {
	config := strings.Replace(realtimeLoop(), "path: $DIR/out.jsonl", "path: $DIR/pipe", 1)
	b := newBox(t, config)
	if err := unix.Mkfifo(b.path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(b.path("pipe"), os.O_RDWR, 0) // open, and never read
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	b.start()
	d := b.until("the pipe is full and frames still come", 60*time.Second, func(d *status.Document) bool {
		return d.Fusion.Published > 300 && d.Sinks[0].State == "stalled"
	})
	s := d.Sinks[0]
	var lost uint64
	for _, n := range s.Lost {
		lost += n
	}
	if s.Offered != s.Written+s.Queued+lost {
		t.Errorf("offered %d != written %d + queued %d + lost %d", s.Offered, s.Written, s.Queued, lost)
	}
	found := false
	for _, f := range d.Health {
		found = found || f.Code == status.CodeSinkLosing
	}
	if !found {
		t.Errorf("the stalled sink is not among the findings: %+v", d.Health)
	}
	b.stop()
}

// A detector that writes nonsense into its ring is set aside by name, replaced, and
// the others do not notice (R002-6).
func TestWildRingIsReplaced(t *testing.T) {
	b := newBox(t, realtimeLoop())
	b.start()
	before := b.until("both models fuse", 30*time.Second, func(d *status.Document) bool { return camera(d, "shapes").FusedMulti > 30 })
	victim := task(before, "detect/shapes_yolo/0").PID
	// The writer's next message puts its head right again, so wreck it until it was seen.
	for range 2000 {
		if !scribble(t, victim, "memfd:skewgate:ring:shapes_yolo") || strings.Contains(b.stderr.String(), "quarantined") {
			break
		}
		time.Sleep(time.Millisecond)
	}
	b.until("it was replaced and fuses again", 20*time.Second, func(d *status.Document) bool {
		return task(d, "detect/shapes_yolo/0").Start == 2 && model(d, "shapes_yolo").State == "ready" &&
			model(d, "shapes_yolo").Messages > model(before, "shapes_yolo").Messages+60
	})
	d, err := b.status()
	if err != nil {
		t.Fatal(err)
	}
	if r := task(d, "detect/proposals/0").Restarts; r != 0 {
		t.Errorf("the other detector restarted %d times", r)
	}
	if !strings.Contains(b.stderr.String(), "quarantined") {
		t.Errorf("the log does not name the quarantine")
	}
	b.stop()
}

// scribble sets the head word of a ring to all ones through the writer's descriptor; it
// returns false once the writer is gone.
func scribble(t *testing.T, pid int, name string) bool {
	t.Helper()
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		target, err := os.Readlink(l)
		if err != nil || !strings.Contains(target, name) {
			continue
		}
		f, err := os.OpenFile(l, os.O_RDWR, 0)
		if err != nil {
			return false
		}
		defer f.Close()
		header := make([]byte, 64)
		if _, err := f.ReadAt(header, 0); err != nil {
			t.Fatal(err)
		}
		hotAt := int64(header[40]) | int64(header[41])<<8 | int64(header[42])<<16 | int64(header[43])<<24
		if _, err := f.WriteAt([]byte{255, 255, 255, 255, 255, 255, 255, 255}, hotAt); err != nil {
			t.Fatal(err)
		}
		return true
	}
	return false
}

// The second signal ends at once, and children die with the appliance.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	b := newBox(t, realtimeLoop())
	b.start()
	b.until("it fuses", 30*time.Second, func(d *status.Document) bool { return d.Fusion.Published > 10 })
	// A stopped detector cannot answer the drain, so the first signal takes a while.
	d, err := b.status()
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(task(d, "detect/shapes_yolo/0").PID, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	if err := b.cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := b.wait(time.Second); code != 128+15 {
		t.Errorf("exit code after two SIGTERMs: want 143, got %d", code)
	}
	time.Sleep(time.Second)
	if left := b.family(); len(left) != 0 {
		t.Errorf("processes left: %v", left)
	}
}
