// Package shm is skewgate's shared memory: sealed segments and the rings in them.
// It knows bytes and words, nothing of detections; it starts no goroutine and reads
// no clock (times are int64 nanoseconds of CLOCK_MONOTONIC, given by the caller).
//
// There are four kinds of segment, all drawn in ABI.md:
//
//	detection ring   one per detector process: it writes, everybody else reads
//	frame ring       one per camera: pixels in place, written by capture
//	dispatch         one per child: assignments, written by the appliance
//	doorbell         one page: every child wakes the path through it
//
// A ring is an overwriting broadcast. Its writer never waits for anybody; a reader
// knows exactly how many messages it lost. A writer killed between any two stores
// costs at most the message being overwritten, never a torn one. Each word has
// exactly one writer, so there is no lock a dead process could hold.
//
// All logic works on a plain []byte, which tests take from the heap so that the race
// detector sees it. What the other side wrote is untrusted: read once into a local,
// checked, then used; nonsense gives a *QuarantineError with a named reason.
//
// Stores and loads that pair up across processes carry a comment "sync: name".
package shm
