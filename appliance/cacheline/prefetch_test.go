package cacheline

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A hint may be wrong: an address that is nobody's, or the last of a mapping, is no fault, and
// what lies there is not changed.
func TestPrefetchFaultsOnNothing(t *testing.T) {
	Prefetch[uint64](nil)
	PrefetchTwo[uint64](nil)
	page, err := unix.Mmap(-1, 0, 2*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	last := &page[os.Getpagesize()-1]
	*last = 42
	if err := unix.Mprotect(page[os.Getpagesize():], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	Prefetch(last)
	PrefetchTwo(last)
	if *last != 42 {
		t.Errorf("%d where 42 was", *last)
	}
	if err := unix.Munmap(page); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkPrefetch(b *testing.B) {
	var x [2 * Bytes]byte
	for b.Loop() {
		PrefetchTwo(&x[0])
	}
}
