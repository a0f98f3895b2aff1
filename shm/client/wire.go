package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/shm"
)

const (
	maxPacketBytes = 64 << 10
	// maxFiles is the most descriptors the kernel passes with one packet.
	maxFiles = 253
)

type hello struct {
	Protocol int    `json:"skewgate_attach"`
	ABI      int    `json:"abi"`
	Role     string `json:"role"`
	Model    string `json:"model,omitempty"`
	Replica  uint32 `json:"replica"`
	Client   string `json:"client,omitempty"`
}

// said is whatever the appliance says: an answer, a refusal or an event. A null is as good
// as no such key, but for an element of a list, which is never null.
type said struct {
	OK      *bool     `json:"ok"`
	ABI     int       `json:"abi"`
	Unit    string    `json:"unit"`
	Cameras []*camera `json:"cameras"`
	Files   []*string `json:"files"`

	Code  string `json:"code"`
	Error string `json:"error"`

	Event       string `json:"event"`
	Camera      string `json:"camera"`
	StreamEpoch uint32 `json:"stream_epoch"`
	Reason      string `json:"reason"`
}

type camera struct {
	Name        string `json:"name"`
	StreamEpoch uint32 `json:"stream_epoch"`
}

// Nothing here is made for a hostile appliance, which has other means; but bytes and
// counts are checked, for a socket path can lead anywhere.

// dial connects and says hello; it never waits.
func dial(path string, greeting []byte) (fd int, err error) {
	fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, fmt.Errorf("make a socket: %w", err)
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		_ = unix.Close(fd)
		cure := ""
		if err == unix.ENOENT || err == unix.ECONNREFUSED {
			cure = " (is `skewgate run` up? another place goes into SKEWGATE_ATTACH)"
		}
		return -1, fmt.Errorf("connect to %s: %w%s", path, err, cure)
	}
	if _, err := unix.SendmsgN(fd, greeting, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("say hello to %s: %w", path, err)
	}
	return fd, nil
}

// receive takes one packet with its descriptors, if one is there: unix.EAGAIN says no, and
// errEnd that the other side is gone.
func receive(fd int, buffer []byte) (*said, []*os.File, error) {
	// Descriptors that do not fit would be lost without a trace but a flag.
	rights := make([]byte, unix.CmsgSpace(maxFiles*4))
	var n, rightsN, flags int
	var err error
	for {
		n, rightsN, flags, _, err = unix.Recvmsg(fd, buffer, rights, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return nil, nil, err
	}
	files, err := filesOf(rights[:rightsN])
	switch {
	case err != nil:
	case n == 0: // an empty packet looks the same; skewgate sends none
		err = errEnd
	case flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0:
		err = fmt.Errorf("%w: a packet was longer than %d bytes or had more than %d files", ErrProtocol, maxPacketBytes, maxFiles)
	default:
		var s said
		err = json.Unmarshal(buffer[:n], &s)
		// An event of a later release may use our keys as it likes.
		var odd *json.UnmarshalTypeError
		if err == nil || errors.As(err, &odd) && s.OK == nil && s.Event != "stream_epoch" {
			return &s, files, nil
		}
		err = fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	closeAll(files)
	return nil, nil, err
}

func filesOf(rights []byte) ([]*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	var files []*os.File
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue // some other control message
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "segment"))
		}
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// answered takes an answer to a hello apart: the files by name.
func answered(s *said, files []*os.File) (map[string]*os.File, error) {
	switch {
	case s.OK == nil:
		closeAll(files)
		return nil, fmt.Errorf("%w: the answer is none", ErrProtocol)
	case !*s.OK:
		closeAll(files)
		return nil, &RefusedError{s.Code, s.Error}
	case s.ABI != shm.Version:
		closeAll(files)
		return nil, fmt.Errorf("%w: the appliance speaks ABI version %d, this program %d", ErrProtocol, s.ABI, shm.Version)
	case slices.Contains(s.Files, nil) || slices.Contains(s.Cameras, nil):
		closeAll(files)
		return nil, fmt.Errorf("%w: a camera or file of the answer is null", ErrProtocol)
	case len(files) != len(s.Files):
		closeAll(files)
		return nil, fmt.Errorf("%w: %d files are named, %d came", ErrProtocol, len(s.Files), len(files))
	}
	named := make(map[string]*os.File, len(files))
	for i, f := range files {
		name := *s.Files[i]
		if named[name] != nil {
			closeAll(files)
			return nil, fmt.Errorf("%w: the file %q came twice", ErrProtocol, name)
		}
		named[name] = f
	}
	return named, nil
}
