package shm

import (
	"fmt"
	"sync/atomic"
)

// Assignment is one picture for one replica to look at.
type Assignment struct {
	Seq         uint64 // its enq number, from 1; set by Enqueue and Next
	FrameSeq    uint64 // sequence in the camera's frame ring
	FrameID     uint64
	CaptureNS   int64
	EnqueuedNS  int64
	DeadlineNS  int64 // do not begin after this; 0 = none
	Generation  uint64
	Camera      uint32 // index into the child's camera list
	StreamEpoch uint32
}

// Assignment slot: exactly one cache line.
const (
	assignSequence = 0  // u64; 0 = being written
	assignFrameSeq = 8  // u64
	assignFrameID  = 16 // u64
	assignCapture  = 24 // i64
	assignEnqueued = 32 // i64
	assignDeadline = 40 // i64
	assignGen      = 48 // u64
	assignCamera   = 56 // u32 camera | u32 stream_epoch << 32
)

func (a *Assignment) put(b []byte) {
	_ = b[assignmentBytes-1]
	le.PutUint64(b[assignFrameSeq:], a.FrameSeq)
	le.PutUint64(b[assignFrameID:], a.FrameID)
	le.PutUint64(b[assignCapture:], uint64(a.CaptureNS))
	le.PutUint64(b[assignEnqueued:], uint64(a.EnqueuedNS))
	le.PutUint64(b[assignDeadline:], uint64(a.DeadlineNS))
	le.PutUint64(b[assignGen:], a.Generation)
	le.PutUint64(b[assignCamera:], uint64(a.Camera)|uint64(a.StreamEpoch)<<32)
}

func (a *Assignment) get(b []byte) {
	_ = b[assignmentBytes-1]
	a.FrameSeq = le.Uint64(b[assignFrameSeq:])
	a.FrameID = le.Uint64(b[assignFrameID:])
	a.CaptureNS = int64(le.Uint64(b[assignCapture:]))
	a.EnqueuedNS = int64(le.Uint64(b[assignEnqueued:]))
	a.DeadlineNS = int64(le.Uint64(b[assignDeadline:]))
	a.Generation = le.Uint64(b[assignGen:])
	last := le.Uint64(b[assignCamera:])
	a.Camera, a.StreamEpoch = uint32(last), uint32(last>>32)
}

// DispatchBytes is the size of a dispatch segment; 0 when FormatDispatch would refuse it.
func DispatchBytes(slots int) int {
	l, err := newLayout(kindDispatch, slots, 0, 0)
	if err != nil {
		return 0
	}
	return l.segmentBytes
}

// FormatDispatch lays a dispatch segment out in b, which has DispatchBytes(slots) bytes.
func FormatDispatch(b []byte, slots int) error {
	l, err := newLayout(kindDispatch, slots, 0, 0)
	if err != nil {
		return fmt.Errorf("format dispatch: %w", err)
	}
	return l.format(b, func([]byte) {})
}

// dispatchWords are stored by the appliance alone.
type dispatchWords struct {
	slots   []byte
	n       uint64
	enq     *atomic.Uint64
	allowed *atomic.Uint64
	bell    *atomic.Uint32
}

func openDispatch(b []byte) (dispatchWords, error) {
	l, err := readLayout(b, kindDispatch)
	if err != nil {
		return dispatchWords{}, err
	}
	return dispatchWords{
		slots: b[l.slotsAt : l.slotsAt+l.slots*l.slotBytes], n: uint64(l.slots),
		enq: word64(b, l.hotAt+hotHead), allowed: word64(b, l.hotAt+hotWork), bell: word32(b, l.hotAt+hotSleep),
	}, nil
}

func (d *dispatchWords) slot(sequence uint64) []byte {
	return d.slots[int(sequence%d.n)*assignmentBytes:][:assignmentBytes]
}

// A DispatchWriter is the appliance's end of a child's dispatch segment.
type DispatchWriter struct {
	dispatchWords
	head uint64
	peer Peer
}

// NewDispatchWriter attaches to a formatted dispatch segment and goes on at its enq.
func NewDispatchWriter(b []byte) (*DispatchWriter, error) {
	d, err := openDispatch(b)
	if err != nil {
		return nil, fmt.Errorf("attach dispatch writer: %w", err)
	}
	w := &DispatchWriter{dispatchWords: d, head: d.enq.Load()}
	if w.head > maxSequence {
		return nil, fmt.Errorf("attach dispatch writer: %w", quarantine(ReasonHead, "enq is %d", w.head))
	}
	return w, nil
}

// SetPeer names the child's sleep flag. Without one, each Enqueue makes a system call.
func (w *DispatchWriter) SetPeer(p Peer) { w.peer = p }

// Enqueue gives the child one more assignment, sets a.Seq, and wakes it if it sleeps.
// It overwrites the oldest; how far behind the child may fall is dispatch's business.
func (w *DispatchWriter) Enqueue(a *Assignment) error {
	sequence := w.head + 1
	if sequence > maxSequence {
		return fmt.Errorf("enqueue assignment %d: out of sequence numbers", sequence)
	}
	slot := w.slot(sequence)
	word := word64(slot, assignSequence)
	word.Store(0) // sync: slot
	storeFence()
	a.Seq = sequence
	a.put(slot)
	word.Store(sequence) // sync: slot
	w.head = sequence
	w.enq.Store(sequence) // sync: head
	w.ring()
	return nil
}

// Enq is the number of the last assignment.
func (w *DispatchWriter) Enq() uint64 { return w.head }

// SetAllowed tells a capture child the sequence of its frame ring up to which it may
// publish.
func (w *DispatchWriter) SetAllowed(n uint64) {
	w.allowed.Store(n)
	w.ring()
}

func (w *DispatchWriter) ring() {
	if w.peer.Asleep() { // sync: wake
		w.Wake()
	}
}

// Wake ends the child's Wait whatever it waits for.
func (w *DispatchWriter) Wake() {
	w.bell.Store(w.bell.Load() + 1)
	futexWake(w.bell)
}
