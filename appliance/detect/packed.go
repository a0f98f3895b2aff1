package detect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrPacked says that a packed body is not whole boxes.
var ErrPacked = errors.New("packed boxes are malformed")

// AppendPacked appends boxes in the rings' form: 24 bytes each, little-endian
// f32 x1, y1, x2, y2, score, then u32 label.
func AppendPacked(dst []byte, boxes []Box) []byte {
	for i := range boxes {
		b := &boxes[i]
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(b.X1))
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(b.Y1))
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(b.X2))
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(b.Y2))
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(b.Score))
		dst = binary.LittleEndian.AppendUint32(dst, b.Label)
	}
	return dst
}

// AppendUnpacked appends the count boxes of a packed body to dst. The values are as
// the writer left them, NaN included: the fusion's input gate judges them.
func AppendUnpacked(dst []Box, body []byte, count int) ([]Box, error) {
	if count < 0 || len(body) != count*BoxBytes {
		return dst, fmt.Errorf("%w: %d bytes for %d boxes of %d", ErrPacked, len(body), count, BoxBytes)
	}
	n := len(dst)
	dst = slices.Grow(dst, count)[:n+count]
	if sameAsPacked {
		copy(memory(dst[n:]), body)
		return dst, nil
	}
	for i := range dst[n:] {
		dst[n+i] = unpack(body[i*BoxBytes:])
	}
	return dst, nil
}

func unpack(p []byte) Box {
	_ = p[BoxBytes-1]
	return Box{
		X1:    math.Float32frombits(binary.LittleEndian.Uint32(p[0:])),
		Y1:    math.Float32frombits(binary.LittleEndian.Uint32(p[4:])),
		X2:    math.Float32frombits(binary.LittleEndian.Uint32(p[8:])),
		Y2:    math.Float32frombits(binary.LittleEndian.Uint32(p[12:])),
		Score: math.Float32frombits(binary.LittleEndian.Uint32(p[16:])),
		Label: binary.LittleEndian.Uint32(p[20:]),
	}
}
