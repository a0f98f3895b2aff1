package capture

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/clock"
)

const (
	// pipeBytes is the pipe's size: Linux' own bound for users without privileges. A
	// 1080p picture then passes in three pieces, not in 48.
	pipeBytes = 1 << 20
	// endPatience bounds how long ffmpeg may take to end once its stream has; that is
	// when its exit code tells an end from a failure.
	endPatience = 2 * time.Second
	// termPatience is the time from SIGTERM to SIGKILL. A camera is told goodbye in it.
	termPatience = 500 * time.Millisecond
	// outputPatience bounds the wait for the rest of stderr, which a process that
	// ffmpeg has left behind could hold open.
	outputPatience = 200 * time.Millisecond
)

// ErrNoFFmpeg is returned when the program of the job cannot be found.
var ErrNoFFmpeg = errors.New("ffmpeg not found")

// findFFmpeg looks the program up, so that a machine without one is told at once.
func findFFmpeg(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("find %q: %w: install ffmpeg 5.1 or newer (Debian, Ubuntu: apt install ffmpeg)", name, ErrNoFFmpeg)
	}
	return path, nil
}

// decoder is one running ffmpeg.
type decoder struct {
	cmd  *exec.Cmd
	out  *os.File // its NUT stream; the caller reads, stop closes
	tail tail
}

// startDecoder starts ffmpeg from the calling thread, which must live as long as the
// decoder: the kernel kills ffmpeg when that thread ends.
func startDecoder(program string, args []string) (*decoder, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open ffmpeg's pipe: %w", err)
	}
	defer in.Close()
	setPipeSize(out)
	d := &decoder{cmd: exec.Command(program, args...), out: out}
	d.cmd.Stdout, d.cmd.Stderr = in, &d.tail
	d.cmd.Env = append(os.Environ(), "AV_LOG_FORCE_NOCOLOR=1", "LC_ALL=C")
	d.cmd.WaitDelay = outputPatience
	// No process group of its own: whoever kills this process's group gets ffmpeg too.
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := d.cmd.Start(); err != nil {
		out.Close()
		return nil, fmt.Errorf("start ffmpeg: %w", err)
	}
	return d, nil
}

// setPipeSize asks for a larger pipe. Without it, as under a user's pipe limit, all
// works with more system calls, so a refusal is no error.
func setPipeSize(f *os.File) {
	if conn, err := f.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) {
			_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeBytes)
		})
	}
}

// stop ends ffmpeg, reaps it and returns what it said of the end: nil when it ended by
// itself with exit code 0, for which it is given time after its stream has ended. It
// calls beat while it waits.
func (d *decoder) stop(ended bool, beat func()) error {
	d.out.Close()
	if !ended || !d.gone(endPatience, beat) {
		_ = d.cmd.Process.Signal(syscall.SIGTERM)
		if !d.gone(termPatience, beat) {
			_ = d.cmd.Process.Kill()
		}
	}
	err := d.cmd.Wait()
	if err == nil {
		return nil
	}
	reason := d.tail.reason()
	if strings.Contains(reason, "Unrecognized option 'fps_mode'") {
		reason += " (this ffmpeg is older than 5.1: install a newer one)"
	}
	if reason == "" {
		reason = err.Error()
	}
	return errors.New("ffmpeg: " + reason)
}

// gone waits for ffmpeg's end without reaping it: its pid stays its own.
func (d *decoder) gone(patience time.Duration, beat func()) bool {
	const nap = 2 * time.Millisecond
	for end := clock.Now().Add(patience); clock.Now() < end; time.Sleep(nap) {
		beat()
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, d.cmd.Process.Pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err == nil && info.Signo != 0 {
			return true
		}
	}
	return false
}
