package shm

import (
	"errors"
	"fmt"
)

// ErrRaw is returned for a body that ought to begin with a capture time as text and
// does not. It concerns that message only.
var ErrRaw = errors.New("raw capture time malformed")

// MaxRaw is the longest capture time kept as text, in bytes.
const MaxRaw = 1<<16 - 1

// AppendRaw appends the body of a message whose CaptureNS is RawCapture: the length of
// text as u16, text itself, then body.
func AppendRaw(dst []byte, text string, body []byte) ([]byte, error) {
	if len(text) > MaxRaw {
		return dst, fmt.Errorf("append raw capture time of %d bytes, at most %d fit: %w", len(text), MaxRaw, ErrTooLarge)
	}
	dst = le.AppendUint16(dst, uint16(len(text)))
	dst = append(dst, text...)
	return append(dst, body...), nil
}

// SplitRaw takes apart what AppendRaw put together. Both parts share b's memory.
func SplitRaw(b []byte) (text, body []byte, err error) {
	if len(b) < 2 {
		return nil, nil, fmt.Errorf("%w: body has %d bytes, its text's length needs 2", ErrRaw, len(b))
	}
	n := int(le.Uint16(b))
	if n > len(b)-2 {
		return nil, nil, fmt.Errorf("%w: text of %d bytes in a body of %d", ErrRaw, n, len(b))
	}
	return b[2 : 2+n : 2+n], b[2+n:], nil
}
