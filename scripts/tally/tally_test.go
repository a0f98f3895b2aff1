package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ev writes one test2json line.
func ev(action, pkg, test, output string) string {
	return fmt.Sprintf("{\"Action\":%q,\"Package\":%q,\"Test\":%q,\"Output\":%q}\n", action, module+"/"+pkg, test, output)
}

func passed(pkg, test string) string { return ev("run", pkg, test, "") + ev("pass", pkg, test, "") }

func skipped(pkg, test, reason string) string {
	return ev("run", pkg, test, "") + ev("output", pkg, test, "    x_test.go:1: "+reason+"\n") + ev("skip", pkg, test, "")
}

func pkgEnd(action, pkg string) string {
	return fmt.Sprintf("{\"Action\":%q,\"Package\":%q,\"Elapsed\":1.5}\n", action, module+"/"+pkg)
}

// tally feeds the streams as passes named a, b, … and returns the verdict of sum.
func tally(t *testing.T, skips string, streams ...string) (bool, string) {
	t.Helper()
	dir := t.TempDir()
	kinds := filepath.Join(dir, "skips.txt")
	if err := os.WriteFile(kinds, []byte(skips), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"sum"}
	for i, stream := range streams {
		name := string(rune('a' + i))
		if _, err := run([]string{"watch", name}, dir, kinds, strings.NewReader(stream), &bytes.Buffer{}); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	var out bytes.Buffer
	ok, err := run(args, dir, kinds, nil, &out)
	if err != nil {
		t.Fatal(err)
	}
	return ok, out.String()
}

func TestSum(t *testing.T) {
	const root = "root must shm.TestUID\n"
	tests := []struct {
		name    string
		skips   string
		streams []string
		ok      bool
		says    string
		closing string
	}{
		{"all pass", "", []string{passed("shm", "TestA") + pkgEnd("pass", "shm")}, true, "pass a", "1 passed, 0 failed, 0 skipped"},
		{"one fails", "", []string{passed("shm", "TestA") + ev("fail", "shm", "TestB", "") + pkgEnd("fail", "shm")}, false,
			"failed in pass a: shm.TestB", "1 passed, 1 failed, 0 skipped"},
		{"package fails outside its tests", "", []string{passed("shm", "TestA") + pkgEnd("fail", "shm")}, false,
			"failed in pass a: shm", "1 passed, 1 failed, 0 skipped"},
		{"fails once, passes later", "", []string{ev("fail", "shm", "FuzzA", "") + pkgEnd("fail", "shm") + passed("shm", "FuzzA") + pkgEnd("pass", "shm")}, false,
			"failed in pass a: shm.FuzzA", "0 passed, 1 failed, 0 skipped"},
		{"test never ends", "", []string{passed("shm", "TestA") + ev("run", "shm", "TestB", "")}, false,
			"failed in pass a: shm.TestB", "1 passed, 1 failed, 0 skipped"},
		{"a pass runs nothing", "", []string{passed("shm", "TestA"), pkgEnd("pass", "shm")}, false,
			"pass b ran no test", "1 passed, 1 failed, 0 skipped"},
		{"skip in order", "root may shm.TestUID\n", []string{passed("shm", "TestA") + skipped("shm", "TestUID", "skip[root]: needs uid 0")}, true,
			"needs uid 0 (1)", "1 passed, 0 failed, 1 skipped"},
		{"all of a kind skipped", root, []string{passed("shm", "TestA") + skipped("shm", "TestUID", "skip[root]: needs uid 0")}, false,
			`all 1 tests of kind "root" were skipped`, "1 passed, 1 failed, 1 skipped"},
		{"skipped here, run there", root, []string{skipped("shm", "TestUID", "skip[root]: needs uid 0"), passed("shm", "TestUID")}, true,
			"root            1        1", "1 passed, 0 failed, 1 skipped"},
		{"all subtests of a kind skipped", root, []string{passed("shm", "TestUID") + skipped("shm", "TestUID/x", "skip[root]: why")}, false,
			`all 1 tests of kind "root" were skipped`, "1 passed, 1 failed, 1 skipped"},
		{"skip without a reason", "", []string{skipped("shm", "TestA", "no ffmpeg")}, false,
			"without a reason of the form", "0 passed, 1 failed, 1 skipped"},
		{"skip of an unknown kind", "", []string{skipped("shm", "TestA", "skip[moon]: full")}, false,
			`"moon", a kind skips.txt does not know`, "0 passed, 1 failed, 1 skipped"},
		{"skip of a test not listed", root, []string{passed("shm", "TestUID") + skipped("shm", "TestA", "skip[root]: why")}, false,
			"does not list it", "1 passed, 1 failed, 1 skipped"},
		{"stale line", root, []string{passed("shm", "TestA")}, false,
			`skips.txt line 1: no test matches "shm.TestUID"`, "1 passed, 1 failed, 0 skipped"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ok, out := tally(t, tt.skips, tt.streams...)
			if tt.ok != ok || !strings.Contains(out, tt.says) {
				t.Errorf("want ok %v and %q, got ok %v and\n%s", tt.ok, tt.says, ok, out)
			}
			lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
			if got := lines[len(lines)-1]; tt.closing != got {
				t.Errorf("want closing line %q, got %q", tt.closing, got)
			}
		})
	}
}

