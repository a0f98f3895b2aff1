package config

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckONNXTakesRealNetworks(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(models, "*.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(models, "people", "*.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	if paths = append(paths, more...); len(paths) < 5 {
		t.Fatalf("found %d networks, want at least 5", len(paths))
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkONNX(bytes.NewReader(data), int64(len(data))); err != nil {
			t.Errorf("%s: %v, want no error", path, err)
		}
	}
}

// Every prefix of a network is refused: a half-copied file never passes.
func TestCheckONNXRefusesEveryTruncation(t *testing.T) {
	data := proposals(t)
	step := max(len(data)/997, 1)
	for n := 0; n < len(data); n += step {
		if checkONNX(bytes.NewReader(data[:n]), int64(n)) == nil {
			t.Errorf("the first %d of %d bytes pass, want an error", n, len(data))
		}
	}
	for n := len(data) - 200; n < len(data); n++ {
		err := checkONNX(bytes.NewReader(data[:n]), int64(n))
		// Metadata stands last: cut between two entries, what is left is a whole network.
		if err == nil && !wholeFields(data[:n]) {
			t.Errorf("the first %d of %d bytes pass, want an error", n, len(data))
		}
	}
}

// wholeFields says whether data ends where a field ends.
func wholeFields(data []byte) bool {
	w := walker{r: bytes.NewReader(data), end: int64(len(data))}
	for w.next() {
	}
	return w.err == nil
}

func TestCheckONNXNamesWhatItSees(t *testing.T) {
	for _, row := range []struct{ name, data, want string }{
		{"empty", "", "empty"},
		{"LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git lfs pull"},
		{"ZIP", "PK\x03\x04rest", "ZIP"},
		{"HTML", "<!DOCTYPE html><html>", "not a whole ONNX model"},
		{"text", strings.Repeat("hello ", 50), "not a whole ONNX model"},
		{"zeros", strings.Repeat("\x00", 100), "not a whole ONNX model"},
		{"only a version", "\x08\x08", "no graph"},
		{"only a graph", "\x3a\x02\x0a\x00", "no ir_version"},
		{"empty graph", "\x08\x08\x3a\x00", "0 nodes"},
		{"length past the end", "\x08\x08\x3a\x7f", "127 bytes where 0 are left"},
		{"huge length", "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "truncated"},
		{"endless number", strings.Repeat("\xff", 20), "does not end"},
	} {
		err := checkONNX(strings.NewReader(row.data), int64(len(row.data)))
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want an error with %q", row.name, err, row.want)
		}
	}
}

func FuzzCheckONNX(f *testing.F) {
	data := proposals(f)
	f.Add(data[:300])
	f.Add([]byte("\x08\x08\x3a\x04\x0a\x00\x62\x00"))
	f.Add([]byte("PK\x03\x04"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if checkONNX(bytes.NewReader(data), int64(len(data))) == nil && !wholeFields(data) {
			t.Errorf("%q passes, but its fields are not whole", data)
		}
	})
}

func proposals(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(models, "proposals.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
