package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// checkout is a folder with the fetching script, whose pins are those of the small file that the
// package of this test holds, and a PATH without npm unless the test puts one there.
type checkout struct {
	t         *testing.T
	dir, bin  string
	lib, pack string // a library and a package, fetched elsewhere
}

const fetched = "the library"

func newCheckout(t *testing.T) *checkout {
	t.Helper()
	c := &checkout{t: t, dir: t.TempDir(), bin: t.TempDir()}
	script, err := os.ReadFile("../../scripts/fetch-onnxruntime.sh")
	if err != nil {
		t.Fatal(err)
	}
	pins := regexp.MustCompile(`pin=[0-9a-f]{64}`)
	if n := len(pins.FindAll(script, -1)); n != 2 {
		t.Fatalf("the script has %d pins, want one for each processor", n)
	}
	pin := fmt.Sprintf("pin=%x", sha256.Sum256([]byte(fetched)))
	c.write("scripts/fetch-onnxruntime.sh", pins.ReplaceAllString(string(script), pin), 0o700)
	for _, tool := range []string{"bash", "env", "dirname", "uname", "sha256sum", "cut", "mkdir", "mktemp", "rm", "find", "head", "od", "tr", "tar", "gzip", "cp", "chmod", "mv"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(c.bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	c.lib = c.write("elsewhere/lib.so", fetched, 0o600)
	c.pack = c.tarball("pack.tgz", fetched)
	return c
}

func (c *checkout) write(name, text string, mode os.FileMode) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// tarball is laid out as onnxruntime-node is, with text for a library.
func (c *checkout) tarball(name, text string) string {
	c.t.Helper()
	for _, arch := range []string{"x64", "arm64"} {
		c.write("tree/package/bin/napi-v6/linux/"+arch+"/libonnxruntime.so.1", text, 0o600)
	}
	path := filepath.Join(c.dir, name)
	if out, err := exec.Command("tar", "-C", filepath.Join(c.dir, "tree"), "-czf", path, "package").CombinedOutput(); err != nil {
		c.t.Fatalf("tar: %v: %s", err, out)
	}
	return path
}

// npm puts an npm on the PATH that hands out pack, as the registry would.
func (c *checkout) npm(pack string) {
	c.t.Helper()
	script := "#!/usr/bin/env bash\n[ \"$*\" = 'pack --silent --ignore-scripts onnxruntime-node@1.27.0' ] || exit 9\ncp '" + pack + "' onnxruntime-node-1.27.0.tgz\n"
	if err := os.WriteFile(filepath.Join(c.bin, "npm"), []byte(script), 0o700); err != nil {
		c.t.Fatal(err)
	}
}

func (c *checkout) run(env string, args ...string) (stdout, stderr string, ok bool) {
	c.t.Helper()
	cmd := exec.Command(filepath.Join(c.dir, "scripts/fetch-onnxruntime.sh"), args...)
	cmd.Env = []string{"PATH=" + c.bin, env}
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	return strings.TrimSpace(out.String()), errOut.String(), err == nil
}

func (c *checkout) placed() string {
	return filepath.Join(c.dir, ".cache/onnxruntime/1.27.0/libonnxruntime.so.1")
}

// inPlace checks that the right library, and nothing else, lies in the cache.
func (c *checkout) inPlace(stdout, stderr string, ok bool) {
	c.t.Helper()
	text, err := os.ReadFile(c.placed())
	if !ok || stdout != c.placed() || err != nil || string(text) != fetched {
		c.t.Fatalf("want %q in place, got ok %v, %q, %v: %s", fetched, ok, stdout, err, stderr)
	}
	c.clean()
}

// clean checks that nothing half made stays behind.
func (c *checkout) clean() {
	c.t.Helper()
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(c.placed()), "fetch.*"))
	if len(left) != 0 {
		c.t.Errorf("left behind: %v", left)
	}
}

func TestFetchOnceThenNothing(t *testing.T) {
	c := newCheckout(t)
	c.npm(c.pack)
	c.inPlace(c.run(""))
	if err := os.Remove(filepath.Join(c.bin, "npm")); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, ok := c.run("")
	c.inPlace(stdout, stderr, ok)
	if stderr != "" {
		t.Errorf("the second time it says %q", stderr)
	}
}

