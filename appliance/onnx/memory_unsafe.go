package onnx

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// newMemory maps n zeroed floats outside the Go heap. ONNX Runtime keeps bare pointers to a
// tensor's data in a session; memory the collector neither frees nor moves cannot be pulled away
// under it. It is given back by freeMemory, never by the collector.
func newMemory(n int) ([]float32, error) {
	b, err := unix.Mmap(-1, 0, n*4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes for a tensor: %w", n*4, err)
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
}

// freeMemory gives back what newMemory mapped; nothing may use m after it.
func freeMemory(m []float32) error {
	if m == nil {
		return nil
	}
	return unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(m))), len(m)*4))
}
