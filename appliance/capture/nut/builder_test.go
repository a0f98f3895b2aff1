package nut

import "encoding/binary"

// builder writes NUT by the specification, for the corners ffmpeg does not write.
type builder struct{ b []byte }

func (w *builder) v(x uint64) *builder {
	var tail []byte
	for more := byte(0); ; more = 0x80 {
		tail = append([]byte{byte(x&0x7f) | more}, tail...)
		if x >>= 7; x == 0 {
			w.b = append(w.b, tail...)
			return w
		}
	}
}

func (w *builder) s(x int64) *builder {
	if x > 0 {
		return w.v(uint64(2*x - 1))
	}
	return w.v(uint64(-2 * x))
}

func (w *builder) vs(xs ...uint64) *builder {
	for _, x := range xs {
		w.v(x)
	}
	return w
}

func (w *builder) raw(p ...byte) *builder { w.b = append(w.b, p...); return w }

func (w *builder) text(s string) *builder { return w.v(uint64(len(s))).raw([]byte(s)...) }

func crcOf(p []byte) (c uint32) {
	for _, b := range p {
		c = crcByte(c, b)
	}
	return c
}

func (w *builder) packet(code uint64, body *builder) *builder {
	head := &builder{b: binary.BigEndian.AppendUint64(nil, code)}
	head.v(uint64(len(body.b) + 4))
	if len(body.b)+4 > 4096 {
		head.b = binary.BigEndian.AppendUint32(head.b, crcOf(head.b))
	}
	w.raw(head.b...).raw(body.b...)
	w.b = binary.BigEndian.AppendUint32(w.b, crcOf(body.b))
	return w
}

// sum appends the checksum of the frame header given and the header before it.
func (w *builder) sum(header *builder) *builder {
	w.raw(header.b...)
	w.b = binary.BigEndian.AppendUint32(w.b, crcOf(header.b))
	return w
}

// Frame codes of the test stream's table.
const (
	codeFull  = 1 // everything coded in the frame
	codeSmall = 2 // size in the code's row: 4 to 7 bytes for codes 2 to 5, PTS step 1
	codeEOR   = 6
)

// mainBody is a main header with the table above and two elision headers.
func mainBody(version uint64) *builder {
	m := new(builder).v(version)
	if version > 3 {
		m.v(0)
	}
	m.vs(1, 1<<20, 2, 1, 25, 1, 1000) // one stream, two time bases
	row := func(flags uint64, pts int64, mul, stream, size, res, count uint64) {
		m.v(flags).v(6).s(pts).vs(mul, stream, size, res, count)
	}
	row(flagInvalid, 0, 1, 0, 0, 0, 1)
	row(flagCoded, 0, 1, 0, 0, 0, 1)
	row(1, 1, 8, 0, 4, 0, 4)
	row(1|flagEOR, 0, 1, 0, 0, 0, 1)
	row(flagInvalid, 0, 1, 0, 0, 0, 255)
	return m.v(2).text("\x00\x00\x01").text("ab")
}

func streamBody(width, height uint64) *builder {
	return new(builder).vs(0, 0).text("I420").vs(1, 4, 1000, 0, 0).text("spec").vs(width, height, 1, 1, 0)
}

// headers writes a stream of 1/1000 s ticks up to and with a sync point at ms.
func headers(version uint64, ms uint64) *builder {
	w := new(builder).raw([]byte(fileID)...)
	w.packet(mainCode, mainBody(version)).packet(streamCode, streamBody(2, 2))
	return w.packet(syncCode, new(builder).vs(ms*2+1, 0))
}
