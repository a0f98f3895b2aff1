package dispatch

import (
	"math"

	"github.com/skewgate/skewgate/shm"
)

// maxOpenEpochs bounds the former timelines of a camera that a model may still owe an answer
// on. What is pushed out is never said to be over, so its frames wait for their timeout.
const maxOpenEpochs = 4

// Progress is a promise: model will publish no more about a picture of the camera's
// stream_epoch with a capture time at or below CaptureNS.
type Progress struct {
	Camera      int // the dispatcher's index
	Model       int // Replica.Model
	StreamEpoch uint32
	CaptureNS   int64
	Finished    bool // a replica has finished a picture of the camera since the last one: a sign of life
}

// lane is one model on one camera, whatever replicas it has.
type lane struct {
	camera, model int
	targets       []target
	said          bool
	finished      bool     // a picture, since it last said something
	epoch         uint32   // of what was said last
	ns            int64    // what was said last
	open          []uint32 // former epochs not yet over, oldest first
}

// held is what is known of an assignment until its replica says done.
type held struct {
	route int
	epoch uint32
	ns    int64
}

// newest is the latest picture that a camera offered.
type newest struct {
	set   bool
	epoch uint32
	ns    int64
}

// AppendProgress appends what has moved since the last call. A model's progress on a camera
// lies just below the oldest picture that waits for one of its replicas or is held by one, or
// at the newest picture offered if there is none: what was dropped, expired or died with its
// process is done. A former stream_epoch is over, at the end of time, when nothing of it is
// left.
//
// Read the models' rings empty between this call and the use of what it says: a replica
// publishes its answer before it says done, and done is looked at here. A model says
// nothing while none of its processes has finished a picture since it was ready, for what
// its successor has not looked at is no sign of life.
func (d *Dispatcher) AppendProgress(dst []Progress) []Progress {
	for i := range d.replicas {
		if r := &d.replicas[i]; r.works() && r.Words.Done() != r.lastDone {
			if _, err := d.queue(r); err != nil {
				d.blame(i, err)
			}
		}
	}
	for i := range d.lanes {
		if d.moved[i] {
			d.moved[i] = false
			dst = d.lanes[i].append(dst, d)
		}
	}
	return dst
}

// laneOf returns the lane of a model on a camera, with one more replica to answer on it.
func (d *Dispatcher) laneOf(camera, model int, t target) int {
	for _, lane := range d.ofCamera[camera] {
		if l := &d.lanes[lane]; l.model == model {
			l.targets = append(l.targets, t)
			return lane
		}
	}
	added := len(d.lanes)
	d.lanes = append(d.lanes, lane{camera: camera, model: model, targets: []target{t}})
	d.ofCamera[camera] = append(d.ofCamera[camera], added)
	return added
}

// finish notes that a replica has done n more pictures.
func (d *Dispatcher) finish(r *replica, n uint64) {
	r.lastDone, r.proved = r.lastDone+n, true
	d.touch(r)
	size, own := uint64(len(r.held)), r.assigned-r.base
	left := min(r.Out.Enq()-r.lastDone, own, size)
	for n = min(n, own-left, size-left); n > 0; n-- {
		h := &r.held[(r.assigned-left-n)%size]
		d.lanes[r.lanes[h.route]].finished = true
	}
}

// touch has the progress of all of a replica's lanes looked at again.
func (d *Dispatcher) touch(r *replica) {
	for _, lane := range r.lanes {
		d.moved[lane] = true
	}
}

// works reports whether the replica may still publish: it takes pictures or finishes its last.
func (r *replica) works() bool { return (r.ready || r.draining) && r.fault == nil }

// holds calls f for each picture that the replica was given and has not said done for.
func (r *replica) holds(f func(h *held)) {
	n := min(r.Out.Enq()-r.lastDone, r.assigned-r.base, uint64(len(r.held)))
	for k := r.assigned - n; k < r.assigned; k++ {
		f(&r.held[k%uint64(len(r.held))])
	}
}

// owes reports the oldest capture time of an epoch that the lane's replicas may still answer.
func (l *lane) owes(d *Dispatcher, epoch uint32) (ns int64, owes bool) {
	note := func(e uint32, t int64) {
		if e == epoch && (!owes || t < ns) {
			ns, owes = t, true
		}
	}
	for _, t := range l.targets {
		r := &d.replicas[t.replica]
		if w := &r.waiting[t.route]; w.set {
			note(w.picture.StreamEpoch, w.picture.CaptureNS)
		}
		if r.works() {
			r.holds(func(h *held) {
				if h.route == t.route {
					note(h.epoch, h.ns)
				}
			})
		}
	}
	return ns, owes
}

// append appends what the lane has to say that it has not said.
func (l *lane) append(dst []Progress, d *Dispatcher) []Progress {
	alive := false
	for _, t := range l.targets {
		r := &d.replicas[t.replica]
		alive = alive || r.works() && r.proved
	}
	now := d.newest[l.camera]
	if !alive || !now.set {
		return dst
	}
	before := len(dst)
	kept := l.open[:0]
	for _, epoch := range l.open {
		if _, owes := l.owes(d, epoch); owes {
			kept = append(kept, epoch)
			continue
		}
		dst = append(dst, Progress{Camera: l.camera, Model: l.model, StreamEpoch: epoch, CaptureNS: math.MaxInt64, Finished: l.finished})
	}
	l.open = kept
	ns := now.ns
	if oldest, owes := l.owes(d, now.epoch); owes {
		ns = oldest - 1
	}
	if !l.said || l.epoch != now.epoch || ns > l.ns {
		l.said, l.epoch, l.ns = true, now.epoch, ns
		dst = append(dst, Progress{Camera: l.camera, Model: l.model, StreamEpoch: now.epoch, CaptureNS: ns, Finished: l.finished})
	}
	l.finished = l.finished && len(dst) == before
	return dst
}

// offered notes a camera's newest picture.
func (d *Dispatcher) offered(camera int, p *shm.FrameMeta) {
	n := &d.newest[camera]
	if n.set && n.epoch != p.StreamEpoch {
		for _, lane := range d.ofCamera[camera] {
			l := &d.lanes[lane]
			if len(l.open) == maxOpenEpochs {
				l.open = append(l.open[:0], l.open[1:]...)
			}
			l.open = append(l.open, n.epoch)
		}
	}
	*n = newest{true, p.StreamEpoch, p.CaptureNS}
	for _, lane := range d.ofCamera[camera] {
		d.moved[lane] = true
	}
}
