package shm

import "fmt"

// A DispatchReader is the child's end of its dispatch segment, mapped read-only.
type DispatchReader struct {
	dispatchWords
	next, lost  uint64
	allowedSeen uint64
}

// NewDispatchReader attaches at the current enq: what was enqueued before was meant
// for a predecessor. Attach before saying ready.
func NewDispatchReader(b []byte) (*DispatchReader, error) {
	d, err := openDispatch(b)
	if err != nil {
		return nil, fmt.Errorf("attach dispatch reader: %w", err)
	}
	head := d.enq.Load()
	if head > maxSequence {
		return nil, fmt.Errorf("attach dispatch reader: %w", quarantine(ReasonHead, "enq is %d", head))
	}
	return &DispatchReader{dispatchWords: d, next: head + 1}, nil
}

// Next returns the oldest assignment not yet taken; false when there is none.
func (r *DispatchReader) Next(a *Assignment) (bool, error) {
	for range maxTries {
		enq := r.enq.Load() // sync: head
		if enq > maxSequence || enq+1 < r.next {
			return false, quarantine(ReasonHead, "enq is %d while %d is next", enq, r.next)
		}
		if enq >= r.next+r.n {
			r.skipTo(enq - r.n + 1)
		}
		if r.next > enq {
			return false, nil
		}
		slot := r.slot(r.next)
		word := word64(slot, assignSequence)
		if word.Load() == r.next { // sync: slot
			a.get(slot)
			loadFence()
			if word.Load() == r.next { // sync: slot
				a.Seq = r.next
				r.next++
				return true, nil
			}
		}
		// Overwritten, which is honest only if the appliance is a whole lap ahead.
		if enq = r.enq.Load(); enq+1 < r.next+r.n {
			return false, quarantine(ReasonSequence, "slot of assignment %d holds another while enq is %d", r.next, enq)
		}
		r.skipTo(r.next + 1)
	}
	return false, nil
}

func (r *DispatchReader) skipTo(sequence uint64) {
	r.lost += sequence - r.next
	r.next = sequence
}

// Lost is the number of assignments overwritten before they were taken.
func (r *DispatchReader) Lost() uint64 { return r.lost }

// Enq is the number of the last assignment enqueued.
func (r *DispatchReader) Enq() uint64 { return r.enq.Load() }

// Allowed is the sequence of its frame ring up to which a capture child may publish.
func (r *DispatchReader) Allowed() uint64 {
	r.allowedSeen = r.allowed.Load()
	return r.allowedSeen
}

// Wait blocks until there is an assignment, Allowed has changed since it was last
// asked, or Wake was called; at most timeoutNS. It may return early. sleep is the
// child's own flag; FUTEX_WAIT needs no right to write the bell.
func (r *DispatchReader) Wait(sleep SleepFlag, timeoutNS int64) error {
	return sleepOn(sleep.word, r.bell, r.pending, timeoutNS)
}

func (r *DispatchReader) pending() bool {
	return r.enq.Load() >= r.next || r.allowed.Load() != r.allowedSeen // sync: wake
}
