package appliance

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/skewgate/skewgate/appliance/attach"
	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/appliance/dispatch"
	"github.com/skewgate/skewgate/appliance/story"
	"github.com/skewgate/skewgate/appliance/supervise"
	"github.com/skewgate/skewgate/shm"
)

// Bounds of one turn.
const (
	maxMessagesPerTurn = 1024
	snapshotNS         = int64(200 * time.Millisecond) // between two status snapshots
)

// path is the one thread between the rings and the sinks. Its fields belong to that
// thread; others use the atomics, settle, between and stop.
type path struct {
	a        *Appliance
	log      *slog.Logger
	wait     *Waiter
	cameras  []*camera
	replicas []*replica
	disp     *dispatch.Dispatcher
	corr     *traced
	book     *story.Book
	out      publisher
	message  correlate.Message // reused
	boxes    []detect.Box      // reused

	ended    atomic.Bool
	turned   atomic.Int64  // when the last turn began
	waiter   chan struct{} // closed once nothing is in flight and no group is open
	requests chan func()
	snapshot atomic.Pointer[view]
	figures  *figures
	warnings *warnings
	nextView clock.Mono
	reached  clock.Mono // the latest arrival of a message read
	seats    [][]seat   // by camera: who looks at it
	promises promises
	sleeps   sleeps
	clock    func() clock.Mono      // nil = a turn takes no time
	lastTurn clock.Mono             // the instant of the turn before
	desk     func(int) *attach.Word // who is attached there
}

func newPath(a *Appliance, bell *shm.Doorbell, cameras []*camera, replicas []*replica) (*path, error) {
	p := &path{
		a: a, log: a.o.Log, wait: NewWaiter(a.cfg.Path.Wait, bell), cameras: cameras, replicas: replicas,
		requests: make(chan func()), lastTurn: clock.Now(), desk: a.attach.Word, warnings: newWarnings(a.o.Log),
		sleeps: sleeps{offset: clock.ReadBootOffset},
	}
	var err error
	if p.corr, err = p.newCorrelator(p.out.publish); err != nil {
		return nil, err
	}
	if err := p.recordFile(a.o.Record); err != nil {
		return nil, err
	}
	for _, r := range replicas {
		if r.foreign != nil { // nobody is attached yet, and perhaps nobody ever will
			p.modelDown(clock.Now(), r)
		}
	}
	if p.disp, err = p.newDispatcher(); err != nil {
		return nil, err
	}
	if err := p.out.init(p); err != nil {
		return nil, err
	}
	p.seatReplicas()
	p.takeView(clock.Now())
	return p, nil
}

func (p *path) newDispatcher() (*dispatch.Dispatcher, error) {
	var targets []dispatch.Replica
	for _, r := range p.replicas {
		if r.foreign != nil {
			continue
		}
		r.queue = len(targets)
		t := dispatch.Replica{Name: r.task, Model: int(r.model), Out: r.work, Words: ringWords{r}, MaxOngoing: r.cfg.Replicas.MaxOngoing}
		for local, c := range r.cameras {
			t.Routes = append(t.Routes, dispatch.Route{Camera: c.index, Local: uint32(local), Hold: c.cfg.Pace == config.PaceFast})
		}
		targets = append(targets, t)
	}
	return dispatch.New(len(p.cameras), targets, int64(p.a.cfg.Correlation.MaxAge), func(i int, err error) {
		p.setAside(i, err)
	})
}

// ringWords reads a replica's words through whatever reader its ring has now.
type ringWords struct{ r *replica }

func (w ringWords) Taken() uint64 { return w.r.ring.Taken() }
func (w ringWords) Done() uint64  { return w.r.ring.Done() }

// run turns until stop. It owns its OS thread, whose scheduling the config may raise.
func (p *path) run() {
	runtime.LockOSThread()
	if err := schedule(p.a.cfg.Path.Sched); err != nil {
		p.log.Warn("path runs with ordinary scheduling", "err", err)
	}
	p.clock = clock.Now
	for !p.ended.Load() {
		now := clock.Now()
		p.turned.Store(int64(now))
		n := p.turn(now)
		if err := p.wait.Rest(now, n, p.dueNS, p.pending); err != nil {
			p.log.Error("wait on the doorbell", "err", err)
		}
	}
	p.takeView(clock.Now())
}

