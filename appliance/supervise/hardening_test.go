package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Callers from everywhere at once: nobody waits for ever, no task has two processes, and
// after Shutdown there is none.
func TestManyCallersAtOnce(t *testing.T) {
	var mu sync.Mutex
	living := map[string]int{} // pid by task, between its start and its end
	s, err := New(Options{OnEvent: func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		switch e.State {
		case StateReady:
			if before := living[e.Task]; before != 0 {
				t.Errorf("task %s is ready as %d while %d was not over", e.Task, e.PID, before)
			}
			living[e.Task] = e.PID
		case StateExited:
			if e.Exit == nil || e.Exit.Cause == "" {
				t.Errorf("task %s ended without a record", e.Task)
			}
			delete(living, e.Task)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	until := time.Now().Add(2 * time.Second)
	var callers sync.WaitGroup
	for i := range 8 {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		callers.Go(func() {
			for time.Now().Before(until) {
				name := fmt.Sprint("t", r.IntN(3))
				var err error
				switch r.IntN(6) {
				case 0, 1:
					_ = s.Add(spec(name, "good")) // often there already
				case 2:
					err = s.Start(ctx, name)
				case 3:
					err = s.Stop(ctx, name)
				case 4:
					err = s.Remove(ctx, name)
				case 5:
					for _, st := range s.Snapshot() {
						if st.PID != 0 && st.State == StateReady {
							_ = unix.Kill(st.PID, unix.SIGKILL)
						}
					}
				}
				if err != nil && !errors.Is(err, ErrNoTask) {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	if err := s.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(living) != 0 {
		t.Errorf("after shutdown: %v", living)
	}
}

// blocked is a log destination that takes nothing.
type blocked struct{ release chan struct{} }

func (b blocked) Write(p []byte) (int, error) { <-b.release; return len(p), nil }

// A log nobody reads holds up neither a child's output nor restarts nor the shutdown.
func TestStuckLog(t *testing.T) {
	log := blocked{make(chan struct{})}
	defer close(log.release)
	events := make(chan Event, 10_000)
	s, err := New(Options{Log: slog.New(slog.NewTextHandler(log, nil)), OnEvent: func(e Event) { events <- e }})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{Supervisor: s, t: t, events: events}
	b.add(spec("a", "flood", "20000000"))
	for range 3 {
		e := b.await("a", StateReady)
		if err := unix.Kill(e.PID, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	if err := s.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > journalWait+3*time.Second {
		t.Errorf("shutdown took %v", took)
	}
}

// What a log line costs is bounded: most of a flood of lines is only counted.
func TestLogIsBounded(t *testing.T) {
	counted := &counter{}
	s, err := New(Options{Log: slog.New(slog.NewTextHandler(counted, nil))})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{Supervisor: s, t: t}
	b.add(spec("a", "lines", "100000"))
	limit := time.Now().Add(patience)
	for b.status("a").State != StateReady {
		if time.Now().After(limit) {
			t.Fatal("child blocked")
		}
		time.Sleep(time.Millisecond)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := counted.n; n < lineBurst || n > lineBurst+300 {
		t.Errorf("%d log entries for 100000 lines, want the burst of %d and 10 a second", n, lineBurst)
	}
}

type counter struct{ n int } // the journal's goroutine alone writes; read after its end

func (c *counter) Write(p []byte) (int, error) { c.n++; return len(p), nil }

var _ io.Writer = (*counter)(nil)

// Without pidfd the wait goes by pid, and the zombie is left for finish to reap.
func TestAwaitDeathWithoutPidfd(t *testing.T) {
	cmd := self("bare")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	handle, err := os.FindProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := handle.Release(); err != nil {
		t.Fatal(err)
	}
	p := &process{proc: handle, pid: cmd.Process.Pid}
	dead := make(chan struct{})
	go func() { p.awaitDeath(); close(dead) }()
	select {
	case <-dead:
		t.Fatal("dead while it lives")
	case <-time.After(50 * time.Millisecond):
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-dead:
	case <-time.After(patience):
		t.Fatal("its death was not seen")
	}
	if state, err := cmd.Process.Wait(); err != nil || state.Success() {
		t.Errorf("wait after it: %v, %v; the zombie was not left", state, err)
	}
}

func TestCloseOnExecEach(t *testing.T) {
	fd, err := unix.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := closeOnExecEach(fd); err != nil {
		t.Fatal(err)
	}
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("flags %#x, %v: not close-on-exec", flags, err)
	}
}

// F57: no descriptors left is a reason to try again, and once there are the task runs
// without a hand.
func TestOutOfDescriptors(t *testing.T) {
	b := newBench(t)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	highest, err := unix.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(highest)
	tight := limit
	tight.Cur = uint64(highest) + 1
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &tight); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	b.add(spec("a", "good"))
	r := b.await("a", StateExited).Exit
	if r.Cause != CauseStartError || r.PID != 0 || !strings.Contains(r.Error, "too many open files") {
		t.Errorf("cause %s, error %q", r.Cause, r.Error)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	b.await("a", StateReady)
}

func TestStateText(t *testing.T) {
	for s := range numStates {
		text, err := s.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back State
		if err := back.UnmarshalText(text); err != nil || back != s {
			t.Errorf("%v read back as %v, %v", s, back, err)
		}
	}
	if err := new(State).UnmarshalText([]byte("idle")); err == nil {
		t.Error("a state there is not was read")
	}
}
