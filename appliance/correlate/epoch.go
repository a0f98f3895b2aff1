package correlate

// idleEpochs is how many timelines of a camera are remembered beside those in use.
const idleEpochs = 16

// epoch is one timeline of a camera: what its models have promised, and its open groups in the
// order in which progress settles them.
type epoch struct {
	camera   *camera
	number   uint32
	settle   uint32 // list of open groups by the progress that settles them
	anchor   uint32 // list of groups and records by their first instant; 0 = no window match yet
	progress []progress

	refs       int // open groups, and closed records that are in anchor
	prev, next *epoch
}

// progress is a promise: no further message of the model with a capture time at or below wNS.
type progress struct {
	model      ModelID
	said       bool
	distrusted bool // it was broken; it settles nothing until the next epoch
	wNS        int64
}

// epochs holds a camera's timelines. Those that nothing refers to are kept in a list, the
// longest idle first, and leave from its front when there are more than idleEpochs.
type epochs struct {
	current      *epoch // the one last asked for
	all          map[uint32]*epoch
	idle         int
	oldest, last *epoch
}

// epochAt returns one of a camera's timelines, nil if it is not known.
func (es *epochs) epochAt(number uint32) *epoch {
	if ep := es.current; ep != nil && ep.number == number {
		return ep
	}
	return es.all[number]
}

// epochOf returns a camera's timeline, starting it if it is new.
func (c *Correlator) epochOf(cam *camera, number uint32) *epoch {
	ep := cam.epochAt(number)
	if ep == nil {
		if cam.idle >= idleEpochs {
			c.dropEpoch(cam.oldest)
		}
		ep = &epoch{camera: cam, number: number, settle: c.order.newList()}
		cam.all[number] = ep
		cam.rest(ep)
	}
	cam.current = ep
	return ep
}

func (c *Correlator) dropEpoch(ep *epoch) {
	cam := ep.camera
	cam.wake(ep)
	delete(cam.all, ep.number)
	if cam.current == ep {
		cam.current = nil
	}
	c.order.remove(ep.settle)
	if ep.anchor != 0 {
		c.order.remove(ep.anchor)
	}
}

// hold adds a reference.
func (ep *epoch) hold() {
	if ep.refs == 0 {
		ep.camera.wake(ep)
	}
	ep.refs++
}

// release takes a reference back. A timeline that nobody refers to may be dropped from now on.
func (c *Correlator) release(ep *epoch) {
	ep.refs--
	if ep.refs > 0 {
		return
	}
	if ep.camera.idle >= idleEpochs {
		c.dropEpoch(ep.camera.oldest)
	}
	ep.camera.rest(ep)
}

// rest puts a timeline last in the list of idle ones, wake takes it out.
func (es *epochs) rest(ep *epoch) {
	ep.prev, ep.next = es.last, nil
	if es.last != nil {
		es.last.next = ep
	} else {
		es.oldest = ep
	}
	es.last = ep
	es.idle++
}

func (es *epochs) wake(ep *epoch) {
	if ep.prev != nil {
		ep.prev.next = ep.next
	} else {
		es.oldest = ep.next
	}
	if ep.next != nil {
		ep.next.prev = ep.prev
	} else {
		es.last = ep.prev
	}
	ep.prev, ep.next = nil, nil
	es.idle--
}

// anchors returns the list for window matches.
func (ep *epoch) anchors(o *order) uint32 {
	if ep.anchor == 0 {
		ep.anchor = o.newList()
	}
	return ep.anchor
}

// of returns what a model has promised on this timeline, nil for nothing.
func (ep *epoch) of(id ModelID) *progress {
	for i := range ep.progress {
		if ep.progress[i].model == id {
			return &ep.progress[i]
		}
	}
	return nil
}

// passed reports whether a model can be trusted to send nothing at or below ns any more.
func (ep *epoch) passed(id ModelID, ns int64) bool {
	p := ep.of(id)
	return p != nil && !p.distrusted && p.said && p.wNS >= ns
}
