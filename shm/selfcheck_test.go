package shm

import "fmt"

// A self-checking message: all of it follows from its number, so one foreign byte
// shows. Lengths differ from message to message, so that a torn header shows too.

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func checkedMessage(n uint64, payload int, h *SlotHeader, buf []byte) []byte {
	length := int(mix(n)%uint64(payload/8)) * 8
	*h = SlotHeader{
		CaptureNS: int64(mix(n + 1)), PublishNS: int64(mix(n + 2)), FrameID: n, Tag: mix(n + 3),
		StreamEpoch: uint32(mix(n + 4)), Count: uint16(mix(n + 5)), Kind: KindBoxes, Flags: uint8(mix(n + 6)),
	}
	body := buf[:length]
	for i := 0; i < length; i += 8 {
		le.PutUint64(body[i:], mix(n)+uint64(i))
	}
	return body
}

func checkMessage(h *SlotHeader, body []byte, payload int, buf []byte) error {
	var want SlotHeader
	wantBody := checkedMessage(h.FrameID, payload, &want, buf)
	want.Sequence, want.Length = h.FrameID, uint32(len(wantBody))
	if *h != want {
		return fmt.Errorf("torn header: want %+v, got %+v", want, *h)
	}
	if string(body) != string(wantBody) {
		return fmt.Errorf("torn body of message %d", h.FrameID)
	}
	return nil
}

// checkedReader drains a ring of self-checking messages and keeps its own count of
// what is missing, from the numbers in the messages.
type checkedReader struct {
	*Reader
	h              SlotHeader
	body, buf      []byte
	last, gaps, ok uint64
}

func newCheckedReader(r *Reader) *checkedReader {
	return &checkedReader{Reader: r, body: make([]byte, r.PayloadBytes()), buf: make([]byte, r.PayloadBytes()), last: r.Start()}
}

// drain reads up to limit messages, until the ring is empty.
func (c *checkedReader) drain(limit int) (empty bool, err error) {
	for range limit {
		n, ok, err := c.Next(&c.h, c.body)
		if err != nil {
			return false, err
		}
		if !ok {
			return c.Pending() == 0, nil
		}
		if err := checkMessage(&c.h, c.body[:n], c.PayloadBytes(), c.buf); err != nil {
			return false, err
		}
		if c.h.FrameID <= c.last {
			return false, fmt.Errorf("message %d after %d", c.h.FrameID, c.last)
		}
		c.gaps += c.h.FrameID - c.last - 1
		c.last = c.h.FrameID
		c.ok++
	}
	return false, nil
}

// balance says whether the reader's counts agree with each other and with the numbers
// in the messages, once the ring is empty.
func (c *checkedReader) balance() error {
	tail := c.Written() - c.last // lost after the last one read
	if c.Read() != c.ok || c.Lost() != c.gaps+tail || c.Written() != c.Start()+c.Read()+c.Lost() {
		return fmt.Errorf("written %d, start %d, read %d (counted %d), lost %d (counted %d and %d at the end)",
			c.Written(), c.Start(), c.Read(), c.ok, c.Lost(), c.gaps, tail)
	}
	return nil
}
