package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// event is one line of test2json (go doc test2json); a line that is no JSON is kept as output.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of a build's output, in place of Package
	Test        string
	Output      string
	Elapsed     float64
	FailedBuild string
}

// outputLinesMax bounds what is kept of one test that floods its log: the last lines.
const outputLinesMax = 400

// testID names one test or subtest; an empty test is the package itself.
type testID struct{ pkg, test string }

type outcome struct {
	action string // run until it ends; then pass, fail or skip
	output []string
}

// pass is all that one run of go test said.
type pass struct {
	name  string
	tests map[testID]*outcome
	order []testID        // as first seen
	group map[testID]bool // tests that are only the bracket around subtests
	build map[string][]string
}

func newPass(name string) *pass {
	return &pass{
		name:  name,
		tests: map[testID]*outcome{},
		group: map[testID]bool{},
		build: map[string][]string{},
	}
}

// read takes the stream to its end. With out, it shows a line a package and the log of
// each failed test as soon as that ends.
func (p *pass) read(in io.Reader, out io.Writer) error {
	if out == nil {
		out = io.Discard
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			p.line(strings.TrimRight(line, "\n"), out)
		}
		if err == io.EOF {
			p.endUnfinished(out)
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (p *pass) line(line string, out io.Writer) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		fmt.Fprintln(out, line)
		return
	}
	switch e.Action {
	case "build-output":
		p.build[e.ImportPath] = keepLast(p.build[e.ImportPath], strings.TrimRight(e.Output, "\n"))
		return
	case "build-fail", "start", "pause", "cont", "bench", "attr", "artifacts":
		return
	}
	id := testID{short(e.Package), e.Test}
	o := p.tests[id]
	if o == nil {
		o = &outcome{action: "run"}
		p.tests[id] = o
		p.order = append(p.order, id)
		for i, c := range id.test {
			if c == '/' {
				p.group[testID{id.pkg, id.test[:i]}] = true
			}
		}
	}
	switch e.Action {
	case "output":
		o.output = keepLast(o.output, strings.TrimRight(e.Output, "\n"))
	case "pass", "fail", "skip":
		// One pass may hold several runs of a package (a fuzz target each): a failure stays.
		if o.action != "fail" {
			o.action = e.Action
		}
		p.show(id, o, &e, out)
	}
}

// show prints what a reader who waits wants to see: failures in full, one line a package.
func (p *pass) show(id testID, o *outcome, e *event, out io.Writer) {
	switch {
	case o.action == "fail" && id.test != "":
		fmt.Fprintf(out, "FAIL %s.%s\n%s\n", id.pkg, id.test, strings.Join(o.output, "\n"))
	case id.test != "":
	case o.action == "fail":
		for _, line := range p.build[e.FailedBuild] {
			fmt.Fprintln(out, line)
		}
		fmt.Fprintf(out, "FAIL %-24s %6.1f s\n%s\n", id.pkg, e.Elapsed, strings.Join(o.output, "\n"))
	case o.action == "skip": // the package has no test files
	default:
		fmt.Fprintf(out, "ok   %-24s %6.1f s  %s\n", id.pkg, e.Elapsed, p.packageCounts(id.pkg))
	}
}

func (p *pass) packageCounts(pkg string) string {
	passed, skipped := 0, 0
	for _, id := range p.order {
		if id.pkg == pkg && id.test != "" && p.tests[id].action == "skip" {
			skipped++
		} else if id.pkg == pkg && id.test != "" {
			passed++
		}
	}
	if skipped > 0 {
		return fmt.Sprintf("%d passed, %d skipped", passed, skipped)
	}
	return fmt.Sprintf("%d passed", passed)
}

// endUnfinished turns what began and never ended (a crash, a kill, os.Exit) into a failure.
func (p *pass) endUnfinished(out io.Writer) {
	for _, id := range p.order {
		o := p.tests[id]
		if o.action != "run" {
			continue
		}
		o.action = "fail"
		o.output = keepLast(o.output, "began and never ended")
		fmt.Fprintf(out, "FAIL %s.%s\n%s\n", id.pkg, id.test, strings.Join(o.output, "\n"))
	}
}

// counts adds up tests and subtests. A package that failed although none of its tests did
// (no build, a crash outside a test, a failed TestMain) counts as one failure.
func (p *pass) counts() (passed, failed, skipped int) {
	failedTests := map[string]int{}
	for id, o := range p.tests {
		switch {
		case id.test == "":
		case o.action == "pass":
			passed++
		case o.action == "skip":
			skipped++
		default:
			failed++
			failedTests[id.pkg]++
		}
	}
	for id, o := range p.tests {
		if id.test == "" && o.action == "fail" && failedTests[id.pkg] == 0 {
			failed++
		}
	}
	return passed, failed, skipped
}

func (p *pass) failed() int {
	_, failed, _ := p.counts()
	return failed
}

// failures names what failed, in the order in which it was seen.
func (p *pass) failures() []string {
	var names []string
	for _, id := range p.order {
		if p.tests[id].action != "fail" {
			continue
		}
		if id.test == "" {
			names = append(names, id.pkg)
		} else {
			names = append(names, id.pkg+"."+id.test)
		}
	}
	return names
}

// skipForm is how every skip gives its reason: t.Skip("skip[kind]: why").
var skipForm = regexp.MustCompile(`skip\[([a-z0-9_]+)\]: (.*\S)`)

// skipReason finds the reason a skipped test printed; kind is empty when it gave none in that form.
func (o *outcome) skipReason() (kind, why string) {
	for _, line := range o.output {
		if m := skipForm.FindStringSubmatch(line); m != nil {
			return m[1], m[2]
		}
	}
	return "", ""
}

func keepLast(lines []string, line string) []string {
	if len(lines) >= outputLinesMax {
		lines = append(lines[:0], lines[1:]...)
	}
	return append(lines, line)
}

func short(pkg string) string {
	if pkg == module {
		return "."
	}
	return strings.TrimPrefix(pkg, module+"/")
}
