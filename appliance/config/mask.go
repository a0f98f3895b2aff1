package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

const masked = "***"

// secretWords mark URL parameters whose value is masked.
var secretWords = []string{"pass", "pwd", "psw", "token", "key", "secret", "auth", "sig", "cred"}

// Mask returns one value, such as a URL, with what may be a secret replaced by ***: the
// password of a URL's user part, a user part without a password (it may be a token), and
// parameters named like one. It rather masks too much: a password may hold any character,
// so all up to the last @ belongs to the user part.
func Mask(value string) string { return maskParameters(maskUser(value)) }

func maskUser(value string) string {
	start := 0
	if i := strings.Index(value, "://"); i >= 0 {
		start = i + len("://")
	}
	at := strings.LastIndexByte(value, '@')
	if at < start {
		return value
	}
	user, _, hasPassword := strings.Cut(value[start:at], ":")
	if !hasPassword {
		return value[:start] + masked + value[at:]
	}
	return value[:start] + user + ":" + masked + value[at:]
}

func maskParameters(value string) string {
	const separators = "?&;"
	var out strings.Builder
	for value != "" {
		end := strings.IndexAny(value, separators)
		part, separator := value, ""
		if end >= 0 {
			part, separator = value[:end], value[end:end+1]
		}
		value = value[len(part)+len(separator):]
		if name, _, ok := strings.Cut(part, "="); ok && soundsSecret(name) {
			part = name + "=" + masked
		}
		out.WriteString(part + separator)
	}
	return out.String()
}

func soundsSecret(name string) bool {
	name = strings.ToLower(name)
	for _, w := range secretWords {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

// minRedacted is the shortest value that redactor hides: shorter ones occur in any text.
const minRedacted = 3

// redactor replaces values of environment variables by their names where they have
// become a part of a path or an address.
type redactor map[string]string // value → ${NAME}

func (r redactor) remember(name, value string) {
	if len(value) >= minRedacted {
		r[value] = "${" + name + "}"
	}
}

// replacer works in one pass, longest value first, so that a name it has put in is not
// taken for another variable's value.
func (r redactor) replacer() *strings.Replacer {
	values := slices.SortedFunc(maps.Keys(r), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	var pairs []string
	for _, v := range values {
		pairs = append(pairs, v, r[v])
	}
	return strings.NewReplacer(pairs...)
}

// show is a path as a message may have it.
func (r redactor) show(path string) string { return Mask(r.replacer().Replace(path)) }
