package appliance

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/skewgate/skewgate/appliance/attach"
	"github.com/skewgate/skewgate/shm"
)

// buildAttach gathers what attach.sock may hand out.
func (a *Appliance) buildAttach(bellSegment *shm.Segment, bell *shm.Doorbell, cameras []*camera, replicas []*replica, output *os.File) error {
	o := attach.Options{
		Unit: a.cfg.Unit, UID: os.Geteuid(), Output: output, Bell: bellSegment.File(), GoFunc: a.goFunc, Log: a.o.Log,
		Changed: func() {
			a.deskNews.Store(true)
			bell.Ring()
		},
	}
	if out := a.cfg.Output(); out != nil {
		o.Readers = out.Allow.UID
	}
	// Descriptors of its own for each, beside those of the children: all are read-only.
	for _, c := range cameras {
		frames, err := a.memory.readOnly(c.ring)
		if err != nil {
			return err
		}
		o.Cameras = append(o.Cameras, attach.Camera{Name: c.cfg.Name, Frames: frames})
	}
	for _, r := range replicas {
		if r.foreign == nil {
			readOnly, err := a.memory.readOnly(r.segment)
			if err != nil {
				return err
			}
			o.Observed = append(o.Observed, attach.File{Name: "ring/" + r.cfg.Name + "/0", F: readOnly})
			continue
		}
		ring, err := a.memory.handOut(r.segment)
		if err != nil {
			return err
		}
		desk := attach.DeskConfig{Model: r.cfg.Name, UIDs: r.cfg.Allow.UID, Ring: ring}
		for _, c := range r.cameras {
			desk.Cameras = append(desk.Cameras, c.index)
		}
		o.Desks = append(o.Desks, desk)
		r.foreign.handed = ring.Reader
	}
	a.attach = attach.New(o)
	a.bellPage = bellSegment.Bytes()
	a.warnOfBarred()
	return nil
}

// warnOfBarred names the folder that keeps users of an allow-list from the socket.
func (a *Appliance) warnOfBarred() {
	var uids []int
	for i := range a.cfg.Models {
		uids = append(uids, a.cfg.Models[i].Allow.UID...)
	}
	if out := a.cfg.Output(); out != nil {
		uids = append(uids, out.Allow.UID...)
	}
	uids = slices.DeleteFunc(uids, func(uid int) bool { return uid == 0 || uid == os.Geteuid() })
	if dir := barred(a.o.RunDir); len(uids) > 0 && dir != "" {
		a.o.Log.Warn("users that may attach cannot reach attach.sock: let others pass through the folder (chmod o+x), or choose another --run-dir",
			"folder", dir, "uids", uids)
	}
}

// repairBell lays the doorbell out anew if somebody attached has wrecked its header. Its
// counters matter only to sleepers, and the one sleeper is the path, which is awake here.
func (p *path) repairBell() {
	if _, err := shm.NewDoorbell(p.a.bellPage); err == nil {
		return
	}
	err := shm.FormatDoorbell(p.a.bellPage)
	p.log.Error("somebody who is attached wrecked the doorbell; it is laid out anew", "err", err)
}

// renew sends a foreign detector away and, after a delay, gives its desk a ring in other
// memory. The path makes the change between two turns and then knows the former one no more.
func (a *Appliance) renew(r *replica, reason string, delay time.Duration) {
	desk := r.foreign.desk
	a.goFunc("renew "+r.task, func() {
		a.attach.Shut(desk, reason)
		select {
		case <-time.After(delay):
		case <-a.quit:
			return
		}
		if err := a.replaceRing(r); err != nil {
			a.o.Log.Error("lay out a foreign detector's ring anew: it cannot attach until skewgate is restarted", "task", r.task, "err", err)
		}
	})
}

func (a *Appliance) replaceRing(r *replica) error {
	segment, reader, err := a.memory.detectionRing(r.index, r.cfg, 0)
	if err != nil {
		return err
	}
	ring, err := a.memory.handOut(segment)
	if err != nil {
		return err
	}
	// Bounded, for the path may have ended meanwhile.
	ctx, cancel := context.WithTimeout(context.Background(), childrenEnd)
	defer cancel()
	var old *shm.Segment
	if err := a.path.between(ctx, func() error { old = r.adopt(segment, reader); return nil }); err != nil {
		return errors.Join(err, a.memory.drop(segment, ring.Reader))
	}
	// From here on the path reads the new ring. The server still names the old files, which
	// must stay open until it does not.
	handed := r.foreign.handed
	r.foreign.handed = ring.Reader
	a.attach.Open(r.foreign.desk, ring)
	return a.memory.drop(old, handed)
}
