package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/clock"
)

const (
	// orderTimeout bounds the write of an order to a child that does not read.
	orderTimeout = 100 * time.Millisecond
	// outputWait bounds how long the end of the output, and that of the reports, is
	// waited for once the child and its group are dead: a descendant outside the group
	// may hold the pipe or the socket.
	outputWait = 200 * time.Millisecond
	// Reports read from one child: a burst, then 20 a second; beyond that it waits.
	reportBurst      = 64
	reportIntervalNS = int64(50 * time.Millisecond)
)

// process is one start of a task. It belongs to the task's goroutine; three goroutines
// of its own wait for what the kernel tells by blocking: its end, its output, its words.
// All three end in finish.
type process struct {
	start   uint64
	pid     int
	proc    *os.Process
	control *net.UnixConn
	stdout  *os.File // read end of fd 1 and 2
	output  output

	dead      chan struct{} // closed when it is a zombie, not yet reaped
	outputEnd chan struct{}
	words     chan report // closed never; the reader leaves on closing
	wordsEnd  chan struct{}
	closing   chan struct{}
	ignored   atomic.Uint64
}

// launch starts s on the calling thread, which must be the spawn Thread. Nothing is
// left behind when it fails. The files of s are used and stay open.
func launch(s *Spec, start uint64, job json.RawMessage, null *os.File) (*process, error) {
	hello, err := s.hello(start, job)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPermanent, err)
	}
	p := &process{
		start: start,
		dead:  make(chan struct{}), outputEnd: make(chan struct{}),
		words: make(chan report), wordsEnd: make(chan struct{}), closing: make(chan struct{}),
	}
	stdoutChild, err := p.openOutput()
	if err != nil {
		return nil, err
	}
	defer stdoutChild.Close()
	controlChild, err := p.openControl(hello)
	if err != nil {
		p.stdout.Close()
		return nil, err
	}
	defer controlChild.Close()

	files := []*os.File{null, stdoutChild, stdoutChild, controlChild}
	for _, f := range s.Files {
		if f.F.Fd() == ^uintptr(0) {
			err = fmt.Errorf("%w: file %q of the spec was closed; it must stay open until the task is removed", errPermanent, f.Name)
		}
		files = append(files, f.F)
	}
	// What this process was given without close-on-exec must not reach the child.
	err = errors.Join(err, closeOnExecFrom(controlFD))
	if err == nil {
		argv := append([]string{filepath.Base(s.Path)}, s.Args...)
		attr := &os.ProcAttr{Env: s.environment(), Files: files, Sys: &unix.SysProcAttr{Setpgid: true}}
		p.proc, err = startHere(s.Path, argv, attr)
	}
	if err != nil {
		p.stdout.Close()
		p.control.Close()
		return nil, err
	}
	p.pid = p.proc.Pid
	return p, nil
}

func (p *process) openOutput() (child *os.File, err error) {
	p.stdout, child, err = os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open output pipe: %w", err)
	}
	return child, nil
}

// openControl makes the control socket with the hello already in it, so the child never
// waits for the parent.
func (p *process) openControl(hello []byte) (child *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open control socket: %w", err)
	}
	child = os.NewFile(uintptr(pair[1]), "control")
	// The kernel then says with every packet which process sent it.
	if err := unix.SetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_PASSCRED, 1); err != nil {
		unix.Close(pair[0])
		child.Close()
		return nil, fmt.Errorf("ask for senders on the control socket: %w", err)
	}
	if p.control, err = packetConn(pair[0], "control"); err != nil {
		child.Close()
		return nil, err
	}
	if err := p.send(hello); err != nil {
		p.control.Close()
		child.Close()
		return nil, err
	}
	return child, nil
}

func (p *process) send(packet []byte) error {
	if err := p.control.SetWriteDeadline(time.Now().Add(orderTimeout)); err != nil {
		return fmt.Errorf("set order deadline: %w", err)
	}
	if _, err := p.control.Write(packet); err != nil {
		return fmt.Errorf("send order: %w", err)
	}
	return nil
}

// watch starts the three goroutines. onLine is called from the output's.
func (p *process) watch(onLine func(line)) {
	go func() {
		defer close(p.dead)
		p.awaitDeath()
	}()
	go func() {
		defer close(p.outputEnd)
		p.output.drain(p.stdout, onLine)
	}()
	go func() {
		defer close(p.wordsEnd)
		p.readWords()
	}()
}

