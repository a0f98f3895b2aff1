package attach

import (
	"fmt"
	"os"
	"slices"
	"sync/atomic"

	"github.com/skewgate/skewgate/appliance/clock"
)

// DeskConfig is one (model, replica) whose process attaches by itself.
type DeskConfig struct {
	Model   string
	Replica uint32
	UIDs    []int // who may, besides root and the appliance's own user
	Cameras []int // indexes into Options.Cameras
	Ring    Ring
}

// Ring is a detection ring as it is handed out.
type Ring struct {
	Writer *os.File
	Reader *os.File      // read-only, for observers
	Epoch  func() uint32 // of its last writer, by that one's word
}

// Peer is who is attached. The kernel vouches for all but Client.
type Peer struct {
	PID, UID int
	Client   string // what it calls itself
	Since    clock.Mono
}

func (p *Peer) String() string { return fmt.Sprintf("pid %d of uid %d (%s)", p.PID, p.UID, p.Client) }

// Word is the newest of one desk. A word never changes; a new one takes its place.
type Word struct {
	Serial uint64 // counts attachments: a death and a successor between two looks show
	Peer   *Peer  // nil = nobody is attached
}

// desk is one (model, replica). Its fields but word belong to the server's lock.
type desk struct {
	DeskConfig
	holder *conn
	shut   string // why nobody may attach now; "" = open
	serial uint64
	word   atomic.Pointer[Word]
}

func (d *desk) name() string { return fmt.Sprintf("%s/%d", d.Model, d.Replica) }

// take gives the desk to c.
func (d *desk) take(c *conn) {
	d.holder = c
	d.serial++
	d.word.Store(&Word{Serial: d.serial, Peer: &c.peer})
}

// leave takes it back, if c has it.
func (d *desk) leave(c *conn) bool {
	if d.holder != c {
		return false
	}
	d.holder = nil
	d.word.Store(&Word{Serial: d.serial})
	return true
}

// Word returns who is attached to desk i. It neither waits nor allocates.
func (s *Server) Word(i int) *Word { return s.desks[i].word.Load() }

// Shut ends the connection of desk i with a last word and lets nobody attach until Open.
func (s *Server) Shut(i int, reason string) {
	s.mu.Lock()
	d := s.desks[i]
	d.shut = reason
	c := d.holder
	if c != nil {
		d.leave(c)
	}
	s.mu.Unlock()
	if c != nil {
		c.end(reason)
	}
}

// Open lets writers attach to desk i, whose ring is this one from now on; the former one's
// files may be closed. Observers are sent away: they look at memory that nobody writes.
func (s *Server) Open(i int, ring Ring) {
	s.mu.Lock()
	d := s.desks[i]
	d.Ring, d.shut = ring, ""
	s.mu.Unlock()
	s.dismiss(fmt.Sprintf("the ring of %s was laid out anew: attach again", d.name()), func(c *conn) bool {
		return c.role == RoleObserver
	})
}

// Dismiss sends everybody away who has a camera's frame ring mapped.
func (s *Server) Dismiss(camera int, reason string) {
	s.dismiss(reason, func(c *conn) bool { return slices.Contains(c.cameras, camera) })
}

func (s *Server) dismiss(reason string, whom func(*conn) bool) {
	s.mu.Lock()
	var gone []*conn
	for c := range s.conns {
		if whom(c) {
			gone = append(gone, c)
		}
	}
	s.mu.Unlock()
	for _, c := range gone {
		c.end(reason)
	}
}
