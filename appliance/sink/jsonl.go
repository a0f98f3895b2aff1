package sink

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxLineBytes bounds one line: some 2,000 boxes.
	maxLineBytes = 512 << 10

	// slice is the longest the writing goroutine waits before it looks at its context
	// again. All waits are whole slices: the sink reads no clock.
	slice = 100 * time.Millisecond
	// A failing output is tried again after 0.1 s, then twice as long, up to 5 s.
	firstBackoff = 1
	lastBackoff  = 50

	// FlushLimit bounds the waiting for the output after Run's context has ended.
	FlushLimit  = 2 * time.Second
	flushSlices = int(FlushLimit / slice)
)

// errStalled is returned by an output that takes nothing at the moment; the same line
// is to be offered again.
var errStalled = errors.New("the reader takes nothing at the moment")

// errTooLarge is returned for a line that no file of the allowed size can hold.
var errTooLarge = errors.New("the line is larger than a file may be")

// Options of a JSONL sink.
type Options struct {
	Path    string // a file, a FIFO, or - for standard output
	MaxSize int64  // bytes of one file; streams have no limit
	Keep    int    // rotated files, path.1 being the newest
}

// JSONL writes fused frames as JSON lines. Offer belongs to one goroutine, Run to
// another, Stats to anybody.
type JSONL struct {
	o        Options
	line     []byte // Offer's, up to maxLineBytes
	queue    *queue
	out      output
	counters counters
	health   atomic.Pointer[health]
	failing  atomic.Bool
	ended    atomic.Bool
}

// output is where lines end up. write takes a whole line or leaves no trace of it, as
// far as the kernel lets it.
type output interface {
	open() error
	write(line []byte) error
	close()
}

// New makes a sink. It opens nothing yet: an output that is not there is no reason not
// to start, it is tried again and named in Stats.
func New(o Options) (*JSONL, error) {
	s := &JSONL{o: o, queue: newQueue(queueLines, queueBytes)}
	switch {
	case o.Path == "":
		return nil, errors.New("jsonl sink without a path: name a file, or - for standard output")
	case o.Path == "-":
		s.out = &stream{path: o.Path, fd: -1, counters: &s.counters}
		return s, nil
	case o.MaxSize <= 0 || o.Keep < 0:
		return nil, fmt.Errorf("jsonl sink %s: files of %d bytes and %d kept; take a size above 0 and 0 or more", o.Path, o.MaxSize, o.Keep)
	}
	s.out = &target{path: o.Path, maxSize: o.MaxSize, keep: o.Keep, counters: &s.counters}
	return s, nil
}

// Offer encodes a frame into the queue and returns at once. What does not fit is
// dropped and counted, the newest first: what is queued keeps its order.
func (s *JSONL) Offer(f *Frame) {
	c := &s.counters
	if s.ended.Load() {
		c.afterEnd.Add(1)
		return
	}
	line, err := f.AppendJSON(s.line[:0])
	switch {
	case err != nil:
		c.invalid.Add(1)
		return
	case len(line)+1 > maxLineBytes:
		c.tooLarge.Add(1)
		return
	}
	s.line = append(line, '\n')
	switch {
	case s.queue.put(s.line):
	case s.failing.Load():
		c.writeErrorFull.Add(1)
	default:
		c.queueFull.Add(1)
	}
}

// Run writes what is offered until ctx ends, then flushes for at most FlushLimit of
// waiting and returns. It is called once.
func (s *JSONL) Run(ctx context.Context) {
	defer s.end()
	budget, backoff := flushSlices, firstBackoff
	if err := s.out.open(); err != nil {
		s.failed(err)
	}
	for {
		line, ok := s.queue.front()
		if !ok {
			if ctx.Err() != nil {
				return
			}
			select {
			case <-s.queue.wake:
			case <-ctx.Done():
			}
			continue
		}
		err := s.out.write(line)
		wait := 0
		switch {
		case err == nil:
			s.count(&s.counters.written, line)
			s.set(nil, false)
			backoff = firstBackoff
		case errors.Is(err, errTooLarge):
			s.count(&s.counters.tooLargeForFile, nil)
		case errors.Is(err, errStalled):
			s.set(&health{StateStalled, err.Error()}, false)
			if ctx.Err() != nil { // write has waited one slice
				budget--
			}
		default:
			s.failed(err)
			wait, backoff = backoff, min(2*backoff, lastBackoff)
		}
		for ; wait > 0; wait-- {
			if ctx.Err() != nil {
				wait = 1 // at the end there is no time for long back-offs
				budget--
			}
			pause()
		}
		if budget <= 0 {
			return
		}
	}
}

// count takes the front line off the queue. The counter rises first, so that Stats never
// sees a line nowhere.
func (s *JSONL) count(n *atomic.Uint64, line []byte) {
	n.Add(1)
	s.counters.bytes.Add(uint64(len(line)))
	s.queue.pop()
}

// failed notes a failed try. Frames that find the queue full from now on are lost to it.
func (s *JSONL) failed(err error) {
	s.counters.writeErrors.Add(1)
	s.set(&health{StateFailing, err.Error()}, true)
}

func (s *JSONL) set(h *health, failing bool) {
	if old := s.health.Load(); old == nil && h == nil {
		return
	}
	s.health.Store(h)
	s.failing.Store(failing)
}

// end counts what could not be written and closes the output.
func (s *JSONL) end() {
	s.ended.Store(true)
	lost := &s.counters.lostAtEnd
	if s.failing.Load() {
		lost = &s.counters.lostAtEndFailing
	}
	for {
		if _, ok := s.queue.front(); !ok {
			break
		}
		s.count(lost, nil)
	}
	s.out.close()
	last := health{state: StateClosed}
	if h := s.health.Load(); h != nil {
		last.text = h.text
	}
	s.health.Store(&last)
}

// pause waits one slice.
func pause() { _, _ = unix.Poll(nil, int(slice/time.Millisecond)) }
