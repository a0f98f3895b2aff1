package appliance_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The house rules that a compiler does not check, as tests that print the reason. This file
// has the import table; tidy_source_test.go what may stand in which source file;
// tidy_tree_test.go names and text. Each checker is a plain function over what it is given,
// and TestTidyCanFail proves that each rule fires.

const tidyModule = "github.com/skewgate/skewgate"

// importRule binds one of our packages, or a folder with all below it ("x/...").
// The rule with the longest match counts; a package without a rule is a problem.
type importRule struct {
	pkg   string
	ours  []string          // which of ours it may import, named or as "x/..."
	never map[string]string // what it must not import itself, and why
	reach map[string]string // what it must not reach, however indirectly, and why
}

var (
	tidyLeaves = []string{"appliance/clock", "appliance/detect", "appliance/status", "appliance/hist"}
	tidyMemory = append([]string{"shm"}, tidyLeaves...)

	leafReach  = map[string]string{"net/http": "leaves are linked into every child and tool; a web server does not belong there"}
	pureReason = "input comes through a one-method interface, so that a test and a replay own every event"
	pureNever  = map[string]string{"os": pureReason, "log": pureReason, "log/slog": pureReason, "net": pureReason}
	noCgo      = map[string]string{"appliance/onnx": "only cmd/skewgate-detect is built with cgo"}
	pureReach  = map[string]string{"shm": pureReason, "bpf/...": pureReason, "net": pureReason, "net/http": pureReason}
	partReach  = map[string]string{"appliance/correlate": "parts of the path know the leaves and memory; appliance joins them", "appliance/fuse": "parts of the path know the leaves and memory; appliance joins them"}
)

// importTable says who may know whom. An arrow that is missing here is a design question:
// answer it in the table, with a reason, before the code.
var importTable = []importRule{
	{pkg: "shm", never: map[string]string{
		"time": "shm knows bytes and words: times are arguments and spin budgets are counts",
	}, reach: leafReach},
	{pkg: "shm/client", ours: []string{"shm", "appliance/detect", "appliance/sink"}, never: map[string]string{
		"time": "a library in somebody else's program: times are arguments",
	}, reach: leafReach},
	{pkg: "shm/client/example_detector", ours: []string{"shm/client", "appliance/detect"}, reach: leafReach},
	{pkg: "shm/python", ours: nil},
	{pkg: "appliance/clock", reach: leafReach},
	{pkg: "appliance/detect/...", ours: []string{"appliance/detect"}, reach: leafReach},
	{pkg: "appliance/status", reach: leafReach},
	{pkg: "appliance/cacheline", reach: leafReach},
	{pkg: "appliance/hist", ours: []string{"appliance/cacheline"}, reach: leafReach},
	{pkg: "appliance/correlate", ours: []string{"appliance/cacheline", "appliance/clock", "appliance/detect", "appliance/hist"}, never: pureNever, reach: pureReach},
	{pkg: "appliance/fuse", ours: []string{"appliance/clock", "appliance/detect", "appliance/hist"}, never: pureNever, reach: pureReach},
	{pkg: "appliance/dispatch", ours: tidyMemory, reach: partReach},
	{pkg: "appliance/capture/...", ours: append([]string{"appliance/capture/..."}, tidyMemory...), reach: partReach},
	{pkg: "appliance/supervise", ours: tidyMemory, reach: partReach},
	{pkg: "appliance/attach", ours: tidyMemory, reach: partReach},
	{pkg: "appliance/sink", ours: tidyMemory, reach: partReach},
	{pkg: "appliance/config", ours: tidyMemory, reach: partReach},
	{pkg: "appliance/trace", ours: tidyMemory, reach: partReach},
	{pkg: "appliance/advise", ours: []string{"appliance/clock"}, never: pureNever, reach: pureReach},
	{pkg: "appliance/story", ours: []string{"appliance/cacheline", "appliance/clock", "appliance/correlate", "appliance/detect"}, never: pureNever, reach: pureReach},
	{pkg: "appliance/web", ours: tidyLeaves, reach: partReach},
	{pkg: "appliance/sim", ours: append([]string{"appliance/correlate"}, tidyMemory...)},
	{pkg: "appliance/onnx", ours: []string{"appliance/detect"}},
	{pkg: "appliance", ours: []string{"appliance/...", "shm", "bpf/...", "firmware/..."}, reach: map[string]string{
		"appliance/onnx": "the one cgo package lives in the child: a model that crashes must not take the path along",
	}},
	{pkg: "cmd/skewgate-detect", ours: []string{"appliance/...", "shm"}},
	{pkg: "cmd/...", ours: []string{"appliance", "appliance/...", "shm", "shm/client", "bpf/...", "firmware/..."}, reach: noCgo},
	{pkg: "bench/...", ours: []string{"bench/...", "appliance", "appliance/...", "shm", "shm/client", "bpf/...", "firmware/..."}, reach: noCgo},
	{pkg: "cmd/skewbench", ours: []string{"bench/..."}, reach: noCgo},
	{pkg: "scripts/...", ours: nil},
}

