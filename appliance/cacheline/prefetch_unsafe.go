package cacheline

import "unsafe"

// Prefetch asks for the line that p lies in.
func Prefetch[T any](p *T) { one(unsafe.Pointer(p)) }

// PrefetchTwo asks for the line that p lies in and the one behind it.
func PrefetchTwo[T any](p *T) { two(unsafe.Pointer(p)) }

//go:noescape
func one(p unsafe.Pointer)

//go:noescape
func two(p unsafe.Pointer)
