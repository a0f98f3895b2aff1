package nut

import "fmt"

// Stream says what the one video stream holds.
type Stream struct {
	FourCC        string // as in AVI; "I420" for planar YUV 4:2:0
	Width, Height int    // pixels
	// TickNum/TickDen is the length of one PTS tick in seconds.
	TickNum, TickDen uint32
}

// String gives the stream in one line, for messages.
func (s Stream) String() string {
	return fmt.Sprintf("%s %dx%d at %d/%d s", s.FourCC, s.Width, s.Height, s.TickNum, s.TickDen)
}

const (
	classVideo  = 0
	msbShiftMax = 15
)

func (r *Reader) streamHeader(body int64) error {
	src := r.src
	id, err := src.v()
	if err != nil {
		return err
	}
	class, err := src.v()
	if err != nil {
		return err
	}
	if id != 0 || class != classVideo {
		return unsupported("stream %d of class %d, stream 0 of class video is wanted", id, class)
	}
	if r.stream.FourCC, err = r.fourCC(); err != nil {
		return err
	}
	base, err := src.v()
	if err != nil {
		return err
	}
	if base >= uint64(len(r.bases)) {
		return damaged("the stream names time base %d of %d", base, len(r.bases))
	}
	r.base = r.bases[base]
	r.stream.TickNum, r.stream.TickDen = uint32(r.base.num), uint32(r.base.den)
	shift, err := src.vMax(msbShiftMax, "msb_pts_shift")
	if err != nil {
		return err
	}
	r.msbShift = uint(shift)
	if r.maxPTSDistance, err = src.v(); err != nil {
		return err
	}
	for range 2 { // decode delay, stream flags: of no use for raw pictures
		if _, err := src.v(); err != nil {
			return err
		}
	}
	specific, err := src.vMax(uint64(body), "codec specific data")
	if err != nil {
		return err
	}
	if err := src.skip(int64(specific)); err != nil {
		return err
	}
	width, err := src.vMax(sizeAxisMax, "the picture's width")
	if err != nil {
		return err
	}
	height, err := src.vMax(sizeAxisMax, "the picture's height")
	if err != nil {
		return err
	}
	if width == 0 || height == 0 {
		return damaged("the picture is %dx%d", width, height)
	}
	r.stream.Width, r.stream.Height = int(width), int(height)
	r.haveStream = true
	return nil
}

func (r *Reader) fourCC() (string, error) {
	n, err := r.src.vMax(4, "the length of a FourCC")
	if err != nil {
		return "", err
	}
	var code [4]byte
	for i := range n {
		if code[i], err = r.src.byte(); err != nil {
			return "", inside(err)
		}
	}
	return string(code[:n]), nil
}
