package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/skewgate/skewgate/bench"
)

// demosChapter is of skewgate demo, whose own tests hold its flags.
const demosChapter = "What the silence of a detector costs"

// docs/benchmarks.md is what the help sends its reader to: it must know every scenario,
// and no flag or verb that the program does not have.
func TestDocsAndHelpAgree(t *testing.T) {
	text, err := os.ReadFile("../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, meanings, ok := strings.Cut(string(text), "## What each figure means\n")
	if !ok {
		t.Fatal("docs/benchmarks.md has no chapter on what each figure means")
	}
	meanings, _, _ = strings.Cut(meanings, "\n## ")
	for _, s := range bench.Scenarios() {
		if !regexp.MustCompile("(?m)^\\| .*`" + s.Name + "[_`]").MatchString(meanings) {
			t.Errorf("scenario %s has no row in docs/benchmarks.md", s.Name)
		}
	}
	help, _, _ := skewbench(t, "--help")
	all, _, _ := skewbench(t, "all", "--help")
	for _, chapter := range strings.Split(string(text), "\n## ") {
		if title, _, _ := strings.Cut(chapter, "\n"); title == demosChapter {
			continue // its flags are the demo's
		}
		for _, flag := range regexp.MustCompile("[ `]--([a-z]+)").FindAllStringSubmatch(chapter, -1) {
			if !strings.Contains(all, "--"+flag[1]) {
				t.Errorf("docs/benchmarks.md has --%s, the help has not", flag[1])
			}
		}
	}
	if !strings.Contains(string(text), "\n## "+demosChapter+"\n") {
		t.Errorf("docs/benchmarks.md has no chapter %q", demosChapter)
	}
	var verbs []string
	for _, l := range strings.Split(help, "\n") {
		if strings.HasPrefix(l, "  ") && len(strings.Fields(l)) > 1 {
			verbs = append(verbs, strings.Fields(l)[0])
		}
	}
	for _, verb := range regexp.MustCompile("bin/skewbench ([a-z]+)").FindAllStringSubmatch(string(text), -1) {
		if !slices.Contains(verbs, verb[1]) {
			t.Errorf("docs/benchmarks.md has the verb %s, the help has %v", verb[1], verbs)
		}
	}
	for _, words := range []string{`"few quiet runs"`, `"busy machine"`, "docs/benchmarks.md"} {
		if !strings.Contains(strings.Join(strings.Fields(help), " "), words) || words[0] == '"' && !strings.Contains(string(text), words) {
			t.Errorf("help and docs do not both say %s", words)
		}
	}
}
