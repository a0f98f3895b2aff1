package config

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/skewgate/skewgate/shm"
)

const small = `unit: box
state_dir: state
correlation: {quantum: 0s, timeout: 1.5s}
cameras:
  - {name: gate, source: film.mp4, match: bucket}
  - {name: far, source: "rtsp://${GATE_USER}:p%40w@h:8554/s?ch=1", fps: 29.97, max_picture: 640x360}
models:
  - {name: one, manifest: net.yaml, cameras: [gate, far], classes: {0: person, "a b": car}}
  - {name: two, manifest: net.yaml, cameras: [far], weight: 0.5, unmapped: pass}
sinks:
  - jsonl: {path: out/a.jsonl, max_size: 64MiB, keep: 0}
  - jsonl: {path: "-"}
`

func TestLoad(t *testing.T) {
	dir := workshop(t)
	cfg, problems := Load(write(t, dir, "c.yaml", small), testOptions(t))
	if len(problems) != 0 {
		t.Fatalf("problems: %v, want none", problems)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	network := Manifest{Model: in("net.onnx"), Layout: LayoutYOLOv8, Threshold: 0.25, NMSIoU: 0.5, MaxBoxes: 300}
	want := &Config{
		Unit: "box", StateDir: in("state"), File: in("c.yaml"),
		Runtime: Runtime{Threads: 1, FFmpeg: "ffmpeg"},
		Path:    Path{Wait: WaitAdaptive, Sched: SchedOther},
		Correlation: Correlation{
			Timeout: 1500 * time.Millisecond, MaxAge: 2 * time.Second, MaxPending: 4096,
			Match: MatchAuto, HungAfter: 5 * time.Second,
		},
		Cameras: []Camera{
			{Name: "gate", Source: NewSource(in("film.mp4")), Pace: PaceRealtime, Tag: TagNone, MaxPicture: Picture{1920, 1080}, Match: MatchBucket},
			{Name: "far", Source: NewSource("rtsp://admin:p%40w@h:8554/s?ch=1"), FPS: 29.97, Pace: PaceRealtime, Tag: TagNone, MaxPicture: Picture{640, 360}},
		},
		Models: []Model{
			{Name: "one", Command: CommandBuiltin, Manifest: in("net.yaml"), Replicas: Replicas{1, 1, 1}, Cameras: []string{"gate", "far"}, Weight: 1, Classes: map[string]string{"0": "person", "a b": "car"}, Unmapped: UnmappedPass, MaxBoxes: 300, Network: network},
			{Name: "two", Command: CommandBuiltin, Manifest: in("net.yaml"), Replicas: Replicas{1, 1, 1}, Cameras: []string{"far"}, Weight: 0.5, Unmapped: UnmappedPass, MaxBoxes: 300, Network: network},
		},
		Fusion: Fusion{Algorithm: AlgorithmWBF, IoU: 0.55, Rule: RuleAvgPresent, MinModels: 1},
		Sinks:  []Sink{{JSONL: &JSONL{Path: in("out/a.jsonl"), MaxSize: 64 << 20}}, {JSONL: &JSONL{Path: "-", MaxSize: 100_000_000, Keep: 5}}},
	}
	if diff := cmp.Diff(want, cfg, cmp.AllowUnexported(Source{}), cmpopts.IgnoreUnexported(Config{})); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	if want, got := MatchBucket, cfg.ResolvedMatch(&cfg.Cameras[0]); want != got {
		t.Errorf("gate is matched by %s, want %s", got, want)
	}
	if want, got := "${GATE_USER} x", cfg.Redact("admin x"); want != got {
		t.Errorf("redacted to %q, want %q", got, want)
	}
}

// The same text with CRLF line ends and a byte order mark is the same config.
func TestLoadTakesWindowsText(t *testing.T) {
	dir := workshop(t)
	want, problems := Load(write(t, dir, "c.yaml", small), testOptions(t))
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	got, problems := Load(write(t, dir, "c.yaml", "\uFEFF"+strings.ReplaceAll(small, "\n", "\r\n")), testOptions(t))
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Source{}), cmpopts.IgnoreUnexported(Config{})); diff != "" {
		t.Errorf("config (-LF +CRLF):\n%s", diff)
	}
}

func TestLoadRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, path, want string }{
		{"nothing", filepath.Join(dir, "gone.yaml"), "no such file"},
		{"folder", dir, "it is a folder"},
		{"FIFO", fifo, "it is a FIFO"}, // and does not wait for a writer
		{"device", "/dev/zero", "it is a device"},
		{"large", write(t, dir, "large.yaml", strings.Repeat("#\n", maxFileBytes/2+1)), "larger than"},
	} {
		cfg, problems := Load(row.path, testOptions(t))
		if cfg != nil || len(problems) != 1 || !strings.Contains(problems[0].Text, row.want) || problems[0].Cure == "" {
			t.Errorf("%s: got %v, want one problem with %q and a cure", row.name, problems, row.want)
		}
	}
}

// Files made to cost much are refused, and in good time. F51
func TestLoadIsBounded(t *testing.T) {
	bomb := "a0: &a0 x\n"
	for i := 1; i < 30; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d, *a%d, *a%d]\n", i, i, i-1, i-1, i-1)
	}
	full := func(s string) string { return strings.Repeat(s, (maxFileBytes-100)/len(s)) }
	deep := ""
	for i := range 300 {
		deep += strings.Repeat(" ", i) + "a:\n"
	}
	for name, text := range map[string]string{
		"alias bomb":      bomb,
		"quotes":          full("\""),
		"anchors":         full("&a "),
		"brackets":        full("["),
		"braces":          full("{a: "),
		"entries":         full("- "),
		"questions":       full("? "),
		"lists":           "a:\n" + full("- 1\n"),
		"keys":            full("unit: x\n"),
		"colons":          full(":"),
		"documents":       full("---\n"),
		"deep":            deep,
		"long key":        "unit: x\n" + full("k") + ": 1\n",
		"long text":       "unit: " + full("k") + "\n",
		"many wrong keys": strings.Repeat("correlation: {a: 1, b: 2}\nq: [1]\n", 1000),
		"variables":       "unit: \"" + strings.Repeat("${SEVEN}", 500) + "\"\n",
	} {
		file := write(t, t.TempDir(), "c.yaml", text)
		begun := time.Now()
		cfg, problems := Load(file, testOptions(t))
		if took := time.Since(begun); took > 5*time.Second { // 0.1 s alone; -race on a full machine is slower
			t.Errorf("%s took %s", name, took)
		}
		if cfg != nil || len(problems) > maxProblems+1 {
			t.Errorf("%s: got %d problems and config %v, want 1 to %d and none", name, len(problems), cfg, maxProblems+1)
		}
	}
}

func TestManifestProblems(t *testing.T) {
	sum := fmt.Sprintf("%x", sha256.Sum256(proposals(t)))
	for _, row := range []struct{ name, text, want string }{
		{"fine", "model: net.onnx\nlayout: yolov8\nsha256: \"" + strings.ToUpper(sum) + "\"\nnames: [a, b]\n", ""},
		{"empty", "", "m.yaml:1:1: error: the file is empty; start from docs/config.example.yaml or docs/manifest.example.yaml"},
		{"nothing needed", "threshold: 0.5\n", "m.yaml:1:1: error: layout: missing; say how the network lays out its outputs, such as layout: yolov8|m.yaml:1:1: error: model: missing; name the ONNX file, such as model: people.onnx"},
		{"bounds", "model: net.onnx\nlayout: yolov8\nthreshold: 1.1\nnms_iou: -1\nmax_boxes: 1001\nnames: [\"\"]\n",
			`m.yaml:3:12: error: threshold: "1.1" is out of bounds; take 0 to 1|m.yaml:4:10: error: nms_iou: "-1" is out of bounds; take 0 to 1|m.yaml:5:12: error: max_boxes: "1001" is out of bounds; take 1 to 1000|m.yaml:6:9: error: names[0]: "" is no name of a class; write 1 to 128 bytes of text`},
		{"other layout", "model: net.onnx\nlayout: yolox\n", `m.yaml:2:9: error: layout: "yolox" is not in this version: YOLOX; take one of yolov8`},
		{"gone", "model: gone.onnx\nlayout: yolov8\n", "m.yaml:1:8: error: model: open gone.onnx: no such file or directory; correct the path (it counts from the manifest's folder) or put the file there"},
		{"folder", "model: .\nlayout: yolov8\n", "m.yaml:1:8: error: model: . is not a file; name the ONNX file itself"},
		{"no sum", "model: net.onnx\nlayout: yolov8\nsha256: abc\n", `m.yaml:3:9: error: sha256: "abc" is not a SHA-256; write its 64 hex digits, as sha256sum prints them`},
		{"other sum", "model: broken.onnx\nlayout: yolov8\nsha256: \"" + sum + "\"\n", "SHA-256"},
		{"unknown", "model: net.onnx\nlayout: yolov8\nname: [a]\n", "m.yaml:3:1: error: name: unknown key; did you mean names?"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := workshop(t)
			m, problems := LoadManifest(write(t, dir, "m.yaml", row.text), testOptions(t))
			var lines []string
			for _, p := range problems {
				lines = append(lines, strings.ReplaceAll(strings.ReplaceAll(p.String(), dir+"/", ""), dir, "."))
			}
			got := strings.Join(lines, "|")
			if row.name == "other sum" {
				if !strings.HasPrefix(got, "m.yaml:3:9: error: sha256: broken.onnx has SHA-256 ") {
					t.Errorf("got %q", got)
				}
			} else if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if (m == nil) != HasErrors(problems) {
				t.Errorf("manifest %v with %v", m, problems)
			}
		})
	}
}

