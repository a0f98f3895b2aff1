package shm

import (
	"fmt"
	"sync/atomic"
)

// A Reader follows one detection ring. It never holds the writer up; what was
// overwritten before it came is counted in Lost. It belongs to one goroutine.
type Reader struct {
	b       []byte // of the slots
	table   []byte
	mask    uint64
	stride  int
	payload int
	headAt  *atomic.Uint64
	countAt *atomic.Uint32
	own     ownWords
	id      identity

	start, next uint64 // next: the sequence wanted next
	head        uint64 // highest seen
	read, lost  uint64
	count       uint32 // streams seen so far; slots must stay below
	streams     [MaxStreams]*StreamInfo
	err         error // once set, the ring stays quarantined
}

// NewReader attaches to the ring in b, which may be mapped read-only, at its current
// head: what was published before is neither read nor lost.
func NewReader(b []byte) (*Reader, error) {
	l, err := readLayout(b, kindDetection, kindOutput)
	if err != nil {
		return nil, fmt.Errorf("attach reader: %w", err)
	}
	id, err := readIdentity(b, l)
	if err != nil {
		return nil, fmt.Errorf("attach reader: %w", err)
	}
	r := &Reader{
		b: b[l.slotsAt : l.slotsAt+l.slots*l.slotBytes], table: b[tableAt : tableAt+MaxStreams*entryBytes],
		mask: uint64(l.slots - 1), stride: l.slotBytes, payload: l.payloadBytes,
		headAt: word64(b, l.hotAt+hotHead), countAt: word32(b, offStreamCount),
		own: newOwnWords(b, &l), id: id,
	}
	r.head = r.headAt.Load()
	if r.head > maxSequence {
		return nil, fmt.Errorf("attach reader: %w", quarantine(ReasonHead, "head is %d", r.head))
	}
	r.start, r.next = r.head, r.head+1
	return r, nil
}

// Tries of one Next against a writer that overwrites what is being copied. After
// closeTries the reader gives up the older half of the ring, to get off its heels.
const (
	maxTries   = 6
	closeTries = 2
)

// Next copies the oldest message not yet read into h and body, at most len(body) bytes
// of it (h.Length is its full length), and returns how many. ok is false when there is
// nothing new; then Pending says whether the writer has just overwritten all of it. An
// error is a *QuarantineError and stays.
func (r *Reader) Next(h *SlotHeader, body []byte) (n int, ok bool, err error) {
	if r.err != nil {
		return 0, false, r.err
	}
	for try := range maxTries {
		// One look at head serves for all that it showed: a head read each time is a
		// cache line taken away from the writer each time.
		if r.next > r.head && !r.look() {
			return 0, false, r.err
		}
		off := int(r.next&r.mask) * r.stride
		slot := r.b[off : off+r.stride]
		word := word64(slot, slotSequence)
		if word.Load() == r.next { // sync: slot
			h.get(slot)
			n = min(int(h.Length), r.payload, len(body))
			copy(body, slot[slotHeaderBytes:slotHeaderBytes+n])
			loadFence()                // all of the above is read before the sequence is again
			if word.Load() == r.next { // sync: slot
				if !r.accept(h) {
					return 0, false, r.err
				}
				return n, true, nil
			}
		}
		if !r.lapped(try) {
			return 0, false, r.err
		}
	}
	return 0, false, nil
}

// look reads head and says whether a message waits. It steps over what is gone.
func (r *Reader) look() bool {
	head := r.headAt.Load() // sync: head
	if head < r.head {
		return r.fail(ReasonHeadBackwards, "head fell from %d to %d", r.head, head)
	}
	if head > maxSequence {
		return r.fail(ReasonHead, "head is %d", head)
	}
	r.head = head
	if slots := r.mask + 1; head >= r.next+slots {
		r.skipTo(head - slots + 1)
	}
	if r.next > head {
		return false
	}
	prefetch(&r.b[int(r.next&r.mask)*r.stride])
	return true
}

// lapped is asked when slot next did not hold message next before and after the copy.
// That is honest only if the writer is at it again, one lap on.
func (r *Reader) lapped(try int) bool {
	wanted := r.next
	if !r.look() {
		return false
	}
	if r.next != wanted {
		return true
	}
	slots := r.mask + 1
	if r.head+1 < wanted+slots {
		return r.fail(ReasonSequence, "slot of message %d holds another while head is %d", wanted, r.head)
	}
	if try >= closeTries {
		r.skipTo(max(wanted+1, r.head-slots/2))
	} else {
		r.skipTo(wanted + 1)
	}
	return true
}

func (r *Reader) skipTo(sequence uint64) {
	r.lost += sequence - r.next
	r.next = sequence
}

// accept checks a header that was whole, and counts it.
func (r *Reader) accept(h *SlotHeader) bool {
	if int64(h.Length) > int64(r.payload) {
		return r.fail(ReasonLength, "message %d has %d bytes in slots of %d", r.next, h.Length, r.payload)
	}
	if !h.Kind.valid() {
		return r.fail(ReasonMessageKind, "message %d is of kind %d", r.next, h.Kind)
	}
	if h.Stream >= r.count && !r.knows(h.Stream) {
		return r.fail(ReasonStream, "message %d is of stream %d, table has %d", r.next, h.Stream, r.count)
	}
	h.Sequence = r.next
	r.next++
	r.read++
	return true
}

// knows looks at the table again: streams are added while the ring runs.
func (r *Reader) knows(stream uint32) bool {
	if n := r.countAt.Load(); n <= MaxStreams { // sync: stream
		r.count = max(r.count, n)
	}
	return stream < r.count
}

// fail quarantines the ring for good and returns false.
func (r *Reader) fail(reason Reason, format string, args ...any) bool {
	r.err = quarantine(reason, format, args...)
	return false
}

// Pending says how many messages wait, those already overwritten included. It is made
// for the check of a Sleep; a quarantined ring has none.
func (r *Reader) Pending() uint64 {
	head := r.headAt.Load() // sync: wake
	if r.err != nil || head < r.next {
		return 0
	}
	return head - r.next + 1
}

// Read is the number of messages returned by Next.
func (r *Reader) Read() uint64 { return r.read }

// Lost is the number of messages that were overwritten before they could be read.
func (r *Reader) Lost() uint64 { return r.lost }

// Start is the head this reader began at.
func (r *Reader) Start() uint64 { return r.start }

// Written is the head last seen. Once Next has returned ok = false with nothing
// pending, Written = Start + Read + Lost.
func (r *Reader) Written() uint64 { return r.head }

// PayloadBytes is the largest body the ring can hold.
func (r *Reader) PayloadBytes() int { return r.payload }

// Err is the reason the ring is quarantined for, or nil.
func (r *Reader) Err() error { return r.err }

// Peer is the writer's sleep flag, to be given to the dispatch segment it waits on.
func (r *Reader) Peer() Peer { return Peer{r.own.sleep} }
