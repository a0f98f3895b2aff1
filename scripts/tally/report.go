package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// skipRow adds up one kind over all passes.
type skipRow struct {
	ran, skipped int
	whys         map[string]int
}

// report prints the verdict and says whether all is in order. Its last line is the plain
// closing line that tools look for.
func report(passes []*pass, kinds map[string]*kind, out io.Writer) bool {
	passed, failed, skipped := 0, 0, 0
	var faults []string
	for _, p := range passes {
		ok, bad, skip := p.counts()
		passed, failed, skipped = passed+ok, failed+bad, skipped+skip
		fmt.Fprintf(out, "pass %-6s %6d passed %4d failed %4d skipped\n", p.name, ok, bad, skip)
		for _, name := range p.failures() {
			fmt.Fprintf(out, "failed in pass %s: %s\n", p.name, name)
		}
		if ok+bad+skip == 0 {
			faults = append(faults, fmt.Sprintf("pass %s ran no test", p.name))
		}
	}
	rows, skipFaults := judgeSkips(passes, kinds)
	faults = append(faults, skipFaults...)
	printRows(rows, out)
	for _, fault := range faults {
		fmt.Fprintln(out, "not in order:", fault)
	}
	failed += len(faults)
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	return failed == 0
}

// judgeSkips finds skips without a reason, of an unknown or undeclared kind, kinds of
// which nothing ran in any pass, and declarations that match no test any more.
func judgeSkips(passes []*pass, kinds map[string]*kind) (map[string]*skipRow, []string) {
	var faults []string
	rows := map[string]*skipRow{}
	for name := range kinds {
		rows[name] = &skipRow{whys: map[string]int{}}
	}
	matched := map[*pattern]bool{}
	for _, p := range passes {
		for _, id := range p.order {
			if id.test == "" {
				continue
			}
			for _, k := range kinds {
				for i := range k.patterns {
					if k.patterns[i].matches(id) {
						matched[&k.patterns[i]] = true
					}
				}
			}
			if p.group[id] {
				continue
			}
			o := p.tests[id]
			if o.action != "skip" {
				for name, k := range kinds {
					if k.holds(id) {
						rows[name].ran++
					}
				}
				continue
			}
			name, why := o.skipReason()
			where := fmt.Sprintf("%s.%s in pass %s", id.pkg, id.test, p.name)
			k := kinds[name]
			switch {
			case name == "":
				faults = append(faults, where+` was skipped without a reason of the form "skip[kind]: why"`)
			case k == nil:
				faults = append(faults, fmt.Sprintf("%s was skipped as %q, a kind skips.txt does not know", where, name))
			case !k.holds(id):
				faults = append(faults, fmt.Sprintf("%s was skipped as %q, but skips.txt does not list it under that kind", where, name))
			default:
				rows[name].skipped++
				rows[name].whys[why]++
			}
		}
	}
	for _, name := range sortedKeys(kinds) {
		k, row := kinds[name], rows[name]
		if rules[k.rule]() && row.ran == 0 && row.skipped > 0 {
			faults = append(faults, fmt.Sprintf("all %d tests of kind %q were skipped; at least one has to run", row.skipped, name))
		}
		for i := range k.patterns {
			if !matched[&k.patterns[i]] {
				faults = append(faults, fmt.Sprintf("skips.txt line %d: no test matches %q", k.patterns[i].line, k.patterns[i].text))
			}
		}
	}
	return rows, faults
}

func printRows(rows map[string]*skipRow, out io.Writer) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(out, "%-10s %6s %8s  %s\n", "skip kind", "ran", "skipped", "why")
	for _, name := range sortedKeys(rows) {
		row := rows[name]
		fmt.Fprintf(out, "%-10s %6d %8d  ", name, row.ran, row.skipped)
		if len(row.whys) == 0 {
			fmt.Fprintln(out, "-")
			continue
		}
		for i, why := range sortedKeys(row.whys) {
			if i > 0 {
				fmt.Fprintf(out, "%28s", "")
			}
			fmt.Fprintf(out, "%s (%d)\n", why, row.whys[why])
		}
	}
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
