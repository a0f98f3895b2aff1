package sink

import "sync/atomic"

// Bounds of a queue. At 60 frames a second a stall of 17 s fits.
const (
	queueLines = 1024
	queueBytes = 4 << 20
)

// queue hands lines from one goroutine to another without a lock and without an
// allocation: the path must not wait for a writer that was descheduled while it held
// one. put belongs to the one producer, front and pop to the one consumer.
//
// Lines lie in one ring of bytes, each in one piece: one that does not fit behind the
// last goes to the start, if the oldest has left room there.
type queue struct {
	bytes []byte
	lines []span
	tail  atomic.Uint64 // lines put
	head  atomic.Uint64 // lines popped
	wake  chan struct{} // holds one token when something was put
}

type span struct{ from, to int }

func newQueue(lines, bytes int) *queue {
	return &queue{bytes: make([]byte, bytes), lines: make([]span, lines), wake: make(chan struct{}, 1)}
}

// at is the place of the line with number n, from 0.
func (q *queue) at(n uint64) *span { return &q.lines[n%uint64(len(q.lines))] }

// put copies line into the queue; false: it is full.
func (q *queue) put(line []byte) bool {
	tail, head := q.tail.Load(), q.head.Load()
	if tail-head == uint64(len(q.lines)) {
		return false
	}
	from, ok := q.room(tail, head, len(line))
	if !ok {
		return false
	}
	copy(q.bytes[from:], line)
	*q.at(tail) = span{from, from + len(line)}
	q.tail.Store(tail + 1) // sync: queue, with the load in front
	select {
	case q.wake <- struct{}{}:
	default: // a token is there already
	}
	return true
}

// room returns where a line of n bytes can lie.
func (q *queue) room(tail, head uint64, n int) (from int, ok bool) {
	if tail == head {
		return 0, n <= len(q.bytes) // empty: begin at the start, whose cache lines are warm
	}
	oldest, end := q.at(head).from, q.at(tail-1).to
	switch {
	case end <= oldest: // wrapped around: the room lies between
		return end, n <= oldest-end
	case n <= len(q.bytes)-end:
		return end, true
	}
	return 0, n <= oldest
}

// front returns the oldest line, valid until pop.
func (q *queue) front() ([]byte, bool) {
	head := q.head.Load()
	if head == q.tail.Load() { // sync: queue
		return nil, false
	}
	s := q.at(head)
	return q.bytes[s.from:s.to], true
}

// pop gives the oldest line's room back to the producer.
func (q *queue) pop() { q.head.Add(1) } // sync: room, with the load in put