// turn does a bounded amount of whatever there is to do and says how much that was.
func (p *path) turn(now clock.Mono) int {
	n := p.orders(now)
	for _, c := range p.cameras {
		if c.quarantine == "" {
			n += c.look(now, p.disp.Offer)
			p.tellEpoch(c)
		}
		if c.quarantine != "" && !c.replacing {
			p.replaceCamera(c)
		}
	}
	p.lookForPromises()
	// A turn that was held up since it began must not date what was published meanwhile back to
	// its beginning: all that would seem to have come at once.
	if p.clock != nil {
		now = p.clock()
	}
	read := p.messages(now)
	n += read + p.disp.Pump(now)
	for _, r := range p.replicas {
		switch {
		case r.quarantine == "" || r.replacing:
		case r.foreign != nil:
			p.replaceForeign(now, r)
		default:
			p.replaceReplica(now, r)
		}
	}
	for _, c := range p.cameras {
		c.pacing(p.disp.Waits(c.index) || p.coming(c))
	}
	if read < maxMessagesPerTurn {
		n += p.keepPromises(now)
		p.corr.Tick(now)
		p.lookForSleep(now)
	} else { // what is unread may have arrived before now, and comes first
		n += p.keepPromises(p.reached)
		p.corr.Tick(p.reached)
	}
	if p.waiter != nil && n == 0 && p.corr.Pending() == 0 && p.disp.Idle() {
		close(p.waiter)
		p.waiter = nil
	}
	if now >= p.nextView {
		p.lookForHung(now)
		p.takeView(now)
	}
	p.lastTurn = now
	return n
}

// dueNS is the time until something is due, at most most.
func (p *path) dueNS(now clock.Mono, most int64) int64 {
	if at, ok := p.corr.NextDeadline(); ok {
		most = min(most, int64(at.Sub(now)))
	}
	return max(most, 1)
}

// pending says whether a child has published since the last turn: asked once more
// after the sleep flag is up, so that no wake-up is lost.
func (p *path) pending() bool {
	if p.a.mail.fresh.Load() || p.a.deskNews.Load() {
		return true
	}
	for _, c := range p.cameras {
		if c.quarantine == "" && c.frames.Head() != c.seen {
			return true
		}
	}
	for _, r := range p.replicas {
		if r.have || r.quarantine == "" && r.attached() && r.ring.Pending() > 0 {
			return true
		}
	}
	return false
}

// messages steps what the rings hold, all rings merged by arrival.
func (p *path) messages(now clock.Mono) int {
	n := 0
	for n < maxMessagesPerTurn {
		var first *replica
		for _, r := range p.replicas {
			if (r.have || r.peek(now)) && (first == nil || r.arrival < first.arrival) {
				first = r
			}
		}
		if first == nil {
			break
		}
		p.step(first)
		p.reached = max(p.reached, first.arrival)
		first.have = false
		n++
	}
	for _, r := range p.replicas {
		if r.frame != r.lastFrame.Load() { // a store that others see costs a barrier
			r.lastFrame.Store(r.frame)
		}
	}
	return n
}

// step gives one message to the correlator.
func (p *path) step(r *replica) {
	var m *correlate.Message
	var err error
	if r.foreign == nil {
		m, err = p.read(r)
	} else {
		m, err = p.readForeign(r)
	}
	if err != nil {
		p.corr.Refuse()
		r.refused++
		r.refusal = err.Error()
		p.log.Debug("message refused", "task", r.task, "err", err)
		return
	}
	if cached := &r.streams[r.head.Stream%shm.MaxStreams]; cached.known {
		r.spoke(r.arrival, cached.local, m.Stream)
	}
	if r.head.Kind == shm.KindProgress {
		p.corr.Progress(r.arrival, m.Stream, m.Model, m.CaptureNS)
		return
	}
	if p.corr.Step(r.arrival, m) == correlate.Accepted {
		r.messages++
	}
}

// read turns a slot into a message. Everything in it is a child's word.
func (p *path) read(r *replica) (*correlate.Message, error) {
	h := &r.head
	if h.Kind != shm.KindBoxes {
		return nil, fmt.Errorf("message %d is of kind %d, only boxes are taken from a managed detector", h.Sequence, h.Kind)
	}
	if h.CaptureNS == shm.RawCapture {
		return nil, fmt.Errorf("message %d has no capture time, which the frame ring gives every picture", h.Sequence)
	}
	stream, err := p.stream(r)
	if err != nil {
		return nil, err
	}
	boxes, err := p.unpack(r.body[:r.length], int(h.Count))
	if err != nil {
		return nil, err
	}
	r.frame = h.FrameID
	p.begin(r, stream)
	p.message.Boxes = boxes
	return &p.message, nil
}

