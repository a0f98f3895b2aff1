package shm

import (
	"fmt"
	"math"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Operations of futex(2). FUTEX_PRIVATE_FLAG is left out on purpose: the word is
// shared with other processes, and the kernel must key it by inode and offset.
const (
	futexWaitOp = 0
	futexWakeOp = 1
)

// futexWait sleeps while *word == was, at most timeoutNS. It may return early.
// Syscall, not RawSyscall, so that the scheduler and the collector go on without us.
func futexWait(word *atomic.Uint32, was uint32, timeoutNS int64) error {
	ts := unix.NsecToTimespec(timeoutNS)
	_, _, errno := syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)),
		futexWaitOp, uintptr(was), uintptr(unsafe.Pointer(&ts)), 0, 0)
	switch errno {
	case 0, unix.EAGAIN, unix.EINTR, unix.ETIMEDOUT:
		return nil
	}
	return fmt.Errorf("wait on futex: %w", errno)
}

// futexWake wakes all waiters, so that a stranger waiting on the word steals no wake-up.
func futexWake(word *atomic.Uint32) {
	// An error would mean a bad address, which word cannot be; a missed wake-up costs
	// the sleeper its timeout, no more.
	_, _, _ = syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)),
		futexWakeOp, math.MaxInt32, 0, 0, 0)
}
