package config

import (
	"fmt"
	"strings"
	"time"
)

// checker judges what has been decoded: bounds, names, files, and what fits together.
// It also completes the config: paths are resolved, the state folder is filled in.
type checker struct {
	*decoder
	cfg *Config
	dir string // the config file's folder
}

func (c *checker) all() {
	c.unit()
	c.runtime()
	c.path()
	c.correlation()
	c.cameras()
	c.models()
	c.expected()
	c.fusion()
	c.sinks()
	c.http()
	c.lint()
}

// at returns where a key's value stands; for a key that is not in the file, where the
// nearest section around it does.
func (c *checker) at(key string) mark {
	for key != "" {
		if p, ok := c.seen[key]; ok {
			return p.value
		}
		key = key[:max(strings.LastIndexAny(key, ".["), 0)]
	}
	return mark{1, 1}
}

func (c *checker) failAt(key, text, cure string) { c.fail(c.at(key), key, text, cure) }
func (c *checker) warnAt(key, text, cure string) { c.warn(c.at(key), key, text, cure) }

// shownAt is a key's value as the file has it; for an absent key, that it is the default.
func (c *checker) shownAt(key string) string {
	if p, ok := c.seen[key]; ok && p.shown != "" {
		return p.shown
	}
	return "the default"
}

// failed says whether this key's value, or a section around it, was already refused, so
// that its zero value is not complained about again.
func (c *checker) failed(key string) bool {
	for key != "" {
		for _, p := range c.out.list {
			if p.Severity == SeverityError && p.File == c.file && p.Key == key && !c.isDuplicate(p) {
				return true
			}
		}
		key = key[:max(strings.LastIndexAny(key, ".["), 0)]
	}
	return false
}

// clean says that there is no error yet. What fits together is judged only then: with
// half a config it would be noise.
func (c *checker) clean() bool { return !HasErrors(c.out.list) }

// isDuplicate says that p complains of a key's second place, while its first one counts.
func (c *checker) isDuplicate(p Problem) bool {
	first, ok := c.seen[p.Key]
	return ok && p.Line != first.key.line && p.Line != first.value.line
}

// need tells a required key that is absent or empty; it returns whether there is one to
// complain about, told now or before.
func (c *checker) need(key string, missing bool, cure string) bool {
	if missing && !c.failed(key) {
		c.failAt(key, "missing", cure)
	}
	return missing
}

func (c *checker) withinInt(key string, v, lo, hi int) {
	if (v < lo || v > hi) && !c.failed(key) {
		c.failAt(key, fmt.Sprintf("%s is out of bounds", c.shownAt(key)), fmt.Sprintf("take %d to %d", lo, hi))
	}
}

func (c *checker) within(key string, v, lo, hi float64) {
	if !(v >= lo && v <= hi) && !c.failed(key) {
		c.failAt(key, fmt.Sprintf("%s is out of bounds", c.shownAt(key)), fmt.Sprintf("take %g to %g", lo, hi))
	}
}

func (c *checker) withinTime(key string, v, lo, hi time.Duration) bool {
	if (v < lo || v > hi) && !c.failed(key) {
		c.failAt(key, fmt.Sprintf("%s is out of bounds", c.shownAt(key)), fmt.Sprintf("take %s to %s", short(lo), short(hi)))
	}
	return v >= lo && v <= hi
}

// short writes 1h0m0s as 1h.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// maxName is the longest unit, camera or model name: what a field of the rings holds.
const maxName = 63

// name checks a name that becomes part of paths, tasks, metrics and ring headers.
func (c *checker) name(key, name string) {
	if c.need(key, name == "", "give it a name of letters, digits, - _ and .") {
		return
	}
	good := len(name) <= maxName
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		good = good && (letter || i > 0 && (r == '-' || r == '_' || r == '.'))
	}
	if !good && !c.failed(key) {
		c.failAt(key, fmt.Sprintf("%s is not a name", c.shownAt(key)),
			fmt.Sprintf("begin with a letter or digit, go on with letters, digits, - _ and ., at most %d in all", maxName))
	}
}

// label checks the name of a class: any text that prints, of bounded length.
func (c *checker) label(key, label string) {
	if c.failed(key) {
		return
	}
	if strings.TrimSpace(label) == "" || len(label) > maxLabelBytes || strings.ContainsFunc(label, isControl) {
		c.failAt(key, fmt.Sprintf("%s is no name of a class", c.shownAt(key)), fmt.Sprintf("write 1 to %d bytes of text", maxLabelBytes))
	}
}
