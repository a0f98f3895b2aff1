package sink

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// chunk is what one write of a stream takes: POSIX's PIPE_BUF on Linux. A pipe that poll
// calls writable has room for that much, so even a descriptor that blocks does not.
const chunk = 4096

// stream writes lines to standard output, a FIFO or a device. It never blocks: it asks
// poll first and gives up after a slice.
type stream struct {
	path     string // - = standard output
	counters *counters
	fd       int  // -1 = not open
	done     int  // bytes of the current line that are out
	half     bool // an earlier line broke off in its middle
}

// open gets a descriptor that does not block, where there is one.
func (s *stream) open() error {
	if s.fd >= 0 {
		return nil
	}
	path := s.path
	if path == "-" {
		var st unix.Stat_t
		if err := unix.Fstat(unix.Stdout, &st); err != nil {
			return fmt.Errorf("open standard output: %w", err)
		}
		// A second way to the same pipe or terminal that does not block: the flag of
		// descriptor 1 itself belongs to whoever shares it. A file keeps its position.
		if kind := st.Mode & unix.S_IFMT; kind == unix.S_IFIFO || kind == unix.S_IFCHR {
			path = "/proc/self/fd/1"
		}
	}
	if path != "-" {
		fd, err := openRetry(path, unix.O_WRONLY|unix.O_NOCTTY, 0)
		if err == nil {
			return s.adopt(fd)
		}
		if s.path != "-" {
			return fmt.Errorf("open %s: %w", s.path, err) // ENXIO: a FIFO without a reader
		}
	}
	s.fd = unix.Stdout // a file, a socket, or no way to open it anew
	return nil
}

// adopt takes fd unless a plain file has come to lie at the path: that is written
// differently.
func (s *stream) adopt(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT == unix.S_IFREG {
		_ = unix.Close(fd)
		return errGone
	}
	s.fd = fd
	return nil
}

// write goes on where a stalled line stopped; the caller offers the same line again.
func (s *stream) write(line []byte) error {
	if err := s.open(); err != nil {
		return err
	}
	if s.half {
		if _, err := s.some([]byte{'\n'}); err != nil {
			return s.broken(err)
		}
		s.half = false
	}
	for s.done < len(line) {
		n, err := s.some(line[s.done:])
		s.done += n
		if err != nil {
			return s.broken(err)
		}
	}
	s.done = 0
	return nil
}

// some writes what goes out now, or waits a slice and returns errStalled.
func (s *stream) some(b []byte) (int, error) {
	ask := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLOUT}}
	ready, err := unix.Poll(ask, int(slice/time.Millisecond))
	if err == unix.EINTR || err == nil && ready == 0 {
		return 0, errStalled
	}
	if err != nil {
		return 0, err
	}
	n, err := writeOnce(s.fd, b[:min(len(b), chunk)])
	if err == unix.EAGAIN {
		pause() // less room than a chunk, which poll does not see
		return n, errStalled
	}
	return n, err
}

// broken keeps a stalled line for the next try. After an error the line begins anew, on
// a line of its own if a part of it is out.
func (s *stream) broken(err error) error {
	if err == errStalled {
		return err
	}
	if s.done > 0 {
		s.counters.repaired.Add(1)
		s.half = true
	}
	s.done = 0
	if s.path != "-" {
		s.half = false // the next reader begins with a whole line
		s.close()
	}
	return fmt.Errorf("write %s: %w", s.name(), err)
}

func (s *stream) name() string {
	if s.path == "-" {
		return "standard output"
	}
	return s.path
}

func (s *stream) close() {
	if s.fd > unix.Stderr {
		_ = unix.Close(s.fd)
	}
	s.fd = -1
}