// awaitDeath returns when the process has ended, and leaves it a zombie: its pid and
// its group's id stay taken until finish has killed the group and reaped it.
func (p *process) awaitDeath() {
	wait := func(idType, id int) {
		for {
			err := unix.Waitid(idType, id, nil, unix.WEXITED|unix.WNOWAIT, nil)
			if !errors.Is(err, unix.EINTR) {
				return // dead; or ECHILD, and then there is nothing to wait for either
			}
		}
	}
	if err := p.proc.WithHandle(func(pidfd uintptr) { wait(unix.P_PIDFD, int(pidfd)) }); err != nil {
		// No pidfd before Linux 5.4. The pid serves as well while only finish reaps.
		wait(unix.P_PID, p.pid)
	}
}

// readWords passes the child's reports on until the socket ends. Slow reading is what
// bounds a child that floods: it waits in its own write.
func (p *process) readWords() {
	packet := make([]byte, maxPacketBytes+1)
	oob := make([]byte, unix.CmsgSpace(unix.SizeofUcred))
	limit := limiter{burst: reportBurst, intervalNS: reportIntervalNS}
	for {
		if waitNS := limit.take(clock.Now()); waitNS > 0 {
			select {
			case <-time.After(time.Duration(waitNS)):
				continue
			case <-p.closing:
				return
			}
		}
		n, oobn, flags, _, err := p.control.ReadMsgUnix(packet, oob)
		if err != nil || n == 0 {
			return
		}
		r, err := decodeReport(packet[:n])
		if err != nil || n > maxPacketBytes || flags&unix.MSG_TRUNC != 0 || r.Start != p.start || sender(oob[:oobn]) != p.pid {
			p.ignored.Add(1)
			continue
		}
		select {
		case p.words <- r:
		case <-p.closing:
			return
		}
	}
}

// sender is the pid the kernel put beside a packet, 0 if there is none. Descriptors
// sent along are closed.
func sender(oob []byte) (pid int) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return 0
	}
	for i := range messages {
		if fds, err := unix.ParseUnixRights(&messages[i]); err == nil {
			for _, fd := range fds {
				unix.Close(fd)
			}
		}
		if cred, err := unix.ParseUnixCredentials(&messages[i]); err == nil {
			pid = int(cred.Pid)
		}
	}
	return pid
}

// drain asks for an orderly end. Errors are left to the stop timeout.
func (p *process) drain() {
	if packet, err := encode(order{Type: "drain"}); err == nil {
		_ = p.send(packet)
	}
}

// terminate sends SIGTERM to the child alone; its own children are its to end.
func (p *process) terminate() { _ = p.proc.Signal(unix.SIGTERM) }

// kill sends SIGKILL to the child and to all of its process group.
func (p *process) kill() {
	_ = p.proc.Kill()
	p.killGroup()
}

// killGroup is safe only before finish has reaped the child, whose pid is the group's id.
func (p *process) killGroup() { _ = unix.Kill(-p.pid, unix.SIGKILL) }

// lastWords calls f for what the child had still reported when it died. It waits at most
// outputWait.
func (p *process) lastWords(f func(report)) {
	timer := time.NewTimer(outputWait)
	defer timer.Stop()
	for {
		select {
		case r := <-p.words:
			f(r)
		case <-p.wordsEnd:
			return
		case <-timer.C:
			return
		}
	}
}

// finish must be called once, after dead is closed. It kills what is left of the group,
// takes the last output, reaps the child and closes everything. It waits at most
// outputWait.
func (p *process) finish(r *ExitRecord) ending {
	p.killGroup()
	timer := time.NewTimer(outputWait)
	select {
	case <-p.outputEnd:
	case <-timer.C:
	}
	timer.Stop()
	p.stdout.Close()
	<-p.outputEnd
	close(p.closing)
	p.control.Close()
	<-p.wordsEnd

	state, err := p.proc.Wait()
	r.PID = p.pid
	r.LastStderr, r.Truncated = p.output.last()
	r.Headline = p.output.saidAtTheEnd()
	r.IgnoredReports = p.ignored.Load()
	if err != nil {
		// Somebody else waited for our child: a fault of this program, said aloud.
		r.Error = fmt.Sprintf("exit status lost: %v", err)
		return ending{code: -1}
	}
	r.UserNS, r.SystemNS = int64(state.UserTime()), int64(state.SystemTime())
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		r.MaxRSSBytes = usage.Maxrss << 10
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		r.Signal, r.SignalName, r.Code = int(status.Signal()), unix.SignalName(status.Signal()), -1
		return ending{signal: status.Signal()}
	}
	r.Code = state.ExitCode()
	return ending{code: r.Code}
}
