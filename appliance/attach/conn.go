package attach

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// helloTimeout is how long a client may take to say what it wants.
const helloTimeout = 2 * time.Second

// conn is one connection. role and what belongs to it are set under the server's lock
// when it is let in; told and cameras belong to that lock too.
type conn struct {
	c    *net.UnixConn
	raw  syscall.RawConn
	peer Peer

	role    string
	desk    *desk    // of a writer
	cameras []int    // indexes into the server's
	told    []uint32 // newest stream_epoch told, per camera
}

func newConn(c *net.UnixConn) (*conn, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	// The kernel noted these when the peer connected; it cannot change them afterwards.
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return nil, err
	}
	if credErr != nil {
		return nil, fmt.Errorf("ask who the peer is: %w", credErr)
	}
	return &conn{c: c, raw: raw, peer: Peer{PID: int(cred.Pid), UID: int(cred.Uid)}}, nil
}

// errNotRead is returned for a client whose socket is full of what it did not read.
var errNotRead = errors.New("the client does not read its events")

// send writes one packet, with descriptors, and never waits.
func (c *conn) send(packet []byte, files []*os.File) error {
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	// Not through the connection's own Write, which waits for room.
	var sendErr error
	err := c.raw.Write(func(fd uintptr) bool {
		for {
			_, sendErr = unix.SendmsgN(int(fd), packet, rights, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
			if sendErr != unix.EINTR {
				return true
			}
		}
	})
	switch {
	case err != nil:
		return err
	case sendErr == unix.EAGAIN:
		return errNotRead
	}
	return sendErr
}

// end says a last word and closes. The reading side then ends by itself.
func (c *conn) end(reason string) {
	_ = c.send(packet(event{Event: "closed", Reason: reason}), nil) // it may be gone already
	_ = c.c.Close()
}

// hear waits for the hello.
func (c *conn) hear() (*hello, *refused, error) {
	if err := c.c.SetReadDeadline(time.Now().Add(helloTimeout)); err != nil {
		return nil, nil, err
	}
	b := make([]byte, maxPacketBytes+1) // one more, so that a longer packet shows
	n, err := c.c.Read(b)
	if err != nil {
		return nil, nil, err
	}
	h, no := parseHello(b[:n])
	return h, no, c.c.SetReadDeadline(time.Time{})
}

// skip takes a hello off the socket if it is there: closed with one unread, the connection
// would end in a reset that hides the answer.
func (c *conn) skip() {
	_ = c.raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, _ = unix.Recvfrom(int(fd), b[:], unix.MSG_DONTWAIT)
		return true
	})
}

// await returns why the connection ended. Descriptors that a client sends are dropped by
// the kernel, for read(2) has no room for them.
func (c *conn) await() string {
	var b [1]byte
	switch n, err := c.c.Read(b[:]); {
	case n > 0:
		return "the client spoke again; it has nothing to say after its hello"
	case errors.Is(err, net.ErrClosed):
		return "closed by the appliance"
	default:
		return "the client closed it"
	}
}
