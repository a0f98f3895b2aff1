package shm

import (
	"debug/elf"
	"path/filepath"
	"testing"
)

// The probe's site is found in the library by its bytes alone, leads to the semaphore, and
// is what the note for perf and bpftrace names.
func testCSite(t *testing.T, c *cBuild) {
	lib, err := elf.Open(filepath.Join(c.dir, "libskewgate_shm.so"))
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	site, semaphore := findSite(t, lib)
	data := false
	for _, s := range lib.Sections {
		if semaphore >= s.Addr && semaphore+2 <= s.Addr+s.Size && s.Flags&elf.SHF_WRITE != 0 {
			data = s.Type == elf.SHT_PROGBITS // with bytes in the file
		}
	}
	if !data {
		t.Errorf("semaphore at %#x is not in the file's data", semaphore)
	}
	note := lib.Section(".note.stapsdt")
	if note == nil {
		t.Fatal("no .note.stapsdt")
	}
	b, err := note.Data()
	if err != nil {
		t.Fatal(err)
	}
	arguments := map[elf.Machine]string{elf.EM_X86_64: "8@%rdi 8@%rsi -8@%rdx 8@%rcx", elf.EM_AARCH64: "8@x0 8@x1 -8@x2 8@x3"}[lib.Machine]
	want := "skewgate\x00publish\x00" + arguments + "\x00"
	if le.Uint32(b) != 8 || le.Uint32(b[4:]) != uint32(24+len(want)) || le.Uint32(b[8:]) != 3 || string(b[12:20]) != "stapsdt\x00" {
		t.Fatalf("head of the note: %q", b[:20])
	}
	if got := le.Uint64(b[20:]); got != site {
		t.Errorf("note names %#x, the site is at %#x", got, site)
	}
	if got := lib.Section(".stapsdt.base"); got == nil || got.Addr != le.Uint64(b[28:]) {
		t.Error("note and file differ about .stapsdt.base")
	}
	if got := le.Uint64(b[36:]); got != semaphore {
		t.Errorf("note names semaphore %#x, the site leads to %#x", got, semaphore)
	}
	if got := string(b[44 : 44+len(want)]); got != want {
		t.Errorf("note says %q, want %q", got, want)
	}
}
