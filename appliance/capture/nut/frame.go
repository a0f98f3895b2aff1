package nut

import "math/bits"

// Frame is the header of one picture.
type Frame struct {
	PTS  int64 // ticks of the stream's time base, ≥ 0
	Size int   // bytes of payload
}

const (
	// sizeMax bounds a payload: 16384x16384 in 4:2:0 fits.
	sizeMax = 1 << 29
	ptsMax  = 1 << 62
	// elisionSizeMax: larger frames leave nothing out.
	elisionSizeMax = 4096
)

// syncPoint takes the PTS that the next frame's is relative to.
func (r *Reader) syncPoint() error {
	if !r.haveStream {
		return damaged("a sync point comes before the stream header")
	}
	t, err := r.src.v()
	if err != nil {
		return err
	}
	n := uint64(len(r.bases))
	pts, ok := rescale(t/n, r.bases[t%n], r.base)
	if !ok || pts > ptsMax {
		return damaged("a sync point's time is out of range")
	}
	r.lastPTS, r.haveSync = int64(pts), true
	return nil
}

// rescale converts ticks of one time base to another, rounding down (convert_ts of
// the specification, without its overflow).
func rescale(ticks uint64, from, to timeBase) (uint64, bool) {
	hi, lo := bits.Mul64(ticks, from.num*to.den)
	if den := from.den * to.num; hi < den {
		q, _ := bits.Div64(hi, lo, den)
		return q, true
	}
	return 0, false
}

// frame reads a frame header whose first byte is code; crc already covers it.
// More reports a frame to hand out; false is one that only ends the stream.
func (r *Reader) frame(code byte) (f Frame, more bool, err error) {
	if !r.haveSync {
		return f, false, damaged("a frame comes before the first sync point")
	}
	src, row := r.src, r.codes[code]
	if row.flags&flagInvalid != 0 {
		return f, false, damaged("frame code %#02x is invalid", code)
	}
	flags := row.flags
	if flags&flagCoded != 0 {
		coded, err := src.v()
		if err != nil {
			return f, false, err
		}
		flags ^= coded
	}
	if flags&flagStreamID != 0 {
		if _, err := src.vMax(0, "a frame's stream"); err != nil {
			return f, false, err
		}
	}
	if f.PTS, err = r.framePTS(flags, row); err != nil {
		return f, false, err
	}
	size, err := r.frameSize(flags, row)
	if err != nil {
		return f, false, err
	}
	if flags&flagMatchTime != 0 {
		if _, err := src.s(); err != nil {
			return f, false, err
		}
	}
	elision := row.headerIdx
	if flags&flagHeaderIdx != 0 {
		if elision, err = src.v(); err != nil {
			return f, false, err
		}
	}
	if err := r.skipReserved(flags, row); err != nil {
		return f, false, err
	}
	if err := r.frameChecksum(flags, f.PTS, size); err != nil {
		return f, false, err
	}
	r.lastPTS = f.PTS
	if flags&flagEOR != 0 {
		if size != 0 {
			return f, false, damaged("an end-of-relevance frame has %d bytes", size)
		}
		return f, false, nil
	}
	if elision >= uint64(len(r.elisions)) {
		return f, false, damaged("a frame names elision header %d of %d", elision, len(r.elisions))
	}
	if size > elisionSizeMax {
		elision = 0
	}
	r.elided = r.elisions[elision]
	if size < uint64(len(r.elided)) {
		return f, false, damaged("a frame of %d bytes leaves out %d", size, len(r.elided))
	}
	f.Size = int(size)
	if flags&flagSideData != 0 {
		n, err := r.skipSideData(int64(size) - int64(len(r.elided)))
		if err != nil {
			return f, false, err
		}
		f.Size -= int(n)
	}
	return f, true, nil
}

func (r *Reader) framePTS(flags uint64, row frameCode) (int64, error) {
	pts := r.lastPTS + row.ptsDelta
	if flags&flagCodedPTS != 0 {
		coded, err := r.src.v()
		if err != nil {
			return 0, err
		}
		if wrap := uint64(1) << r.msbShift; coded >= wrap {
			pts = int64(min(coded-wrap, ptsMax+1))
		} else {
			mask := int64(wrap) - 1
			delta := r.lastPTS - mask/2
			pts = (int64(coded)-delta)&mask + delta
		}
	}
	if pts < 0 || pts > ptsMax {
		return 0, damaged("a frame's PTS %d is out of range", pts)
	}
	return pts, nil
}

func (r *Reader) frameSize(flags uint64, row frameCode) (uint64, error) {
	size := row.sizeLSB
	if flags&flagSizeMSB != 0 {
		msb, err := r.src.vMax(sizeMax, "a frame's size")
		if err != nil {
			return 0, err
		}
		size += msb * row.sizeMul // below 2^29 · 2^14
	}
	if size > sizeMax {
		return 0, damaged("a frame has %d bytes, at most %d", size, sizeMax)
	}
	return size, nil
}

func (r *Reader) skipReserved(flags uint64, row frameCode) error {
	reserved := row.reserved
	if flags&flagReserved != 0 {
		var err error
		if reserved, err = r.src.vMax(reservedMax, "a frame's reserved count"); err != nil {
			return err
		}
	}
	for range reserved {
		if _, err := r.src.v(); err != nil {
			return err
		}
	}
	return nil
}

// frameChecksum checks the header's checksum, and that a frame which must carry one
// does: a large one, or one far from its predecessor.
func (r *Reader) frameChecksum(flags uint64, pts int64, size uint64) error {
	if flags&flagChecksum != 0 {
		return r.checksum("frame header")
	}
	step := pts - r.lastPTS
	if step < 0 {
		step = -step
	}
	if (size > 2*r.maxDistance || uint64(step) > r.maxPTSDistance) && !r.trusting {
		return damaged("a frame of %d bytes, %d ticks from the last, has no checksum", size, step)
	}
	return nil
}
