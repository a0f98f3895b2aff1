package onnx

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// openEnv makes this test program open a library and say what came of it: a process has one.
const openEnv = "SKEWGATE_TEST_OPEN_LIBRARY"

func TestMain(m *testing.M) {
	if path := os.Getenv(openEnv); path != "" {
		version, err := OpenLibrary(path)
		fmt.Printf("version %q error %v\n", version, err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func openInProcess(t *testing.T, path string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), openEnv+"="+path)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("open %q in a process of its own: %v", path, err)
	}
	return string(out)
}

// sharedObject compiles C into a library; this package needs a C compiler anyway.
func sharedObject(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	c, so := filepath.Join(dir, "x.c"), filepath.Join(dir, "libonnxruntime.so.1")
	if err := os.WriteFile(c, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-o", so, c).CombinedOutput(); err != nil {
		t.Fatalf("compile: %v\n%s", err, out)
	}
	return so
}

// Every way a library can be wrong ends in an error that names it and the cure.
func TestOpenLibraryRefuses(t *testing.T) {
	// A library that knows no API as new as ours answers as the real 1.23 does: no table.
	old := sharedObject(t, `
typedef struct { const void *(*GetApi)(unsigned); const char *(*GetVersionString)(void); } OrtApiBase;
static const void *api(unsigned v) { return 0; }
static const char *version(void) { return "1.23.2"; }
static const OrtApiBase base = { api, version };
const OrtApiBase *OrtGetApiBase(void) { return &base; }
`)
	text := filepath.Join(t.TempDir(), "text.so")
	if err := os.WriteFile(text, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, path, want string }{
		{"Missing", "/nonexistent/libonnxruntime.so.1", "no such file"},
		{"Folder", t.TempDir(), "is not a file"},
		{"NotALibrary", text, "is it whole and built for this machine?"},
		{"OtherLibrary", sharedObject(t, "int x;"), "OrtGetApiBase"},
		{"TooOld", old, "older than 1.24"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := openInProcess(t, tt.path)
			for _, want := range []string{`version ""`, tt.want, tt.path, "scripts/fetch-onnxruntime.sh", "SKEWGATE_ONNXRUNTIME"} {
				if !strings.Contains(got, want) {
					t.Errorf("want %q in: %s", want, got)
				}
			}
		})
	}
}

func TestOpenLibraryOnce(t *testing.T) {
	if v := needRuntime(t); v < "1.24" {
		t.Errorf("version %q", v)
	}
	if _, err := OpenLibrary("anything"); err == nil || !strings.Contains(err.Error(), "already open") {
		t.Errorf("want the second opening refused, got %v", err)
	}
}
