// Package dispatch hands pictures to detector replicas. It decides from words in
// shared memory alone: a replica's queue is enq − done, read at the moment of the
// decision, so there is no cached length that could drift (R004-3).
//
// Per replica and camera at most one picture waits here; a newer one takes its
// place and the older is counted. Nothing blocks, and every table is as long as the
// config's list of cameras and models.
//
// A Dispatcher belongs to the path's thread.
package dispatch

import (
	"errors"
	"fmt"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/shm"
)

// ErrQueueWords says that a replica's taken or done word cannot be true; the
// replica gets no more work until its process has been replaced.
var ErrQueueWords = errors.New("impossible queue words")

// Out is the appliance's side of a replica's dispatch segment.
type Out interface {
	// Enqueue publishes one assignment, raises enq by one and wakes the replica.
	Enqueue(*shm.Assignment) error
	Enq() uint64
}

// Words are the replica's own words; a child writes them, so they are checked here.
type Words interface {
	Taken() uint64
	Done() uint64
}

// Drop is why a picture was never handed over.
type Drop int

// The reasons a picture is dropped before it reaches a replica.
const (
	DropSuperseded Drop = iota // a newer picture of the same camera took its place
	DropNotReady               // no ready process at that moment
	DropFault                  // the dispatch segment refused the assignment
	numDrops
)

var dropNames = [numDrops]string{"superseded", "not_ready", "fault"}

func (d Drop) String() string { return dropNames[d] }

// Route binds one camera to the replica's own numbering of its cameras.
type Route struct {
	Camera int    // the dispatcher's index
	Local  uint32 // the index in the replica's job
	Hold   bool   // never drop: pictures of this camera wait for the replica (pace: fast)
}

// Replica describes one detector process to the dispatcher.
type Replica struct {
	Name       string
	Model      int // the caller's number of its model; replicas of one model answer for each other
	Out        Out
	Words      Words
	MaxOngoing int // assignments a replica may hold, running one included; ≥ 1
	Generation uint64
	Routes     []Route
}

// waiting is the one picture a replica may have waiting per camera.
type waiting struct {
	set     bool
	picture shm.FrameMeta
	since   clock.Mono
	fate    uint64 // its number in fates
}

type replica struct {
	Replica
	ready    bool
	draining bool // takes no more pictures, but may still answer those that it holds
	failed   bool // no process will come: nothing waits for it, not even on hold
	fault    error
	lastDone uint64
	waiting  []waiting // one per route
	assigned uint64
	died     uint64 // assigned, and the process ended before it said done
	dropped  [numDrops]uint64

	// For AppendProgress.
	held   []held // the last MaxOngoing assignments, by assigned
	base   uint64 // assigned when it was last made ready: what is older is a former process's
	proved bool   // it has finished a picture since
	lanes  []int  // by route

	fates []fates // by route
}

// target is one route seen from the camera.
type target struct{ replica, route int }

// Dispatcher spreads pictures over replicas.
type Dispatcher struct {
	replicas  []replica
	byCamera  [][]target
	maxAgeNS  int64
	assign    shm.Assignment // reused, so that Enqueue costs no allocation
	onFault   func(replica int, err error)
	handedOut uint64

	newest   []newest // by camera
	lanes    []lane
	ofCamera [][]int // lanes by camera
	moved    []bool  // by lane: its progress is to be looked at
}

