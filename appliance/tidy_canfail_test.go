package appliance_test

import (
	"strings"
	"testing"

	"github.com/skewgate/skewgate/appliance/correlate"
)

// TestTidyCanFail breaks each rule once, in made-up input, and wants the rule to name it. The
// rows without a wanted problem are the near misses that must stay allowed.
func TestTidyCanFail(t *testing.T) {
	pkg := func(name string, imports, deps, tests string) []listedPackage {
		long := func(text string) []string {
			var paths []string
			for _, f := range strings.Fields(text) {
				if isOurs(f) {
					f = tidyModule + "/" + f
				}
				paths = append(paths, f)
			}
			return paths
		}
		return []listedPackage{{ImportPath: tidyModule + "/" + name, Imports: long(imports), Deps: long(imports + " " + deps), TestImports: long(tests)}}
	}
	src := func(name, text string) []string { return sourceProblems(name, []byte("package p\n"+text)) }
	text := func(s string) []string { return textProblems("docs/x.md", []byte(s)) }
	tests := []struct {
		name string
		got  []string
		want string // "" = no problem
	}{
		{"leaf reaches a web server", importProblems(pkg("appliance/hist", "example.org/m", "net/http", "")), "reaches net/http"},
		{"leaf knows nothing of ours", importProblems(pkg("appliance/status", "shm", "", "")), "of ours it may know only"},
		{"memory has no clock", importProblems(pkg("shm", "time", "", "")), "shm imports time: shm knows bytes"},
		{"memory knows no detection", importProblems(pkg("shm", "appliance/detect", "", "")), "shm imports appliance/detect"},
		{"correlate opens no file", importProblems(pkg("appliance/correlate", "os", "", "")), "correlate imports os"},
		{"correlate reaches no memory", importProblems(pkg("appliance/correlate", "appliance/hist", "shm", "")), "reaches shm"},
		{"correlate reaches no network", importProblems(pkg("appliance/correlate", "example.org/m", "net", "")), "reaches net"},
		{"fmt may reach os", importProblems(pkg("appliance/fuse", "fmt appliance/detect", "os", "")), ""},
		{"parts do not know each other", importProblems(pkg("appliance/sink", "appliance/supervise", "", "")), "sink imports appliance/supervise"},
		{"parts do not know the path", importProblems(pkg("appliance/dispatch", "shm", "appliance/correlate", "")), "reaches appliance/correlate"},
		{"the path is free of cgo", importProblems(pkg("appliance", "appliance/capture", "appliance/onnx", "")), "reaches appliance/onnx"},
		{"programs but one are free of cgo", importProblems(pkg("cmd/skewgate", "appliance", "appliance/onnx", "")), "reaches appliance/onnx"},
		{"the child has cgo", importProblems(pkg("cmd/skewgate-detect", "appliance/onnx shm", "", "")), ""},
		{"tests need no C compiler", importProblems(pkg("appliance/fuse", "", "", "appliance/onnx")), "a test of appliance/fuse imports appliance/onnx"},
		{"nobody imports the path's builder", importProblems(pkg("appliance/capture", "appliance", "", "")), "capture imports appliance"},
		{"nobody imports a program", importProblems(pkg("appliance", "cmd/skewgate", "", "")), "the end of the line"},
		{"nobody imports the bench", importProblems(pkg("cmd/skewgate", "bench/load", "", "")), "stands outside of what it measures"},
		{"but its parts and its program", importProblems(pkg("cmd/skewbench", "bench bench/load", "appliance shm", "")), ""},
		{"a new package needs a line", importProblems(pkg("appliance/new", "", "", "")), "has no line in the import table"},

		{"unsafe in a plain file", src("shm/ring.go", `import _ "unsafe"`), "shm/ring.go:2: imports unsafe"},
		{"unsafe in a plain test", src("shm/ring_test.go", `import _ "unsafe"`), "imports unsafe"},
		{"unsafe in its file", src("shm/ring_unsafe.go", `import _ "unsafe"`), ""},
		{"unsafe in its test", src("shm/ring_unsafe_test.go", `import _ "unsafe"`), ""},
		{"cgo elsewhere", src("shm/x.go", `import "C"`), "imports C"},
		{"cgo in its place", src("appliance/onnx/x.go", `import "C"`), ""},
		{"reads the clock", src("appliance/correlate/x.go", "import \"time\"\nvar x = time.Now()"), "x.go:3: time.Now"},
		{"reads it under another name", src("appliance/fuse/x.go", "import tm \"time\"\nvar x = tm.Since"), "tm.Since"},
		{"reads ours", src("appliance/fuse/x.go", `import "`+tidyModule+"/appliance/clock\"\nvar x = clock.Now()"), "clock.Now"},
		{"asks the kernel", src("shm/x.go", "import \"golang.org/x/sys/unix\"\nvar x = unix.ClockGettime"), "unix.ClockGettime"},
		{"sleeps", src("appliance/sink/x.go", "import \"time\"\nfunc f() { time.Sleep(1) }"), "time.Sleep"},
		{"units of time are no clock", src("appliance/sink/x.go", "import \"time\"\nvar x = time.Second"), ""},
		{"a test may sleep", src("appliance/sink/x_test.go", "import \"time\"\nvar x = time.Now()"), ""},
		{"an edge may", src("appliance/supervise/x.go", "import \"time\"\nvar x = time.Now()"), ""},
		{"starts a goroutine", src("appliance/correlate/x.go", "func f() { go f() }"), "x.go:2: starts a goroutine"},
		{"by another name", src("shm/x.go", "func f() { wg.Go(func() {}) }"), "through a method Go"},
		{"a second file of appliance", src("appliance/status.go", "func f() { go f() }"), "starts a goroutine"},
		{"the one place", src("appliance/appliance.go", "func f() { go f() }"), ""},
		{"skip without a reason", src("shm/x_test.go", "func f() { t.SkipNow() }"), "gives no reason"},
		{"skip without a kind", src("shm/x_test.go", `func f() { t.Skip("not today") }`), "without its kind"},
		{"skip with only a kind", src("shm/x_test.go", `func f() { t.Skip("skip[root]: ") }`), "without its kind"},
		{"skip with a hidden reason", src("shm/x_test.go", `func f() { t.Skip(why) }`), "without its kind"},
		{"skip in order", src("shm/x_test.go", `func f() { t.Skipf("skip[root]: needs uid 0, has " + "%d", 1) }`), ""},
		{"somebody else's Skip", src("shm/x_test.go", `func f() { parser.Skip() }`), ""},

		{"a folder at the top", nameProblems([]string{"util/x.go"}), "util: the top level holds"},
		{"a file at the top", nameProblems([]string{"notes.txt"}), "notes.txt: the top level holds"},
		{"what belongs there", nameProblems([]string{"shm/x.go", ".ci/run", "README.md", "packaging/x"}), ""},
		{"a home folder", text("a\nsee /" + "home/jo/x"), "docs/x.md:2: "},
		{"a root folder", text("(/" + "root/x)"), "a path of one machine"},
		{"a work folder", text("\"/" + "work/x\""), "a path of one machine"},
		{"a registry", text("https://" + "registry.example.org/x"), "address of a package registry"},
		{"an ordinary path", text("/var/lib/skewgate ./wo" + "rk/x home/jo/x"), ""},
		{"a page", text("https://go.dev/dl"), ""},

		{"a word nobody explains", wordProblems("x.go", operatorWords[0].re, "\n\tCodeX = \"x_down\"\n", "`y_down`"), "does not say what `x_down` means"},
		{"a word explained", wordProblems("x.go", operatorWords[0].re, "\n\tCodeX = \"x_down\"\n", "`x_down`"), ""},
		{"a pattern that finds nothing", wordProblems("x.go", operatorWords[0].re, "", ""), "out of date"},
		{"a bound nobody tells", boundProblems([]correlate.Table{{Name: "x", Bound: 4096}}, "| `x` | 14,096 |\n"), "table x that says its bound of 4096"},
		{"a bound told", boundProblems([]correlate.Table{{Name: "x", Bound: 4096}}, "| `x` | 4,096, as the config says |\n"), ""},
		{"a table nobody tells of", boundProblems([]correlate.Table{{Name: "x"}}, "0 of `x`\n"), "no row of the table x"},
		{"a dead link", linkProblems("docs/x.md", "[y](y.md)", map[string]bool{"y.md": true}), "links to y.md"},
		{"a good link", linkProblems("docs/x.md", "[y](../y.md#a) [z](https://example.org)", map[string]bool{"y.md": true}), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(tt.got, "\n")
			if tt.want == "" && got != "" || tt.want != "" && !strings.Contains(got, tt.want) {
				t.Errorf("want %q, got %q", tt.want, got)
			}
		})
	}
}
