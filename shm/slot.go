package shm

import "math"

// Kind says what a detection ring's message body is.
type Kind uint8

// Kinds of message. Bodies are laid out in FORMATS of the project, not here.
const (
	KindBoxes    Kind = 1 // packed boxes, 24 bytes each; none = looked, found nothing
	KindJSON     Kind = 2
	KindProgress Kind = 3 // nothing before capture_ns will come any more
	KindFused    Kind = 4 // output ring only
)

func (k Kind) valid() bool { return k >= KindBoxes && k <= KindFused }

// RawCapture as CaptureNS says that the capture time is text, at the start of the body.
const RawCapture = math.MinInt64

// SlotHeader is a message without its body.
type SlotHeader struct {
	Sequence    uint64 // 1, 2, 3, … over the ring's life; set by Publish and Next
	CaptureNS   int64  // of the picture; RawCapture = text in the body
	PublishNS   int64  // CLOCK_MONOTONIC, read by the writer just before Publish
	FrameID     uint64 // 0 = none
	Tag         uint64 // free for the source
	Stream      uint32 // index from RegisterStream
	StreamEpoch uint32
	Length      uint32 // of the body in bytes; set by Publish
	Count       uint16 // boxes in the body
	Kind        Kind
	Flags       uint8 // 0 in v1
}

// Slot header: 64 bytes, the sequence first.
const (
	slotSequence  = 0  // u64; 0 = being written
	slotCapture   = 8  // i64
	slotPublish   = 16 // i64
	slotFrameID   = 24 // u64
	slotTag       = 32 // u64
	slotStream    = 40 // u32 stream | u32 stream_epoch << 32
	slotLengthEtc = 48 // u32 length | u16 count << 32 | u8 kind << 48 | u8 flags << 56
	slotReserved  = 56 // u64, 0 in v1
)

// put stores all but the sequence.
func (h *SlotHeader) put(b []byte, length int) {
	_ = b[slotHeaderBytes-1]
	le.PutUint64(b[slotCapture:], uint64(h.CaptureNS))
	le.PutUint64(b[slotPublish:], uint64(h.PublishNS))
	le.PutUint64(b[slotFrameID:], h.FrameID)
	le.PutUint64(b[slotTag:], h.Tag)
	le.PutUint64(b[slotStream:], uint64(h.Stream)|uint64(h.StreamEpoch)<<32)
	le.PutUint64(b[slotLengthEtc:], uint64(uint32(length))|uint64(h.Count)<<32|uint64(h.Kind)<<48|uint64(h.Flags)<<56)
	le.PutUint64(b[slotReserved:], 0)
}

// get reads each word once; nothing in h is to be trusted before the sequence was
// looked at again.
func (h *SlotHeader) get(b []byte) {
	_ = b[slotHeaderBytes-1]
	h.CaptureNS = int64(le.Uint64(b[slotCapture:]))
	h.PublishNS = int64(le.Uint64(b[slotPublish:]))
	h.FrameID = le.Uint64(b[slotFrameID:])
	h.Tag = le.Uint64(b[slotTag:])
	stream := le.Uint64(b[slotStream:])
	h.Stream, h.StreamEpoch = uint32(stream), uint32(stream>>32)
	rest := le.Uint64(b[slotLengthEtc:])
	h.Length, h.Count, h.Kind, h.Flags = uint32(rest), uint16(rest>>32), Kind(rest>>48), uint8(rest>>56)
}
