package appliance_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/correlate"
)

// What a person reads at 3 a.m. must know every word the appliance can say: the quoted words
// of these constants have to stand in docs/operations.md.
var operatorWords = []struct {
	file string
	re   *regexp.Regexp
}{
	{"appliance/status/health.go", regexp.MustCompile(`(?m)^\s+Code\w+\s+= "(\w+)"`)},
	{"appliance/supervise/cause.go", regexp.MustCompile(`(?m)^\s+Cause(?:Signal|Code|UnexpectedExit|Stop|StopTimeout|StartTimeout|StartError|Permanent)\s+Cause = "(\w+)"`)},
}

// markdownLink finds the target of [text](target), without its anchor.
var markdownLink = regexp.MustCompile(`\]\(([^)#\s]+)`)

func TestTidyOperatorWords(t *testing.T) {
	doc, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range operatorWords {
		src, err := os.ReadFile(filepath.Join("..", w.file))
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range wordProblems(w.file, w.re, string(src), string(doc)) {
			t.Error(problem)
		}
	}
}

// What is bounded, and by how much, is what the correlator has bounds for.
func TestTidyBounds(t *testing.T) {
	doc, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	corr, err := correlate.New(correlate.DefaultConfig(), func(*correlate.Group) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range boundProblems(corr.AppendTables(nil), string(doc)) {
		t.Error(problem)
	}
}

// boundProblems says which tables have no row, or one without their bound. It takes derived
// bounds for granted.
func boundProblems(tables []correlate.Table, doc string) (problems []string) {
	for _, table := range tables {
		var row string
		for line := range strings.Lines(doc) {
			if strings.HasPrefix(line, "| ") && strings.Contains(line, "`"+table.Name+"`") {
				row = line
			}
		}
		bound := regexp.MustCompile(fmt.Sprintf(`\b%d\b`, table.Bound))
		if !bound.MatchString(strings.ReplaceAll(row, ",", "")) && !strings.Contains(row, "follow from the above") {
			problems = append(problems, fmt.Sprintf("docs/operations.md: no row of the table %s that says its bound of %d", table.Name, table.Bound))
		}
	}
	return problems
}

func TestTidyLinks(t *testing.T) {
	names := projectFiles(t)
	known := map[string]bool{}
	for _, name := range names {
		for ; name != "."; name = path.Dir(name) {
			known[name] = true
		}
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range linkProblems(name, string(text), known) {
			t.Error(problem)
		}
	}
}

// The config a newcomer copies out of the README has to pass as it stands.
func TestTidyReadmeConfig(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```yaml\n")
	yaml, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("README.md has no yaml block")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	// Its paths count from the checkout; only the copy lies elsewhere.
	yaml = strings.ReplaceAll(yaml, " testdata/", " "+root+"/testdata/")
	copied := filepath.Join(t.TempDir(), "skewgate.yaml")
	if err := os.WriteFile(copied, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, problems := config.Load(copied, config.Options{})
	for _, p := range problems {
		t.Errorf("README.md: %s", p)
	}
	if cfg == nil {
		t.Error("README.md: its config does not load")
	}
}

func wordProblems(name string, re *regexp.Regexp, src, doc string) []string {
	found := re.FindAllStringSubmatch(src, -1)
	if len(found) == 0 {
		return []string{name + ": no words found; the pattern in tidy_docs_test.go is out of date"}
	}
	var problems []string
	for _, m := range found {
		if !strings.Contains(doc, "`"+m[1]+"`") {
			problems = append(problems, name+": docs/operations.md does not say what `"+m[1]+"` means")
		}
	}
	return problems
}

func linkProblems(name, text string, known map[string]bool) []string {
	var problems []string
	for _, m := range markdownLink.FindAllStringSubmatch(text, -1) {
		target := m[1]
		if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		if !known[path.Join(path.Dir(name), target)] {
			problems = append(problems, name+": links to "+target+", which is not there")
		}
	}
	return problems
}
