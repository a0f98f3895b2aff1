package supervise

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// closeOnExecFrom marks every open descriptor ≥ first close-on-exec.
func closeOnExecFrom(first int) error {
	err := unix.CloseRange(uint(first), math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("mark descriptors close-on-exec: %w", err)
	}
	return closeOnExecEach(first)
}

// closeOnExecEach is for Linux before 5.11, or a filter that knows no close_range.
func closeOnExecEach(first int) error {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("mark descriptors close-on-exec: %w (needs /proc or Linux >= 5.11)", err)
	}
	for _, name := range names {
		fd, err := strconv.Atoi(name.Name())
		if err != nil || fd < first {
			continue
		}
		unix.CloseOnExec(fd)
	}
	return nil
}

// packetConn takes over a SOCK_SEQPACKET descriptor, so that reads and writes have
// deadlines and Close ends them.
func packetConn(fd int, name string) (*net.UnixConn, error) {
	f := os.NewFile(uintptr(fd), name)
	if f == nil {
		return nil, fmt.Errorf("open %s socket: bad descriptor %d", name, fd)
	}
	// FileConn works on a duplicate that is close-on-exec and non-blocking.
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("open %s socket: %w", name, err)
	}
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		conn.Close()
		return nil, fmt.Errorf("open %s socket: %T is no Unix socket", name, conn)
	}
	return unixConn, nil
}
