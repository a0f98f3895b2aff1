package main

import (
	"bytes"
	"encoding/json"
	"image/jpeg"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// demoCommand is the demo as a user starts it, with dir for what it writes.
func demoCommand(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	films, err := filepath.Abs("../../testdata/models")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program(t), append([]string{"demo", "--films", films, "--out", dir}, args...)...)
	cmd.Env = append(os.Environ(), "SKEWGATE_ONNXRUNTIME="+library(t))
	return cmd
}

// runDemoProgram runs the demo as a user does and returns its summary and its lines.
func runDemoProgram(t *testing.T, dir string, args ...string) (demoSummary, string) {
	t.Helper()
	cmd := demoCommand(t, dir, append([]string{"--json"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("demo: %v\n%s", err, stderr.String())
	}
	var s demoSummary
	d := json.NewDecoder(&stdout)
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		t.Fatalf("the summary is not JSON: %v\n%s", err, stdout.String())
	}
	return s, stderr.String()
}

// The main job, whole: real films, real models, both cameras, against known truth. In
// pace fast every picture of both films is answered, so the figures do not depend on
// how busy the machine is.
func TestDemoAgainstTruth(t *testing.T) {
	dir := t.TempDir()
	snapshots := filepath.Join(dir, "pictures")
	s, lines := runDemoProgram(t, dir, "--sparse", "0", "--frames", "1000", "--pace", "fast", "--snapshot", snapshots)
	if s.Schema != 1 || s.Frames != 1000 || s.Unscored != 0 || s.Restarts != 0 {
		t.Errorf("summary: got schema %d, %d frames, %d unscored, %d restarts", s.Schema, s.Frames, s.Unscored, s.Restarts)
	}
	if s.MixedFrames != 0 {
		t.Errorf("frames joined from different pictures: want 0, got %d", s.MixedFrames)
	}
	if s.ShareFused < 0.98 {
		t.Errorf("share fused from two models: want 0.98 at least, got %v", s.ShareFused)
	}
	if s.SkewMS == nil || s.SkewMS.Count < 900 || s.PathMS == nil || s.PathMS.P50 <= 0 {
		t.Errorf("skew %+v, publish→fused %+v", s.SkewMS, s.PathMS)
	}
	// A little below what the models' READMEs and manifests give for these films.
	want := map[string][2]float64{
		"people": {.90, .90}, "people_small": {.90, .90}, "road": {.90, .90},
		"shapes_yolo": {.85, .85}, "proposals": {.90, .85}, "shapes": {.90, .88},
	}
	for _, c := range s.Cameras {
		if c.Frames < 240 || c.LabelledPictures == 0 {
			t.Errorf("%s: %d frames, %d labelled pictures", c.Name, c.Frames, c.LabelledPictures)
		}
		fused := c.Fused
		fused.Name = c.Name
		for _, m := range append(c.Models, fused) {
			w, ok := want[m.Name]
			if !ok {
				t.Errorf("unexpected score %q", m.Name)
			}
			if m.Precision < w[0] || m.Recall < w[1] || m.Precision > 1 || m.Recall > 1 {
				t.Errorf("%s on %s: want precision %.2f and recall %.2f at least, got %.3f and %.3f", m.Name, c.Name, w[0], w[1], m.Precision, m.Recall)
			}
		}
	}
	if c := s.Cameras[1]; c.Name != "shapes" || c.Unproved != 0 || c.PicturesProved < 2*c.FusedFromTwo {
		t.Errorf("barcodes: %+v", c)
	}
	if !strings.Contains(lines, "publish→fused p99") {
		t.Errorf("no line a second:\n%s", lines)
	}
	checkSnapshots(t, s.Snapshots)
	checkJSONLines(t, filepath.Join(dir, "fused.jsonl"), s.Frames)

	// The second run on the same folders works, and the written config does as well.
	if s, _ := runDemoProgram(t, dir, "--sparse", "0", "--frames", "50", "--pace", "fast"); s.MixedFrames != 0 || s.Frames != 50 {
		t.Errorf("second run: %+v", s)
	}
	if out, err := exec.Command(program(t), "check", "-c", filepath.Join(dir, "skewgate.yaml")).CombinedOutput(); err != nil {
		t.Errorf("the demo's own config: %v\n%s", err, out)
	}
}

// Snapshots are pictures of the right size with white fused boxes in them.
func checkSnapshots(t *testing.T, files []string) {
	t.Helper()
	if len(files) != 2*keptPictures {
		t.Fatalf("snapshots: want %d, got %v", 2*keptPictures, files)
	}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		img, err := jpeg.Decode(f)
		f.Close()
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		b := img.Bounds()
		want := [2]int{640, 360 + legendHeight}
		if strings.HasPrefix(filepath.Base(path), "road") {
			want = [2]int{768, 576 + legendHeight}
		}
		if b.Dx() != want[0] || b.Dy() != want[1] {
			t.Errorf("%s: want %v, got %dx%d", path, want, b.Dx(), b.Dy())
		}
	}
}

// Everything that was fused went out: nothing was lost on the way to the file.
func checkJSONLines(t *testing.T, path string, atLeast int) {
	t.Helper()
	frames := readFrames(t, path)
	if len(frames) < atLeast {
		t.Errorf("%s: want %d lines at least, got %d", path, atLeast, len(frames))
	}
	for i, f := range frames {
		if f.Seq != uint64(i+1) {
			t.Fatalf("line %d has seq %d", i+1, f.Seq)
		}
	}
}

func TestDemoNamesWhatIsMissing(t *testing.T) {
	cmd := exec.Command(program(t), "demo", "--frames", "10")
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--films") {
		t.Errorf("demo without films: err %v, said %s", err, out)
	}
	out, err = exec.Command(program(t), "demo", "--frames", "-1").CombinedOutput()
	if code := exitCode(err); code != exitUsage {
		t.Errorf("--frames -1: want exit %d, got %d: %s", exitUsage, code, out)
	}
	out, err = exec.Command(program(t), "demo", "--sparse", "10001").CombinedOutput()
	if code := exitCode(err); code != exitUsage || !strings.Contains(string(out), "--sparse 10001: want 0 (leave it out) to 10000") {
		t.Errorf("--sparse 10001: want exit %d, got %d: %s", exitUsage, code, out)
	}
}

func exitCode(err error) int {
	if e, ok := err.(*exec.ExitError); ok {
		return e.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}
