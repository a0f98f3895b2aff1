package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/shm"
)

// Bounds, in nanoseconds of the caller's clock.
const (
	lookEveryNS    = 1_000_000     // of attached time between two looks at the socket
	firstBackoffNS = 100_000_000   // to the first try after the end
	lastBackoffNS  = 5_000_000_000 // between two tries
	answerNS       = 2_000_000_000 // for the appliance to answer a hello
	answerMS       = answerNS / 1_000_000
	// maxLook bounds the packets taken in one look.
	maxLook = 64
)

var errEnd = errors.New("the appliance closed the connection")

// stage of a session.
type stage uint8

const (
	away     stage = iota // nobody there; tried again at dueNS
	asking                // hello said; given up at dueNS
	attached              // looked at again at dueNS
	closed
)

// session is the connection, and the memory that came through it. What a role makes of
// the memory is its own: adopt takes it, hear follows it.
type session struct {
	path     string
	greeting []byte
	buffer   []byte
	adopt    func(s *said, mapped map[string]*shm.Segment) error
	hear     func(*said)
	forget   func()       // before the memory is given back
	keep     *shm.Segment // outlives the connection; whoever set it closes it

	stage    stage
	fd       int
	dueNS    int64
	tries    int
	why      error // of the last end or failure
	segments []*shm.Segment
	unit     string
	draining bool
}

func newSession(o *Options, h hello) (*session, error) {
	h.Protocol, h.ABI, h.Client = 1, shm.Version, o.Client
	greeting, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	return &session{path: o.socket(), greeting: greeting, buffer: make([]byte, maxPacketBytes), fd: -1}, nil
}

// attach is the first attachment: it waits for the answer, at most two seconds.
func (s *session) attach() error {
	fd, err := dial(s.path, s.greeting)
	if err != nil {
		return err
	}
	// The one wait of this package, and the kernel times it.
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(poll, answerMS)
	for err == unix.EINTR {
		n, err = unix.Poll(poll, answerMS)
	}
	if err == nil && n == 0 {
		err = fmt.Errorf("%s does not answer", s.path)
	}
	if err != nil {
		_ = unix.Close(fd)
		return err
	}
	s.fd = fd
	if err := s.answer(); err != nil {
		s.drop()
		return err
	}
	return nil
}

// answer takes the appliance's answer; unix.EAGAIN says that it is not there yet.
func (s *session) answer() error {
	a, files, err := receive(s.fd, s.buffer)
	if err != nil {
		return err
	}
	named, err := answered(a, files)
	if err != nil {
		return err
	}
	// MapSegment takes each file over and checks its seals: what is mapped cannot be
	// truncated under us, whoever sent it.
	mapped := make(map[string]*shm.Segment, len(named))
	for name, f := range named {
		if err != nil {
			_ = f.Close()
			continue
		}
		var segment *shm.Segment
		if segment, err = shm.MapSegment(f, name == "ring" || name == "doorbell"); err == nil {
			mapped[name] = segment
			s.segments = append(s.segments, segment)
		}
	}
	if err == nil {
		s.unit, s.draining = a.Unit, false
		err = s.adopt(a, mapped)
	}
	if err != nil {
		return err
	}
	s.stage, s.tries, s.dueNS = attached, 0, 0
	return nil
}

// advance does what is due at nowNS and says whether the caller may use the memory: nil,
// ErrDetached, ErrReattached or ErrClosed. It never waits.
func (s *session) advance(nowNS int64) error {
	switch s.stage {
	case attached:
		// A clock that ran back must not keep us from looking.
		if nowNS < s.dueNS && nowNS >= s.dueNS-lookEveryNS {
			return nil
		}
		s.dueNS = nowNS + lookEveryNS
		if err := s.look(); err != nil {
			s.leave(nowNS, err)
			return s.detached()
		}
		return nil
	case away:
		if nowNS < s.dueNS {
			return s.detached()
		}
		fd, err := dial(s.path, s.greeting)
		if err != nil {
			s.leave(nowNS, err)
			return s.detached()
		}
		// The answer is looked for by the next calls, so that none of them waits for it.
		s.fd, s.stage, s.dueNS = fd, asking, nowNS+answerNS
		return s.detached()
	case asking:
		err := s.answer()
		switch {
		case err == nil:
			return ErrReattached
		case err == unix.EAGAIN && nowNS < s.dueNS:
			return s.detached()
		case err == unix.EAGAIN:
			err = fmt.Errorf("%s does not answer", s.path)
		}
		s.leave(nowNS, err)
		return s.detached()
	}
	return ErrClosed
}

func (s *session) detached() error {
	if s.why == nil {
		return ErrDetached
	}
	return fmt.Errorf("%w: %w", ErrDetached, s.why)
}

// look takes what the appliance has said.
func (s *session) look() error {
	for range maxLook {
		e, files, err := receive(s.fd, s.buffer)
		if err == unix.EAGAIN {
			return nil
		}
		if err != nil {
			return err
		}
		closeAll(files) // no event has any
		switch e.Event {
		case "drain":
			s.draining = true
		case "closed": // the end follows; this says why
			return fmt.Errorf("%w: %s", errEnd, e.Reason)
		default:
			s.hear(e)
		}
	}
	return nil
}

// leave gives connection and memory back and sets the time of the next try.
func (s *session) leave(nowNS int64, why error) {
	s.drop()
	s.stage, s.why = away, why
	wait := min(int64(firstBackoffNS)<<min(s.tries, 10), lastBackoffNS)
	s.tries++
	// A quarter more or less, so that many clients do not come at once. No dice are needed:
	// processes differ in number and instant.
	mix := (uint64(nowNS) ^ uint64(os.Getpid())<<32) * 0x9e3779b97f4a7c15
	s.dueNS = nowNS + wait*3/4 + int64(mix>>1%uint64(wait/2))
}

// drop closes what is open.
func (s *session) drop() {
	s.forget()
	for _, segment := range s.segments {
		if segment != s.keep {
			_ = segment.Close()
		}
	}
	s.segments = nil
	if s.fd >= 0 {
		_ = unix.Close(s.fd)
		s.fd = -1
	}
}

func (s *session) close() error {
	if s.stage == closed {
		return ErrClosed
	}
	s.drop()
	s.stage = closed
	return nil
}

var (
	_ io.Closer = (*Writer)(nil)
	_ io.Closer = (*Reader)(nil)
)
