package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// All three kinds of detectors as a user of the demo sees them: the timeout while they are
// silent, and much less when they are not.
func TestDemoSparseDetectors(t *testing.T) {
	dir := t.TempDir()
	buildC(t, "../../shm/c", filepath.Join(dir, "c"))
	s, lines := runDemoProgram(t, dir, "--frames", "5", "--sparse", "25", "--c-library", filepath.Join(dir, "c"))
	if s.Sparse == nil || s.Sparse.TimeoutMS != 300 || s.Sparse.Frames != 25 || len(s.Sparse.Detectors) != 3 {
		t.Fatalf("summary: %+v", s.Sparse)
	}
	for i, name := range []string{"managed", "C", "Python"} {
		r := &s.Sparse.Detectors[i]
		if r.Detector != name || r.NotRun != "" || r.Problem != "" || r.Found == nil || r.SlowestMS == nil {
			t.Fatalf("%s: got %+v", name, r)
		}
		t.Logf("%s: finds in %.2f, silent %.1f ms, empty answers %.1f ms, progress %.1f ms, slowest detector %.1f ms", name, *r.Found, *r.SilentMS, *r.AnswersMS, *r.ProgressMS, *r.SlowestMS)
		if *r.SilentMS < 300 || *r.AnswersMS > 150 || *r.ProgressMS > 150 {
			t.Errorf("%s: want the timeout of 300 ms while it is silent and less than half of it else, got %.1f, %.1f and %.1f", name, *r.SilentMS, *r.AnswersMS, *r.ProgressMS)
		}
		if *r.AnswersMS < *r.SlowestMS {
			t.Errorf("%s: with empty answers a frame takes %.3f ms, less than its slowest detector, %.3f ms", name, *r.AnswersMS, *r.SlowestMS)
		}
		if *r.Found > 0.4 {
			t.Errorf("%s finds something in %.0f %% of the pictures: it is not sparse", name, 100**r.Found)
		}
		if !strings.Contains(lines, "sparse detectors, "+name+": says nothing") {
			t.Errorf("no line for %s:\n%s", name, lines)
		}
	}
	if left := listing(t, filepath.Join(dir, "sparse")); !slices.Equal(left, []string{"rare.yaml", "skewgate.yaml"}) {
		t.Errorf("left behind: %v", left)
	}
}

