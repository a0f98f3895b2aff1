package supervise

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary runs itself as the child: `supervise.test -child ROLE [ARG]`.
const childFlag = "-child"

func TestMain(m *testing.M) {
	if len(os.Args) >= 3 && os.Args[1] == childFlag {
		role, ok := roles[os.Args[2]]
		if !ok {
			fmt.Fprintln(os.Stderr, "no such role", os.Args[2])
			os.Exit(9)
		}
		role(strings.Join(os.Args[3:], " "))
		leave(0)
	}
	os.Exit(m.Run())
}

// job is what the tests' children are told.
type job struct {
	Word string `json:"word"`
}

// leave exits. Under -cover it does so without the runtime's warning, which would be
// one more line of output.
func leave(code int) {
	if testing.CoverMode() != "" {
		unix.Exit(code)
	}
	os.Exit(code)
}

var roles map[string]func(arg string)

func init() {
	roles = map[string]func(string){
		// good is an ordinary child.
		"good": func(string) {
			c := attach()
			must(c.State("warming", nil))
			must(c.Ready(map[string]any{"pid": os.Getpid(), "start": c.Start(), "task": c.Task()}))
			<-c.Done()
			fmt.Fprintln(os.Stderr, "drained")
		},
		// bare neither attaches nor ends, so that it starts fast.
		"bare": func(string) { select {} },
		// exit writes a line and exits with the code it is given, unready.
		"exit": func(code string) {
			fmt.Fprintln(os.Stderr, "cannot go on")
			n, _ := strconv.Atoi(code)
			leave(n)
		},
		// leave says ready and exits 0 unasked.
		"leave": func(string) { c := attach(); must(c.Ready(nil)) },
		// segv is ready, then ends by SIGSEGV.
		"segv": func(string) {
			c := attach()
			for i := range 25 {
				fmt.Fprintln(os.Stderr, "line", i)
			}
			must(c.Ready(nil))
			// The Go runtime would catch it and exit 2; native code ends like this.
			must(unix.Exec("/bin/sh", []string{"sh", "-c", "kill -SEGV $$"}, nil))
		},
		// panic is ready, then ends in a Go panic with more goroutines than lines are kept.
		"panic": func(string) {
			c := attach()
			must(c.Ready(nil))
			debug.SetTraceback("all")
			for range 30 {
				go func() { select {} }()
			}
			time.Sleep(10 * time.Millisecond)
			panic("out of tensors")
		},
		// deaf is ready and takes neither drain nor SIGTERM.
		"deaf": func(string) {
			c := attach()
			signal.Ignore(unix.SIGTERM)
			must(c.Ready(nil))
			select {}
		},
		// word tells the parent its job and what the named file holds.
		"word": func(string) {
			c, err := Attach(&jobIn)
			must(err)
			f, err := c.File("page")
			must(err)
			text := make([]byte, 64)
			n, err := f.ReadAt(text, 0)
			if n == 0 {
				must(err)
			}
			_, missing := c.File("nothing")
			must(c.Ready(map[string]any{"word": jobIn.Word, "page": string(text[:n]), "missing": fmt.Sprint(missing)}))
			<-c.Done()
		},
		// fds tells every open descriptor, looked at before Attach.
		"fds": func(string) {
			open := descriptors()
			env := os.Environ()
			c := attach()
			stdin, _ := os.Readlink("/proc/self/fd/0")
			nnp, _ := os.ReadFile("/proc/thread-self/status")
			must(c.Ready(map[string]any{"fds": open, "env": env, "stdin": stdin, "nnp": strings.Contains(string(nnp), "NoNewPrivs:\t1"),
				"leader": unix.Getpgrp() == os.Getpid()}))
			<-c.Done()
		},
		// inherit runs itself as grandchild "fdlist" in the plainest way after Attach.
		"inherit": func(string) {
			c := attach()
			out, err := self("fdlist").Output()
			must(err)
			must(c.Ready(json.RawMessage(out)))
			<-c.Done()
		},
		"fdlist": func(string) {
			text, err := json.Marshal(descriptors())
			must(err)
			os.Stdout.Write(text)
		},
		// old reports ready for the start before this one, and never for its own.
		"old": func(string) {
			c := attach()
			c.start--
			must(c.Ready(nil))
			select {}
		},
		// nephew lets a grandchild report ready on its socket, and never does itself.
		"nephew": func(string) {
			c := attach()
			socket, err := c.control.File()
			must(err)
			cmd := self("impostor")
			cmd.ExtraFiles = []*os.File{socket}
			cmd.Args = append(cmd.Args, strconv.FormatUint(c.Start(), 10))
			must(cmd.Start())
			<-c.Done()
		},
		"impostor": func(start string) {
			packet := fmt.Sprintf(`{"type":"ready","start":%s}`, start)
			_, err := unix.Write(3, []byte(packet))
			must(err)
			select {}
		},
		// babble sends packets that mean nothing, descriptors among them, then is ready.
		"babble": func(string) {
			c := attach()
			raw, err := c.control.SyscallConn()
			must(err)
			send := func(p, oob []byte) {
				must(raw.Control(func(fd uintptr) {
					for unix.Sendmsg(int(fd), p, oob, nil, 0) == unix.EAGAIN {
						time.Sleep(time.Millisecond)
					}
				}))
			}
			for _, p := range []string{"x", `{"type":"ready","start":-1}`, strings.Repeat("[", 60_000), strings.Repeat("y", 100_000)} {
				send([]byte(p), nil)
			}
			send([]byte("z"), unix.UnixRights(0, 1, 2))
			must(c.Ready(nil))
			<-c.Done()
		},
		// chatter never stops reporting.
		"chatter": func(string) {
			c := attach()
			must(c.Ready(nil))
			for c.State("busy", nil) == nil {
			}
		},
		// flood writes to stderr without a newline, with NULs and bad UTF-8.
		"flood": func(bytes string) {
			c := attach()
			n, err := strconv.Atoi(bytes)
			must(err)
			block := []byte(strings.Repeat("x\x00\xff", 1<<16))
			for n > 0 {
				m, err := os.Stderr.Write(block[:min(n, len(block))])
				must(err)
				n -= m
			}
			must(c.Ready(nil))
			<-c.Done()
		},
		// lines writes that many lines, then is ready.
		"lines": func(count string) {
			c := attach()
			n, err := strconv.Atoi(count)
			must(err)
			out := bufio.NewWriter(os.Stdout)
			for i := range n {
				fmt.Fprintln(out, "line", i)
			}
			must(out.Flush())
			must(c.Ready(nil))
			<-c.Done()
		},
		// family has two grandchildren: a plain one, and one started through a Thread.
		"family": func(string) {
			c := attach()
			plain := self("bare")
			must(plain.Start())
			must(c.Ready([]int{os.Getpid(), plain.Process.Pid, heir()}))
			<-c.Done()
			// Neither is ended here: that is the supervisor's part.
		},
		// lineage has only the one started through a Thread.
		"lineage": func(string) {
			c := attach()
			must(c.Ready([]int{os.Getpid(), heir()}))
			<-c.Done()
		},
		// holder leaves a grandchild outside its group that holds stdout, and dies.
		"holder": func(string) {
			c := attach()
			cmd := self("bare")
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
			must(cmd.Start())
			must(c.Ready(cmd.Process.Pid))
			<-c.Done()
		},
		// orphan closes nothing and waits; only the loss of the socket can end it.
		"orphan": func(string) {
			c := attach()
			must(unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0))
			cmd := self("bare")
			must(cmd.Start())
			must(c.Ready([]int{os.Getpid(), cmd.Process.Pid}))
			select {}
		},
		// supervisor runs two tasks, prints the pids they tell, and waits.
		"supervisor": func(role string) {
			pids := make(chan []int, 2)
			s, err := New(Options{OnEvent: func(e Event) {
				var family []int
				if e.State == StateReady && json.Unmarshal(e.Ready, &family) == nil {
					pids <- family
				}
			}})
			must(err)
			for i := range 2 {
				must(s.Add(Spec{Task: fmt.Sprint("t", i), Path: testBinary(), Args: []string{childFlag, role}}))
			}
			// A supervisor that is not killed in time ends itself.
			timer := time.AfterFunc(patience, func() { os.Exit(7) })
			text, err := json.Marshal(append(<-pids, <-pids...))
			must(err)
			fmt.Println(string(text))
			<-timer.C
		},
	}
	if len(os.Args) >= 3 && os.Args[1] == childFlag && os.Args[2] == "orphan" {
		// PDEATHSIG belongs to the main thread, so that is where the role must run.
		runtime.LockOSThread()
	}
}

