package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// kind is one reason for which tests may be skipped, from skips.txt.
type kind struct {
	name     string
	rule     string
	patterns []pattern
}

// rules says whether a run fails in which every test of a kind was skipped: always, where
// CI is set in the environment, or not at all.
var rules = map[string]func() bool{
	"must": func() bool { return true },
	"ci":   func() bool { return os.Getenv("CI") != "" },
	"may":  func() bool { return false },
}

type pattern struct {
	text string
	re   *regexp.Regexp
	line int
}

// readKinds reads lines of `kind must|ci|may package.Test-regexp`; # starts a comment.
func readKinds(path string) (map[string]*kind, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	kinds := map[string]*kind{}
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		f := strings.Fields(text)
		if len(f) == 0 {
			continue
		}
		if len(f) != 3 || rules[f[1]] == nil {
			return nil, fmt.Errorf("%s:%d: want `kind must|ci|may package.Test-regexp`", path, n)
		}
		re, err := regexp.Compile("^(?:" + f[2] + ")$")
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		k := kinds[f[0]]
		if k == nil {
			k = &kind{name: f[0], rule: f[1]}
			kinds[f[0]] = k
		}
		if k.rule != f[1] {
			return nil, fmt.Errorf("%s:%d: kind %s is both %s and %s; want one", path, n, f[0], k.rule, f[1])
		}
		k.patterns = append(k.patterns, pattern{text: f[2], re: re, line: n})
	}
	return kinds, lines.Err()
}

// holds says whether the top-level test of id is declared to be of this kind.
func (k *kind) holds(id testID) bool {
	for _, p := range k.patterns {
		if p.matches(id) {
			return true
		}
	}
	return false
}

func (p *pattern) matches(id testID) bool {
	top, _, _ := strings.Cut(id.test, "/")
	return id.test != "" && p.re.MatchString(id.pkg+"."+top)
}
