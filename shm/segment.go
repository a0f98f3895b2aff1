package shm

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// requiredSeals fix a segment's size for good: nobody can truncate it under a mapping
// and turn a read into SIGBUS. F_SEAL_FUTURE_WRITE is left out; it would bar the
// writer's successor.
const requiredSeals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// maxSegmentBytes bounds what is mapped for a peer: 64 GiB.
const maxSegmentBytes = 1 << 36

// allocateTries bounds how often an interrupted allocation is begun again.
const allocateTries = 100

// A Segment is one mapped memfd. Slices of Bytes are dead after Close.
type Segment struct {
	file *os.File
	b    []byte
}

// CreateSegment makes a memfd of sizeBytes, all of it allocated now (a machine without
// room says so here, not with SIGBUS later), mode 0600, sealed against a change of
// size, and maps it read-write. It shows up in /proc/PID/maps as /memfd:skewgate:NAME.
func CreateSegment(name string, sizeBytes int) (*Segment, error) {
	if sizeBytes <= 0 || sizeBytes > maxSegmentBytes {
		return nil, fmt.Errorf("create segment %q: size %d out of range 1…%d", name, sizeBytes, maxSegmentBytes)
	}
	fd, err := memfd("skewgate:" + name)
	if err != nil {
		return nil, fmt.Errorf("create segment %q: memfd_create: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	if err := prepare(fd, int64(sizeBytes)); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("create segment %q of %d bytes: %w", name, sizeBytes, err)
	}
	return MapSegment(f, true)
}

// memfd asks for a file that can never be executed, which kernels before 6.3 do not know.
func memfd(name string) (int, error) {
	const base = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, base|unix.MFD_NOEXEC_SEAL)
	if err == unix.EINVAL {
		fd, err = unix.MemfdCreate(name, base)
	}
	return fd, err
}

func prepare(fd int, sizeBytes int64) error {
	if err := unix.Fchmod(fd, 0o600); err != nil {
		return fmt.Errorf("set mode 0600: %w", err)
	}
	// A signal interrupts a long fallocate, which then undoes itself.
	err := unix.Fallocate(fd, 0, 0, sizeBytes)
	for tries := 1; err == unix.EINTR && tries < allocateTries; tries++ {
		err = unix.Fallocate(fd, 0, 0, sizeBytes)
	}
	if err != nil {
		return fmt.Errorf("allocate (free memory or use smaller rings): %w", err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, requiredSeals); err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	return nil
}

// MapSegment maps all of f, shared, and takes f over, also on error. It refuses a file
// that is not sealed against a change of its size. A segment mapped read-only faults
// on a write; one whose file is O_RDONLY cannot be mapped writable.
func MapSegment(f *os.File, writable bool) (*Segment, error) {
	b, err := mapFile(f, writable)
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("map segment %q: %w", f.Name(), err)
	}
	return &Segment{file: f, b: b}, nil
}

func mapFile(f *os.File, writable bool) ([]byte, error) {
	fd := int(f.Fd())
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: not a memfd: %w", ErrNotSealed, err)
	}
	if seals&requiredSeals != requiredSeals {
		return nil, fmt.Errorf("%w: seals are %#x, need shrink, grow and seal (%#x)", ErrNotSealed, seals, requiredSeals)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Size <= 0 || st.Size > maxSegmentBytes {
		return nil, fmt.Errorf("size %d out of range 1…%d", st.Size, int64(maxSegmentBytes))
	}
	prot := unix.PROT_READ
	if writable {
		prot |= unix.PROT_WRITE
	}
	// Populate: the first lap around a ring shall not take a page fault per slot.
	b, err := unix.Mmap(fd, 0, int(st.Size), prot, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("mmap %d bytes: %w", st.Size, err)
	}
	return b, nil
}

// File is the descriptor the segment was mapped from. It stays the segment's own.
func (s *Segment) File() *os.File { return s.file }

// OpenReadOnly opens the same memory anew with O_RDONLY, to be handed to readers. The
// caller closes the file.
func (s *Segment) OpenReadOnly() (*os.File, error) {
	path := "/proc/self/fd/" + strconv.Itoa(int(s.file.Fd()))
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("reopen segment %q read-only: %w", s.file.Name(), err)
	}
	return os.NewFile(uintptr(fd), s.file.Name()), nil
}

// Bytes is the whole mapping, valid until Close.
func (s *Segment) Bytes() []byte { return s.b }

// Close unmaps the memory and closes the file. A second Close does nothing.
func (s *Segment) Close() error {
	if s.b == nil {
		return nil
	}
	b := s.b
	s.b = nil
	if err := unix.Munmap(b); err != nil {
		_ = s.file.Close()
		return fmt.Errorf("unmap segment %q: %w", s.file.Name(), err)
	}
	return s.file.Close()
}
