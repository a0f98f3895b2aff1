package sink

import "sync/atomic"

// Reasons for which a frame is lost.
const (
	LostQueueFull  = "queue_full"  // the output takes lines more slowly than they come, or stalls
	LostWriteError = "write_error" // the output fails, and the queue was full of what waits for it
	LostTooLarge   = "too_large"   // the line is longer than a line or a file may be
	LostInvalid    = "invalid"     // the frame has no JSON form
	LostShutdown   = "shutdown"    // not written within the bound of an orderly end
)

// State of a sink, in one word.
const (
	StateOK      = "ok"
	StateStalled = "stalled" // the output takes nothing at the moment
	StateFailing = "failing" // the output fails and is tried again
	StateClosed  = "closed"
)

// Stats is what a sink says of itself. Offered = Written + the sum of Lost + Queued, at
// any instant.
type Stats struct {
	Path    string
	State   string
	Error   string // of the last failure, while the state is failing or stalled
	Offered uint64
	Written uint64 // whole lines the kernel took
	Queued  uint64 // with the one that is being written
	Lost    map[string]uint64

	Bytes       uint64 // of written lines
	WriteErrors uint64 // failed attempts: opening, writing, rotating
	Rotations   uint64
	Repaired    uint64 // half lines cut off or ended, after a full disk or a crash
}

// counters of one sink. Each is written by one side alone: offers by the path, the rest
// by the goroutine that writes.
type counters struct {
	queueFull, writeErrorFull, tooLarge, invalid, afterEnd atomic.Uint64 // the path's

	written, bytes, writeErrors, rotations, repaired atomic.Uint64
	tooLargeForFile, lostAtEnd, lostAtEndFailing     atomic.Uint64
}

// statsTries bounds how often Stats reads its words until they fit together.
const statsTries = 1000

// Stats may be called from any goroutine.
func (s *JSONL) Stats() Stats {
	c := &s.counters
	// The consumer's counters first: what it has taken can only have grown less than
	// what was put. A stall between the two readings would show more lines queued than
	// there is room for, so they are read again then.
	var written, tooLargeForFile, lostAtEnd, lostAtEndFailing, put, queued uint64
	for range statsTries {
		written, tooLargeForFile = c.written.Load(), c.tooLargeForFile.Load()
		lostAtEnd, lostAtEndFailing = c.lostAtEnd.Load(), c.lostAtEndFailing.Load()
		put = s.queue.tail.Load()
		queued = put - written - tooLargeForFile - lostAtEnd - lostAtEndFailing
		if queued <= queueLines {
			break
		}
	}
	queueFull, writeErrorFull := c.queueFull.Load(), c.writeErrorFull.Load()
	tooLarge, invalid, afterEnd := c.tooLarge.Load(), c.invalid.Load(), c.afterEnd.Load()

	st := Stats{
		Path: s.o.Path, State: StateOK,
		Offered: put + queueFull + writeErrorFull + tooLarge + invalid + afterEnd,
		Written: written,
		Queued:  queued,
		Lost: map[string]uint64{
			LostQueueFull: queueFull, LostWriteError: writeErrorFull + lostAtEndFailing,
			LostTooLarge: tooLarge + tooLargeForFile, LostInvalid: invalid, LostShutdown: afterEnd + lostAtEnd,
		},
		Bytes: c.bytes.Load(), WriteErrors: c.writeErrors.Load(), Rotations: c.rotations.Load(), Repaired: c.repaired.Load(),
	}
	if h := s.health.Load(); h != nil {
		st.State, st.Error = h.state, h.text
	}
	return st
}

// health is what is wrong at the moment; nil = nothing.
type health struct{ state, text string }
