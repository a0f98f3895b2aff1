package supervise

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestChildLife(t *testing.T) {
	b := newBench(t)
	s := spec("detect/people/0", "good")
	s.LastFrame = func() uint64 { return 4711 }
	b.add(s)
	b.await(s.Task, StateWarming)
	ready := b.await(s.Task, StateReady)
	want := fmt.Sprintf(`{"pid":%d,"start":1,"task":"detect/people/0"}`, ready.PID)
	if string(ready.Ready) != want {
		t.Errorf("ready says %s, want %s", ready.Ready, want)
	}
	if st := b.status(s.Task); st.State != StateReady || st.PID != ready.PID || st.ReadyAt != ready.At || string(st.Ready) != want {
		t.Errorf("status %+v", st)
	}
	b.stop(s.Task)
	r := b.await(s.Task, StateExited).Exit
	if r.Cause != CauseStop || r.Code != 0 || r.Signal != 0 || r.PID != ready.PID || r.Start != 1 || r.UpTimeNS <= r.ToReadyNS || r.ToReadyNS <= 0 {
		t.Errorf("record %+v", r)
	}
	if diff := cmp.Diff([]string{"drained"}, r.LastStderr); diff != "" {
		t.Errorf("last lines (-want +got):\n%s", diff)
	}
	if r.MaxRSSBytes < 1<<20 || r.UserNS+r.SystemNS <= 0 || *r.LastFrame != 4711 {
		t.Errorf("accounts %+v", r)
	}
	if st := b.status(s.Task); st.State != StateStopped || st.PID != 0 || st.LastExit != r {
		t.Errorf("status %+v", st)
	}
	if err := b.Start(context.Background(), s.Task); err != nil {
		t.Fatal(err)
	}
	if e := b.await(s.Task, StateReady); e.Start != 2 {
		t.Errorf("start number %d, want 2", e.Start)
	}
}

