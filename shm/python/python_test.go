package python

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// pythonTests are run with a freshly built C library.
var pythonTests = []struct {
	name string
	run  func(t *testing.T, b *build)
}{
	{"own tests", func(t *testing.T, b *build) { b.suite(t, "yes") }},
	{"own tests without numpy", func(t *testing.T, b *build) { b.suite(t, "no") }},
	{"detector", testDetector},
	{"fused frames", testFusedFrames},
	{"cost of publishing", testCost},
}

func TestPython(t *testing.T) {
	host, err := exec.Command("gcc", "-dumpmachine").Output()
	if err != nil {
		t.Fatalf("gcc: %v (scripts/setup.sh test installs it)", err)
	}
	if strings.HasPrefix(string(host), "aarch64") != (runtime.GOARCH == "arm64") {
		t.Skip("skip[native]: this test is emulated, and Python is not there for the emulated processor")
	}
	b := newBuild(t)
	for _, test := range pythonTests {
		t.Run(test.name, func(t *testing.T) { test.run(t, b) })
	}
}

// build is a C library in a folder of its own, and a Python to load it.
type build struct {
	python, library string
}

func newBuild(t *testing.T) *build {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("make", "-s", "-C", "../c", "OUT="+dir, "CC=gcc", "all").CombinedOutput(); err != nil {
		t.Fatalf("make the C library: %v\n%s", err, out)
	}
	return &build{findPython(t), filepath.Join(dir, "libskewgate_shm.so")}
}

// findPython takes the first Python that has numpy: half of the binding's code is for it.
func findPython(t *testing.T) string {
	t.Helper()
	tried := []string{cmp.Or(os.Getenv("SKEWGATE_PYTHON"), "python3"), "/usr/bin/python3"}
	for _, python := range tried {
		if exec.Command(python, "-c", "import numpy").Run() == nil {
			return python
		}
	}
	t.Fatalf("none of %q is a Python with numpy: scripts/setup.sh test installs python3-numpy, SKEWGATE_PYTHON may name another", tried)
	return ""
}

// command prepares Python with arguments. Warnings are errors, and nothing is left in the tree.
func (b *build) command(env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(b.python, append([]string{"-W", "error", "-B"}, args...)...)
	cmd.Env = append(append(os.Environ(), "SKEWGATE_SHM_LIB="+b.library, "PYTHONPATH=."), env...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// suite runs the binding's own tests, each as one of ours.
func (b *build) suite(t *testing.T, numpy string) {
	cmd := b.command([]string{"SKEWGATE_TEST_NUMPY=" + numpy}, "-m", "tests")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	told, done := 0, -1
	for lines := bufio.NewScanner(bytes.NewReader(stdout)); lines.Scan(); {
		var line struct {
			Test, Text string
			OK         bool
			Done       *int
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("line %q: %v", lines.Text(), err)
		}
		if line.Done != nil {
			done = *line.Done
			continue
		}
		told++
		t.Run(strings.TrimPrefix(line.Test, "tests."), func(t *testing.T) {
			if !line.OK {
				t.Error(line.Text)
			}
		})
	}
	if err != nil || told != done || done < 50 {
		t.Errorf("python -m tests: %v, %d tests told, %d run, want some 80\n%s", err, told, done, &stderr)
	}
}

// plainCallNS is what a plain call of tests.timing takes where the bounds of testCost were set
// and publishing bytes takes 1.42 µs.
const plainCallNS = 209

// testCost holds publishing to its bounds. Other load makes calls slower and never faster,
// so the quickest round is judged; the medians are for reading. On a slower machine a call
// may take as many plain calls as the bound is worth; `skewbench python` has the bounds as
// they are.
func testCost(t *testing.T, b *build) {
	out, err := b.command(nil, "-m", "tests.timing").Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Python string
		NS     map[string]struct{ Median, Low, High, Times float64 }
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for name, ns := range got.NS {
		t.Logf("Python %s, %-24s median %5.0f ns, rounds of %.0f to %.0f, %.1f plain calls", got.Python, name, ns.Median, ns.Low, ns.High, ns.Times)
	}
	for name, boundNS := range map[string]float64{"bytes": 3000, "bytearray": 3000, "numpy, BOX_DTYPE": 3000, "list of 8": 6000, "list of 8, of a frame": 6000} {
		if ns, ok := got.NS[name]; !ok || ns.Low > boundNS && ns.Times > boundNS/plainCallNS {
			t.Errorf("publish %s: want at most %.0f ns a call in the quickest round, or %.1f plain calls, got %+v", name, boundNS, boundNS/plainCallNS, ns)
		}
	}
}
