package correlate

import (
	"github.com/skewgate/skewgate/appliance/cacheline"
	"github.com/skewgate/skewgate/appliance/clock"
)

// record remembers a closed group, so that what comes later is known as late or as a duplicate.
type record struct {
	key      Key
	first    clock.Mono
	closedAt clock.Mono
	last     clock.Mono // last arrival within the horizon; alone if nobody but the first model came
	held     []instant  // each model's first message, also those that came late
	mark     uint64     // of the watch

	// For window matches only.
	minNS, maxNS int64
	epoch        *epoch
	anchorNode   uint32

	next uint32 // in order of closing, or the free list; place + 1
}

// instant is when a model's message was captured, as received.
type instant struct {
	ns       int64
	model    ModelID
	readable bool
}

// recordChunk is how many records are allocated at a time. Records stay where they are.
const recordChunk = 256

// usualHeld is the room for instants that every record starts with.
const usualHeld = 4

// closedRecords is a queue of records in order of closing, bounded.
type closedRecords struct {
	chunks         [][]record
	oldest, newest uint32 // place + 1; 0 = none
	unfinished     uint32 // the oldest of those whose horizon is not over
	free           uint32
	n, made        int
}

func (q *closedRecords) at(id uint32) *record { return &q.chunks[id/recordChunk][id%recordChunk] }

// push appends an empty record and returns its place.
func (q *closedRecords) push() uint32 {
	if q.free == 0 {
		q.alloc()
	}
	id := q.free - 1
	r := q.at(id)
	q.free, r.next = r.next, 0
	if q.newest != 0 {
		q.at(q.newest - 1).next = id + 1
	} else {
		q.oldest = id + 1
	}
	if q.unfinished == 0 {
		q.unfinished = id + 1
	}
	q.newest = id + 1
	q.n++
	return id
}

// pop takes out the oldest record.
func (q *closedRecords) pop() {
	id := q.oldest - 1
	r := q.at(id)
	q.oldest = r.next
	if q.oldest == 0 {
		q.newest = 0
	}
	q.prefetch()
	if q.unfinished == id+1 {
		q.unfinished = r.next
	}
	if cap(r.held) > 4*usualHeld {
		r.held = nil
	}
	r.held, r.epoch = r.held[:0], nil
	r.next, q.free = q.free, id+1
	q.n--
}

// prefetch asks for what the next two calls of pop will touch: records are forgotten in order, a
// whole table's length after they were written.
func (q *closedRecords) prefetch() {
	if q.oldest == 0 {
		return
	}
	next := q.at(q.oldest - 1)
	if next.next != 0 {
		cacheline.PrefetchTwo(q.at(next.next - 1))
	}
	if len(next.held) > 0 {
		cacheline.PrefetchTwo(&next.held[0])
	}
}

func (q *closedRecords) alloc() {
	chunk := make([]record, recordChunk)
	instants := make([]instant, recordChunk*usualHeld)
	for i := range chunk {
		chunk[i].held = instants[:0:usualHeld]
		instants = instants[usualHeld:]
		chunk[i].next = uint32(q.made + i + 2)
	}
	chunk[recordChunk-1].next = 0
	q.free = uint32(q.made + 1)
	q.made += recordChunk
	q.chunks = append(q.chunks, chunk)
}

// holds returns a model's instant, nil if it has not come.
func (r *record) holds(id ModelID) *instant {
	for i := range r.held {
		if r.held[i].model == id {
			return &r.held[i]
		}
	}
	return nil
}

// remember puts a closed group's key and models on record. It reports false if records live
// for no time at all; the caller then forgets the key when it is done with it.
func (c *Correlator) remember(now clock.Mono, g *group) bool {
	if c.closedTTL <= 0 {
		c.final.cut++
		if g.Key.Tag == TagWindow {
			c.order.remove(g.anchorNode)
		} else {
			c.index.remove(&g.Key, openRef(g.id))
		}
		c.release(g.epoch)
		return false
	}
	if c.closed.n >= c.limits.Closed {
		c.n.ClosedForgotten++ // the expired have left already, at the start of the call
		c.forgetOldest()
	}
	id := c.closed.push()
	r := c.closed.at(id)
	r.key, r.first, r.closedAt, r.last = g.Key, g.FirstArrival, now, alone
	if len(g.Members) > 1 {
		r.last = g.LastArrival
	}
	for i := range g.Members {
		m := &g.Members[i]
		r.held = append(r.held, instant{ns: m.CaptureNS, model: m.Model, readable: !m.Unreadable})
	}
	if g.Key.Tag != TagWindow {
		c.index.replace(&r.key, openRef(g.id), closedRef(id))
		c.release(g.epoch)
		return true
	}
	r.minNS, r.maxNS = g.minNS, g.maxNS
	r.epoch, r.anchorNode = g.epoch, g.anchorNode // the group's reference goes on as the record's
	c.order.nodes[g.anchorNode].ref = uint32(closedRef(id))
	return true
}

// expire forgets the records whose time is over.
func (c *Correlator) expire(now clock.Mono) {
	for c.closed.n > 0 && int64(now-c.closed.at(c.closed.oldest-1).closedAt) >= c.closedTTL {
		c.forgetOldest()
	}
}

func (c *Correlator) forgetOldest() {
	id := c.closed.oldest - 1
	r := c.closed.at(id)
	if c.closed.unfinished == id+1 {
		c.final.cut++
	}
	if r.key.Tag == TagWindow {
		c.order.remove(r.anchorNode)
		c.release(r.epoch)
	} else {
		c.index.remove(&r.key, closedRef(id))
	}
	k := r.key
	c.closed.pop()
	c.forget(k)
}

// forget lets go of what a key held on to, once nothing has it any more.
func (c *Correlator) forget(k Key) {
	switch {
	case k.Tag == TagRaw:
		c.raw.Release(k.Value)
	case k.Tag == TagID && c.cfg.FrameIDs != nil:
		c.cfg.FrameIDs.Release(k.Value)
	}
}

// meetClosed judges a message whose group is closed. t is its matched capture time.
func (c *Correlator) meetClosed(now clock.Mono, cam *camera, r *record, m *Message, mod *model, t int64, readable bool) Verdict {
	if have := r.holds(m.Model); have != nil {
		return c.duplicate(have.readable, have.ns, readable, m.CaptureNS)
	}
	c.n.Late++
	mod.late++
	lag := int64(now - r.first)
	c.skew.Add(int64(now), lag)
	mod.lag.Add(int64(now), lag)
	c.final.late(now, r, lag)
	c.cameLate(now, cam, m.Model, lag)
	r.held = append(r.held, instant{ns: m.CaptureNS, model: m.Model, readable: readable})
	if r.key.Tag == TagWindow {
		r.minNS, r.maxNS = min(r.minNS, t), max(r.maxNS, t)
	}
	return Late
}
