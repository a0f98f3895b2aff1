package shm

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func nothing([]byte) error { return nil }

func TestSegmentIsSealedAndPrivate(t *testing.T) {
	s := newSegment(t, 3*4096, nothing)
	fd := int(s.File().Fd())
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil || seals&requiredSeals != requiredSeals {
		t.Fatalf("want seals %#x, got %#x, %v", requiredSeals, seals, err)
	}
	if seals&(unix.F_SEAL_WRITE|unix.F_SEAL_FUTURE_WRITE) != 0 {
		t.Fatalf("seals %#x bar a successor from writing", seals)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatal(err)
	}
	if st.Mode&0o7777 != 0o600 {
		t.Errorf("want mode 0600, got %o", st.Mode&0o7777)
	}
	if st.Blocks*512 < 3*4096 {
		t.Errorf("want all 3 pages allocated, got %d bytes", st.Blocks*512)
	}
}

// F25: a peer with a writable descriptor cannot pull the memory from under a reader.
func TestTruncationIsRefused(t *testing.T) {
	s := newSegment(t, 4096, nothing)
	fd := int(s.File().Fd())
	for _, size := range []int64{0, 1, 8192} {
		if err := unix.Ftruncate(fd, size); err != unix.EPERM {
			t.Errorf("truncate to %d: want EPERM, got %v", size, err)
		}
	}
	if err := unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 4096); err != nil {
		t.Errorf("a hole is allowed, it only zeroes: %v", err)
	}
	if s.Bytes()[0] != 0 || len(s.Bytes()) != 4096 {
		t.Error("mapping is gone")
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE); err != unix.EPERM {
		t.Errorf("add a seal: want EPERM, got %v", err)
	}
}

func TestReadOnlyCannotWrite(t *testing.T) {
	s := newSegment(t, 4096, nothing)
	s.Bytes()[7] = 99
	f, err := s.OpenReadOnly()
	if err != nil {
		t.Fatal(err)
	}
	fd := int(f.Fd())
	if _, err := unix.Pwrite(fd, []byte("x"), 0); err != unix.EBADF {
		t.Errorf("pwrite: want EBADF, got %v", err)
	}
	if _, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != unix.EACCES {
		t.Errorf("map writable: want EACCES, got %v", err)
	}
	ro, err := MapSegment(f, false)
	if err != nil {
		t.Fatal(err)
	}
	defer ro.Close()
	if ro.Bytes()[7] != 99 {
		t.Error("want the same memory")
	}
	if err := unix.Mprotect(ro.Bytes(), unix.PROT_READ|unix.PROT_WRITE); err != unix.EACCES {
		t.Errorf("mprotect: want EACCES, got %v", err)
	}
}

// A process that writes to a read-only mapping dies of it; the memory stays as it was.
func TestWriteToReadOnlyMappingFaults(t *testing.T) {
	s := newSegment(t, 4096, nothing)
	f, err := s.OpenReadOnly()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := spawn(t, "poke", []*os.File{f})
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() == 1 {
		t.Errorf("want a fault, got %v", err)
	}
	if s.Bytes()[0] != 0 {
		t.Error("the byte was written")
	}
}

func pokeRole([]string) error {
	b, err := mapFD(3, false)
	if err != nil {
		return err
	}
	os.Stderr.Close() // the fault's own report would look like a failing test
	b[0] = 1
	return nil // exit code 0, which the test refuses
}

func TestMapSegmentRefuses(t *testing.T) {
	file := func(name string, make func() (int, error)) *os.File {
		fd, err := make()
		if err != nil {
			t.Fatal(name, err)
		}
		return os.NewFile(uintptr(fd), name)
	}
	memfd := func(size int64, seals int) func() (int, error) {
		return func() (int, error) {
			fd, err := unix.MemfdCreate("t", unix.MFD_ALLOW_SEALING|unix.MFD_CLOEXEC)
			if err == nil {
				err = unix.Ftruncate(fd, size)
			}
			if err == nil {
				_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
			}
			return fd, err
		}
	}
	for name, tc := range map[string]struct {
		file func() (int, error)
		want string
	}{
		"not a memfd": {func() (int, error) { return unix.Open("/dev/zero", unix.O_RDWR, 0) }, "not a memfd"},
		"may shrink":  {memfd(4096, unix.F_SEAL_GROW|unix.F_SEAL_SEAL), "seals are"},
		"may grow":    {memfd(4096, unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL), "seals are"},
		"may seal":    {memfd(4096, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW), "seals are"},
		"empty":       {memfd(0, requiredSeals), "size 0"},
		"huge":        {memfd(maxSegmentBytes+1, requiredSeals), "size 68719476737"},
	} {
		f := file(name, tc.file)
		if _, err := MapSegment(f, false); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: want %q, got %v", name, tc.want, err)
		}
		if _, err := f.Stat(); err == nil {
			t.Errorf("%s: file was left open", name)
		}
	}
	for _, size := range []int{-1, 0, maxSegmentBytes + 1} {
		if _, err := CreateSegment("t", size); err == nil {
			t.Errorf("size %d accepted", size)
		}
	}
}

func TestSegmentShowsItsName(t *testing.T) {
	newSegment(t, 4096, nothing)
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	if want := "/memfd:skewgate:" + t.Name(); !strings.Contains(string(maps), want) {
		t.Errorf("want %s in /proc/self/maps", want)
	}
}

// A limit on file sizes stands in for a full machine: creation fails with the size
// named, before anything is mapped. F24
func TestCreateSegmentWithoutRoom(t *testing.T) {
	if err := spawn(t, "no room", nil).Wait(); err != nil {
		t.Fatal(err)
	}
}

func noRoomRole([]string) error {
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}); err != nil {
		return err
	}
	_, err := CreateSegment("big", 2<<20)
	if !errors.Is(err, unix.EFBIG) || !strings.Contains(err.Error(), fmt.Sprint(2<<20)) {
		return fmt.Errorf("want EFBIG naming the size, got %v", err)
	}
	return nil
}
