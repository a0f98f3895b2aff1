// Command tally reads the JSON of `go test -json`, shows it as it comes, and says at the
// end what ran, what failed and what was skipped, and why.
//
//	go test -json ./... | tally [-dir D] [-skips F] watch PASS   # shows, and keeps D/PASS.json
//	tally [-dir D] [-skips F] sum PASS…                          # the verdict over those passes
//
// A pass is one run of go test (plain, race, another architecture). The same test may run
// in several; a check that one pass has to skip may run in another, so only sum judges skips.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// module is what package names lose before they are shown or matched.
const module = "github.com/skewgate/skewgate"

func main() {
	dir := flag.String("dir", ".cache/test", "folder that keeps one JSON file a pass")
	skips := flag.String("skips", "scripts/skips.txt", "the kinds of skip that may occur")
	flag.Parse()
	ok, err := run(flag.Args(), *dir, *skips, os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// run carries out one verb; ok is false when a test failed or a skip was not in order.
func run(args []string, dir, skips string, in io.Reader, out io.Writer) (ok bool, err error) {
	if len(args) < 2 {
		return false, fmt.Errorf("want: watch PASS, or sum PASS…")
	}
	for _, name := range args[1:] {
		if name == "" || strings.ContainsAny(name, "/. ") {
			return false, fmt.Errorf("pass %q: want a plain word, it names a file", name)
		}
	}
	switch args[0] {
	case "watch":
		return watchPass(args[1], dir, in, out)
	case "sum":
		return sumPasses(args[1:], dir, skips, out)
	}
	return false, fmt.Errorf("verb %q: want watch or sum", args[0])
}

func watchPass(name, dir string, in io.Reader, out io.Writer) (bool, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, err
	}
	file, err := os.Create(filepath.Join(dir, name+".json"))
	if err != nil {
		return false, err
	}
	defer file.Close()
	p := newPass(name)
	if err := p.read(io.TeeReader(in, file), out); err != nil {
		return false, err
	}
	return p.failed() == 0, file.Close()
}

func sumPasses(names []string, dir, skips string, out io.Writer) (bool, error) {
	kinds, err := readKinds(skips)
	if err != nil {
		return false, err
	}
	var passes []*pass
	for _, name := range names {
		file, err := os.Open(filepath.Join(dir, name+".json"))
		if err != nil {
			return false, err
		}
		p := newPass(name)
		err = p.read(file, nil)
		file.Close()
		if err != nil {
			return false, fmt.Errorf("pass %s: %w", name, err)
		}
		passes = append(passes, p)
	}
	return report(passes, kinds, out), nil
}