// unpack returns the boxes of a packed body: where they are, if this processor can read them
// there, else in p.boxes. The body is the path's own copy.
func (p *path) unpack(body []byte, count int) (boxes []detect.Box, err error) {
	if boxes, ok := detect.InPlace(body, count); ok {
		return boxes, nil
	}
	p.boxes, err = detect.AppendUnpacked(p.boxes[:0], body, count)
	return p.boxes, err
}

// begin makes the message what the slot's header says. It is filled in place: a whole one made
// elsewhere and copied waits for the stores that made it.
func (p *path) begin(r *replica, stream correlate.StreamID) {
	m, h := &p.message, &r.head
	*m = correlate.Message{}
	m.Stream, m.Model, m.HasBoxes = stream, r.model, true
	m.CaptureNS, m.FrameID, m.Tag = h.CaptureNS, h.FrameID, h.Tag
}

// stream maps a ring's stream number to the correlator's. The names come from the
// child's table, so they must be of this unit and of a camera that was given to it.
func (p *path) stream(r *replica) (correlate.StreamID, error) {
	h := &r.head
	cached := &r.streams[h.Stream%shm.MaxStreams]
	if cached.known && cached.epoch == h.StreamEpoch {
		return cached.id, nil
	}
	info, ok := r.ring.Stream(h.Stream)
	if !ok {
		return 0, fmt.Errorf("message %d is of stream %d, which the ring does not have", h.Sequence, h.Stream)
	}
	if info.Unit != p.a.cfg.Unit || !r.serves(info.Camera) {
		return 0, fmt.Errorf("message %d is of %s/%s, which %s was not given", h.Sequence, info.Unit, info.Camera, r.task)
	}
	if r.foreign != nil {
		if err := r.checkEpoch(info.Camera, h.StreamEpoch); err != nil {
			return 0, err
		}
	}
	id, err := p.corr.Stream(info.Unit, info.Camera, h.StreamEpoch)
	if err != nil {
		return 0, err
	}
	*cached = streamCache{known: true, epoch: h.StreamEpoch, id: id, local: r.local(info.Camera)}
	return id, nil
}

func (r *replica) serves(camera string) bool { return r.local(camera) >= 0 }

// local is the replica's own number of a camera, -1 for one it was not given.
func (r *replica) local(name string) int {
	return slices.IndexFunc(r.cameras, func(c *camera) bool { return c.cfg.Name == name })
}

// orders takes what other goroutines have to say.
func (p *path) orders(now clock.Mono) int {
	n := 0
	news := p.a.deskNews.Load() && p.a.deskNews.Swap(false)
	if news {
		p.openForeign()
	}
	if p.a.mail.take(func(task string, w word) { p.hear(now, task, w) }) {
		n++
	}
	if news {
		for _, r := range p.replicas {
			if r.foreign != nil && !r.replacing {
				p.hearForeign(now, r)
			}
		}
		n++
	}
	select {
	case f := <-p.requests:
		f()
		n++
	default:
	}
	return n
}

func (p *path) hear(now clock.Mono, task string, w word) {
	for _, c := range p.cameras {
		if c.task == task {
			c.word = w
		}
	}
	for _, r := range p.replicas {
		if r.task == task && (r.word.start != w.start || r.word.state != w.state) {
			p.hearReplica(now, r, w)
		}
	}
}

// hearReplica follows one detector's process: it gets work while it is ready, and
// leaves the quorum the moment it is gone. A detector that has not come up yet is
// waited for; one that was lost returns with its first message.
func (p *path) hearReplica(now clock.Mono, r *replica, w word) {
	restarted := r.word.start != w.start && r.word.start != 0
	r.word = w
	switch w.state {
	case supervise.StateReady:
		if restarted {
			p.lose(now, r, false)
		}
		p.employ(now, r)
	case supervise.StateExited, supervise.StateBackoff, supervise.StateStopped, supervise.StateKillPending:
		p.lose(now, r, false)
	case supervise.StateFailed:
		p.lose(now, r, true)
	default: // coming, or asked to go: a loss in between shows as a new start
		if restarted {
			p.lose(now, r, false)
		} else if r.ready {
			r.ready, r.leaving = false, true
			p.disp.SetDraining(r.queue)
		}
	}
}