// The main fault: one child killed, the record says by what, others go on.
func TestKilledChildComesBack(t *testing.T) {
	b := newBench(t)
	s := spec("a", "good")
	s.Backoff = Backoff{} // the real one
	b.add(s)
	first := b.await("a", StateReady)
	b.add(spec("b", "good"))
	b.await("b", StateReady)
	other := b.status("b")

	killed := time.Now()
	if err := unix.Kill(first.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r := b.await("a", StateExited).Exit
	if r.Cause != CauseSignal || r.Signal != 9 || r.SignalName != "SIGKILL" || r.Start != 1 || r.PID != first.PID {
		t.Errorf("record %+v", r)
	}
	if !strings.HasPrefix(r.String(), "killed by SIGKILL (9) after ") {
		t.Errorf("record says %q", r)
	}
	again := b.await("a", StateReady)
	took := time.Since(killed)
	if again.Start != 2 || again.PID == first.PID || took > 3*time.Second {
		t.Errorf("start %d pid %d ready %v after the kill, want start 2 within 3s", again.Start, again.PID, took)
	}
	t.Logf("ready %v after the kill, of it 500ms back-off", took.Round(time.Millisecond))
	if diff := cmp.Diff(other, b.status("b")); diff != "" {
		t.Errorf("the other task was touched (-before +after):\n%s", diff)
	}
}

// F1
func TestSegfaultRecord(t *testing.T) {
	b := newBench(t)
	b.add(spec("a", "segv"))
	r := b.await("a", StateExited).Exit
	if r.Cause != CauseSignal || r.SignalName != "SIGSEGV" || r.ToReadyNS == 0 {
		t.Errorf("record %+v", r)
	}
	if len(r.LastStderr) != 20 {
		t.Errorf("%d lines kept, want 20: %q", len(r.LastStderr), r.LastStderr)
	}
}

// A Go child's stacks are longer than the lines kept; what it died of is known all the same.
func TestPanicHeadline(t *testing.T) {
	b := newBench(t)
	b.add(spec("a", "panic"))
	r := b.await("a", StateExited).Exit
	if r.Cause != CauseCode || r.Code != 2 || r.Headline != "panic: out of tensors" {
		t.Errorf("cause %s, code %d, headline %q", r.Cause, r.Code, r.Headline)
	}
	if len(r.LastStderr) != keptLines || strings.HasPrefix(r.LastStderr[0], "panic") {
		t.Errorf("the stacks are too short to show it: %q", r.LastStderr)
	}
}

// F2
func TestUnexpectedExit(t *testing.T) {
	b := newBench(t)
	b.add(spec("a", "leave"))
	r := b.await("a", StateExited).Exit
	if r.Cause != CauseUnexpectedExit || r.Code != 0 || r.ToReadyNS == 0 {
		t.Errorf("record %+v", r)
	}
	if e := b.await("a", StateReady); e.Start != 2 {
		t.Errorf("restarted as %d, want 2", e.Start)
	}
}

// F3, without the budget: the back-off grows to its longest and the processor rests.
func TestCrashLoopBacksOff(t *testing.T) {
	b := newBench(t)
	s := spec("a", "exit", "3")
	s.Backoff = Backoff{FirstNS: int64(20 * time.Millisecond), MaxNS: int64(300 * time.Millisecond)}
	b.add(s)
	var gotMS []int64
	for len(gotMS) < 7 {
		gotMS = append(gotMS, b.await("a", StateBackoff).BackoffNS/1e6)
	}
	if diff := cmp.Diff([]int64{20, 40, 80, 160, 300, 300, 300}, gotMS); diff != "" {
		t.Errorf("back-off in ms (-want +got):\n%s", diff)
	}
	r := b.status("a").LastExit
	if r.Cause != CauseCode || r.Code != 3 || !cmp.Equal(r.LastStderr, []string{"cannot go on"}) {
		t.Errorf("record %+v", r)
	}
	// Between starts the supervisor does nothing at all.
	s.Task, s.Backoff.FirstNS, s.Backoff.MaxNS = "b", int64(time.Hour), int64(time.Hour)
	b.add(s)
	b.await("b", StateBackoff)
	b.stop("a")
	before := cpuNS(t)
	time.Sleep(500 * time.Millisecond)
	if used := cpuNS(t) - before; used > int64(50*time.Millisecond) {
		t.Errorf("%v of processor time in 500ms of back-off", time.Duration(used))
	}
}

func cpuNS(t *testing.T) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// F5
func TestDeafChildIsKilled(t *testing.T) {
	b := newBench(t)
	s := spec("a", "deaf")
	s.StopTimeoutNS = int64(400 * time.Millisecond)
	b.add(s)
	b.await("a", StateReady)
	took := b.stop("a")
	r := b.await("a", StateExited).Exit
	if r.Cause != CauseStopTimeout || r.SignalName != "SIGKILL" {
		t.Errorf("record %+v", r)
	}
	if took < 400*time.Millisecond || took > 3*time.Second {
		t.Errorf("stop took %v, want the stop timeout of 400ms and little more", took)
	}
}

// F11
func TestStopDuringBackoff(t *testing.T) {
	b := newBench(t)
	s := spec("a", "exit", "1")
	s.Backoff = Backoff{FirstNS: int64(300 * time.Millisecond)}
	b.add(s)
	b.await("a", StateBackoff)
	if took := b.stop("a"); took > 200*time.Millisecond {
		t.Errorf("stop took %v", took)
	}
	b.await("a", StateStopped)
	time.Sleep(500 * time.Millisecond)
	if st := b.status("a"); st.State != StateStopped || st.Start != 1 {
		t.Errorf("later: %+v, want stopped after start 1", st)
	}
}

// F14, F15
func TestReadyOfOthersIsIgnored(t *testing.T) {
	for _, role := range []string{"old", "nephew"} {
		t.Run(role, func(t *testing.T) {
			b := newBench(t)
			s := spec("a", role)
			s.StartTimeoutNS = int64(1500 * time.Millisecond)
			s.Backoff.FirstNS = int64(time.Hour)
			b.add(s)
			r := b.await("a", StateExited).Exit
			if r.Cause != CauseStartTimeout || r.ToReadyNS != 0 || r.IgnoredReports != 1 {
				t.Errorf("record %+v, want start_timeout and one report ignored", r)
			}
			if st := b.status("a"); st.IgnoredReports != 1 || st.Ready != nil {
				t.Errorf("status %+v", st)
			}
		})
	}
}

func TestMalformedReportsAreCounted(t *testing.T) {
	b := newBench(t)
	before := len(openFDs(t))
	b.add(spec("a", "babble"))
	b.await("a", StateReady)
	// The child's three descriptors must not have come along with its packet.
	if got := len(openFDs(t)); got > before+4 {
		t.Errorf("%d descriptors open, %d before the child", got, before)
	}
	b.stop("a")
	if r := b.await("a", StateExited).Exit; r.IgnoredReports != 5 || r.Cause != CauseStop {
		t.Errorf("record %+v, want 5 reports ignored", r)
	}
}

// A child that never stops reporting waits in its own write; it is stopped all the same.
func TestChatterIsBounded(t *testing.T) {
	b := newBench(t)
	s := spec("a", "chatter")
	s.StopTimeoutNS = int64(600 * time.Millisecond)
	b.add(s)
	b.await("a", StateReady)
	time.Sleep(time.Second)
	notes := 0
	for len(b.events) > 0 {
		if e := <-b.events; e.Cause == CauseNote && e.Note == "busy" {
			notes++
		}
	}
	if notes < 10 || notes > reportBurst+60 {
		t.Errorf("%d notes in a second, want the burst of %d and 20 a second", notes, reportBurst)
	}
	if took := b.stop("a"); took > 3*time.Second {
		t.Errorf("stop took %v", took)
	}
}

// F13
func TestStderrFlood(t *testing.T) {
	bytes := 1 << 30
	if testing.Short() {
		bytes = 64 << 20
	}
	b := newBench(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	s := spec("a", "flood", fmt.Sprint(bytes))
	s.StartTimeoutNS = int64(2 * time.Minute)
	if err := b.Add(s); err != nil {
		t.Fatal(err)
	}
	limit := time.Now().Add(time.Minute)
	for b.status("a").State != StateReady {
		if time.Now().After(limit) {
			t.Fatalf("child blocked: %+v", b.status("a"))
		}
		time.Sleep(10 * time.Millisecond)
	}
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	if grown := int64(after.TotalAlloc) - int64(before.TotalAlloc); grown > 4<<20 {
		t.Errorf("%d bytes allocated for %d of output", grown, bytes)
	}
	t.Logf("%d MiB in %v", bytes>>20, took.Round(time.Millisecond))
	b.stop("a")
	r := b.await("a", StateExited).Exit
	if !r.Truncated || len(r.LastStderr) != 1 || !strings.HasPrefix(r.LastStderr[0], `x\x00\xffx\x00\xff`) || !strings.HasSuffix(r.LastStderr[0], cutMark) {
		t.Errorf("truncated %v, lines %.60q", r.Truncated, r.LastStderr)
	}
}

func TestStopKillsTheGroup(t *testing.T) {
	b := newBench(t)
	b.add(spec("a", "family"))
	var pids []int
	if err := json.Unmarshal(b.await("a", StateReady).Ready, &pids); err != nil || len(pids) != 3 {
		t.Fatalf("pids %v: %v", pids, err)
	}
	b.stop("a")
	awaitDead(t, time.Second, pids...)
}

// The same when the child dies by itself.
func TestDeathKillsTheGroup(t *testing.T) {
	b := newBench(t)
	s := spec("a", "family")
	s.Backoff.FirstNS = int64(time.Hour)
	b.add(s)
	var pids []int
	if err := json.Unmarshal(b.await("a", StateReady).Ready, &pids); err != nil || len(pids) != 3 {
		t.Fatalf("pids %v: %v", pids, err)
	}
	if err := unix.Kill(pids[0], unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.await("a", StateBackoff)
	awaitDead(t, time.Second, pids...)
}

func TestHeldOutputDoesNotDelayTheRecord(t *testing.T) {
	b := newBench(t)
	b.add(spec("a", "holder"))
	ready := b.await("a", StateReady)
	var grandchild int
	if err := json.Unmarshal(ready.Ready, &grandchild); err != nil {
		t.Fatal(err)
	}
	defer unix.Kill(grandchild, unix.SIGKILL)
	killed := time.Now()
	if err := unix.Kill(ready.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.await("a", StateExited)
	if took := time.Since(killed); took > outputWait+time.Second {
		t.Errorf("record came %v after the end", took)
	}
	if !alive(grandchild) {
		t.Error("the grandchild is gone, so it held nothing")
	}
}

// F8, R002-13, R002-14
func TestChildrenDieWithTheSupervisor(t *testing.T) {
	for _, tt := range []struct{ role, by string }{
		{"lineage", "PDEATHSIG"},
		{"orphan", "loss of the control socket"},
	} {
		t.Run(tt.role, func(t *testing.T) {
			cmd := self("supervisor")
			cmd.Args = append(cmd.Args, tt.role)
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			text, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			var pids []int
			if err := json.Unmarshal([]byte(text), &pids); err != nil || len(pids) < 4 {
				t.Fatalf("pids %q: %v", text, err)
			}
			for _, pid := range pids {
				if !alive(pid) {
					t.Fatalf("process %d is not there before the kill", pid)
				}
			}
			killed := time.Now()
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			cmd.Wait()
			awaitDead(t, 2*time.Second, pids...)
			t.Logf("all %d gone %v after the kill, by %s", len(pids), time.Since(killed).Round(time.Millisecond), tt.by)
		})
	}
}

// F16: the thread that called Add may end.
func TestChildOutlivesTheAddingThread(t *testing.T) {
	b := newBench(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends here
		b.add(spec("a", "good"))
		b.await("a", StateReady)
	}()
	<-done
	time.Sleep(200 * time.Millisecond)
	if st := b.status("a"); st.State != StateReady || st.Start != 1 {
		t.Errorf("status %+v, want ready in start 1", st)
	}
}

// F17
func TestPermanentErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	// An ELF header for a machine no kernel runs, so that no registered emulator takes it.
	self, err := os.ReadFile(testBinary())
	if err != nil {
		t.Fatal(err)
	}
	self[18], self[19] = 183^0x55, 0x7e
	closed, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()

	for _, tt := range []struct {
		name, path, want string
		files            []File
	}{
		{"missing", filepath.Join(dir, "nothing"), "no such file or directory: missing", nil},
		{"not executable", write("plain", "#!/bin/sh\n", 0o600), "permission denied: not executable", nil},
		{"a folder", dir, "permission denied: not executable", nil},
		{"missing interpreter", write("script", "#!/nowhere/sh\n", 0o700), "interpreter or dynamic loader it names is missing", nil},
		{"wrong architecture", write("elf", string(self), 0o700), "wrong architecture: built for ", nil},
		{"no program", write("text", "hello\n", 0o700), "neither ELF nor a script", nil},
		{"closed file", testBinary(), `file "page" of the spec was closed`, []File{{"page", closed}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			s := spec("a", "good")
			s.Path, s.Files = tt.path, tt.files
			b.add(s)
			b.await("a", StateFailed)
			r := b.status("a").LastExit
			if r.Cause != CausePermanent || r.PID != 0 || !strings.Contains(r.Error, tt.want) || !strings.Contains(r.Error, tt.path) {
				t.Errorf("cause %s, error %q, want permanent with %q", r.Cause, r.Error, tt.want)
			}
			time.Sleep(50 * time.Millisecond)
			if st := b.status("a"); st.Start != 1 || st.State != StateFailed {
				t.Errorf("later: %v in start %d, want failed in start 1", st.State, st.Start)
			}
			b.stop("a")
		})
	}
}

// F17: a program still being written is tried again, and then runs.
func TestBusyProgramIsTriedAgain(t *testing.T) {
	self, err := os.ReadFile(testBinary())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "program")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(self); err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	s := spec("a", "good")
	s.Path = path
	b.add(s)
	r := b.await("a", StateExited).Exit
	if r.Cause != CauseStartError || !strings.Contains(r.Error, "text file busy") {
		t.Errorf("record %+v", r)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	b.await("a", StateReady)
}

// F18
func TestChildInheritsOnlyWhatIsListed(t *testing.T) {
	page, err := os.Create(filepath.Join(t.TempDir(), "page"))
	if err != nil {
		t.Fatal(err)
	}
	defer page.Close()
	// A descriptor somebody left open for exec, as a careless parent of ours may.
	leak, err := unix.Dup(int(page.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leak)
	t.Setenv("SECRET_OF_THE_PARENT", "x")

	b := newBench(t)
	s := spec("a", "fds")
	s.Files = []File{{"one", page}, {"two", page}}
	s.Env = []string{"OF_THE_SPEC=y", "LANG=xx"}
	b.add(s)
	var got struct {
		FDs, Env    []string
		Stdin       string
		NNP, Leader bool
	}
	if err := json.Unmarshal(b.await("a", StateReady).Ready, &got); err != nil {
		t.Fatal(err)
	}
	want := []string{"0 /dev/null", "1 pipe", "2 pipe", "3 socket", "4 " + page.Name(), "5 " + page.Name()}
	if diff := cmp.Diff(want, got.FDs); diff != "" {
		t.Errorf("descriptors (-want +got):\n%s", diff)
	}
	env := strings.Join(got.Env, "\n")
	if strings.Contains(env, "SECRET_OF_THE_PARENT") || !strings.Contains(env, "OF_THE_SPEC=y") || strings.Count(env, "LANG=") != 1 || !strings.Contains(env, "LANG=xx") {
		t.Errorf("environment:\n%s", env)
	}
	if got.Stdin != "/dev/null" || !got.NNP || !got.Leader {
		t.Errorf("stdin %s, no_new_privs %v, leads its group %v", got.Stdin, got.NNP, got.Leader)
	}
	// Borrowed, not taken.
	if _, err := page.Stat(); err != nil {
		t.Errorf("the spec's file: %v", err)
	}
}

// What a child starts after Attach gets neither its socket nor its files.
func TestGrandchildInheritsNothing(t *testing.T) {
	page, err := os.Create(filepath.Join(t.TempDir(), "page"))
	if err != nil {
		t.Fatal(err)
	}
	defer page.Close()
	b := newBench(t)
	s := spec("a", "inherit")
	s.Files = []File{{"page", page}}
	b.add(s)
	var got []string
	if err := json.Unmarshal(b.await("a", StateReady).Ready, &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 {
		t.Errorf("descriptors of the grandchild %q, want 0 to 2", got)
	}
}

// Files and job come along at every start, not only the first.
func TestJobAndFilesAtEveryStart(t *testing.T) {
	page, err := os.Create(filepath.Join(t.TempDir(), "page"))
	if err != nil {
		t.Fatal(err)
	}
	defer page.Close()
	if _, err := page.WriteString("shared"); err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	s := spec("a", "word")
	s.Hello = job{Word: "rtsp://u:p@cam"}
	s.Files = []File{{"page", page}}
	b.add(s)
	for start := range uint64(3) {
		e := b.await("a", StateReady)
		want := `{"missing":"task a was given no file \"nothing\"","page":"shared","word":"rtsp://u:p@cam"}`
		if string(e.Ready) != want || e.Start != start+1 {
			t.Errorf("start %d says %s, want %s", e.Start, e.Ready, want)
		}
		if err := unix.Kill(e.PID, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAttachOutsideASupervisor(t *testing.T) {
	for _, value := range []string{"", "3"} {
		t.Setenv(controlEnv, value)
		if _, err := Attach(nil); !errors.Is(err, ErrNotAChild) {
			t.Errorf("with %s=%q: %v, want ErrNotAChild", controlEnv, value, err)
		}
	}
}

func TestAddRefuses(t *testing.T) {
	b := newBench(t)
	b.add(spec("taken", "bare"))
	for _, tt := range []struct {
		name string
		spec Spec
		want string
	}{
		{"no name", Spec{Path: "/bin/true"}, `task "": a name is`},
		{"name with a newline", Spec{Task: "a\nb", Path: "/bin/true"}, "a name is"},
		{"relative path", Spec{Task: "a", Path: "true"}, "needs an absolute path"},
		{"nil file", Spec{Task: "a", Path: "/x", Files: []File{{"f", nil}}}, `file "f" is not open`},
		{"file twice", Spec{Task: "a", Path: "/x", Files: []File{{"f", os.Stdin}, {"f", os.Stdin}}}, "given twice"},
		{"environment without =", Spec{Task: "a", Path: "/x", Env: []string{"PATH"}}, "not KEY=VALUE"},
		{"negative timeout", Spec{Task: "a", Path: "/x", StartTimeoutNS: -1}, "start timeout of -1ns"},
		{"job too large", Spec{Task: "a", Path: "/x", Hello: strings.Repeat("x", maxPacketBytes)}, "at most 65536"},
		{"job not JSON", Spec{Task: "a", Path: "/x", Hello: func() {}}, "encode job of a"},
		{"name taken", spec("taken", "good"), "there is one of that name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := b.Add(tt.spec); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	if err := b.Stop(context.Background(), "unknown"); !errors.Is(err, ErrNoTask) {
		t.Errorf("stop of an unknown task: %v", err)
	}
	if err := b.Remove(context.Background(), "taken"); err != nil {
		t.Fatal(err)
	}
	b.add(spec("taken", "bare"))
}

// Shutdown kills what is left when its context ends.
func TestShutdownIsBounded(t *testing.T) {
	b := newBench(t)
	b.add(spec("a", "deaf"))
	ready := b.await("a", StateReady)
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := b.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("shutdown took %v", took)
	}
	awaitDead(t, 0, ready.PID)
	if err := b.Add(spec("b", "good")); !errors.Is(err, ErrShutdown) {
		t.Errorf("add after shutdown: %v", err)
	}
}

func openFDs(t *testing.T) []string {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var open []string
	for _, n := range names {
		target, _ := os.Readlink("/proc/self/fd/" + n.Name())
		open = append(open, n.Name()+" "+target)
	}
	return open
}

// A hundred starts and kills leave no descriptor, goroutine or zombie.
func TestNothingLeaks(t *testing.T) {
	b := newBench(t) // opens the poller and pidfd checks of the runtime
	b.add(spec("warm", "good"))
	b.await("warm", StateReady)
	if err := b.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	before := openFDs(t)
	ignore := goleak.IgnoreCurrent()

	b = newBench(t)
	s := spec("a", "bare")
	s.Backoff = Backoff{FirstNS: 1, MaxNS: 1}
	b.add(s)
	for range 100 {
		pid := 0
		for pid == 0 || b.status("a").State != StateStarting {
			pid = b.status("a").PID
			time.Sleep(time.Millisecond)
		}
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		b.await("a", StateExited)
	}
	if err := b.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, openFDs(t)); diff != "" {
		t.Errorf("descriptors (-before +after):\n%s", diff)
	}
	if err := goleak.Find(ignore); err != nil {
		t.Error(err)
	}
	var status syscall.WaitStatus
	if pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil); err != syscall.ECHILD {
		t.Errorf("wait finds child %d (%v), want none", pid, err)
	}
}
