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