// A detector that does not send empty answers shows, by row, problem and exit code; and one
// whose language is not here is named with what brings it.
func TestDemoSparseDetectorThatStaysSilent(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "source")
	if err := os.CopyFS(source, os.DirFS("../../shm/c")); err != nil {
		t.Fatal(err)
	}
	example := filepath.Join(source, "example_detector.c")
	text, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	answers := []byte(`else if (found || strcmp(says, "answers") == 0)`)
	if bytes.Count(text, answers) != 1 {
		t.Fatalf("%s has no %q", example, answers)
	}
	if err := os.WriteFile(example, bytes.Replace(text, answers, []byte("else if (found)"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	buildC(t, source, filepath.Join(dir, "c"))

	cmd := demoCommand(t, dir, "--frames", "5", "--sparse", "12", "--c-library", filepath.Join(dir, "c"))
	cmd.Env = append(cmd.Env, "SKEWGATE_PYTHON=python-that-is-not-here")
	out, err := cmd.CombinedOutput()
	if code := exitCode(err); code != exitFindings {
		t.Errorf("want exit code %d, got %d", exitFindings, code)
	}
	table := string(out)
	if i := strings.Index(table, "detectors that find something in few pictures"); i >= 0 {
		table = table[i:]
	}
	for _, want := range []string{
		"problem: C: empty answers did not make the latency fall: 3",
		"skewgate: C: empty answers did not make the latency fall: 3",
		"not run: python-that-is-not-here not found: install it (`apt-get install python3`)",
		"managed",
		"\n5 frames fused in", // the films are shown all the same
	} {
		if !strings.Contains(table, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if strings.Contains(table, "problem: managed") || strings.Contains(table, "problem: Python") {
		t.Errorf("a problem where there is none:\n%s", out)
	}
}

// Ctrl-C while a foreign detector is measured: an orderly end, and nothing is left.
func TestDemoSparseInterrupted(t *testing.T) {
	dir := t.TempDir()
	buildC(t, "../../shm/c", filepath.Join(dir, "c"))
	cmd := demoCommand(t, dir, "--c-library", filepath.Join(dir, "c"))
	var said lockedBuffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for begun := time.Now(); len(naming(t, filepath.Join(dir, "c"))) < 2; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > 60*time.Second {
			t.Fatalf("the detector in C does not start:\n%s", said.String())
		}
	}
	if err := cmd.Process.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if err != nil || !strings.Contains(said.String(), "interrupted before the films began") {
			t.Errorf("after SIGINT: %v\n%s", err, said.String())
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("it has not ended within 20 s of SIGINT:\n%s", said.String())
	}
	if left := naming(t, dir); len(left) != 0 {
		t.Errorf("processes left: %v", left)
	}
	if left := listing(t, filepath.Join(dir, "sparse")); !slices.Equal(left, []string{"rare.yaml", "skewgate.yaml"}) {
		t.Errorf("files left: %v", left)
	}
}

// naming lists the processes that name something under a folder: the demo itself does too.
func naming(t *testing.T, dir string) (found []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		if line, err := os.ReadFile(path); err == nil && bytes.Contains(line, []byte(dir)) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// What is missing is said with what brings it, part by part.
func TestSparsePeersNameWhatIsMissing(t *testing.T) {
	empty, built, checkout := t.TempDir(), t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(built, "example_detector"), filepath.Join(built, "libskewgate_shm.so")} {
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		name, cc, python string
		o                demoOptions
		want             [2]string // of C and Python
	}{
		{"no C library", "true", "true", demoOptions{cLibrary: empty}, [2]string{
			empty + "/example_detector not found: build it with `make -C shm/c`",
			empty + "/libskewgate_shm.so not found: build it with `make -C shm/c`",
		}},
		{"no compiler", "nocc", "true", demoOptions{cLibrary: empty}, [2]string{
			empty + "/example_detector not found: install a C compiler (`apt-get install gcc libc6-dev make`) and build it with `make -C shm/c`",
			empty + "/libskewgate_shm.so not found: install a C compiler (`apt-get install gcc libc6-dev make`) and build it with `make -C shm/c`",
		}},
		{"no Python", "true", "nopython", demoOptions{cLibrary: built}, [2]string{
			"", "nopython not found: install it (`apt-get install python3`)",
		}},
		{"no example", "true", "true", demoOptions{cLibrary: built, checkout: checkout}, [2]string{
			"", checkout + "/shm/python/examples/sparse.py not found: name the films of a whole checkout with --films",
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Setenv("CC", row.cc)
			t.Setenv("SKEWGATE_PYTHON", row.python)
			for i, p := range sparsePeers(row.o) {
				if got := p.missing(); got != row.want[i] {
					t.Errorf("%s: want %q, got %q", p.name, row.want[i], got)
				}
			}
		})
	}
}

func TestSparseRowJudges(t *testing.T) {
	figure := func(ms float64) *float64 { return &ms }
	for _, row := range []struct {
		name                      string
		silent, answers, progress float64
		want                      string
	}{
		{"it fell", 300.2, 12, 13, ""},
		{"to just half", 300, 150, 150, ""},
		{"nobody waited", 299.9, 12, 13, "frames did not wait for it while it was silent: 299.9 ms, the timeout is 300.0 ms"},
		{"not by answers", 300.2, 300.1, 13, "empty answers did not make the latency fall: 300.1 ms in place of 300.2 ms"},
		{"not by progress", 300.2, 12, 150.2, "progress did not make the latency fall: 150.2 ms in place of 300.2 ms"},
	} {
		r := sparseRow{Detector: "x", SilentMS: figure(row.silent), AnswersMS: figure(row.answers), ProgressMS: figure(row.progress)}
		r.judge(300 * time.Millisecond)
		if want := strings.TrimSuffix("x: "+row.want, "x: "); r.Problem != want {
			t.Errorf("%s: want %q, got %q", row.name, want, r.Problem)
		}
	}
}

// A recording without a model's empty answers: its frames wait for the timeout, or close by
// what was promised for it, each at its own instant.
func TestSparseRecordingReplays(t *testing.T) {
	const head = `{"config":{"quantum_ms":25,"timeout_ms":300,"max_age_ms":2000,"max_pending":256,"emit_empty":true,"expected":["dense","rare"],"match":"frame_id"}}` + "\n"
	var b strings.Builder
	b.WriteString(head)
	of := &sparseFigure{ids: make(map[sparseID]bool)}
	for i := 1; i <= 10; i++ {
		at := 1000 * i
		say := func(ms int, model, boxes string) {
			fmt.Fprintf(&b, `{"now_ms":%d,"msg":{"unit":"u","camera":"c","model":%q,"timestamp":%d,"epoch":1,"frame_id":"%d"%s}}`+"\n", ms, model, at, i, boxes)
		}
		say(at, "dense", "")
		if i%5 == 0 {
			say(at+7, "rare", "") // found something
		} else {
			say(at+7, "rare", `,"boxes":[]`)
		}
		fmt.Fprintf(&b, `{"now_ms":%d,"watermark":{"unit":"u","camera":"c","model":"rare","ts_ms":%d,"epoch":1}}`+"\n", at+9, at)
		if i > 1 { // the first is none of those that are asked for
			of.ids[sparseID{1, uint64(i)}] = true
			of.waits = append(of.waits, 7*time.Millisecond)
		}
	}
	r := &sparseRecording{}
	r.lines.WriteString(b.String())
	for _, row := range []struct {
		name     string
		model    string
		promises bool
		wait     time.Duration // of a frame in which it found nothing
	}{
		{"as it was", "nobody", true, 7 * time.Millisecond},
		{"silent", "rare", false, 300 * time.Millisecond},
		{"promised for", "rare", true, 9 * time.Millisecond},
	} {
		got, err := r.replay(of, row.model, row.promises)
		if err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		var want []time.Duration
		for i := 2; i <= 10; i++ {
			if i%5 == 0 {
				want = append(want, 7*time.Millisecond)
			} else {
				want = append(want, row.wait)
			}
		}
		slices.Sort(want)
		slices.Sort(got.waits)
		if !slices.Equal(got.waits, want) {
			t.Errorf("%s: want %v, got %v", row.name, want, got.waits)
		}
	}
	of.ids[sparseID{2, 3}], of.waits = true, append(of.waits, 0)
	if _, err := r.replay(of, "rare", false); err == nil || !strings.Contains(err.Error(), "it closed 9 frames of 10") {
		t.Errorf("a frame that is not there: %v", err)
	}
	if _, err := (&sparseRecording{}).replay(of, "rare", false); err == nil {
		t.Error("an empty recording replays")
	}
}