// What an ordinary user's machine may lack, CI has.
func TestCIRule(t *testing.T) {
	stream := passed("shm", "TestA") + skipped("shm", "TestMount", "skip[mount]: why")
	for _, tt := range []struct {
		ci string
		ok bool
	}{{"", true}, {"true", false}} {
		t.Setenv("CI", tt.ci)
		if ok, out := tally(t, "mount ci shm.TestMount\n", stream); ok != tt.ok {
			t.Errorf("with CI=%q want ok %v, got\n%s", tt.ci, tt.ok, out)
		}
	}
}

// A missing pass must not read as a pass without failures.
func TestSumNeedsEveryPass(t *testing.T) {
	dir := t.TempDir()
	kinds := filepath.Join(dir, "skips.txt")
	os.WriteFile(kinds, nil, 0o644)
	if ok, err := run([]string{"sum", "race"}, dir, kinds, nil, &bytes.Buffer{}); ok || err == nil {
		t.Errorf("want an error for a pass that was not run, got ok %v, err %v", ok, err)
	}
}

func TestWatchShowsFailures(t *testing.T) {
	build := `{"ImportPath":"x/shm","Action":"build-output","Output":"ring.go:3: undefined: foo\n"}` + "\n" +
		`{"Action":"fail","Package":"` + module + `/shm","Elapsed":0,"FailedBuild":"x/shm"}` + "\n"
	tests := []struct{ name, stream, says string }{
		{"a test's own log", ev("output", "shm", "TestB", "want 1, got 2\n") + ev("fail", "shm", "TestB", ""), "want 1, got 2"},
		{"a build", build, "ring.go:3: undefined: foo"},
		{"text that is no JSON", "go: cannot find main module\n", "cannot find main module"},
		{"an unfinished test", ev("run", "shm", "TestB", "") + ev("output", "shm", "TestB", "panic: boom\n"), "panic: boom"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			newPass("x").read(strings.NewReader(tt.stream), &out)
			if !strings.Contains(out.String(), tt.says) {
				t.Errorf("want %q, got\n%s", tt.says, out.String())
			}
		})
	}
}

// A test that floods its log must not grow the tally without bound; the last lines stay.
func TestOutputIsBounded(t *testing.T) {
	p := newPass("x")
	for i := range 3 * outputLinesMax {
		p.line(strings.TrimSpace(ev("output", "shm", "TestA", fmt.Sprintf("line %d\n", i))), &bytes.Buffer{})
	}
	got := p.tests[testID{"shm", "TestA"}].output
	if len(got) != outputLinesMax || got[len(got)-1] != fmt.Sprintf("line %d", 3*outputLinesMax-1) {
		t.Errorf("want the last %d lines, got %d ending in %q", outputLinesMax, len(got), got[len(got)-1])
	}
}

func TestReadKindsRefuses(t *testing.T) {
	tests := []struct{ name, text, says string }{
		{"two words", "root must\n", ":1: want `kind must|ci|may"},
		{"unknown rule", "# c\nroot maybe shm.TestA\n", ":2: want `kind must|ci|may"},
		{"bad regexp", "root may shm.(\n", "missing closing )"},
		{"two rules for one kind", "root may a.TestA\nroot must a.TestB\n", "both may and must"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "skips.txt")
			os.WriteFile(path, []byte(tt.text), 0o644)
			_, err := readKinds(path)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("want an error with %q, got %v", tt.says, err)
			}
		})
	}
}
