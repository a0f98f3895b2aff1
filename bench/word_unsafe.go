package bench

import (
	"sync/atomic"
	"unsafe"
)

// word64 is the 8-byte word at b[off:], bounds checked, shared with another process.
func word64(b []byte, off int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer((*[8]byte)(b[off:])))
}

// int64s is b as numbers; b is a mapping, so it is aligned.
func int64s(b []byte) []int64 {
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}