// New returns a dispatcher for cameras numbered 0…cameras-1. maxAgeNS is how long
// after its capture was published a picture is still worth computing, 0 = for ever.
// onFault is called on the path's thread when a replica's words are impossible.
func New(cameras int, replicas []Replica, maxAgeNS int64, onFault func(replica int, err error)) (*Dispatcher, error) {
	d := &Dispatcher{
		byCamera: make([][]target, cameras), maxAgeNS: maxAgeNS, onFault: onFault,
		newest: make([]newest, cameras), ofCamera: make([][]int, cameras),
	}
	for i, r := range replicas {
		if r.MaxOngoing < 1 {
			return nil, fmt.Errorf("replica %s: max_ongoing is %d, want at least 1", r.Name, r.MaxOngoing)
		}
		added := replica{Replica: r, waiting: make([]waiting, len(r.Routes)), fates: make([]fates, len(r.Routes)), held: make([]held, r.MaxOngoing)}
		for j, route := range r.Routes {
			if route.Camera < 0 || route.Camera >= cameras {
				return nil, fmt.Errorf("replica %s: camera %d of %d", r.Name, route.Camera, cameras)
			}
			t := target{i, j}
			d.byCamera[route.Camera] = append(d.byCamera[route.Camera], t)
			added.lanes = append(added.lanes, d.laneOf(route.Camera, r.Model, t))
		}
		d.replicas = append(d.replicas, added)
	}
	d.moved = make([]bool, len(d.lanes))
	return d, nil
}

// Offer takes the newest picture of a camera for every replica that wants it.
func (d *Dispatcher) Offer(now clock.Mono, camera int, picture *shm.FrameMeta) {
	d.offered(camera, picture)
	for _, t := range d.byCamera[camera] {
		r := &d.replicas[t.replica]
		w := &r.waiting[t.route]
		if !r.ready && (r.failed || !r.Routes[t.route].Hold) {
			r.dropped[DropNotReady]++
			r.fates[t.route].begin(now, picture, FateNotReady)
			continue
		}
		if w.set {
			r.dropped[DropSuperseded]++
			r.fates[t.route].change(now, w.fate, FateSuperseded, 0)
		}
		*w = waiting{set: true, picture: *picture, since: now, fate: r.fates[t.route].begin(now, picture, FateWaiting)}
		d.pump(now, t.replica)
	}
}

// Pump hands waiting pictures to replicas that have room again and returns how many.
func (d *Dispatcher) Pump(now clock.Mono) int {
	before := d.handedOut
	for i := range d.replicas {
		d.pump(now, i)
	}
	return int(d.handedOut - before)
}

func (d *Dispatcher) pump(now clock.Mono, i int) {
	r := &d.replicas[i]
	for r.ready && r.fault == nil {
		next := r.oldest()
		if next < 0 {
			return
		}
		queued, err := d.queue(r)
		if err != nil {
			d.blame(i, err)
			return
		}
		if queued >= uint64(r.MaxOngoing) {
			return
		}
		d.handOver(now, r, next)
	}
}

// blame gives a replica whose words are impossible no more work.
func (d *Dispatcher) blame(i int, err error) {
	d.replicas[i].fault = err
	d.touch(&d.replicas[i])
	d.onFault(i, err)
}

// handOver makes one waiting picture an assignment.
func (d *Dispatcher) handOver(now clock.Mono, r *replica, route int) {
	w := &r.waiting[route]
	p := &w.picture
	w.set = false
	d.assign = shm.Assignment{
		Camera: r.Routes[route].Local, FrameSeq: p.Seq, FrameID: p.FrameID, StreamEpoch: p.StreamEpoch,
		CaptureNS: p.CaptureNS, EnqueuedNS: int64(now), Generation: r.Generation,
	}
	if d.maxAgeNS > 0 && !r.Routes[route].Hold {
		d.assign.DeadlineNS = p.PublishNS + d.maxAgeNS
	}
	if err := r.Out.Enqueue(&d.assign); err != nil {
		r.dropped[DropFault]++
		r.fates[route].change(now, w.fate, FateFault, 0)
		return
	}
	r.held[r.assigned%uint64(len(r.held))] = held{route: route, epoch: p.StreamEpoch, ns: p.CaptureNS}
	r.fates[route].change(now, w.fate, FateAssigned, r.assigned)
	r.assigned++
	d.handedOut++
}

// oldest returns the route whose picture waits longest, or -1: cameras that share a
// replica take turns by age, so none starves.
func (r *replica) oldest() int {
	best := -1
	for i := range r.waiting {
		if r.waiting[i].set && (best < 0 || r.waiting[i].since < r.waiting[best].since) {
			best = i
		}
	}
	return best
}

