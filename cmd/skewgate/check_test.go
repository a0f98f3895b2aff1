package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skewgate/skewgate/shm"
)

// said is how one run of the program ended.
type said struct {
	code           int
	stdout, stderr string
}

// say runs the program in dir, with nothing of this test's environment but PATH and env.
func say(t *testing.T, dir string, env []string, args ...string) said {
	t.Helper()
	cmd := exec.Command(program(t), args...)
	cmd.Dir, cmd.Env = dir, append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exitErr := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exitErr) {
		t.Fatal(err)
	}
	return said{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// checkConfig is right where $MODELS is testdata/models and CAM_PASS is set.
const checkConfig = `unit: box
state_dir: state
correlation: {match: bucket, quantum: 10ms}
cameras:
  - {name: road, source: $MODELS/people/people.mp4, fps: 10}
  - {name: far, source: "rtsp://admin:${CAM_PASS}@10.0.0.5/s", match: auto}
models:
  - {name: people, manifest: $MODELS/people.yaml, cameras: [road, far]}
sinks:
  - jsonl: {path: out/fused.jsonl, max_size: 64MiB, keep: 2}
`

func checkFolder(t *testing.T, name, text string) string {
	t.Helper()
	models, err := filepath.Abs("../../testdata/models")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text = strings.ReplaceAll(text, "$MODELS", models)
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCheckSaysWhatWouldRun(t *testing.T) {
	dir := checkFolder(t, "skewgate.yaml", checkConfig) // found without -c
	got := say(t, dir, []string{"CAM_PASS=sesame"}, "check")
	if got.code != 0 || got.stderr != "" {
		t.Fatalf("code %d, stderr %q; want 0 and nothing", got.code, got.stderr)
	}
	for _, want := range []string{
		"skewgate.yaml: ok\n", "people.mp4, at most 10 pictures/s; waits for people\n", "by bucket of 10ms, a picture every 100ms: mixes no two pictures; splits none\n",
		"rtsp://admin:***@10.0.0.5/s; waits for people\n", "by frame_id: mixes no two pictures, splits none\n", filepath.Join(dir, "out/fused.jsonl") + ", up to 67108864B", "state in " + filepath.Join(dir, "state"),
	} {
		if !strings.Contains(strings.ReplaceAll(got.stdout, "64MiB", "67108864B"), want) {
			t.Errorf("stdout lacks %q:\n%s", want, got.stdout)
		}
	}
	if lines := strings.Count(got.stdout, "\n"); lines > 24 {
		t.Errorf("%d lines do not fit on a screen", lines)
	}

	got = say(t, dir, []string{"CAM_PASS=sesame"}, "check", "--json", "-c", "skewgate.yaml")
	var c checked
	if err := json.Unmarshal([]byte(got.stdout), &c); err != nil || got.code != 0 {
		t.Fatalf("code %d, %v:\n%s", got.code, err, got.stdout)
	}
	if c.Schema != 1 || !c.OK || c.Errors != 0 || c.Problems == nil || c.Plan == nil || len(c.Plan.Cameras) != 2 || *c.Plan.Cameras[0].MixAboveMS != 90 {
		t.Errorf("got %+v with plan %+v", c, c.Plan)
	}
	if strings.Contains(got.stdout, "sesame") {
		t.Errorf("a secret is shown:\n%s", got.stdout)
	}
}

// What attaches by itself is told as such, with what its settings can do, and the memory
// is foretold.
func TestCheckSaysWhoMayAttach(t *testing.T) {
	text := strings.Replace(checkConfig, "sinks:\n", "  - {name: mine, command: attach, cameras: [far], allow: {uid: [1001, 1002]}}\nsinks:\n  - shm: {slots: 256}\n", 1)
	dir := checkFolder(t, "skewgate.yaml", strings.Replace(text, "match: auto}", "match: auto, fps: 20}", 1))
	got := say(t, dir, []string{"CAM_PASS=sesame"}, "check")
	for _, want := range []string{
		"/s, at most 20 pictures/s; waits for people, mine\n", "by bucket of 10ms, a picture every 50ms: mixes two pictures above 40ms of capture skew; a capture skew of s ms, which only a run shows for mine, splits s/10 of the pictures\n",
		`warning: cameras[1]: camera "far" takes a picture every 50ms and is matched by buckets of 10ms: above 40ms of capture skew two pictures can be mixed`, "take match: window with a window above that skew and below 25ms",
		"attaches by itself (root and the appliance's own user, uid 1001 1002), weight 1, on far", "output ring of 256 slots", "MiB of shared memory: frame rings ",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("stdout lacks %q:\n%s", want, got.stdout)
		}
	}
	c := checkJSON(t, dir)
	if m := c.Plan.Models[1]; m.Command != "attach" || len(m.UIDs) != 2 || c.Plan.Memory.Frames == 0 || c.Plan.Memory.Kept == 0 || c.Plan.Memory.Output == 0 || len(c.Plan.Cameras[1].OwnCapture) != 1 {
		t.Errorf("plan: %+v", c.Plan)
	}
}

// A window, with its numbers and the offsets, in the table and as JSON.
func TestCheckSaysHowAWindowMatches(t *testing.T) {
	text := strings.Replace(checkConfig, "sinks:\n", "  - {name: mine, command: attach, cameras: [far], offset: {far: 40.5ms}}\nsinks:\n", 1)
	dir := checkFolder(t, "skewgate.yaml", strings.Replace(text, "match: auto}", "match: window, window: 12ms, fps: 25, expected: [mine]}", 1))
	got := say(t, dir, []string{"CAM_PASS=sesame"}, "check")
	for _, want := range []string{
		"skewgate.yaml: ok\n", "/s, at most 25 pictures/s; waits for mine\n",
		"by window of 12ms, a picture every 40ms, less 40.5ms of mine: mixes no two pictures and splits none up to 12ms of capture skew; splits above it, can mix from 28ms on\n",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("stdout lacks %q:\n%s", want, got.stdout)
		}
	}
	c := checkJSON(t, dir)
	road, far := c.Plan.Cameras[0], c.Plan.Cameras[1]
	if far.Match != "window" || *far.WindowMS != 12 || *far.IntervalMS != 40 || *far.MixAboveMS != 28 || *far.SplitAboveMS != 12 || far.OffsetMS["mine"] != 40.5 || far.QuantumMS != nil {
		t.Errorf("far: %+v", far)
	}
	if road.Match != "bucket" || *road.QuantumMS != 10 || *road.IntervalMS != 100 || *road.SplitAboveMS != 0 || road.WindowMS != nil || len(road.OffsetMS) != 0 {
		t.Errorf("road: %+v", road)
	}
}

