package appliance_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// cgoFolders may hold C: everything else builds with CGO_ENABLED=0 and for another processor.
var cgoFolders = []string{"appliance/onnx/...", "cmd/skewgate-detect"}

// clockReaders may read a clock or sleep outside of tests. Everything else is told the time:
// a decision that reads a clock cannot be tested, simulated or replayed.
var clockReaders = map[string]string{
	"appliance/clock":     "it is the clock",
	"appliance/web/...":   "the web's edge",
	"bench/...":           "it measures",
	"cmd/...":             "a program is an edge",
	"appliance/attach":    "who says nothing is cut off in real time",
	"appliance/capture":   "a picture's arrival is stamped where it arrives",
	"appliance/supervise": "deadlines of processes are real time",
	"appliance":           "its loop reads the time once a turn and hands it to every step; its status says how old things are",

	"shm/client/example_detector": "it stands for somebody else's program, which has a clock of its own",
}

// goStarters may start goroutines outside of tests. Where there is none, a test needs no waiting.
var goStarters = map[string]string{
	"appliance/appliance.go": "one place that starts and counts them",
	"appliance/supervise":    "one a child",
	"appliance/web/...":      "one a connection",
	"bench/...":              "the load has its own pace",
	"cmd/...":                "a program is an edge",
}

// clockCalls are the calls that read a clock or wait for it, by import path.
var clockCalls = map[string]*regexp.Regexp{
	"time":                          regexp.MustCompile(`^(Now|Since|Until|Sleep|After|AfterFunc|Tick|NewTicker|NewTimer)$`),
	tidyModule + "/appliance/clock": regexp.MustCompile(`^(Now|Boot)$`),
	"golang.org/x/sys/unix":         regexp.MustCompile(`^(ClockGettime|ClockNanosleep|Nanosleep|Gettimeofday)$`),
	"syscall":                       regexp.MustCompile(`^(Nanosleep|Gettimeofday|Time)$`),
}

// skipReason is the form in which a skip gives its reason; scripts/tally counts by kind.
var skipReason = regexp.MustCompile(`^skip\[[a-z0-9_]+\]: \S`)

func TestTidySource(t *testing.T) {
	files := 0
	for _, name := range projectFiles(t) {
		if !strings.HasSuffix(name, ".go") || strings.Contains(name, "testdata/") {
			continue
		}
		src, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		files++
		for _, problem := range sourceProblems(name, src) {
			t.Error(problem)
		}
	}
	if files < 10 {
		t.Fatalf("looked at %d Go files, want the whole tree", files)
	}
}

// sourceProblems checks one Go file, named by its path from the top of the tree.
func sourceProblems(name string, src []byte) []string {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	say := func(at token.Pos, format string, args ...any) {
		problems = append(problems, fmt.Sprintf("%s:%d: ", name, fset.Position(at).Line)+fmt.Sprintf(format, args...))
	}
	test := strings.HasSuffix(name, "_test.go")
	base := strings.TrimSuffix(strings.TrimSuffix(name, ".go"), "_test")
	folder := path.Dir(name)

	clocks := map[string]string{} // name in this file → import path
	for _, imp := range file.Imports {
		target, _ := strconv.Unquote(imp.Path.Value)
		if target == "unsafe" && !strings.HasSuffix(base, "_unsafe") {
			say(imp.Pos(), "imports unsafe: such files are tiny and end in _unsafe.go, so that a reviewer finds them all")
		}
		if target == "C" && !matchAny(cgoFolders, folder) {
			say(imp.Pos(), "imports C: cgo lives in %v alone, all else builds with CGO_ENABLED=0", cgoFolders)
		}
		if clockCalls[target] != nil {
			local := path.Base(target)
			if imp.Name != nil {
				local = imp.Name.Name
			}
			clocks[local] = target
		}
	}
	_, mayRead := matchReason(clockReaders, folder)
	if !mayRead {
		_, mayRead = clockReaders[name]
	}
	_, mayStart := matchReason(goStarters, folder)
	if !mayStart {
		_, mayStart = goStarters[name]
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			if !test && !mayStart {
				say(n.Pos(), "starts a goroutine: they start in appliance.go, supervise and web, so that somebody waits for each")
			}
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				break
			}
			// sync.WaitGroup.Go and errgroup.Group.Go are go statements by another name.
			if sel.Sel.Name == "Go" && !test && !mayStart {
				say(n.Pos(), "starts a goroutine through a method Go: they start in appliance.go, supervise and web")
			}
			if test {
				if why := badSkip(sel, n); why != "" {
					say(n.Pos(), "%s", why)
				}
			}
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if !ok || test || mayRead {
				break
			}
			if target, ok := clocks[x.Name]; ok && clockCalls[target].MatchString(n.Sel.Name) {
				say(n.Pos(), "%s.%s: the time is an argument; only clock, web, bench, cmd, tests and the edges named in tidy_source_test.go read it", x.Name, n.Sel.Name)
			}
		}
		return true
	})
	return problems
}

// badSkip says what is wrong with a call of t.Skip, t.Skipf or t.SkipNow; "" for any other call.
func badSkip(sel *ast.SelectorExpr, call *ast.CallExpr) string {
	x, ok := sel.X.(*ast.Ident)
	if !ok || !strings.Contains(" t b f tb ", " "+x.Name+" ") {
		return ""
	}
	switch sel.Sel.Name {
	case "SkipNow":
		return `SkipNow gives no reason: want Skip("skip[kind]: why")`
	case "Skip", "Skipf":
		if len(call.Args) == 0 || !skipReason.MatchString(leftmostText(call.Args[0])) {
			return `a skip without its kind: want Skip("skip[kind]: why"), kind as in scripts/skips.txt`
		}
	}
	return ""
}

// leftmostText is the text of a literal, or of the literal a concatenation begins with.
func leftmostText(e ast.Expr) string {
	for {
		bin, ok := e.(*ast.BinaryExpr)
		if !ok {
			break
		}
		e = bin.X
	}
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(lit.Value)
	return text
}
