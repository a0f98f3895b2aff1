package detect

import (
	"encoding/binary"
	"unsafe"
)

// A Box has the fields of the packed form in its order and size, without gaps.
var _ [BoxBytes]byte = [unsafe.Sizeof(Box{})]byte{}

// sameAsPacked says that this processor has boxes in memory as the packed form has them.
var sameAsPacked = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// memory is what boxes take in memory.
func memory(boxes []Box) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(boxes))), len(boxes)*BoxBytes)
}

// InPlace returns the count boxes of a packed body as they stand there, without a copy: they
// change when it does. ok is false if this processor could not read them there, or the body is
// not count whole boxes; AppendUnpacked then copies them, or says so.
func InPlace(body []byte, count int) (boxes []Box, ok bool) {
	p := unsafe.Pointer(unsafe.SliceData(body))
	if !sameAsPacked || count <= 0 || len(body) != count*BoxBytes || uintptr(p)%unsafe.Alignof(Box{}) != 0 {
		return nil, false
	}
	return unsafe.Slice((*Box)(p), count), true
}