func TestFetchMendsADamagedLibrary(t *testing.T) {
	c := newCheckout(t)
	c.npm(c.pack)
	c.write(".cache/onnxruntime/1.27.0/libonnxruntime.so.1", "half", 0o600)
	stdout, stderr, ok := c.run("")
	c.inPlace(stdout, stderr, ok)
	if !strings.Contains(stderr, "is damaged") {
		t.Errorf("it says %q", stderr)
	}
}

func TestFetchFromFiles(t *testing.T) {
	for _, from := range []string{"lib", "pack"} {
		t.Run(from, func(t *testing.T) {
			c := newCheckout(t)
			c.inPlace(c.run("", "--from", map[string]string{"lib": c.lib, "pack": c.pack}[from]))
		})
	}
}

func TestFetchLeavesAnotherLibraryAlone(t *testing.T) {
	c := newCheckout(t)
	stdout, stderr, ok := c.run("SKEWGATE_ONNXRUNTIME=" + c.lib)
	if !ok || stdout != c.lib {
		t.Errorf("want %s, got %v %q: %s", c.lib, ok, stdout, stderr)
	}
	if _, err := os.Stat(filepath.Dir(c.placed())); !os.IsNotExist(err) {
		t.Errorf("it made a cache all the same: %v", err)
	}
}

func TestFetchRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(c *checkout) (env string, args []string)
		want []string
	}{
		{"NoNpm", func(*checkout) (string, []string) { return "", nil }, []string{"apt-get install npm", "--from", "SKEWGATE_ONNXRUNTIME"}},
		{"NpmFails", func(c *checkout) (string, []string) { c.npm("/nonexistent"); return "", nil }, []string{"npm pack onnxruntime-node@1.27.0 did not work"}},
		{"WrongLibraryInPackage", func(c *checkout) (string, []string) { c.npm(c.tarball("other.tgz", "other")); return "", nil }, []string{"has SHA-256", "pinned is"}},
		{"OtherTarball", func(c *checkout) (string, []string) {
			path := filepath.Join(c.dir, "x.tgz")
			if out, err := exec.Command("tar", "-C", c.dir, "-czf", path, "elsewhere").CombinedOutput(); err != nil {
				c.t.Fatalf("tar: %v: %s", err, out)
			}
			return "", []string{"--from", path}
		}, []string{"holds no package/bin/napi-v6/linux/"}},
		{"OtherLibrary", func(c *checkout) (string, []string) { return "", []string{"--from", c.write("o.so", "other", 0o600)} }, []string{"has SHA-256", "set SKEWGATE_ONNXRUNTIME instead"}},
		{"FromNothing", func(*checkout) (string, []string) { return "", []string{"--from", "/nonexistent"} }, []string{`"/nonexistent" is not a file`}},
		{"UnknownArgument", func(*checkout) (string, []string) { return "", []string{"--form", "x"} }, []string{`unknown argument "--form"`}},
		{"OneArgument", func(*checkout) (string, []string) { return "", []string{"--from"} }, []string{"use --from FILE"}},
		{"EnvironmentNamesNothing", func(*checkout) (string, []string) { return "SKEWGATE_ONNXRUNTIME=/nonexistent", nil }, []string{`"/nonexistent"`, "unset it"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCheckout(t)
			env, args := tt.set(c)
			stdout, stderr, ok := c.run(env, args...)
			if ok || stdout != "" {
				t.Errorf("want a refusal, got %q", stdout)
			}
			for _, want := range tt.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("want %q in: %s", want, stderr)
				}
			}
			if _, err := os.Stat(c.placed()); !os.IsNotExist(err) {
				t.Errorf("it put something in place: %v", err)
			}
			c.clean()
		})
	}
}

// A refusal keeps the good library that is there.
func TestFetchRefusalKeepsTheOld(t *testing.T) {
	c := newCheckout(t)
	c.inPlace(c.run("", "--from", c.lib))
	if _, _, ok := c.run("", "--from", c.write("o.so", "other", 0o600)); ok {
		t.Error("want a refusal")
	}
	c.inPlace(c.run(""))
}
