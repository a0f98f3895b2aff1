package shm

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Version 1 is frozen: a segment written now is, byte for byte, the one that lies in
// testdata/golden, and reads as it always did. Who must change a file there makes another
// ABI version. The sums keep a file from being written anew along with the code.
var goldenSums = map[string]string{
	"detection": "b89b1b9fe232538ee98869d8eb36deca00357fecd9051d6ed51ebdad353e70f0",
	"replica":   "26e85c8986a883a47684a0c8a169b68dd1e874da190c71150abfc80606aeb869",
	"frames":    "665aac4bb7e2be119cf4b9b848ac06816f0d725dcb697bb21dc49673bee545eb",
	"dispatch":  "090cbd4e03f5a984f945d1edbc8c50101aed2e173daeef646b2299765258d4c5",
	"doorbell":  "da37c526d330f1b324b33e75e8bdd9ee8c023db80155cae93fd983799ffa585b",
	"output":    "5dfa5ee8514f046899e1e2ae93ab40ee20e2cdaaeeff964b180b8086921199d2",
}

// golden is what a recipe works on. Its operations are in golden_write_test.go and
// golden_read_test.go; README.md beside the recipes explains them.
type golden struct {
	b []byte

	ring   *Writer
	frames *FrameWriter
	work   *DispatchWriter
	bell   *Doorbell

	reader *Reader
	looker *FrameReader
	taker  *DispatchReader
}

// goldenLine is an operation and its words; of what is read, also the answer.
type goldenLine struct {
	at     string // file and line
	op     string
	words  goldenWords
	answer string
}

type goldenWords []string

func (w goldenWords) u64(i int) uint64 { return must(strconv.ParseUint(w[i], 10, 64)) }
func (w goldenWords) u32(i int) uint32 { return uint32(must(strconv.ParseUint(w[i], 10, 32))) }
func (w goldenWords) i64(i int) int64  { return must(strconv.ParseInt(w[i], 10, 64)) }
func (w goldenWords) int(i int) int    { return must(strconv.Atoi(w[i])) }
func (w goldenWords) hex(i int) []byte { return must(unhex(w[i])) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// goldenRecipe splits a recipe at its rule of dashes: what is written, what is read.
func goldenRecipe(t *testing.T, name string) (write, read []goldenLine) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name+".txt")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list, number := &write, 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSuffix(line, "\n")
		if line == "---" {
			list = &read
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		ask, answer, _ := strings.Cut(line, " = ")
		words := strings.Fields(ask)
		*list = append(*list, goldenLine{fmt.Sprintf("%s:%d", path, number), words[0], words[1:], answer})
	}
	if len(write) == 0 || len(read) == 0 {
		t.Fatalf("%s: %d lines to write, %d to read", path, len(write), len(read))
	}
	return write, read
}

func goldenFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "golden", name+".seg"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// wantGolden compares a segment with the one that is frozen.
func wantGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	want := goldenFile(t, name)
	if len(got) != len(want) {
		t.Fatalf("%s has %d bytes, %d are frozen", name, len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: byte %d is %#x, frozen is %#x: version 1 cannot change, make version 2", name, i, got[i], want[i])
		}
	}
}

func TestGolden(t *testing.T) {
	for name, sum := range goldenSums {
		t.Run(name, func(t *testing.T) {
			if got := fmt.Sprintf("%x", sha256.Sum256(goldenFile(t, name))); got != sum {
				t.Errorf("%s.seg is frozen, yet its SHA-256 is now %s", name, got)
			}
			write, read := goldenRecipe(t, name)
			var g golden
			for _, line := range write {
				if err := g.do(line); err != nil {
					t.Fatalf("%s: %s: %v", line.at, line.op, err)
				}
			}
			wantGolden(t, name, g.b)

			segment := newSegment(t, len(g.b), func(b []byte) error { copy(b, goldenFile(t, name)); return nil })
			g = golden{b: readOnly(t, segment)}
			for _, line := range read {
				got, err := g.ask(line)
				if err != nil {
					t.Fatalf("%s: %s: %v", line.at, line.op, err)
				}
				if got != line.answer {
					t.Errorf("%s: %s: want %q, got %q", line.at, line.op, line.answer, got)
				}
			}
		})
	}
	files, err := filepath.Glob("testdata/golden/*.seg")
	if err != nil || len(files) != len(goldenSums) {
		t.Errorf("%d golden segments, %d are known here (%v)", len(files), len(goldenSums), err)
	}
}