// Every problem at once, code 78, in text and as JSON. F51, F53
func TestCheckSaysAllThatIsWrong(t *testing.T) {
	text := strings.Replace(checkConfig, "correlation: {match: bucket, quantum: 10ms}", "correlation:\n  timeout: 2s\n  max_age: 2s\n  quantums: 1ms\nunit: again", 1)
	dir := checkFolder(t, "my.yaml", text)
	got := say(t, dir, nil, "check", "-c", "my.yaml")
	want := `my.yaml:5:12: error: correlation.max_age: max_age (2s) is not greater than timeout (2s): every frame would be dropped as stale before its timeout publishes it; raise max_age or lower timeout
my.yaml:6:3: error: correlation.quantums: unknown key; did you mean quantum?
my.yaml:7:1: error: unit: duplicate key, first at line 1; keep one of the two
my.yaml:10:25: error: cameras[1].source: the environment variable CAM_PASS is not set; set CAM_PASS for the process that runs skewgate (in a systemd unit: EnvironmentFile=)
my.yaml: 4 errors, 0 warnings
`
	if got.code != 78 || got.stdout != want {
		t.Errorf("code %d, want 78; stdout:\n%s\nwant:\n%s", got.code, got.stdout, want)
	}
	got = say(t, dir, nil, "check", "-c", "my.yaml", "--json")
	var c checked
	if err := json.Unmarshal([]byte(got.stdout), &c); err != nil {
		t.Fatalf("%v:\n%s", err, got.stdout)
	}
	if got.code != 78 || c.OK || c.Errors != 4 || len(c.Problems) != 4 || c.Plan != nil || c.Problems[0].Line != 5 || c.Problems[0].Col != 12 {
		t.Errorf("code %d, got %+v", got.code, c)
	}
}

// A camera that is not there is a warning: code 0.
func TestCheckWarns(t *testing.T) {
	dir := checkFolder(t, "skewgate.yaml", strings.Replace(checkConfig, "people.mp4", "gone.mp4", 1))
	got := say(t, dir, []string{"CAM_PASS=x"}, "check")
	if got.code != 0 || !strings.Contains(got.stdout, "warning: cameras[0].source: ") || !strings.Contains(got.stdout, "ok, 1 warning\n") {
		t.Errorf("code %d:\n%s", got.code, got.stdout)
	}
}

func TestConfigFlag(t *testing.T) {
	dir := t.TempDir()
	for _, row := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"none", []string{"check"}, 78, "name one with -c"},
		{"gone", []string{"check", "-c", "gone.yaml"}, 78, "gone.yaml: error: read config: no such file"},
		{"run with none", []string{"run"}, 78, "name one with -c"},
		{"unknown flag", []string{"check", "--nonsense"}, 2, "--nonsense"},
		{"argument", []string{"check", "skewgate.yaml"}, 2, "skewgate check --help"},
	} {
		got := say(t, dir, nil, row.args...)
		if got.code != row.code || !strings.Contains(got.stdout+got.stderr, row.want) {
			t.Errorf("%s: code %d, want %d; said %s%s, want %q in it", row.name, got.code, row.code, got.stdout, got.stderr, row.want)
		}
	}
}

func TestVersion(t *testing.T) {
	got := say(t, t.TempDir(), nil, "version", "--json")
	var v versions
	if err := json.Unmarshal([]byte(got.stdout), &v); err != nil || got.code != 0 {
		t.Fatalf("code %d, %v: %s", got.code, err, got.stdout)
	}
	if v.Schema != 1 || v.Version == "" || !strings.HasPrefix(v.Go, "go1.") || v.ABI != shm.Version || v.Schemas["fused_frame"] != 1 || v.Schemas["status"] != 1 {
		t.Errorf("got %+v", v)
	}
	if text := say(t, t.TempDir(), nil, "version"); !strings.HasPrefix(text.stdout, "skewgate "+v.Version+"\n") {
		t.Errorf("got %s", text.stdout)
	}
	stamped := filepath.Join(t.TempDir(), "skewgate")
	if out, err := exec.Command("go", "build", "-ldflags", "-X main.version=v9.8.7 -X main.commit=abcdef", "-o", stamped, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command(stamped, "version").Output(); err != nil || !strings.HasPrefix(string(out), "skewgate v9.8.7\ncommit       abcdef") {
		t.Errorf("stamped v9.8.7 of abcdef, says %s (%v)", out, err)
	}
}

// checkJSON is what check says of a good config as JSON.
func checkJSON(t *testing.T, dir string) (c checked) {
	t.Helper()
	got := say(t, dir, []string{"CAM_PASS=sesame"}, "check", "--json")
	if err := json.Unmarshal([]byte(got.stdout), &c); err != nil || got.code != 0 {
		t.Fatalf("code %d, %v:\n%s", got.code, err, got.stdout)
	}
	return c
}
