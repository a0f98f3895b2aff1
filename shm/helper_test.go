package shm

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// A test that needs a second process runs this very binary again with a role.
const roleEnv = "SHM_TEST_ROLE"

var roles = map[string]func(args []string) error{
	"flood":    floodRole,
	"scribble": scribbleRole,
	"poke":     pokeRole,
	"ringer":   ringerRole,
	"sleeper":  sleeperRole,
	"film":     filmRole,
	"stream":   streamRole,
	"probed":   probedRole,
	"tight":    tightRole,
	"no room":  noRoomRole,
}

func TestMain(m *testing.M) {
	role := os.Getenv(roleEnv)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := roles[role](os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "role", role+":", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// spawn starts role in a process of its own, with files from descriptor 3 on. Under
// qemu-user without binfmt the kernel cannot run the binary, so the emulator is named.
func spawn(t testing.TB, role string, files []*os.File, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	build := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), roleEnv+"="+role)
		cmd.ExtraFiles = files
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		return cmd
	}
	cmd := build(self, args...)
	err = cmd.Start()
	if errors.Is(err, syscall.ENOEXEC) && runtime.GOARCH == "arm64" {
		qemu, lookErr := exec.LookPath("qemu-aarch64-static")
		if lookErr != nil {
			t.Skipf("skip[emulated]: two processes: this binary is emulated, and %v", lookErr)
		}
		cmd = build(qemu, append([]string{self}, args...)...)
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd
}

// mapFD maps descriptor fd, inherited from the test.
func mapFD(fd int, writable bool) ([]byte, error) {
	s, err := MapSegment(os.NewFile(uintptr(fd), "fd"+strconv.Itoa(fd)), writable)
	if err != nil {
		return nil, err
	}
	return s.Bytes(), nil
}

func newSegment(t testing.TB, bytes int, format func([]byte) error) *Segment {
	t.Helper()
	s, err := CreateSegment(t.Name(), bytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := format(s.Bytes()); err != nil {
		t.Fatal(err)
	}
	return s
}

// readOnly maps s as any reader does: through an O_RDONLY descriptor.
func readOnly(t testing.TB, s *Segment) []byte {
	t.Helper()
	f, err := s.OpenReadOnly()
	if err != nil {
		t.Fatal(err)
	}
	ro, err := MapSegment(f, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ro.Close() })
	return ro.Bytes()
}

// count is n, or what the environment variable asks for, or a tenth of n under -short,
// or a quarter under the race detector, which makes everything several times slower.
func count(t testing.TB, env string, n int) int {
	t.Helper()
	if s := os.Getenv(env); s != "" {
		v, err := strconv.Atoi(s)
		if err != nil || v <= 0 {
			t.Fatalf("%s=%q: want a positive number", env, s)
		}
		return v
	}
	if testing.Short() {
		return max(1, n/10)
	}
	if raceEnabled {
		return max(1, n/4)
	}
	return n
}

// eventually polls f for as long as a loaded machine may need.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	deadline := time.Now().Add(3 * time.Minute) // the long run under load takes one
	for !f() {
		if time.Now().After(deadline) {
			t.Fatalf("waited 3 minutes for %s", what)
		}
		runtime.Gosched()
	}
}

func wantReason(t *testing.T, err error, want Reason) {
	t.Helper()
	var q *QuarantineError
	if !errors.As(err, &q) || !errors.Is(err, ErrQuarantine) {
		t.Fatalf("want quarantine for %s, got %v", want, err)
	}
	if q.Reason != want {
		t.Fatalf("want reason %s, got %v", want, err)
	}
}