// lose takes a detector whose process is gone out of dispatch and quorum, after what
// it published before it died was read.
func (p *path) lose(now clock.Mono, r *replica, forever bool) {
	if r.foreign == nil && r.settled && !r.ready && !r.leaving && !forever {
		return // it was gone already
	}
	p.drain(now)
	p.promises.forget(r.model)
	r.ready, r.leaving, r.settled = false, false, true
	if r.queue != noQueue {
		p.disp.SetDown(r.queue, forever)
	}
	p.modelDown(now, r)
}

// drain reads all rings to their end: a message of a dead detector that came later would
// make it look alive. The bound is for a writer that does not stop.
func (p *path) drain(now clock.Mono) {
	for range len(p.replicas)*ringSlots/maxMessagesPerTurn + 2 {
		if p.messages(now) < maxMessagesPerTurn {
			return
		}
	}
}

// tellEpoch lets foreign detectors know which stream_epoch a camera's pictures carry.
func (p *path) tellEpoch(c *camera) {
	if epoch := c.frames.Info().StreamEpoch; epoch != c.told {
		c.told = epoch
		p.a.attach.SetEpoch(c.index, epoch)
	}
}

// employ gives a ready detector work.
func (p *path) employ(now clock.Mono, r *replica) {
	if r.ready {
		return
	}
	said, err := parseReady(r.word.ready)
	if err != nil {
		p.log.Error("detector is ready but its report is not to be used", "task", r.task, "err", err)
	}
	r.ready, r.settled, r.said = true, true, said
	if err := p.out.learn(r); err != nil {
		p.log.Error("class names of detector not usable", "task", r.task, "err", err)
	}
	p.disp.SetReady(now, r.queue)
}

// coming reports whether a detector of this camera has neither been ready nor failed
// to come up: a camera that must lose nothing does not begin without it.
func (p *path) coming(c *camera) bool {
	for _, r := range p.replicas {
		if !r.settled && r.serves(c.cfg.Name) {
			return true
		}
	}
	return false
}

// setAside stops believing a replica whose queue words are impossible.
func (p *path) setAside(queue int, err error) {
	for _, r := range p.replicas {
		if r.queue == queue && r.quarantine == "" {
			r.quarantine = err.Error()
		}
	}
}

// replaceReplica gives a detector whose ring is quarantined a new process and a ring
// laid out anew. Nothing else is touched.
func (p *path) replaceReplica(now clock.Mono, r *replica) {
	p.log.Error("detection ring quarantined, its process is replaced", "task", r.task, "reason", r.quarantine)
	r.beginReplacing()
	p.lose(now, r, false)
	p.a.replaceWild([]string{r.task}, func() error { return p.relay(r) }, nil)
}

// relay lays a quarantined ring out anew, between two turns: what is published in it from now on
// was published after the last one.
func (p *path) relay(r *replica) error { return r.layOut(r.index, p.lastTurn) }

// replaceCamera does the same for a capture. Its detectors have believed the same
// memory, so they get new processes too.
func (p *path) replaceCamera(c *camera) {
	p.log.Error("frame ring quarantined, its processes are replaced", "task", c.task, "reason", c.quarantine)
	c.replacing = true
	tasks := []string{c.task}
	for _, r := range p.replicas {
		if r.serves(c.cfg.Name) && r.foreign == nil {
			tasks = append(tasks, r.task)
		}
	}
	p.a.replaceWild(tasks, func() error { return c.layOut(p.a.cfg.Unit) }, func() {
		p.a.attach.Dismiss(c.index, "the frame ring of "+c.cfg.Name+" was laid out anew: attach again")
	})
}

// between runs f on the path's thread, between two turns.
func (p *path) between(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	select {
	case p.requests <- func() { done <- f() }:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settle waits until nothing is in flight and no group is open, at most d.
func (p *path) settle(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	settled := make(chan struct{})
	if p.between(ctx, func() error { p.waiter = settled; return nil }) != nil {
		return
	}
	select {
	case <-settled:
	case <-ctx.Done():
	}
}

func (p *path) stop() { p.ended.Store(true) }
