package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/status"
)

// The tests of this package run the real programs, built once: skewgate without cgo,
// skewgate-detect with it, ONNX Runtime, ffmpeg, processes and shared memory as shipped.
var programs struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if programs.dir != "" {
		_ = os.RemoveAll(programs.dir)
	}
	os.Exit(code)
}

// program returns the path of skewgate, with skewgate-detect beside it.
func program(t *testing.T) string {
	t.Helper()
	programs.once.Do(func() {
		if programs.dir, programs.err = os.MkdirTemp("", "skewgate-test-"); programs.err != nil {
			return
		}
		for name, cgo := range map[string]string{"skewgate": "0", "skewgate-detect": "1"} {
			cmd := exec.Command("go", "build", "-o", filepath.Join(programs.dir, name), "../"+name)
			cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
			if out, err := cmd.CombinedOutput(); err != nil {
				programs.err = fmt.Errorf("build %s: %w\n%s", name, err, out)
				return
			}
		}
	})
	if programs.err != nil {
		t.Fatal(programs.err)
	}
	return filepath.Join(programs.dir, "skewgate")
}

// library is ONNX Runtime as scripts/fetch-onnxruntime.sh leaves it. Without it these
// tests fail: a skipped end-to-end test proves nothing.
func library(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("SKEWGATE_ONNXRUNTIME"); path != "" {
		return path
	}
	path, err := filepath.Abs("../../.cache/onnxruntime/1.27.0/libonnxruntime.so.1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("ONNX Runtime is missing: run scripts/fetch-onnxruntime.sh (%v)", err)
	}
	return path
}

// box is a folder for one appliance: its config, output, state and sockets.
type box struct {
	t      *testing.T
	dir    string
	args   []string // of run, beside those that every box has
	cmd    *exec.Cmd
	stderr lockedBuffer
	done   chan error
}

// lockedBuffer takes a process's output while the test reads it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newBox writes a config. $MODELS, $DIR and $LIB stand for the folders and the library.
func newBox(t *testing.T, config string) *box {
	t.Helper()
	b := &box{t: t, dir: t.TempDir()}
	b.configure(config)
	film, err := os.ReadFile("../../testdata/models/shapes_video.mp4")
	if err == nil {
		err = os.WriteFile(b.path("film.mp4"), film, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *box) configure(config string) {
	b.t.Helper()
	models, err := filepath.Abs("../../testdata/models")
	if err != nil {
		b.t.Fatal(err)
	}
	config = strings.NewReplacer("$MODELS", models, "$DIR", b.dir, "$LIB", library(b.t)).Replace(config)
	if err := os.WriteFile(b.path("skewgate.yaml"), []byte(config), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) path(name string) string { return filepath.Join(b.dir, name) }

// start runs the appliance; the test's end kills what is still there.
func (b *box) start(env ...string) {
	b.t.Helper()
	b.cmd = exec.Command(program(b.t), append([]string{"run", "-c", b.path("skewgate.yaml"), "--run-dir", b.path("run")}, b.args...)...)
	b.cmd.Env = append(os.Environ(), env...)
	b.cmd.Stderr = &b.stderr
	out, err := os.Create(b.path("stdout"))
	if err != nil {
		b.t.Fatal(err)
	}
	defer out.Close()
	b.cmd.Stdout = out
	if err := b.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.done = make(chan error, 1)
	cmd, done := b.cmd, b.done
	go func() { done <- cmd.Wait() }()
	b.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		if b.t.Failed() {
			b.t.Logf("the appliance said:\n%s", b.stderr.String())
		}
	})
}

// wait returns the exit code, which must come within d.
func (b *box) wait(d time.Duration) int {
	b.t.Helper()
	select {
	case <-b.done:
		return b.cmd.ProcessState.ExitCode()
	case <-time.After(d):
		b.t.Fatalf("the appliance has not ended within %v", d)
		return -1
	}
}

// stop ends the appliance in order and wants exit code 0.
func (b *box) stop() {
	b.t.Helper()
	if err := b.cmd.Process.Signal(unix.SIGTERM); err != nil {
		b.t.Fatal(err)
	}
	if code := b.wait(15 * time.Second); code != 0 {
		b.t.Errorf("exit code after SIGTERM: want 0, got %d", code)
	}
}

// status asks as a user does.
func (b *box) status() (*status.Document, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, program(b.t), "status", "--json", "--run-dir", b.path("run")).Output()
	if err != nil {
		return nil, err
	}
	var d status.Document
	if err := json.Unmarshal(out, &d); err != nil {
		return nil, err
	}
	return &d, nil
}

// until waits for a condition of the status document and returns that document.
func (b *box) until(what string, d time.Duration, ok func(*status.Document) bool) *status.Document {
	b.t.Helper()
	deadline := time.Now().Add(d)
	var last *status.Document
	for time.Now().Before(deadline) {
		select {
		case err := <-b.done:
			b.t.Fatalf("waiting until %s: the appliance ended: %v\n%s", what, err, b.stderr.String())
		default:
		}
		doc, err := b.status()
		if err == nil {
			if last = doc; ok(doc) {
				return doc
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	text, _ := json.MarshalIndent(last, "", " ")
	b.t.Fatalf("not within %v: %s\n%s", d, what, text)
	return nil
}

func camera(d *status.Document, name string) *status.Camera {
	for i := range d.Cameras {
		if d.Cameras[i].Name == name {
			return &d.Cameras[i]
		}
	}
	return &status.Camera{}
}

func model(d *status.Document, name string) *status.Model {
	for i := range d.Models {
		if d.Models[i].Name == name {
			return &d.Models[i]
		}
	}
	return &status.Model{}
}

func task(d *status.Document, name string) *status.Task {
	for i := range d.Tasks {
		if d.Tasks[i].Name == name {
			return &d.Tasks[i]
		}
	}
	return &status.Task{}
}

// family lists the processes that run the test's programs, and any ffmpeg that reads
// this box's film.
func (b *box) family() map[int]string {
	b.t.Helper()
	found := make(map[int]string)
	entries, err := os.ReadDir("/proc")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range entries {
		var pid int
		if _, err := fmt.Sscan(e.Name(), &pid); err != nil {
			continue
		}
		exe, err := os.Readlink(filepath.Join("/proc", e.Name(), "exe"))
		if err != nil {
			continue // gone, a zombie or a kernel thread
		}
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err != nil {
			continue
		}
		text := strings.ReplaceAll(string(line), "\x00", " ")
		if strings.HasPrefix(exe, programs.dir) || strings.HasSuffix(exe, "/ffmpeg") && strings.Contains(text, b.dir) {
			found[pid] = text
		}
	}
	return found
}
