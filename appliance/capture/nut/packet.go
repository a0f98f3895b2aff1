package nut

import "io"

// fileID is the first thing in every stream.
const fileID = "nut/multimedia container\x00"

// Startcodes of the specification. Each begins with 'N', which no frame code is.
const (
	mainCode   = 0x7A561F5F04AD + uint64('N'<<8+'M')<<48
	streamCode = 0x11405BF2F9DB + uint64('N'<<8+'S')<<48
	syncCode   = 0xE4ADEECA4569 + uint64('N'<<8+'K')<<48
)

// packetMax bounds a packet other than a frame. ffmpeg's largest here is the main
// header, some 150 bytes; it is asked to write no metadata.
const packetMax = 64 << 10

// packet reads a packet whose first byte 'N' is already read, hands its fields to
// the decoder of its kind and checks the checksum at its end. Info, index and
// unknown packets are passed over, as the specification demands.
func (r *Reader) packet() error {
	src := r.src
	low, err := src.u(7)
	if err != nil {
		return err
	}
	code := uint64('N')<<56 | low
	// The checksum of a long packet's header covers startcode and length.
	src.crc = 0
	for shift := 56; shift >= 0; shift -= 8 {
		src.crc = crcByte(src.crc, byte(code>>shift))
	}
	length, err := src.vMax(packetMax, "a packet's length")
	if err != nil {
		return err
	}
	if length < 4 {
		return damaged("a packet of %d bytes has no room for its checksum", length)
	}
	if length > 4096 {
		if err := r.checksum("packet header"); err != nil {
			return err
		}
	}
	src.crc, src.n = 0, 0
	body := int64(length) - 4
	if err := r.fields(code, body); err != nil {
		return err
	}
	if src.n > body {
		return damaged("the fields of a packet are longer than its %d bytes", length)
	}
	// What is left are fields of a later version.
	if err := src.skip(body - src.n); err != nil {
		return err
	}
	return r.checksum("packet")
}

// fields decodes the packets that matter. Headers are repeated at growing
// distances; repeated ones must be identical, so only the first is decoded.
func (r *Reader) fields(code uint64, body int64) error {
	switch {
	case code == mainCode && !r.haveMain:
		return r.mainHeader()
	case code == streamCode && !r.haveMain:
		return damaged("a stream header comes before the main header")
	case code == streamCode && !r.haveStream:
		return r.streamHeader(body)
	case code == syncCode:
		return r.syncPoint()
	}
	return nil
}

// checksum reads a checksum and compares it with the bytes read since crc was zero.
func (r *Reader) checksum(of string) error {
	got := r.src.crc
	want, err := r.src.u(4)
	if err != nil {
		return err
	}
	if uint32(want) != got && !r.trusting {
		return damaged("checksum of a %s is %08x, its bytes give %08x", of, want, got)
	}
	return nil
}

// start reads the file id.
func (r *Reader) start() error {
	for i := range len(fileID) {
		b, err := r.src.byte()
		if err != nil {
			if i == 0 && err == io.EOF {
				return err
			}
			return inside(err)
		}
		if b != fileID[i] {
			return damaged("byte %d is %#02x where the NUT file id belongs", i, b)
		}
	}
	return nil
}
