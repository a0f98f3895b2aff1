package shm

import (
	"bytes"
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
	before := map[elf.Machine][]byte{
		elf.EM_X86_64:  {0x90, 0x0f, 0x1f, 0x44, 0, 0, 0xc3},
		elf.EM_AARCH64: {0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6},
	}[lib.Machine]
	whole := append(bytes.Clone(before), "skewgate-p1="...)
	var site, semaphore uint64
	for _, p := range lib.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_X == 0 {
			continue
		}
		text := make([]byte, p.Filesz)
		if _, err := p.ReadAt(text, 0); err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, whole); n != 1 {
			t.Fatalf("want one site, found %d", n)
		}
		at := bytes.Index(text, whole)
		site = p.Vaddr + uint64(at)
		semaphore = cSemaphore(lib.Machine, site+uint64(len(whole)), text[at+len(whole):])
	}
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

// cSemaphore follows the way from behind the signature, as an observer does.
func cSemaphore(m elf.Machine, at uint64, b []byte) uint64 {
	if m == elf.EM_X86_64 {
		return at + uint64(int64(int32(le.Uint32(b))))
	}
	adrp, add := le.Uint32(b), le.Uint32(b[4:])
	page := int64(int32(adrp>>5&0x7ffff<<2|adrp>>29&3)<<11>>11) << 12
	return uint64(int64(at&^0xfff)+page) + uint64(add>>10&0xfff)
}
