package shm

import (
	"fmt"
	"sync/atomic"
)

// A FrameReader looks at a camera's pictures where they lie. Nobody pins a picture:
// use it in place, then ask Valid, and throw away what was made of it if it says no.
type FrameReader struct {
	slots, pixels []byte
	n             uint64
	stride, size  int
	headAt        *atomic.Uint64
	own           ownWords
	head          uint64 // highest seen
	unit, camera  string
	err           error
}

// NewFrameReader attaches to the frame ring in b, which may be mapped read-only.
func NewFrameReader(b []byte) (*FrameReader, error) {
	l, err := readLayout(b, kindFrame)
	if err != nil {
		return nil, fmt.Errorf("attach frame reader: %w", err)
	}
	r := &FrameReader{
		slots: b[l.slotsAt : l.slotsAt+l.slots*l.slotBytes], pixels: b[l.pixelsAt:],
		n: uint64(l.slots), stride: l.pixelsStride, size: l.payloadBytes,
		headAt: word64(b, l.hotAt+hotHead), own: newOwnWords(b, &l),
	}
	if r.unit, err = readName(b, offUnit, "unit"); err != nil {
		return nil, fmt.Errorf("attach frame reader: %w", err)
	}
	if r.camera, err = readName(b, offCamera, "camera"); err != nil {
		return nil, fmt.Errorf("attach frame reader: %w", err)
	}
	if r.Head(); r.err != nil {
		return nil, fmt.Errorf("attach frame reader: %w", r.err)
	}
	return r, nil
}

// Head is the sequence of the newest picture, 0 before the first. After an error,
// which Err tells, it stays where it was.
func (r *FrameReader) Head() uint64 {
	if r.err != nil {
		return r.head
	}
	head := r.headAt.Load() // sync: head
	switch {
	case head < r.head:
		r.err = quarantine(ReasonHeadBackwards, "head fell from %d to %d", r.head, head)
	case head > maxSequence:
		r.err = quarantine(ReasonHead, "head is %d", head)
	default:
		r.head = head
	}
	return r.head
}

// Oldest is the oldest sequence that can still be there, given Head; 0 before the first.
func (r *FrameReader) Oldest() uint64 {
	if r.head == 0 {
		return 0
	}
	return r.head - min(r.head, r.n) + 1
}

// Meta returns the header of picture seq; ok is false when it is not or no longer there.
func (r *FrameReader) Meta(seq uint64) (m FrameMeta, ok bool) {
	if r.err != nil || seq == 0 {
		return FrameMeta{}, false
	}
	// A slot can be whole before head says so; were its writer killed in between, its
	// successor would use that number again, for another picture.
	if seq > r.head && seq > r.Head() {
		return FrameMeta{}, false
	}
	slot := r.slots[int(seq%r.n)*frameSlotBytes:][:frameSlotBytes]
	word := word64(slot, frameSequence)
	if word.Load() != seq { // sync: slot
		return FrameMeta{}, false
	}
	m.get(slot)
	loadFence()
	if word.Load() != seq { // sync: slot
		return FrameMeta{}, false
	}
	m.Seq = seq
	want, known := FrameBytes(m.Format, m.Width, m.Height)
	if !known || int64(m.Length) != int64(want) || want > r.size {
		r.err = quarantine(ReasonPicture, "picture %d is %dx%d of format %d in %d bytes, slots have %d",
			seq, m.Width, m.Height, m.Format, m.Length, r.size)
		return FrameMeta{}, false
	}
	return m, true
}

// View returns picture seq in place. The pixels may be overwritten while they are
// used, so ask Valid afterwards; in a read-only mapping a write to them faults.
func (r *FrameReader) View(seq uint64) (m FrameMeta, pixels []byte, ok bool) {
	if m, ok = r.Meta(seq); !ok {
		return FrameMeta{}, nil, false
	}
	n := int(m.Length)
	return m, r.pixels[int(seq%r.n)*r.stride:][:n:n], true
}

// Valid says whether all that was read so far of picture seq was of that picture.
func (r *FrameReader) Valid(seq uint64) bool {
	loadFence() // the pixels are read before the sequence is
	slot := r.slots[int(seq%r.n)*frameSlotBytes:][:frameSlotBytes]
	return seq != 0 && word64(slot, frameSequence).Load() == seq // sync: slot
}

// Err is the reason the ring is quarantined for, or nil. It stays.
func (r *FrameReader) Err() error { return r.err }

// Slots is the number of pictures the ring holds, PixelBytes the largest of them.
func (r *FrameReader) Slots() int { return int(r.n) }

// PixelBytes is the largest picture the ring can hold.
func (r *FrameReader) PixelBytes() int { return r.size }

// Peer is the capture child's sleep flag, for the dispatch segment it waits on.
func (r *FrameReader) Peer() Peer { return Peer{r.own.sleep} }

// FrameRingInfo is what a frame ring says of itself.
type FrameRingInfo struct {
	Unit, Camera string
	Slots        int
	PixelBytes   int

	PID         uint32
	RingEpoch   uint32
	StreamEpoch uint32
	State       State
	HeartbeatNS int64
	Head        uint64
}

// Info reads the ring's words as they are now.
func (r *FrameReader) Info() FrameRingInfo {
	return FrameRingInfo{
		Unit: r.unit, Camera: r.camera, Slots: int(r.n), PixelBytes: r.size,
		PID: r.own.pid.Load(), RingEpoch: r.own.ringEpoch.Load(), StreamEpoch: r.own.streamEpoch.Load(),
		State: State(r.own.state.Load()), HeartbeatNS: int64(r.own.heartbeat.Load()),
		Head: r.headAt.Load(),
	}
}