// importedByNone are packages that others must not import, whatever their own rule says;
// packages of one folder are not others to each other, and the bench has a program.
var importedByNone = map[string]string{
	"cmd/...":       "a program is the end of the line",
	"appliance/sim": "it is for tests alone",
	"scripts/...":   "a helper of the build is no part of the product",
	"bench/...":     "the bench stands outside of what it measures",
}

// listedPackage is the part of `go list -json` that the rules read.
type listedPackage struct {
	ImportPath   string
	Imports      []string // itself, without its tests
	Deps         []string // all that it reaches
	TestImports  []string
	XTestImports []string
}

func TestTidyImports(t *testing.T) {
	for _, problem := range importProblems(listPackages(t)) {
		t.Error(problem)
	}
}

// listPackages asks for all packages of the module, with cgo on so that onnx shows what it imports.
func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps,TestImports,XTestImports", tidyModule+"/...")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	var pkgs []listedPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p listedPackage
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) < 5 {
		t.Fatalf("go list found %d packages of ours, want the whole tree", len(pkgs))
	}
	return pkgs
}

func importProblems(pkgs []listedPackage) []string {
	var problems []string
	for _, p := range pkgs {
		name := ourName(p.ImportPath)
		rule, ok := ruleOf(name)
		if !ok {
			problems = append(problems, fmt.Sprintf("%s has no line in the import table of tidy_test.go; say there whom it may know", name))
			continue
		}
		for _, imp := range p.Imports {
			imp = ourName(imp)
			if why, bad := rule.never[imp]; bad {
				problems = append(problems, fmt.Sprintf("%s imports %s: %s", name, imp, why))
			}
			if why, bad := matchReason(importedByNone, imp); bad && !(matchName("bench/...", imp) && matchAny([]string{"bench/...", "cmd/skewbench"}, name)) {
				problems = append(problems, fmt.Sprintf("%s imports %s: %s", name, imp, why))
			}
			if isOurs(imp) && !matchAny(rule.ours, imp) {
				problems = append(problems, fmt.Sprintf("%s imports %s: of ours it may know only %v", name, imp, rule.ours))
			}
		}
		for _, dep := range p.Deps {
			if why, bad := matchReason(rule.reach, ourName(dep)); bad {
				problems = append(problems, fmt.Sprintf("%s reaches %s: %s", name, ourName(dep), why))
			}
		}
		for _, imp := range slices.Concat(p.TestImports, p.XTestImports) {
			// A test may know more than its package, but not the one that needs a C compiler.
			if imp := ourName(imp); imp == "appliance/onnx" && name != "appliance/onnx" && name != "cmd/skewgate-detect" {
				problems = append(problems, fmt.Sprintf("a test of %s imports %s: only cmd/skewgate-detect is built with cgo", name, imp))
			}
		}
	}
	return problems
}

func ruleOf(name string) (importRule, bool) {
	best, found := importRule{}, false
	for _, rule := range importTable {
		if matchName(rule.pkg, name) && (!found || len(rule.pkg) > len(best.pkg)) {
			best, found = rule, true
		}
	}
	return best, found
}

// ourName drops the module's name; a path of somebody else stays as it is.
func ourName(path string) string { return strings.TrimPrefix(path, tidyModule+"/") }

// isOurs: our packages are named by their folder, which no other module's path begins with.
func isOurs(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return slices.Contains([]string{"appliance", "shm", "bpf", "firmware", "bench", "cmd", "scripts"}, top)
}

// matchName: "x/..." is x and all below it, anything else is itself.
func matchName(pattern, name string) bool {
	folder, deep := strings.CutSuffix(pattern, "/...")
	return name == folder || deep && strings.HasPrefix(name, folder+"/")
}

func matchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matchName(p, name) })
}

func matchReason(reasons map[string]string, name string) (string, bool) {
	for pattern, why := range reasons {
		if matchName(pattern, name) {
			return why, true
		}
	}
	return "", false
}
