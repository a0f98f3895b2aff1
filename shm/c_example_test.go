package shm

import (
	"debug/elf"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// startExample runs an example against an appliance.
func startExample(t *testing.T, c *cBuild, app *cAppliance, input string, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := c.command(name, nil, args...)
	cmd.Env = append(os.Environ(), "SKEWGATE_ATTACH="+app.path)
	cmd.Stdin = strings.NewReader(input)
	startC(t, cmd)
	return cmd
}

// The detector finds the block that is bright in each picture, and survives a restart of
// the appliance.
func testCExampleDetector(t *testing.T, c *cBuild) {
	g := newCGrant(t, "bright", 0, "gate")
	app := newCAppliance(t, g.answer)
	cmd := startExample(t, c, app, "", "example_detector", "bright")
	conn := app.next()
	look := func(g *cGrant, block int) {
		t.Helper()
		g.films["gate"].show(FormatI420, block)
		film := g.films["gate"].w
		var h SlotHeader
		body := make([]byte, 512)
		n := 0
		eventually(t, "boxes for a picture", func() bool {
			var ok bool
			var err error
			if n, ok, err = g.reader.Next(&h, body); err != nil {
				t.Fatal(err)
			}
			return ok
		})
		if n != 24 || h.Count != 1 || h.FrameID != film.Head() || h.StreamEpoch != film.StreamEpoch() || h.CaptureNS != 1_700_000_000_000_000_000+int64(film.Head())-1 {
			t.Fatalf("got %+v with %d bytes", h, n)
		}
		x, y := float32(block%16)/16, float32(block/16)/16
		if got, want := hexOf(body[:20]), hexOf(floats(x, y, x+1.0/16, y+1.0/16, 1)); got != want {
			t.Fatalf("block %d: want %s, got %s", block, want, got)
		}
	}
	for block := range 8 {
		look(g, block*31)
	}
	if i := g.reader.Info(); i.State != StateReady {
		t.Errorf("state %v", i.State)
	}
	// A death, then an orderly end: it waits for the next appliance in both cases.
	for _, last := range []string{"", `{"event":"drain"}`} {
		if last != "" {
			app.say(conn, last)
		}
		app.stop()
		g = newCGrant(t, "bright", 0, "gate")
		app.mu.Lock()
		app.answer = g.answer
		app.mu.Unlock()
		app.start()
		conn = app.next()
		look(g, 200)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v, want it to run until it is told to end", err)
	}
}

func testCExampleJSON(t *testing.T, c *cBuild) {
	g := newCGrant(t, "mine", 0, "gate", "yard")
	app := newCAppliance(t, g.answer)
	cmd := startExample(t, c, app, "1000 0.1 0.2 0.3 0.4 0.5 person\n2000\n", "example_json", "mine", "yard")
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	g.wantMessage(t, "yard", SlotHeader{Kind: KindJSON, CaptureNS: 1000, StreamEpoch: 5}, `{"detections":[{"box":[0.1,0.2,0.3,0.4],"score":0.5,"label":"person"}]}`)
	g.wantMessage(t, "yard", SlotHeader{Kind: KindJSON, CaptureNS: 2000, StreamEpoch: 5}, `{"detections":[]}`)
	g.wantNothing(t)
}

// What `make install` lays down is enough: a program is built from it and runs.
func TestCInstall(t *testing.T) {
	tc := cToolchains(t)[0]
	c := tc.build(t)
	root := t.TempDir()
	c.runMake(t, "install", "DESTDIR="+root, "PREFIX=/opt/skewgate")
	prefix := filepath.Join(root, "opt/skewgate")
	pc, err := os.ReadFile(filepath.Join(prefix, "lib/pkgconfig/skewgate_shm.pc"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"prefix=/opt/skewgate\n", "libdir=/opt/skewgate/lib\n", "Libs: -L${libdir} -lskewgate_shm\n", "Version: 1.0.0\n"} {
		if !strings.Contains(string(pc), want) {
			t.Errorf("pkg-config file lacks %q:\n%s", want, pc)
		}
	}
	program := filepath.Join(root, "program")
	cc := strings.TrimPrefix(c.make[0], "CC=")
	args := []string{"-std=c11", "-I" + prefix + "/include", "c/example_detector.c", "-L" + prefix + "/lib", "-lskewgate_shm", "-o", program}
	if c.sanitized {
		args = append(args, "-fsanitize=address,undefined")
	}
	if slices.Contains(c.make, "EXEFLAGS=-static") {
		args = append(args, "-static")
	}
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", cc, args, err, out)
	}
	cmd := exec.Command(program)
	if c.run != nil {
		cmd = exec.Command(c.run[0], program)
	}
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+prefix+"/lib", "SKEWGATE_ATTACH=/nowhere/attach.sock")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "/nowhere/attach.sock") {
		t.Errorf("want a complaint about the socket, got %v: %s", err, out)
	}
	checkSymbols(t, c)
}

// checkSymbols wants the library to export what the header declares, and nothing else.
func checkSymbols(t *testing.T, c *cBuild) {
	t.Helper()
	header, err := os.ReadFile("c/skewgate_shm.h")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, m := range regexp.MustCompile(`(?m)^SG_API [^(]*\b(sg_\w+)\(`).FindAllStringSubmatch(string(header), -1) {
		want = append(want, m[1])
	}
	lib, err := elf.Open(filepath.Join(c.dir, "libskewgate_shm.so"))
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	symbols, err := lib.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && s.Name != "" {
			got = append(got, s.Name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("header declares %q\nlibrary exports %q", want, got)
	}
}

// The header serves C++ too. This is built for the machine itself in every pass.
func TestCPlusPlus(t *testing.T) {
	c := cToolchain{name: "clang", make: []string{"CC=clang"}}.build(t)
	source := filepath.Join(c.dir, "program.cc")
	if err := os.WriteFile(source, []byte(`#include "skewgate_shm.h"
int main() {
	sg_error err;
	sg_frame f = {};
	sg_stamp of = sg_stamp_of(0, &f);
	sg_client *c = sg_attach_writer("/nowhere", "mine", of.stream, &err);
	return c == nullptr && err.code == SG_E_SYSTEM && sg_sizeof("sg_frame") == sizeof f ? 42 : 1;
}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(c.dir, "program")
	args := []string{"-x", "c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Ic", source, "-x", "none", filepath.Join(c.dir, "libskewgate_shm.a"), "-o", program}
	if out, err := exec.Command("clang", args...).CombinedOutput(); err != nil {
		t.Fatalf("clang %q: %v\n%s", args, err, out)
	}
	cmd := exec.Command(program)
	_ = cmd.Run()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.ExitStatus() != 42 {
		t.Errorf("program ended with %v", cmd.ProcessState)
	}
}

func floats(v ...float32) []byte {
	var b []byte
	for _, f := range v {
		b = le.AppendUint32(b, math.Float32bits(f))
	}
	return b
}
