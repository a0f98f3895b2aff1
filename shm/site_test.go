package shm

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// findSite does what an observer does: it finds the one site by its bytes and follows the
// way behind the signature to the semaphore. Both are addresses as in the file.
func findSite(t *testing.T, f *elf.File) (site, semaphore uint64) {
	t.Helper()
	code := map[elf.Machine][]byte{
		elf.EM_X86_64:  {0x90, 0x0f, 0x1f, 0x44, 0, 0, 0xc3},
		elf.EM_AARCH64: {0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6},
	}[f.Machine]
	whole := append(bytes.Clone(code), "skewgate-p1="...)
	sites := 0
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_X == 0 {
			continue
		}
		text := make([]byte, p.Filesz)
		if _, err := p.ReadAt(text, 0); err != nil {
			t.Fatal(err)
		}
		n := bytes.Count(text, whole)
		if sites += n; n == 0 {
			continue
		}
		at := bytes.Index(text, whole)
		site = p.Vaddr + uint64(at)
		semaphore = wayToSemaphore(f.Machine, site+uint64(len(whole)), text[at+len(whole):])
	}
	if sites != 1 {
		t.Fatalf("want one site, found %d", sites)
	}
	return site, semaphore
}

// wayToSemaphore reads what stands behind the signature at address at.
func wayToSemaphore(m elf.Machine, at uint64, b []byte) uint64 {
	if m == elf.EM_X86_64 {
		return at + uint64(int64(int32(le.Uint32(b))))
	}
	adrp, add := le.Uint32(b), le.Uint32(b[4:])
	page := int64(int32(adrp>>5&0x7ffff<<2|adrp>>29&3)<<11>>11) << 12
	return uint64(int64(at&^0xfff)+page) + uint64(add>>10&0xfff)
}

// fileOffset is where address addr lies in the file; ok is false for .bss and beyond.
func fileOffset(f *elf.File, addr uint64, flags elf.ProgFlag) (off uint64, ok bool) {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&flags == flags && addr >= p.Vaddr && addr < p.Vaddr+p.Filesz {
			return addr - p.Vaddr + p.Off, true
		}
	}
	return 0, false
}

// An observer finds the site in a program as it was built, stripped or not, at a fixed
// address or not, for either processor, and the semaphore is where the kernel can count.
func TestSiteInFiles(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		name, arch string
		args       []string // of go test -c; none: this very test
	}
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	rows := []row{
		{name: "this test"},
		{"stripped", runtime.GOARCH, []string{"-ldflags=-s -w"}},
		{"other processor", other, []string{"-ldflags=-s -w"}},
	}
	if os.Getenv("SKEWGATE_LONG") != "" { // builds the standard library anew
		rows = append(rows, row{"any address", runtime.GOARCH, []string{"-ldflags=-s -w", "-buildmode=pie"}})
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			path := self
			if row.args != nil {
				path = filepath.Join(t.TempDir(), "shm.test")
				cmd := exec.Command("go", append(append([]string{"test", "-c", "-o", path}, row.args...), ".")...)
				cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+row.arch)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
				}
			}
			f, err := elf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if symbols, err := f.Symbols(); row.args != nil && len(symbols) > 0 {
				t.Fatalf("not stripped: %d symbols, %v", len(symbols), err)
			}
			_, semaphore := findSite(t, f)
			if _, ok := fileOffset(f, semaphore, elf.PF_R|elf.PF_W); !ok || semaphore%2 != 0 {
				t.Errorf("semaphore at %#x is not in the file's writable data", semaphore)
			}
		})
	}
}

// Where the site leads is the word that Publish looks at.
func TestSiteLeadsToSemaphore(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, semaphore := findSite(t, f)
	mem, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	at := int64(semaphore + loadedAt(t, f, os.Getpid(), self))
	set := func(v byte) {
		t.Helper()
		if _, err := mem.WriteAt([]byte{v}, at); err != nil {
			t.Fatal(err)
		}
		if probeSemaphore != uint16(v) {
			t.Fatalf("want %d in the semaphore, got %d", v, probeSemaphore)
		}
	}
	defer set(0)
	set(1)
	// With nobody at the site, all goes on as without a probe.
	w, r, _ := testRing(t, RingConfig{Slots: 8, PayloadBytes: 64})
	publish(t, w, "observed")
	if got := read(t, r); got != "observed" {
		t.Fatalf("got %q", got)
	}
}

// loadedAt is how far from its file's addresses a process has mapped path.
func loadedAt(t *testing.T, f *elf.File, pid int, path string) uint64 {
	t.Helper()
	if f.Type != elf.ET_DYN {
		return 0
	}
	maps, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		if fields := strings.Fields(line); fields[len(fields)-1] == path {
			start, err := strconv.ParseUint(strings.SplitN(line, "-", 2)[0], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			return start - f.Progs[0].Vaddr&^4095 // the first mapping is of the file's start
		}
	}
	t.Fatalf("%s is not mapped", path)
	return 0
}
