package attach

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/skewgate/skewgate/shm"
)

// admit lets a client in and answers it, or says why not. Answering under the lock keeps
// the files open and the answer before any event.
func (s *Server) admit(c *conn, h *hello) *refused {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Strangers first: they learn no name of a model or camera.
	if !s.known(c.peer.UID) {
		return refuse(CodeNotAllowed, "uid %d may not attach: it is neither root nor the appliance's user %d, and no allow.uid of the config names it", c.peer.UID, s.o.UID)
	}
	if s.draining {
		return refuse(CodeShuttingDown, "the appliance is about to end: attach to its successor")
	}
	c.role, c.peer.Client = h.Role, h.Client
	a := answer{OK: true, ABI: shm.Version, Unit: s.o.Unit}
	var files []*os.File
	var no *refused
	switch h.Role {
	case RoleWriter:
		files, no = s.writer(c, h, &a)
	case RoleReader:
		files, no = s.reader(c, &a)
	case RoleObserver:
		files, no = s.observer(c, &a)
	default:
		no = refuse(CodeBadRequest, "role %.40q is unknown: ask for writer or reader", h.Role)
	}
	if no != nil {
		return no
	}
	c.told = make([]uint32, len(c.cameras))
	a.Cameras = []answerCamera{}
	for i, at := range c.cameras {
		cam := &s.o.Cameras[at]
		// What is in the answer need not be told again; what comes later is, for the
		// connection is on the books before the lock is given back.
		c.told[i] = s.epochs[at].Load()
		a.Cameras = append(a.Cameras, answerCamera{cam.Name, c.told[i]})
		a.Files, files = append(a.Files, "frames/"+cam.Name), append(files, cam.Frames)
	}
	// A fresh socket's buffer is empty: this fails only when the client is gone or the
	// kernel has no room for descriptors on their way.
	if err := c.send(packet(a), files); err != nil {
		return refuse(CodeBusy, "send the files: %v", err)
	}
	s.conns[c] = struct{}{}
	if c.desk != nil {
		c.desk.take(c)
	}
	return nil
}

// trusted users need not be named: they could open any segment anyway.
func (s *Server) trusted(uid int) bool { return uid == 0 || uid == s.o.UID }

// known says whether any list names the user.
func (s *Server) known(uid int) bool {
	return s.trusted(uid) || slices.Contains(s.o.Readers, uid) ||
		slices.ContainsFunc(s.desks, func(d *desk) bool { return slices.Contains(d.UIDs, uid) })
}

// writer gives a desk's ring out, read-write, with the doorbell. The desk itself is taken
// once the answer is on its way.
func (s *Server) writer(c *conn, h *hello, a *answer) ([]*os.File, *refused) {
	i := slices.IndexFunc(s.desks, func(d *desk) bool { return d.Model == h.Model && d.Replica == h.Replica })
	if i < 0 {
		var names []string
		for _, d := range s.desks {
			names = append(names, d.name())
		}
		if names == nil {
			names = []string{"none"}
		}
		return nil, refuse(CodeUnknownModel, "no model %.63q with replica %d has command: attach; those that have: %s", h.Model, h.Replica, strings.Join(names, ", "))
	}
	d := s.desks[i]
	switch {
	case !s.trusted(c.peer.UID) && !slices.Contains(d.UIDs, c.peer.UID):
		return nil, refuse(CodeNotAllowed, "uid %d may not attach as %s: its allow.uid is %s, besides root and the appliance's user %d", c.peer.UID, d.name(), uidList(d.UIDs), s.o.UID)
	case d.holder != nil:
		return nil, refuse(CodeWriterPresent, "%s is attached as %s already: one ring has one writer; end it first", d.holder.peer.String(), d.name())
	case d.shut != "":
		return nil, refuse(CodeBusy, "the ring of %s is being laid out anew (%s): try again", d.name(), d.shut)
	}
	// The last writer's word, so only shown; the next one counts for itself.
	epoch := d.Ring.Epoch() + 1
	c.desk, c.cameras = d, d.Cameras
	a.Model, a.Replica, a.RingEpoch = d.Model, &d.Replica, &epoch
	a.Files = []string{"ring", "doorbell"}
	return []*os.File{d.Ring.Writer, s.o.Bell}, nil
}

// reader gives the output ring out, and all pictures.
func (s *Server) reader(c *conn, a *answer) ([]*os.File, *refused) {
	if s.o.Output == nil {
		return nil, refuse(CodeNoOutput, "the appliance has no output ring: add - shm: {} to its sinks")
	}
	if no := s.roomForReader(c); no != nil {
		return nil, no
	}
	c.cameras = s.allCameras()
	a.Files = []string{"output"}
	return []*os.File{s.o.Output}, nil
}

// observer gives every ring out, read-only, to those who could open it anyway.
func (s *Server) observer(c *conn, a *answer) ([]*os.File, *refused) {
	if !s.trusted(c.peer.UID) {
		return nil, refuse(CodeNotAllowed, "uid %d may not see all rings: that is for root and the appliance's user %d", c.peer.UID, s.o.UID)
	}
	if no := s.roomForReader(c); no != nil {
		return nil, no
	}
	var files []*os.File
	add := func(name string, f *os.File) { a.Files, files = append(a.Files, name), append(files, f) }
	if s.o.Output != nil {
		add("output", s.o.Output)
	}
	for _, f := range s.o.Observed {
		add(f.Name, f.F)
	}
	for _, d := range s.desks {
		add("ring/"+d.name(), d.Ring.Reader)
	}
	c.cameras = s.allCameras()
	return files, nil
}

func (s *Server) allCameras() []int {
	all := make([]int, len(s.o.Cameras))
	for i := range all {
		all[i] = i
	}
	return all
}

// roomForReader keeps one user from taking all places.
func (s *Server) roomForReader(c *conn) *refused {
	all, own := 0, 0
	for other := range s.conns {
		if other.desk != nil {
			continue
		}
		all++
		if other.peer.UID == c.peer.UID {
			own++
		}
	}
	if all >= maxReaders || own >= maxReadersUser {
		return refuse(CodeBusy, "%d readers are attached, %d of uid %d: at most %d, and %d of one user", all, own, c.peer.UID, maxReaders, maxReadersUser)
	}
	return nil
}

func uidList(uids []int) string {
	if len(uids) == 0 {
		return "empty"
	}
	return strings.Trim(fmt.Sprint(uids), "[]")
}
