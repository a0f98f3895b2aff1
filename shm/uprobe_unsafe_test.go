package shm

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// perfUprobe opens a perf event at offset site of the file path, for thread tid, with a
// reference counter at offset semaphore of that file.
func perfUprobe(kind uint32, path string, site, semaphore uint64, tid int, registers uint64) (int, error) {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	attr := unix.PerfEventAttr{
		Type: kind, Config: semaphore << 32, Ext1: uint64(uintptr(unsafe.Pointer(name))), Ext2: site,
		Sample: 1, Sample_type: unix.PERF_SAMPLE_REGS_USER, Sample_regs_user: registers,
	}
	attr.Size = uint32(unsafe.Sizeof(attr))
	fd, err := unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	runtime.KeepAlive(name)
	return fd, err
}
