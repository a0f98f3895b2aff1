package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Severity says whether a problem stops the appliance.
type Severity string

const (
	SeverityError   Severity = "error"   // nothing runs until it is mended
	SeverityWarning Severity = "warning" // it runs; a person should know
)

// Problem is one thing that is wrong, where, and what would make it right. Its texts
// are masked: they hold no password and no value of an environment variable.
type Problem struct {
	Severity Severity `json:"severity"`
	File     string   `json:"file"`
	Line     int      `json:"line"` // from 1; 0 = the file as a whole
	Col      int      `json:"col"`  // from 1, in characters
	Key      string   `json:"key"`  // such as cameras[0].source; "" = no key
	Text     string   `json:"text"`
	Cure     string   `json:"cure"`
}

// String gives the one-line form: FILE:LINE:COL: severity: key: text; cure.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Col)
	}
	fmt.Fprintf(&b, ": %s: ", p.Severity)
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Text)
	if p.Cure != "" {
		b.WriteString("; " + p.Cure)
	}
	return b.String()
}

// HasErrors says whether any problem is an error.
func HasErrors(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Severity == SeverityError })
}

// maxProblems bounds what a hostile file can make us say; the rest is counted.
const maxProblems = 100

// report collects the problems of one load.
type report struct {
	list    []Problem
	dropped Severity // "" = none, else the gravest severity that did not fit
	count   int      // of the dropped
}

func (r *report) add(p Problem) {
	if len(r.list) < maxProblems {
		r.list = append(r.list, p)
		return
	}
	r.count++
	if r.dropped != SeverityError {
		r.dropped = p.Severity
	}
}

// finish returns the problems, those of the config file first, each file by line.
func (r *report) finish(first string) []Problem {
	slices.SortStableFunc(r.list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(btoi(a.File != first), btoi(b.File != first)),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	if r.count > 0 {
		r.list = append(r.list, Problem{
			Severity: r.dropped, File: first,
			Text: fmt.Sprintf("%d more problems are not shown", r.count), Cure: "mend these first",
		})
	}
	for i := range r.list {
		p := &r.list[i]
		p.Key, p.Text, p.Cure, p.File = printable(Mask(p.Key)), printable(p.Text), printable(p.Cure), printable(p.File)
	}
	return r.list
}

// printable replaces control characters: keys and paths of a hostile file must not
// drive the terminal that shows them.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '\uFFFD'
		}
		return r
	}, text)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
