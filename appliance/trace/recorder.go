package trace

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/skewgate/skewgate/appliance/clock"
)

const (
	// QueueEvents is the queue's size: more than a million events a second when it is drained
	// every 10 ms. It takes 3 MB, and as much as the unreadable timestamps in it.
	QueueEvents = 1 << 14
	// MinPartBytes is the smallest part, HeaderMax the longest first line of one.
	MinPartBytes = 1 << 16
	HeaderMax    = 1 << 20

	drainBytes = 64 << 10 // Drain returns after about that much
)

// ErrHeader is returned for settings that do not fit the first line of a part.
var ErrHeader = errors.New("the settings are too long for a trace")

// Recorder takes events on one goroutine (Put, Tick, End) and gives lines on another (Drain,
// Finished). Stats may be asked from anywhere.
type Recorder struct {
	// Of the goroutine that puts.
	queue   *queue
	gap     uint64     // events lost since the last that fitted
	latest  clock.Mono // the highest instant seen
	waiting clock.Mono // a tick that changed nothing and is not written yet
	owed    bool       // waiting holds one

	// Of the goroutine that drains.
	settings []byte
	header   Header
	standing *standing
	lines    lines
	missing  uint64 // events lost here since the last line
	maxPart  int64
	part     int64 // bytes of the present part
	finished bool

	// Of both.
	events, lost atomic.Uint64
	end          atomic.Pointer[ending]
}

type ending struct {
	now clock.Mono
	End
}

// Options of a recorder.
type Options struct {
	Header    Header // of the first part; Part is counted by the recorder
	Settings  Settings
	PartBytes int64 // where a new part begins; 0 = never
}

// NewRecorder returns a recorder. It fails with ErrHeader.
func NewRecorder(o Options) (*Recorder, error) {
	if o.PartBytes != 0 && o.PartBytes < MinPartBytes {
		return nil, fmt.Errorf("parts of %d bytes: take at least %d, or 0 for a trace in one piece", o.PartBytes, MinPartBytes)
	}
	r := &Recorder{
		queue: newQueue(QueueEvents), settings: o.Settings.appendJSON(nil), header: o.Header,
		standing: newStanding(&o.Header.State), maxPart: o.PartBytes,
	}
	r.header.Part = 0
	n := len(r.begin(nil))
	if n > HeaderMax || o.PartBytes != 0 && int64(2*n) > o.PartBytes {
		return nil, fmt.Errorf("%w: its first line has %d bytes, at most %d and half a part: take larger parts or fewer cameras", ErrHeader, n, HeaderMax)
	}
	r.header.Part, r.part = 0, 0
	return r, nil
}

// Put takes an event; of what it points to only Raw is copied. It never waits: an event that
// finds the queue full is lost and counted.
func (r *Recorder) Put(e *Event) {
	if e.Kind != Refused {
		// To what is older than it a tick matters even if it did nothing: the clock had moved.
		if r.owed && e.NowNS < r.waiting {
			r.put(&Event{Kind: Tick, NowNS: r.waiting})
		}
		r.owed = false
		r.latest = max(r.latest, e.NowNS)
	} else {
		e.NowNS = r.latest
	}
	r.put(e)
}

// Tick takes a tick; due says whether it closes something. One that does not, and does not run
// back either, is written only if it turns out to matter.
func (r *Recorder) Tick(now clock.Mono, due bool) {
	if due || now < r.latest {
		r.Put(&Event{Kind: Tick, NowNS: now})
		return
	}
	r.waiting, r.owed, r.latest = now, true, now
}

func (r *Recorder) put(e *Event) {
	if len(e.Raw) > RawMax || !r.queue.put(e, r.gap) {
		r.gap++
		r.lost.Add(1)
		return
	}
	r.gap = 0
}

// End says that nothing comes any more, counters being the correlator's own. What is queued is
// still drained.
func (r *Recorder) End(counters []Counter) {
	r.end.Store(&ending{now: r.latest, End: End{Counters: counters}})
}

// Latest is the instant of the tick that a trace ends with. It belongs to the goroutine that puts.
func (r *Recorder) Latest() clock.Mono { return r.latest }

// Drain appends the lines of queued events to dst and returns when there are no more or some
// 64 KiB are there. Once End was called and all else is drained, the last line follows.
func (r *Recorder) Drain(dst []byte) []byte {
	end := r.end.Load() // before the queue: what was put before End is in it then
	stop := len(dst) + drainBytes
	if r.header.Part == 0 {
		dst = r.begin(dst)
	}
	for len(dst) < stop && !r.finished {
		e := r.queue.front()
		switch {
		case e != nil:
			dst = r.event(dst, e)
			r.queue.pop()
		case end == nil:
			return dst
		default:
			r.finished = true
			end.Events, end.Lost = r.Stats()
			dst = AppendEnd(dst, clock.AppendMillis(nil, int64(end.now)), &end.End)
		}
	}
	return dst
}

// event appends the line of one event, beginning a new part where the present one is full.
func (r *Recorder) event(dst []byte, e *Event) []byte {
	from := len(dst)
	dst, ok := r.lines.append(dst, e, r.missing+e.lostBefore)
	if !ok {
		r.lost.Add(1)
		r.missing += e.lostBefore + 1
		r.standing.hear(e)
		return dst
	}
	size := int64(len(dst) - from)
	if r.maxPart > 0 && r.part+size > r.maxPart {
		line := bytes.Clone(dst[from:]) // once a part
		r.header.State = r.standing.state()
		dst = append(r.begin(dst[:from]), line...)
	}
	r.part += size
	r.missing = 0
	r.events.Add(1)
	r.standing.hear(e)
	return dst
}

// begin appends the first line of the next part.
func (r *Recorder) begin(dst []byte) []byte {
	from := len(dst)
	r.header.Part++
	dst = append(dst, `{"config":`...)
	dst = append(dst, r.settings...)
	dst = append(dst, `,"trace":`...)
	dst = r.header.append(dst)
	dst = append(dst, "}\n"...)
	r.part = int64(len(dst) - from)
	return dst
}

// Finished reports whether Drain has given the last line.
func (r *Recorder) Finished() bool { return r.finished }

// Stats counts the events that were written and those that are missing.
func (r *Recorder) Stats() (events, lost uint64) { return r.events.Load(), r.lost.Load() }

// Queued is the number of events that wait for Drain.
func (r *Recorder) Queued() int { return r.queue.len() }
