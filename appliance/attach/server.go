package attach

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
)

// Bounds on connections. Writers are bounded by the desks.
const (
	maxReaders     = 32
	maxReadersUser = 16
	// Those that have not said what they want yet. One user's share is smaller than the
	// whole, so that nobody keeps the others out by saying nothing.
	maxHalfOpen     = 32
	maxHalfOpenUser = 8
)

// Camera is a source of pictures and its frame ring, read-only.
type Camera struct {
	Name   string
	Frames *os.File
}

// File is a segment under the name that the protocol has for it.
type File struct {
	Name string
	F    *os.File
}

// Options of a Server. Files stay the caller's and must outlive it.
type Options struct {
	Unit     string
	UID      int // the appliance's own user
	Cameras  []Camera
	Desks    []DeskConfig
	Observed []File   // rings of the appliance's own detectors, read-only
	Output   *os.File // read-only; nil = no output ring
	Readers  []int    // users who may read it, besides those of the desks
	Bell     *os.File

	// Changed is called after a desk's Word has changed; it must not wait.
	Changed func()
	// GoFunc starts a goroutine that somebody waits for.
	GoFunc func(name string, f func())
	Log    *slog.Logger
}

// Server answers on attach.sock. Word and SetEpoch may be called from any thread and never
// wait; the rest may wait for other calls, never for a client.
type Server struct {
	o      Options
	epochs []atomic.Uint32 // per camera
	wake   chan struct{}   // holds one token when an epoch has changed

	mu       sync.Mutex
	desks    []*desk
	conns    map[*conn]struct{} // let in
	half     map[*conn]struct{} // not yet
	draining bool
	closed   bool
	ended    chan struct{}
	spoken   spoken
}

// New makes a server that does not listen yet.
func New(o Options) *Server {
	s := &Server{
		o: o, epochs: make([]atomic.Uint32, len(o.Cameras)), wake: make(chan struct{}, 1),
		conns: make(map[*conn]struct{}), half: make(map[*conn]struct{}), ended: make(chan struct{}),
	}
	for _, c := range o.Desks {
		d := &desk{DeskConfig: c}
		d.word.Store(&Word{})
		s.desks = append(s.desks, d)
	}
	return s
}

// acceptPause is how long Serve waits when the process has no descriptor left.
const acceptPause = 100 * time.Millisecond

// Serve takes connections until Close.
func (s *Server) Serve(l net.Listener) {
	s.o.GoFunc("attach events", s.tellEpochs)
	for failing := false; ; { // failing: it was logged already
		c, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if !failing {
				s.o.Log.Error("accept on attach.sock", "err", err)
			}
			failing = true
			time.Sleep(acceptPause)
			continue
		}
		failing = false
		s.accept(c.(*net.UnixConn))
	}
}

// accept gives a connection a goroutine of its own, or sends it away.
func (s *Server) accept(u *net.UnixConn) {
	c, err := newConn(u)
	if err != nil {
		s.o.Log.Debug("attach connection dropped", "err", err)
		_ = u.Close()
		return
	}
	if no := s.wait(c); no != nil {
		c.skip()
		_ = c.send(no.packet(), nil)
		_ = u.Close()
		return
	}
	// One goroutine a connection, bounded by wait, the desks and roomForReader.
	s.o.GoFunc("attach connection", func() { s.talk(c) })
}

// wait enters a connection among those that have not spoken.
func (s *Server) wait(c *conn) *refused {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := 0
	for other := range s.half {
		if other.peer.UID == c.peer.UID {
			own++
		}
	}
	switch {
	case s.closed:
		return refuse(CodeShuttingDown, "the appliance ends")
	case len(s.half) >= maxHalfOpen || own >= maxHalfOpenUser:
		return refuse(CodeBusy, "%d connections say nothing, %d of uid %d: at most %d, and %d of one user", len(s.half), own, c.peer.UID, maxHalfOpen, maxHalfOpenUser)
	}
	s.half[c] = struct{}{}
	return nil
}

// talk is one connection's life.
func (s *Server) talk(c *conn) {
	h, no, err := c.hear()
	s.mu.Lock()
	delete(s.half, c)
	s.mu.Unlock()
	if err != nil {
		_ = c.c.Close() // it said nothing, or went
		return
	}
	if no == nil {
		c.peer.Since = clock.Now()
		no = s.admit(c, h)
	}
	if no != nil {
		s.say(slog.LevelWarn, "attach refused", "code", no.code, "reason", no.text, "uid", c.peer.UID, "pid", c.peer.PID)
		_ = c.send(no.packet(), nil)
		_ = c.c.Close()
		return
	}
	s.say(slog.LevelInfo, "attached", "role", c.role, "desk", c.where(), "uid", c.peer.UID, "pid", c.peer.PID, "client", c.peer.Client)
	s.changed(c)
	why := c.await() // the connection's whole life
	// The desk is free before the path is told: it may look at once.
	s.mu.Lock()
	delete(s.conns, c)
	if c.desk != nil {
		c.desk.leave(c)
	}
	s.mu.Unlock()
	s.changed(c)
	c.end(why)
	s.say(slog.LevelInfo, "detached", "role", c.role, "desk", c.where(), "uid", c.peer.UID, "pid", c.peer.PID, "why", why)
}

func (c *conn) where() string {
	if c.desk == nil {
		return ""
	}
	return c.desk.name()
}

func (s *Server) changed(c *conn) {
	if c.desk != nil {
		s.o.Changed()
	}
}
