package shm

import (
	"fmt"
	"sync/atomic"
)

// A Writer is the one writer of a detection ring. Publish, RegisterStream and the work
// words belong to one goroutine; SetState and Heartbeat may be called from another.
type Writer struct {
	b       []byte // of the slots
	mask    uint64
	stride  int
	payload int
	head    uint64 // own copy; never read back, so that nobody can change it
	headAt  *atomic.Uint64
	bell    *Doorbell
	streams streamTable
	own     ownWords
	epoch   uint32

	probeModel uint64 // model and replica as the probe's site shows them
}

// NewWriter takes over the ring in b as process pid: ring_epoch rises by one and
// writing goes on at head. A message its predecessor left half written was never at or
// below head, so nobody takes it for whole. bell may be nil.
func NewWriter(b []byte, pid uint32, bell *Doorbell) (*Writer, error) {
	l, err := readLayout(b, kindDetection, kindOutput)
	if err != nil {
		return nil, fmt.Errorf("attach writer: %w", err)
	}
	w := &Writer{
		b: b[l.slotsAt : l.slotsAt+l.slots*l.slotBytes], mask: uint64(l.slots - 1),
		stride: l.slotBytes, payload: l.payloadBytes,
		headAt: word64(b, l.hotAt+hotHead), bell: bell, own: newOwnWords(b, &l),
		probeModel: uint64(le.Uint32(b[offModelHash:])) | uint64(uint16(le.Uint32(b[offReplica:])))<<32,
	}
	if w.head = w.headAt.Load(); w.head > maxSequence {
		return nil, fmt.Errorf("attach writer: %w", quarantine(ReasonHead, "head is %d", w.head))
	}
	if w.streams, err = openStreamTable(b); err != nil {
		return nil, fmt.Errorf("attach writer: %w", err)
	}
	w.epoch = w.own.takeOver(pid)
	return w, nil
}

// Publish appends one message: h without Sequence and Length, which it sets, and body.
// It never waits and allocates nothing. The caller reads the clock for h.PublishNS.
func (w *Writer) Publish(h *SlotHeader, body []byte) error {
	if len(body) > w.payload {
		return fmt.Errorf("publish %d bytes into slots of %d: %w", len(body), w.payload, ErrTooLarge)
	}
	if h.Stream >= w.streams.count || !h.Kind.valid() {
		return w.refuse(h)
	}
	sequence := w.head + 1
	off := int(sequence&w.mask) * w.stride
	slot := w.b[off : off+w.stride]
	word := word64(slot, slotSequence)
	storeRelease(word, 0) // sync: slot. A reader of what lay here sees it gone…
	storeFence()          // …before it can see a byte of what comes.
	h.put(slot, len(body))
	copy(slot[slotHeaderBytes:], body)
	storeRelease(word, sequence) // sync: slot. The message is whole.
	w.head, h.Sequence, h.Length = sequence, sequence, uint32(len(body))
	// sync: head. The message is there. Only before a doorbell must the store be seen
	// by all before the next load: that is what sync: wake needs.
	if w.bell == nil {
		storeRelease(w.headAt, sequence)
	} else {
		w.headAt.Store(sequence)
	}
	if probeSemaphore != 0 {
		w.tell(h)
	}
	if w.bell != nil {
		w.bell.Ring()
	}
	return nil
}

func (w *Writer) refuse(h *SlotHeader) error {
	if !h.Kind.valid() {
		return fmt.Errorf("publish message of kind %d: want %d…%d", h.Kind, KindBoxes, KindFused)
	}
	return fmt.Errorf("publish for stream %d of %d (call RegisterStream first): %w", h.Stream, w.streams.count, ErrStream)
}

// RegisterStream returns the index of (unit, camera) and notes streamEpoch as its
// latest. An index never changes its meaning during the segment's life.
func (w *Writer) RegisterStream(unit, camera string, streamEpoch uint32) (uint32, error) {
	return w.streams.register(unit, camera, streamEpoch)
}

// Head is the sequence of the last message published, over the ring's life.
func (w *Writer) Head() uint64 { return w.head }

// RingEpoch is this writer's number among the ring's writers, from 1.
func (w *Writer) RingEpoch() uint32 { return w.epoch }

// PayloadBytes is the largest body Publish takes.
func (w *Writer) PayloadBytes() int { return w.payload }

// SetState tells readers how far the writer has come.
func (w *Writer) SetState(s State) { w.own.state.Store(uint32(s)) }

// Heartbeat tells readers that the writer was alive at nowNS.
func (w *Writer) Heartbeat(nowNS int64) { w.own.heartbeat.Store(uint64(nowNS)) }

// SetGeneration names the generation whose results are published from here on.
func (w *Writer) SetGeneration(g uint64) { w.own.generation.Store(g) }

// SleepFlag is the flag a DispatchReader raises while it waits.
func (w *Writer) SleepFlag() SleepFlag { return SleepFlag{w.own.sleep} }

// SetTaken says that assignments up to n were taken.
func (w *Writer) SetTaken(n uint64) { w.own.taken.Store(n) }

// SetDone says that assignment n is done with outcome o. It is called once for each
// assignment, in order, also for those dropped, so that done is the sum of outcomes.
func (w *Writer) SetDone(n uint64, o Outcome) {
	c := w.own.outcomes[o]
	c.Store(c.Load() + 1)
	w.own.done.Store(n) // sync: done. Outcomes are counted before.
}

// ResetWork starts a new process's work at enq, the assignments before which were
// another process's: taken and done become enq, no outcome is counted.
func (w *Writer) ResetWork(enq uint64) {
	w.own.taken.Store(enq)
	w.own.done.Store(enq)
}
