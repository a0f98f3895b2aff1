package appliance_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// topLevel is what may stand at the top of the tree, beside dotfiles.
var topLevel = []string{
	"appliance", "shm", "bpf", "firmware", "bench", "cmd", "docs", "packaging", "scripts", "testdata",
	"go.mod", "go.sum", "Makefile", "LICENSE", "README.md", "CHANGELOG.md",
}

// foreignText is what a file must not say: the tree has to be the same thing on every machine.
var foreignText = []struct {
	re  *regexp.Regexp
	why string
}{
	{regexp.MustCompile(`(?m)(?:^|[\s"'` + "`" + `(=:,<\[])/(?:root|work|home/[a-z]+|Users/[A-Za-z]+)/\S`), "a path of one machine"},
	{regexp.MustCompile(`https?://(?:registry|proxy|mirror|deb|npm|artifact[a-z]*)[.-]\S`), "the address of a package registry: clients have theirs configured"},
}

func TestTidyTree(t *testing.T) {
	names := projectFiles(t)
	for _, problem := range nameProblems(names) {
		t.Error(problem)
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range textProblems(name, text) {
			t.Error(problem)
		}
	}
}

// projectFiles lists the files of the project by their path from the top: what git tracks or
// would track, or, without git, all but the folders that builds write to.
func projectFiles(t *testing.T) []string {
	t.Helper()
	var names []string
	// safe.directory: whoever may read the checkout may test it, its owner or not.
	cmd := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = ".."
	_, noRepo := os.Stat(filepath.Join("..", ".git"))
	if cmd.Err == nil && noRepo == nil {
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git ls-files: %v", err)
		}
		for _, name := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
			// A file that is tracked but deleted in the work tree is on its way out.
			if info, err := os.Lstat(filepath.Join("..", name)); err == nil && info.Mode().IsRegular() {
				names = append(names, name)
			}
		}
		return names
	}
	err := filepath.WalkDir("..", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel("..", path)
		if slices.Contains([]string{".git", "bin", "out", ".cache"}, name) && d.IsDir() {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func nameProblems(names []string) []string {
	var problems []string
	seen := map[string]bool{}
	for _, name := range names {
		top, _, _ := strings.Cut(name, "/")
		if !seen[top] && !strings.HasPrefix(top, ".") && !slices.Contains(topLevel, top) {
			problems = append(problems, fmt.Sprintf("%s: the top level holds %v and dotfiles; its place is inside one of them", top, topLevel))
		}
		seen[top] = true
	}
	return problems
}

func textProblems(name string, text []byte) []string {
	if bytes.IndexByte(text, 0) >= 0 { // a model, a film, a picture
		return nil
	}
	var problems []string
	for _, f := range foreignText {
		for _, at := range f.re.FindAllIndex(text, 3) {
			line := 1 + bytes.Count(text[:at[0]+1], []byte("\n"))
			problems = append(problems, fmt.Sprintf("%s:%d: %q is %s", name, line, bytes.TrimSpace(text[at[0]:at[1]]), f.why))
		}
	}
	return problems
}