var jobIn job

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(8)
	}
}

// heir starts a process that dies with this one, in a group of its own, and returns its pid.
func heir() int {
	thread, err := NewThread()
	must(err)
	p, err := thread.Start(testBinary(), []string{"heir", childFlag, "bare"}, &os.ProcAttr{
		Files: []*os.File{nil, os.Stderr, os.Stderr}, Sys: &unix.SysProcAttr{Setpgid: true}})
	must(err)
	return p.Pid
}

func attach() *Child {
	c, err := Attach(nil)
	must(err)
	return c
}

func self(role string) *exec.Cmd { return exec.Command(testBinary(), childFlag, role) }

// descriptors lists this process's open ones as "fd target".
func descriptors() []string {
	var open []string
	// Read without os.File, whose poller would open descriptors of its own.
	dir, err := unix.Open("/proc/self/fd", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	must(err)
	defer unix.Close(dir)
	buf := make([]byte, 1<<16)
	n, err := unix.ReadDirent(dir, buf)
	must(err)
	_, _, names := unix.ParseDirent(buf[:n], -1, nil)
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd != dir {
			target, _ := os.Readlink("/proc/self/fd/" + name)
			if strings.HasPrefix(target, "/sys/fs/cgroup/") {
				continue // the Go runtime's own, opened before main
			}
			kind, _, _ := strings.Cut(target, ":[")
			open = append(open, name+" "+kind)
		}
	}
	return open
}

