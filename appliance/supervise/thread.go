package supervise

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// ErrThreadClosed is returned by Thread.Start after Close.
var ErrThreadClosed = errors.New("spawn thread is closed")

// Thread is one operating-system thread that starts processes. PDEATHSIG fires when
// the thread that forked ends, not the process, and the Go runtime ends threads as it
// likes; so processes that must die with this one are started here.
//
// Whoever makes a Thread keeps it until all it started have been waited for.
type Thread struct {
	jobs   chan func()
	closed chan struct{}
	gone   chan struct{}
}

// threadQueue bounds the starts that wait for the thread. The supervisor has one
// start under way a task, so it never fills.
const threadQueue = maxTasks

// NewThread starts the thread. What it starts, and what those start, can gain no
// privileges by running setuid programs (no_new_privs is a thread's attribute that
// fork inherits; the rest of this process is not touched).
func NewThread() (*Thread, error) {
	t := &Thread{jobs: make(chan func(), threadQueue), closed: make(chan struct{}), gone: make(chan struct{})}
	ready := make(chan error, 1)
	go t.run(ready)
	if err := <-ready; err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Thread) run(ready chan<- error) {
	// Never unlocked: the thread ends with this goroutine and is not used again.
	runtime.LockOSThread()
	defer close(t.gone)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		ready <- fmt.Errorf("set no_new_privs: %w (requires Linux >= 3.5)", err)
		return
	}
	ready <- nil
	for {
		select {
		case job := <-t.jobs:
			job()
		case <-t.closed:
			return
		}
	}
}

// Start starts path with argv (argv[0] included) so that it is killed when this
// process ends; attr.Sys may already hold other settings. The process is not in a
// group of its own unless attr says so.
func (t *Thread) Start(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	type started struct {
		proc *os.Process
		err  error
	}
	result := make(chan started, 1)
	err := t.enqueue(func() {
		proc, err := startHere(path, argv, attr)
		result <- started{proc, err}
	})
	if err != nil {
		return nil, err
	}
	select {
	case s := <-result:
		return s.proc, s.err
	case <-t.gone:
		return nil, ErrThreadClosed
	}
}

// enqueue has job run on the thread and does not wait for it.
func (t *Thread) enqueue(job func()) error {
	select {
	case <-t.closed:
		return ErrThreadClosed
	default:
	}
	select {
	case t.jobs <- job:
		return nil
	default:
		return fmt.Errorf("%d starts are waiting for the spawn thread", threadQueue)
	}
}

// startHere must run on the Thread.
func startHere(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	withSignal := *attr
	var sys unix.SysProcAttr
	if attr.Sys != nil {
		sys = *attr.Sys
	}
	sys.Pdeathsig = unix.SIGKILL
	withSignal.Sys = &sys
	return os.StartProcess(path, argv, &withSignal)
}

// Close ends the thread, and with it every process it started that still runs.
func (t *Thread) Close() {
	close(t.closed)
	<-t.gone
}
