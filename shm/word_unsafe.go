package shm

import (
	"sync/atomic"
	"unsafe"
)

// word64 is the 8-byte word at b[off:], bounds checked, to be shared with other processes.
func word64(b []byte, off int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer((*[8]byte)(b[off:])))
}

// word32 is the 4-byte word at b[off:].
func word32(b []byte, off int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer((*[4]byte)(b[off:])))
}

// aligned says whether words at multiples of 8 in b are atomic. Mappings always are.
func aligned(b []byte) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%8 == 0
}