// Spin with fifo is right where a core is isolated for it.
func TestSpinFIFOWithAnIsolatedCore(t *testing.T) {
	opts := testOptions(t)
	opts.IsolatedCPUs = write(t, t.TempDir(), "isolated", "3\n")
	text := "path: {wait: spin, sched: fifo}\n" + small
	if _, problems := Load(write(t, workshop(t), "c.yaml", text), opts); len(problems) != 0 {
		t.Errorf("problems: %v, want none", problems)
	}
}

// What the rings hold bounds what the config may say.
func TestBoundsAreThoseOfTheRings(t *testing.T) {
	if maxName != shm.MaxName || maxCameras > shm.MaxStreams {
		t.Errorf("names of %d bytes and %d cameras a model, the rings hold %d and %d", maxName, maxCameras, shm.MaxName, shm.MaxStreams)
	}
}

func TestPlaces(t *testing.T) {
	env := func(pairs ...string) func(string) (string, bool) {
		return func(name string) (string, bool) {
			i := slices.Index(pairs, name)
			if i < 0 {
				return "", false
			}
			return pairs[i+1], true
		}
	}
	for _, row := range []struct{ name, want, got string }{
		{"state of root", "/var/lib/skewgate", DefaultStateDir(0, env())},
		{"state by XDG", "/s/skewgate", DefaultStateDir(7, env("XDG_STATE_HOME", "/s", "HOME", "/h"))},
		{"state by HOME", "/h/.local/state/skewgate", DefaultStateDir(7, env("XDG_STATE_HOME", "relative", "HOME", "/h"))},
		{"state of nobody", "", DefaultStateDir(7, env())},
		{"sockets of root", "/run/skewgate", SocketsDir(0, env())},
		{"sockets by XDG", "/r/skewgate", SocketsDir(7, env("XDG_RUNTIME_DIR", "/r"))},
		{"sockets of nobody", "", SocketsDir(7, env())},
	} {
		if row.want != row.got {
			t.Errorf("%s: got %q, want %q", row.name, row.got, row.want)
		}
	}
	dir := t.TempDir()
	exe := filepath.Join(dir, "bin", "skewgate")
	var r Runtime
	if path, tried := r.FindDetect(exe); path != "" || len(tried) != 1 {
		t.Errorf("found %q in %v, want nothing in one place", path, tried)
	}
	cache := filepath.Join(dir, ".cache/onnxruntime/1.27.0")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	want := write(t, cache, "libonnxruntime.so.1", "")
	if got, _ := r.FindLibrary(exe, env()); want != got {
		t.Errorf("found %q, want the checkout's %q", got, want)
	}
	if got, tried := r.FindLibrary(exe, env(libraryEnv, "/gone.so")); got != "" || !slices.Equal(tried, []string{"/gone.so"}) {
		t.Errorf("found %q in %v, want nothing but the named one looked at", got, tried)
	}
}

func TestNearest(t *testing.T) {
	known := []string{"timeout", "max_age", "max_pending", "match", ""}
	for in, want := range map[string]string{
		"timeot": "timeout", "tiemout": "timeout", "maxage": "max_age", "mtach": "match",
		"zoom": "", "": "", "x": "", strings.Repeat("timeout", 20): "",
	} {
		if got := nearest(in, known); want != got {
			t.Errorf("nearest to %q is %q, want %q", in, got, want)
		}
	}
}
