package nut

import (
	"bufio"
	"io"
)

// source is the pipe seen byte by byte, with a running checksum and a count. Its
// buffer is small on purpose: a payload larger than the buffer goes from the pipe
// into the caller's memory without passing through it.
type source struct {
	br  *bufio.Reader
	crc uint32
	n   int64
}

const bufferBytes = 512

func newSource(r io.Reader) *source {
	return &source{br: bufio.NewReaderSize(r, bufferBytes)}
}

// byte reads one byte. The end of the stream is io.EOF here; the caller knows
// whether it may end at this place.
func (s *source) byte() (byte, error) {
	b, err := s.br.ReadByte()
	if err != nil {
		return 0, err
	}
	s.crc = crcByte(s.crc, b)
	s.n++
	return b, nil
}

// u reads n bytes as one unsigned number, most significant first.
func (s *source) u(n int) (v uint64, err error) {
	for range n {
		b, err := s.byte()
		if err != nil {
			return 0, inside(err)
		}
		v = v<<8 | uint64(b)
	}
	return v, nil
}

// v reads a variable length number, at most 64 bits. The specification allows
// up to eight stuffing bytes in front of it.
func (s *source) v() (v uint64, err error) {
	const bytesMax = 8 + 10
	for range bytesMax {
		b, err := s.byte()
		if err != nil {
			return 0, inside(err)
		}
		if v >= 1<<57 {
			return 0, damaged("a number is over 64 bits")
		}
		v = v<<7 | uint64(b&0x7f)
		if b&0x80 == 0 {
			return v, nil
		}
	}
	return 0, damaged("a number has over %d bytes", bytesMax)
}

// vMax reads a variable length number and refuses one above max.
func (s *source) vMax(max uint64, what string) (uint64, error) {
	v, err := s.v()
	if err == nil && v > max {
		err = damaged("%s is %d, at most %d", what, v, max)
	}
	return v, err
}

// s reads a signed variable length number.
func (s *source) s() (int64, error) {
	v, err := s.v()
	if err != nil {
		return 0, err
	}
	if v == 1<<64-1 {
		return 0, damaged("a signed number is over 63 bits")
	}
	v++
	if v&1 != 0 {
		return -int64(v >> 1), nil
	}
	return int64(v >> 1), nil
}

// skip passes over n bytes, with the checksum running: only header packets and
// side data are skipped, both small.
func (s *source) skip(n int64) error {
	for ; n > 0; n-- {
		if _, err := s.byte(); err != nil {
			return inside(err)
		}
	}
	return nil
}

// inside turns an end of stream within an element into an error that says so.
func inside(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
