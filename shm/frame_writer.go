package shm

import (
	"fmt"
	"sync/atomic"
)

// A FrameWriter is the one writer of a frame ring. Begin reserves a picture's bytes,
// Publish makes it visible, Abort forgets it. It belongs to one goroutine, except for
// SetState and Heartbeat.
type FrameWriter struct {
	slots, pixels []byte
	n             uint64 // slots
	stride, size  int    // of the pixels
	head          uint64
	headAt        *atomic.Uint64
	bell          *Doorbell
	own           ownWords
	epoch         uint32
	streamEpoch   uint32
	open          bool
	reserved      int
}

// NewFrameWriter takes over the frame ring in b as process pid: ring_epoch rises by
// one, writing goes on at head, the stream_epoch stays until NextStreamEpoch. bell may
// be nil.
func NewFrameWriter(b []byte, pid uint32, bell *Doorbell) (*FrameWriter, error) {
	l, err := readLayout(b, kindFrame)
	if err != nil {
		return nil, fmt.Errorf("attach frame writer: %w", err)
	}
	w := &FrameWriter{
		slots: b[l.slotsAt : l.slotsAt+l.slots*l.slotBytes], pixels: b[l.pixelsAt:],
		n: uint64(l.slots), stride: l.pixelsStride, size: l.payloadBytes,
		headAt: word64(b, l.hotAt+hotHead), bell: bell, own: newOwnWords(b, &l),
	}
	if w.head = w.headAt.Load(); w.head > maxSequence {
		return nil, fmt.Errorf("attach frame writer: %w", quarantine(ReasonHead, "head is %d", w.head))
	}
	w.streamEpoch = w.own.streamEpoch.Load()
	w.epoch = w.own.takeOver(pid)
	return w, nil
}

// NextStreamEpoch raises the stream_epoch, which each restart of the source and each
// loop of a film does, and returns it. The first is 1.
func (w *FrameWriter) NextStreamEpoch() uint32 {
	w.streamEpoch++
	w.own.streamEpoch.Store(w.streamEpoch)
	return w.streamEpoch
}

// StreamEpoch is the stream_epoch of the pictures now written.
func (w *FrameWriter) StreamEpoch() uint32 { return w.streamEpoch }

func (w *FrameWriter) slot(sequence uint64) (header []byte, index int) {
	index = int(sequence % w.n)
	return w.slots[index*frameSlotBytes:][:frameSlotBytes], index
}

// Begin takes the oldest slot away from readers and returns n bytes of it, to be
// filled in place. The slice is the caller's until Publish or Abort.
func (w *FrameWriter) Begin(n int) ([]byte, error) {
	if w.open {
		return nil, fmt.Errorf("begin a picture while one is open: %w", ErrOrder)
	}
	if n <= 0 || n > w.size {
		return nil, fmt.Errorf("begin a picture of %d bytes in slots of %d (raise the camera's max_picture): %w", n, w.size, ErrTooLarge)
	}
	header, index := w.slot(w.head + 1)
	word64(header, frameSequence).Store(0) // sync: slot
	storeFence()
	w.open, w.reserved = true, n
	return w.pixels[index*w.stride:][:n:n], nil
}

// Publish makes the open picture visible as m, whose Seq and Length it sets. The
// picture's size must be the one given to Begin.
func (w *FrameWriter) Publish(m *FrameMeta) (uint64, error) {
	if !w.open {
		return 0, fmt.Errorf("publish a picture that was not begun: %w", ErrOrder)
	}
	if want, ok := FrameBytes(m.Format, m.Width, m.Height); !ok || want != w.reserved {
		return 0, fmt.Errorf("publish picture %dx%d of format %d: %d bytes were begun, it needs %d", m.Width, m.Height, m.Format, w.reserved, want)
	}
	sequence := w.head + 1
	m.Seq, m.Length = sequence, uint32(w.reserved)
	header, _ := w.slot(sequence)
	m.put(header)
	word64(header, frameSequence).Store(sequence) // sync: slot
	w.open, w.head = false, sequence
	w.headAt.Store(sequence) // sync: head
	if w.bell != nil {
		w.bell.Ring()
	}
	return sequence, nil
}

// Abort forgets the open picture. The one that lay in its slot is gone all the same.
func (w *FrameWriter) Abort() { w.open = false }

// Head is the sequence of the last picture published.
func (w *FrameWriter) Head() uint64 { return w.head }

// RingEpoch is this writer's number among the ring's writers, from 1.
func (w *FrameWriter) RingEpoch() uint32 { return w.epoch }

// PixelBytes is the largest picture Begin takes.
func (w *FrameWriter) PixelBytes() int { return w.size }

// SetState tells readers how far the writer has come.
func (w *FrameWriter) SetState(s State) { w.own.state.Store(uint32(s)) }

// Heartbeat tells readers that the writer was alive at nowNS.
func (w *FrameWriter) Heartbeat(nowNS int64) { w.own.heartbeat.Store(uint64(nowNS)) }

// SleepFlag is the flag a DispatchReader raises while it waits.
func (w *FrameWriter) SleepFlag() SleepFlag { return SleepFlag{w.own.sleep} }
