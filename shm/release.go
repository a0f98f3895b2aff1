//go:build race || !amd64

package shm

import "sync/atomic"

// storeRelease stores v after every earlier load and store. Go's atomic store does that
// and more: on arm64 it is the STLR one would want, and the race detector knows it.
func storeRelease(word *atomic.Uint64, v uint64) { word.Store(v) }