// queue returns enq − done after checking the child's words against what can be true. What
// has been done since the last look moves the model's progress.
func (d *Dispatcher) queue(r *replica) (uint64, error) {
	enq, done, taken := r.Out.Enq(), r.Words.Done(), r.Words.Taken()
	switch {
	case done > enq:
		return 0, fmt.Errorf("%w: done %d is beyond enq %d", ErrQueueWords, done, enq)
	case taken > enq:
		return 0, fmt.Errorf("%w: taken %d is beyond enq %d", ErrQueueWords, taken, enq)
	case done < r.lastDone:
		return 0, fmt.Errorf("%w: done ran back from %d to %d", ErrQueueWords, r.lastDone, done)
	}
	if done != r.lastDone {
		d.finish(r, done-r.lastDone)
	}
	return enq - done, nil
}

// SetReady says that a replica's process takes work from now on. The process has
// put its done word at enq before it said ready, so its queue starts empty.
func (d *Dispatcher) SetReady(now clock.Mono, i int) {
	r := &d.replicas[i]
	if !r.works() { // another process than before
		r.lastDone, r.base, r.proved = r.Words.Done(), r.assigned, false
	}
	r.ready, r.draining, r.failed, r.fault = true, false, false, nil
	d.pump(now, i)
}

// SetDraining says that a replica's process has been asked to go: it takes no more
// pictures, and what it holds it may still finish.
func (d *Dispatcher) SetDraining(i int) {
	r := &d.replicas[i]
	r.draining = r.draining || r.ready
	r.ready = false
	d.dropWaiting(r, false)
}

// SetDown says that a replica's process is gone. What it held is lost and counted;
// pictures that wait for it are dropped, except those on hold when another process
// will come: forever says that none will.
func (d *Dispatcher) SetDown(i int, forever bool) {
	r := &d.replicas[i]
	if r.ready || r.draining {
		if queued, err := d.queue(r); err == nil {
			r.died += queued
			r.die(r.assigned - min(queued, r.assigned-r.base))
		}
	}
	r.ready, r.draining, r.failed = false, false, forever
	d.dropWaiting(r, forever)
}

func (d *Dispatcher) dropWaiting(r *replica, forever bool) {
	d.touch(r)
	for j := range r.waiting {
		if r.waiting[j].set && (forever || !r.Routes[j].Hold) {
			r.waiting[j].set = false
			r.dropped[DropNotReady]++
			r.fates[j].change(r.waiting[j].since, r.waiting[j].fate, FateNotReady, 0)
		}
	}
}

// Waits reports whether a picture of this camera still waits for a replica: the
// capture of a fast camera is allowed its next picture only when none does.
func (d *Dispatcher) Waits(camera int) bool {
	for _, t := range d.byCamera[camera] {
		if d.replicas[t.replica].waiting[t.route].set {
			return true
		}
	}
	return false
}

// Idle reports whether every ready replica has finished what it was given and
// nothing waits.
func (d *Dispatcher) Idle() bool {
	for i := range d.replicas {
		r := &d.replicas[i]
		if r.oldest() >= 0 {
			return false
		}
		if !r.works() {
			continue
		}
		if queued, err := d.queue(r); err == nil && queued > 0 {
			return false
		}
	}
	return true
}

// Account is one replica's sums. Offered pictures = Assigned + ΣDropped + Waiting,
// and Assigned = outcomes the replica counted + Died + Queue.
type Account struct {
	Assigned, Died, Waiting, Queue uint64
	Dropped                        [numDrops]uint64
	Fault                          error
}

// Account returns the sums of replica i.
func (d *Dispatcher) Account(i int) Account {
	r := &d.replicas[i]
	a := Account{Assigned: r.assigned, Died: r.died, Dropped: r.dropped, Fault: r.fault}
	for j := range r.waiting {
		if r.waiting[j].set {
			a.Waiting++
		}
	}
	if r.works() {
		a.Queue, _ = d.queue(r) // an impossible value shows as 0 here and as Fault at the next pump
	}
	return a
}

// DropReasons lists every reason in the order of Account.Dropped.
func DropReasons() []Drop { return []Drop{DropSuperseded, DropNotReady, DropFault} }
