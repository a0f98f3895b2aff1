package trace

import (
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// contents reads path, path.1 and so on, up to the first that is not there.
func contents(t *testing.T, path string) []string {
	t.Helper()
	f := File{path: path}
	var all []string
	for i := 0; ; i++ {
		text, err := os.ReadFile(f.numbered(i))
		if os.IsNotExist(err) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
}

func write(t *testing.T, f *File, text string) {
	t.Helper()
	if n, err := f.Write([]byte(text)); err != nil || n != len(text) {
		t.Fatalf("write %q: %d, %v", text, n, err)
	}
}

func TestFileRotates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	if err := os.WriteFile(path, []byte("older\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(path, 2)
	if err != nil {
		t.Fatal(err)
	}
	head := func(s string) string { return `{"config":` + s + "}\n" }
	write(t, f, head("1")+"a\n")
	write(t, f, `b {"config":`+"\n"+head("2")+"c\n"+head("3")) // a header's words inside of a line are none
	if diff := cmp.Diff([]string{head("3"), head("2") + "c\n", head("1") + "a\nb {\"config\":\n"}, contents(t, path)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	write(t, f, "d\n"+head("4"))
	if diff := cmp.Diff([]string{head("4"), head("3") + "d\n", head("2") + "c\n"}, contents(t, path)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("closed once more: %v", err)
	}
}

func TestFileKeepsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	f, err := OpenFile(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write(t, f, "{\"config\":1}\na\n{\"config\":2}\nb\n")
	if diff := cmp.Diff([]string{"{\"config\":2}\nb\n"}, contents(t, path)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestOpenFileRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct {
		path string
		keep int
		want string
	}{
		{dir, 1, "no plain file"},
		{filepath.Join(dir, "none", "t"), 1, "no such file"},
		{filepath.Join(dir, "t"), -1, "0 or more"},
	} {
		if _, err := OpenFile(tc.path, tc.keep); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: want %q, got %v", tc.path, tc.want, err)
		}
	}
}

// A disk that is full in the middle of a line leaves the lines before it.
func TestFileEndsWithAWholeLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	f, err := OpenFile(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	limitFileSize(t, 10)
	n, err := f.Write([]byte("12345\n789012345\n"))
	if n != 6 || err == nil {
		t.Fatalf("wrote %d bytes, %v; want 6 and an error", n, err)
	}
	if diff := cmp.Diff([]string{"12345\n"}, contents(t, path)); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	write(t, f, "78\n")
	if diff := cmp.Diff([]string{"12345\n78\n"}, contents(t, path)); diff != "" {
		t.Errorf("file after it went on (-want +got):\n%s", diff)
	}
}

// limitFileSize lets no file of this process grow beyond n bytes until the test ends: a disk
// that is full, for which a test needs no rights.
func limitFileSize(t *testing.T, n uint64) {
	t.Helper()
	signal.Ignore(unix.SIGXFSZ)
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: n, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
			t.Error(err)
		}
		signal.Reset(unix.SIGXFSZ)
	})
}
