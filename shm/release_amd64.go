//go:build !race

package shm

import "sync/atomic"

// storeRelease stores v after every earlier load and store. A plain store does that on
// amd64; Go's own atomic store is an XCHG, which also waits until all of them have
// reached the cache: three of those a message halve what two processes can pass on.
//
//go:noescape
func storeRelease(word *atomic.Uint64, v uint64)
