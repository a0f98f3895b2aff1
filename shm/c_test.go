package shm

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// The C library in shm/c is built here with every compiler it is made for and tried
// against this package, which is the judge: what one side writes the other one reads.

// cTests are run with each toolchain.
var cTests = []struct {
	name string
	run  func(t *testing.T, c *cBuild)
}{
	{"own tests", testCOwn},
	{"numbers", testCNumbers},
	{"C writes, Go reads", testCWrites},
	{"Go writes, C reads", testCReads},
	{"unsealed", testCUnsealed},
	{"site", testCSite},
	{"same bytes", testCSameBytes},
	{"golden", testCGolden},
	{"pictures", testCPictures},
	{"fused frames", testCFused},
	{"wake-up", testCWakes},
	{"killed writers", testCKilled},
	{"reader accounts for all", testCFollows},
	{"hostile process", testCHostileProcess},
	{"attach", testCAttach},
	{"attach refused", testCAttachRefused},
	{"attach anew", testCAttachAnew},
	{"hostile appliance", testCHostileAppliance},
	{"output ring", testCOutput},
	{"example detector", testCExampleDetector},
	{"example of JSON", testCExampleJSON},
}

func TestC(t *testing.T) {
	for _, tc := range cToolchains(t) {
		t.Run(tc.name, func(t *testing.T) {
			c := tc.build(t)
			for _, test := range cTests {
				t.Run(test.name, func(t *testing.T) { test.run(t, c) })
			}
		})
	}
}

// cToolchain is a way to build the C library and to run what was built.
type cToolchain struct {
	name string
	make []string // variables
	run  []string // what a program is run by
	// sanitized programs stop at the first access out of bounds or undefined step.
	sanitized bool
}

type cBuild struct {
	cToolchain
	dir string // of the programs and libraries
}

// cToolchains lists what this machine's processor can run. Under the race detector, which
// looks at our side, one is enough.
func cToolchains(t *testing.T) []cToolchain {
	t.Helper()
	host, err := exec.Command("gcc", "-dumpmachine").Output()
	if err != nil {
		t.Fatalf("gcc: %v (scripts/setup.sh test installs it)", err)
	}
	gcc := cToolchain{name: "gcc", make: []string{"CC=gcc"}}
	clang := cToolchain{name: "clang", make: []string{"CC=clang"}}
	safe := cToolchain{name: "gcc sanitized", sanitized: true,
		make: []string{"CC=gcc", "CFLAGS=-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"}}
	arm := cToolchain{name: "arm64", make: []string{"CC=aarch64-linux-gnu-gcc", "EXEFLAGS=-static"}, run: []string{"qemu-aarch64-static"}}
	native := strings.HasPrefix(string(host), "aarch64") == (runtime.GOARCH == "arm64")
	switch {
	case raceEnabled:
		return []cToolchain{safe}
	case !native: // this very test is emulated
		return []cToolchain{arm}
	case runtime.GOARCH == "arm64":
		return []cToolchain{gcc, clang, safe}
	}
	return []cToolchain{gcc, clang, safe, arm}
}

func (tc cToolchain) build(t *testing.T) *cBuild {
	t.Helper()
	c := &cBuild{tc, t.TempDir()}
	c.runMake(t, "all", "peer")
	return c
}

func (c *cBuild) runMake(t *testing.T, args ...string) {
	t.Helper()
	args = append([]string{"-s", "-C", "c", "OUT=" + c.dir}, append(c.make, args...)...)
	if out, err := exec.Command("make", args...).CombinedOutput(); err != nil {
		t.Fatalf("make %q: %v (scripts/setup.sh test installs the compilers)\n%s", args, err, out)
	}
}

// command prepares a program with files from descriptor 3 on.
func (c *cBuild) command(program string, files []*os.File, args ...string) *exec.Cmd {
	line := append(append([]string{}, c.run...), append([]string{filepath.Join(c.dir, program)}, args...)...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.ExtraFiles = files
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

func (c *cBuild) start(t *testing.T, program string, files []*os.File, args ...string) *exec.Cmd {
	t.Helper()
	cmd := c.command(program, files, args...)
	startC(t, cmd)
	return cmd
}

func startC(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
}

// output runs a verb of the test program to its end.
func (c *cBuild) output(t *testing.T, files []*os.File, args ...string) string {
	t.Helper()
	out, err := c.command("peer", files, args...).Output()
	if err != nil {
		t.Fatalf("peer %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// A cDriver is a C process that does what it is told, a line at a time.
type cDriver struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (c *cBuild) drive(t *testing.T, files ...*os.File) *cDriver {
	t.Helper()
	cmd := c.command("peer", files, "drive")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	startC(t, cmd)
	return &cDriver{t: t, cmd: cmd, in: in, out: bufio.NewReader(out)}
}

func (d *cDriver) ask(format string, args ...any) string {
	d.t.Helper()
	line := fmt.Sprintf(format, args...)
	if _, err := fmt.Fprintln(d.in, line); err != nil {
		d.t.Fatalf("ask %q: %v", line, err)
	}
	answer, err := d.out.ReadString('\n')
	if err != nil {
		d.t.Fatalf("ask %q: no answer: %v", line, err)
	}
	return strings.TrimSuffix(answer, "\n")
}

func (d *cDriver) want(want, format string, args ...any) {
	d.t.Helper()
	if got := d.ask(format, args...); got != want {
		d.t.Fatalf("%s: want %q, got %q", fmt.Sprintf(format, args...), want, got)
	}
}

// wantPrefix is for answers that end in a text for people; want may hold what it must say.
func (d *cDriver) wantError(code int, reason, text, format string, args ...any) {
	d.t.Helper()
	got := d.ask(format, args...)
	if !strings.HasPrefix(got, fmt.Sprintf("error %d %s ", code, reason)) || !strings.Contains(got, text) {
		d.t.Fatalf("%s: want error %d %s with %q, got %q", fmt.Sprintf(format, args...), code, reason, text, got)
	}
}

// end closes the driver's input and wants it to leave in order: with nothing leaked, if
// it was built to see that.
func (d *cDriver) end() {
	d.t.Helper()
	_ = d.in.Close()
	if err := d.cmd.Wait(); err != nil {
		d.t.Fatalf("driver: %v", err)
	}
}
