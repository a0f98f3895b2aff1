package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNotAChild is returned by Attach in a program nobody supervises.
var ErrNotAChild = errors.New("not started by skewgate: this program takes its work from a control socket (start it with `skewgate run`)")

const (
	helloTimeout  = 10 * time.Second
	reportTimeout = 5 * time.Second
	// exitOrphaned is the code of a child that lost its parent and leads no group to kill.
	exitOrphaned = 70
)

// Child is this process as its supervisor sees it. Its methods may be called from
// any goroutine.
type Child struct {
	task    string
	start   uint64
	control *net.UnixConn
	files   map[string]*os.File

	writing sync.Mutex
	done    chan struct{}
	drain   sync.Once
}

// Attach takes over the control socket on descriptor 3, reads the job into job (a
// pointer; unknown fields are an error) and the files by their names. Call it once,
// before anything opens descriptors or starts processes: it marks every descriptor
// from 3 on close-on-exec, so that what this process starts inherits none of them.
//
// From then on one goroutine owned by Attach reads the control socket until the
// process ends. When the socket ends, the parent is gone: that goroutine kills the
// whole process group, this process included, or calls os.Exit where this process
// leads no group. Deferred calls do not run then; state that must survive belongs in
// shared memory. SIGTERM counts as a request to drain.
//
// It returns ErrNotAChild when there is no supervisor, and any other error when the
// first packet is not one this release understands.
func Attach(job any) (*Child, error) {
	if os.Getenv(controlEnv) != "3" {
		return nil, ErrNotAChild
	}
	if kind, err := unix.GetsockoptInt(controlFD, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || kind != unix.SOCK_SEQPACKET {
		return nil, fmt.Errorf("%w: %s is set but descriptor 3 is no packet socket", ErrNotAChild, controlEnv)
	}
	if err := os.Unsetenv(controlEnv); err != nil {
		return nil, fmt.Errorf("unset %s: %w", controlEnv, err)
	}
	if err := closeOnExecFrom(controlFD); err != nil {
		return nil, err
	}
	control, err := packetConn(controlFD, "control")
	if err != nil {
		return nil, err
	}
	c := &Child{control: control, done: make(chan struct{})}
	if err := c.readHello(job); err != nil {
		control.Close()
		return nil, err
	}
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, unix.SIGTERM)
	go c.listen()
	go func() {
		<-terms
		c.requestDrain()
	}()
	return c, nil
}

// Task returns the task's name, as "detect/people/0".
func (c *Child) Task() string { return c.task }

// Start returns the number of this start of the task, from 1.
func (c *Child) Start() uint64 { return c.start }

// File returns the inherited file of that name. It stays owned by Child: whoever
// maps or closes it does so once. A name the parent did not give is an error.
func (c *Child) File(name string) (*os.File, error) {
	f, ok := c.files[name]
	if !ok {
		return nil, fmt.Errorf("task %s was given no file %q", c.task, name)
	}
	return f, nil
}

// Ready says that the work can begin, with v (JSON, or nil) about this process for
// the parent's status. Only after it does the start timeout no longer run.
func (c *Child) Ready(v any) error { return c.send("ready", "", v) }

// State reports a step on the way to ready ("building", "warming") or, at any time,
// a note of the child's own naming ("camera_lost") that the parent shows in its
// status. A name is up to 32 of a–z, 0–9 and _; v is JSON detail, or nil. The parent
// reads at most a few notes a second; a caller above that waits.
func (c *Child) State(name string, v any) error {
	if !reportName.MatchString(name) {
		return fmt.Errorf("report state %.40q: a name is 1 to 32 of a-z, 0-9, _", name)
	}
	return c.send("state", name, v)
}

// Done is closed when the parent asks for an orderly end. The process finishes what
// it holds and exits 0; after the stop timeout it is killed.
func (c *Child) Done() <-chan struct{} { return c.done }

func (c *Child) requestDrain() { c.drain.Do(func() { close(c.done) }) }

func (c *Child) readHello(job any) error {
	// The hello is in the socket before this process exists, so waiting for it is
	// only waiting for the kernel.
	if err := c.control.SetReadDeadline(time.Now().Add(helloTimeout)); err != nil {
		return fmt.Errorf("set hello deadline: %w", err)
	}
	packet := make([]byte, maxPacketBytes+1)
	n, err := c.control.Read(packet)
	if err != nil {
		return fmt.Errorf("read hello: %w", err)
	}
	hello, err := decodeHello(packet[:n])
	if err != nil {
		return err
	}
	if err := c.control.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("clear hello deadline: %w", err)
	}
	c.task, c.start = hello.Task, hello.Start
	if job != nil {
		if err := decodeStrict(hello.Job, job); err != nil {
			return fmt.Errorf("decode job of %s: %w", c.task, err)
		}
	}
	c.files = make(map[string]*os.File, len(hello.Files))
	for i, name := range hello.Files {
		fd := firstFileFD + i
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
			return fmt.Errorf("take file %q from descriptor %d: %w", name, fd, err)
		}
		if c.files[name] != nil {
			return fmt.Errorf("take file %q: named twice", name)
		}
		c.files[name] = os.NewFile(uintptr(fd), name)
	}
	return nil
}

// listen reads orders until the parent is gone. Unknown orders are left alone: a
// newer parent may send more than this child knows.
func (c *Child) listen() {
	packet := make([]byte, maxPacketBytes+1)
	for {
		n, err := c.control.Read(packet)
		if err != nil || n == 0 {
			endWithParent()
		}
		var o order
		if json.Unmarshal(packet[:n], &o) == nil && o.Type == "drain" {
			c.requestDrain()
		}
	}
}

// endWithParent does not return. The group goes first, since what this process
// started would outlive it.
func endWithParent() {
	if unix.Getpgrp() == os.Getpid() {
		_ = unix.Kill(0, unix.SIGKILL)
	}
	os.Exit(exitOrphaned)
}

func (c *Child) send(kind, name string, v any) error {
	r := report{Type: kind, Start: c.start, Name: name}
	if v != nil {
		detail, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("encode %s %s: %w", kind, name, err)
		}
		r.Detail = detail
	}
	packet, err := encode(r)
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", kind, name, err)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.control.SetWriteDeadline(time.Now().Add(reportTimeout)); err != nil {
		return fmt.Errorf("set report deadline: %w", err)
	}
	if _, err := c.control.Write(packet); err != nil {
		return fmt.Errorf("report %s %s: %w", kind, name, err)
	}
	return nil
}
