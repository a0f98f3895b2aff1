package nut

import (
	"fmt"
	"io"
	"math/bits"
)

// scratchBytes is the size of the pieces in which unwanted payloads are passed over.
const scratchBytes = 64 << 10

// Reader reads one stream. It belongs to one goroutine and reads no further ahead
// than its small buffer.
type Reader struct {
	src *source

	started, haveMain, haveStream, haveSync bool

	maxDistance    uint64
	maxPTSDistance uint64
	bases          []timeBase
	codes          [256]frameCode
	elisions       [][]byte

	stream   Stream
	base     timeBase
	msbShift uint
	lastPTS  int64

	// first is the frame code that Stream came upon; Next takes it while pending.
	first    byte
	pending  bool
	streamed bool // Stream has answered

	elided  []byte // left out at the start of the current payload
	payload int    // bytes of the current payload not yet read

	// trusting skips the comparison of checksums, so that fuzzing gets past them.
	trusting bool

	scratch []byte // for payloads nobody wants
}

// NewReader reads from r, which is read in small pieces for headers and in whole
// payloads otherwise.
func NewReader(r io.Reader) *Reader { return &Reader{src: newSource(r)} }

// Stream reads up to the first picture and returns what the stream holds. A stream
// without a byte is io.EOF; one that ends in its headers io.ErrUnexpectedEOF.
func (r *Reader) Stream() (Stream, error) {
	if r.streamed {
		return r.stream, nil
	}
	if !r.started {
		if err := r.start(); err != nil {
			return Stream{}, err
		}
		r.started = true
	}
	for {
		code, err := r.code()
		if err == nil && code == 'N' {
			if err = r.packet(); err == nil {
				continue
			}
		}
		if err == nil && !r.haveStream {
			err = damaged("a frame comes before the stream header")
		}
		if err != nil {
			return Stream{}, inside(err)
		}
		r.first, r.pending, r.streamed = code, true, true
		return r.stream, nil
	}
}

// code reads the first byte of a frame or packet, where the stream may end.
func (r *Reader) code() (byte, error) {
	r.src.crc = 0
	return r.src.byte()
}

// Next returns the next picture's header, after the rest of the current payload was
// passed over. The end of the stream between two pictures is io.EOF, within one
// io.ErrUnexpectedEOF.
func (r *Reader) Next() (Frame, error) {
	if _, err := r.Stream(); err != nil {
		return Frame{}, err
	}
	if err := r.skipPayload(); err != nil {
		return Frame{}, err
	}
	for {
		code, err := r.first, error(nil)
		if !r.pending {
			code, err = r.code()
		}
		r.pending = false
		if err != nil {
			return Frame{}, err
		}
		if code == 'N' {
			if err := r.packet(); err != nil {
				return Frame{}, err
			}
			continue
		}
		f, more, err := r.frame(code)
		if err != nil {
			return Frame{}, err
		}
		if more {
			r.payload = f.Size
			return f, nil
		}
	}
}

// ReadPayload fills p, exactly as long as the current picture's payload, from the
// stream. All but a buffer's worth goes from the underlying reader straight into p.
func (r *Reader) ReadPayload(p []byte) error {
	if len(p) != r.payload {
		return fmt.Errorf("read payload of %d bytes into %d", r.payload, len(p))
	}
	r.payload = 0
	n := copy(p, r.elided)
	if _, err := io.ReadFull(r.src.br, p[n:]); err != nil {
		return inside(err)
	}
	return nil
}

// skipPayload passes over what ReadPayload did not take.
func (r *Reader) skipPayload() error {
	n := r.payload - min(len(r.elided), r.payload)
	r.payload = 0
	for n > 0 {
		// Discard would go through the small buffer; this reads in larger pieces.
		if r.scratch == nil {
			r.scratch = make([]byte, scratchBytes)
		}
		piece := r.scratch[:min(n, scratchBytes)]
		if _, err := io.ReadFull(r.src.br, piece); err != nil {
			return inside(err)
		}
		n -= len(piece)
	}
	return nil
}

// Nanos converts a PTS of this stream to nanoseconds, rounding down; false when the
// result does not fit.
func (s Stream) Nanos(pts int64) (int64, bool) {
	if pts < 0 || s.TickDen == 0 {
		return 0, false
	}
	hi, lo := bits.Mul64(uint64(pts), uint64(s.TickNum)*1e9)
	if hi >= uint64(s.TickDen) {
		return 0, false
	}
	ns, _ := bits.Div64(hi, lo, uint64(s.TickDen))
	return int64(ns), ns < 1<<63
}
