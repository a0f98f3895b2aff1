package sink

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const diskEnv = "SKEWGATE_TEST_DISK"

// A disk runs full while frames come, and is freed: the path never waits, what was lost
// is counted as a write error, no half line stays, and lines flow again.
//
// The disk is a tmpfs of 64 KiB in a mount namespace of its own, so the test runs itself
// again inside one.
func TestFullDisk(t *testing.T) {
	if dir := os.Getenv(diskEnv); dir != "" {
		onSmallDisk(t, dir)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), diskEnv+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) || bytes.Contains(out, []byte("mount: not permitted")) {
		t.Skip("skip[mount]: a mount namespace needs root or user namespaces: " + string(out))
	}
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestFullDisk")) {
		t.Fatalf("in the namespace: %v\n%s", err, out)
	}
}

func onSmallDisk(t *testing.T, dir string) {
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
			t.Fatal("mount: not permitted")
		}
		t.Fatal(err)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 32<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "out.jsonl")
	s, stop := running(t, Options{Path: path, MaxSize: 1 << 20, Keep: 1})
	offered := uint64(0)
	offer := func(n int) {
		for range n {
			offered++
			s.Offer(frame(offered))
		}
	}
	offer(500) // about 150 KB for 32 KB of room
	st := await(t, s, "a full disk", func(st Stats) bool { return st.State == StateFailing && st.WriteErrors >= 2 })
	if want := "no space left on device"; !bytes.Contains([]byte(st.Error), []byte(want)) {
		t.Errorf("it says %q, want %q in it", st.Error, want)
	}
	if st.Written == 0 || st.Written >= 500 || st.Repaired == 0 {
		t.Errorf("got %+v, want a part written and a half line repaired", st)
	}
	seqs(t, path) // ends in a whole line, though the disk took half of one
	offer(queueLines)
	if st = s.Stats(); st.Lost[LostWriteError] == 0 || st.Lost[LostQueueFull] != 0 {
		t.Errorf("lost %v, want write errors alone", st.Lost)
	}
	identity(t, st, offered)

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	// What is queued is more than the freed room: what is written is moved away, too.
	written := seqs(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	await(t, s, "writing again", func(got Stats) bool { return got.Written > st.Written+100 })
	stop()
	st = s.Stats()
	identity(t, st, offered)
	after := seqs(t, path)
	all := append(written, after...)
	if uint64(len(all)) != st.Written || !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("%d lines lie on the disk, in order: %t; %d are counted written", len(all), slices.IsSorted(all), st.Written)
	}
	redirected(t, filepath.Join(dir, "stdout"), path)
}

// redirected: standard output into a file on the full disk cannot be cut back, so the
// half line is ended and the whole one follows.
func redirected(t *testing.T, path, room string) {
	if err := os.WriteFile(room, make([]byte, 16<<10), 0o600); err != nil { // in place of the lines
		t.Fatal(err)
	}
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var c counters
	s := &stream{path: "-", fd: fd, counters: &c}
	defer s.close()
	line, err := frame(1).AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	line = append(line, '\n')
	for err == nil {
		err = s.write(line)
	}
	if !errors.Is(err, unix.ENOSPC) || c.repaired.Load() != 1 {
		t.Fatalf("got %v and %d repairs, want a full disk in the middle of a line", err, c.repaired.Load())
	}
	if err := os.Remove(room); err != nil {
		t.Fatal(err)
	}
	if err := s.write(line); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	half := 0
	for l := range bytes.Lines(text) {
		if !bytes.Equal(l, line) {
			half++
			if !bytes.HasPrefix(line, bytes.TrimSuffix(l, []byte("\n"))) {
				t.Errorf("the line %q is neither whole nor the half of one", l)
			}
		}
	}
	if half != 1 || !bytes.HasSuffix(text, line) {
		t.Errorf("%d half lines, want one and a whole line at the end", half)
	}
}

// A disk that stays full ends the appliance in bounded time all the same.
func TestFlushIsBounded(t *testing.T) {
	s, stop := running(t, Options{Path: "/dev/full", MaxSize: 1 << 20, Keep: 1})
	for i := range uint64(10) {
		s.Offer(frame(i))
	}
	await(t, s, "failing", func(st Stats) bool { return st.State == StateFailing })
	stop() // fails after FlushLimit and some
	st := s.Stats()
	identity(t, st, 10)
	if st.Lost[LostWriteError] != 10 || st.State != StateClosed || st.Error == "" {
		t.Errorf("got %+v, want 10 lost to write errors", st)
	}
	s.Offer(frame(11))
	identity(t, s.Stats(), 11)
	if n := s.Stats().Lost[LostShutdown]; n != 1 {
		t.Errorf("%d lost after the end, want 1", n)
	}
}
