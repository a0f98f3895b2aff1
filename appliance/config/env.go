package config

import (
	"fmt"
	"strings"
)

// expand replaces ${NAME} by the environment variable of that name; $${ stands for a
// literal ${. The result is a value, never YAML again: no variable can add a key. A
// problem's text names the variable and nothing of its value.
func (d *decoder) expand(at mark, key, text string) (value string, ok bool) {
	if !strings.Contains(text, "${") {
		return text, true
	}
	var out strings.Builder
	ok = true
	for {
		i := strings.Index(text, "${")
		if i < 0 {
			out.WriteString(text)
			break
		}
		if i > 0 && text[i-1] == '$' {
			out.WriteString(text[:i-1] + "${")
			text = text[i+2:]
			continue
		}
		out.WriteString(text[:i])
		name, rest, closed := strings.Cut(text[i+2:], "}")
		if !closed || !isEnvName(name) {
			d.fail(at, key, "${ without the name of an environment variable and }", "write ${NAME}, or $${ for the two signs themselves; defaults such as ${NAME:-x} are not known here")
			return "", false
		}
		text = rest
		v, set := d.opts.LookupEnv(name)
		switch {
		case !set:
			d.fail(at, key, fmt.Sprintf("the environment variable %s is not set", name), fmt.Sprintf("set %s for the process that runs skewgate (in a systemd unit: EnvironmentFile=)", name))
			ok = false
		case len(v) > maxScalarBytes || strings.ContainsFunc(v, isControl):
			d.fail(at, key, fmt.Sprintf("the environment variable %s holds control characters or more than %d bytes", name, maxScalarBytes), "set it to one line of text")
			ok = false
		case v == "":
			d.warn(at, key, fmt.Sprintf("the environment variable %s is empty", name), "set it, or take it out if that is meant")
		}
		d.hide.remember(name, v)
		out.WriteString(v)
	}
	return out.String(), ok
}

func isEnvName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