// bench is a Supervisor under test with what it told.
type bench struct {
	*Supervisor
	t      *testing.T
	events chan Event
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, events: make(chan Event, 10_000)}
	s, err := New(Options{
		Log:     slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
		OnEvent: func(e Event) { b.events <- e },
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Supervisor = s
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil && err != ErrShutdown {
			t.Error(err)
		}
	})
	return b
}

// spec is a task in role whose back-off is scaled to tests.
func spec(task, role string, args ...string) Spec {
	return Spec{
		Task: task, Path: testBinary(), Args: append([]string{childFlag, role}, args...),
		Backoff: Backoff{FirstNS: int64(10 * time.Millisecond), MaxNS: int64(200 * time.Millisecond)},
	}
}

func testBinary() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

func (b *bench) add(s Spec) {
	b.t.Helper()
	if err := b.Add(s); err != nil {
		b.t.Fatal(err)
	}
}

const patience = 20 * time.Second

// await returns the next event of task in state.
func (b *bench) await(task string, state State) Event {
	b.t.Helper()
	limit := time.After(patience)
	for {
		select {
		case e := <-b.events:
			if e.Task == task && e.State == state && e.Cause != CauseNote {
				return e
			}
		case <-limit:
			b.t.Fatalf("task %s did not become %v within %v; now %+v", task, state, patience, b.Snapshot())
		}
	}
}

func (b *bench) status(task string) TaskStatus {
	b.t.Helper()
	for _, s := range b.Snapshot() {
		if s.Task == task {
			return s
		}
	}
	b.t.Fatalf("no task %s in %+v", task, b.Snapshot())
	return TaskStatus{}
}

func (b *bench) stop(task string) time.Duration {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	began := time.Now()
	if err := b.Stop(ctx, task); err != nil {
		b.t.Fatal(err)
	}
	return time.Since(began)
}

// alive reports a process that is there and no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	after := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
	return !strings.HasPrefix(after, " Z") && !strings.HasPrefix(after, " X")
}

// awaitDead fails unless all pids are gone in time.
func awaitDead(t *testing.T, within time.Duration, pids ...int) {
	t.Helper()
	limit := time.Now().Add(within)
	for _, pid := range pids {
		for alive(pid) {
			if time.Now().After(limit) {
				t.Fatalf("process %d lives %v later", pid, within)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}
