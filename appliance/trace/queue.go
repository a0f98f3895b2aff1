package trace

import "sync/atomic"

// queue hands events from one goroutine to another without a lock, a wake-up or, once the slots
// have grown to what their raw texts need, an allocation. put belongs to the one producer,
// front and pop to the one consumer.
type queue struct {
	slots []Event       // a power of two
	tail  atomic.Uint64 // events put
	head  atomic.Uint64 // events popped
}

func newQueue(slots int) *queue { return &queue{slots: make([]Event, slots)} }

func (q *queue) at(n uint64) *Event { return &q.slots[n&uint64(len(q.slots)-1)] }

// put copies e into the queue; false: it is full.
func (q *queue) put(e *Event, lostBefore uint64) bool {
	tail := q.tail.Load()
	if tail-q.head.Load() == uint64(len(q.slots)) { // sync: room
		return false
	}
	slot := q.at(tail)
	raw := append(slot.Raw[:0], e.Raw...)
	*slot = *e
	slot.Raw, slot.lostBefore = raw, lostBefore
	q.tail.Store(tail + 1) // sync: queue
	return true
}

// front returns the oldest event, nil if there is none. It is valid until pop.
func (q *queue) front() *Event {
	head := q.head.Load()
	if head == q.tail.Load() { // sync: queue
		return nil
	}
	return q.at(head)
}

// pop gives the oldest event's slot back to the producer.
func (q *queue) pop() { q.head.Add(1) } // sync: room

func (q *queue) len() int { return int(q.tail.Load() - q.head.Load()) }
