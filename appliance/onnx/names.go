package onnx

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parseNames reads class names as ultralytics writes them into a model's metadata: the text of a
// Python dict such as {0: 'person', 1: "driver's door"}. Keys are 0…n-1, each once, in any order.
// It is a small strict reader of that one form, not of Python.
func parseNames(text string) ([]string, error) {
	if len(text) > 1<<20 {
		return nil, fmt.Errorf("%d bytes of names, at most %d", len(text), 1<<20)
	}
	p := pyText{s: text}
	if !p.take('{') {
		return nil, p.errorf("want {")
	}
	byKey := map[int]string{}
	for !p.take('}') {
		if len(byKey) > 0 && !p.take(',') {
			return nil, p.errorf("want , or }")
		}
		if len(byKey) > 0 && p.take('}') { // Python allows a comma after the last entry
			break
		}
		key, err := p.key()
		if err != nil {
			return nil, err
		}
		if !p.take(':') {
			return nil, p.errorf("want :")
		}
		name, err := p.str()
		if err != nil {
			return nil, err
		}
		if _, ok := byKey[key]; ok {
			return nil, p.errorf("class %d is named twice", key)
		}
		if len(byKey) == maxNames {
			return nil, p.errorf("more than %d names", maxNames)
		}
		byKey[key] = name
	}
	if p.skip(); p.i != len(p.s) {
		return nil, p.errorf("text after }")
	}
	names := make([]string, len(byKey))
	for i := range names {
		n, ok := byKey[i]
		if !ok {
			return nil, fmt.Errorf("%d names, but none for class %d", len(byKey), i)
		}
		names[i] = n
	}
	if err := checkNames(names); err != nil {
		return nil, err
	}
	return names, nil
}

// pyText reads from s at i.
type pyText struct {
	s string
	i int
}

func (p *pyText) errorf(format string, a ...any) error {
	return fmt.Errorf("at byte %d: %s", p.i, fmt.Sprintf(format, a...))
}

func (p *pyText) skip() {
	for p.i < len(p.s) && strings.IndexByte(" \t\r\n", p.s[p.i]) >= 0 {
		p.i++
	}
}

func (p *pyText) take(c byte) bool {
	p.skip()
	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *pyText) key() (int, error) {
	p.skip()
	from := p.i
	for p.i < len(p.s) && p.s[p.i] >= '0' && p.s[p.i] <= '9' {
		p.i++
	}
	digits := p.s[from:p.i]
	n, err := strconv.Atoi(digits)
	if err != nil || n >= maxNames || len(digits) > 1 && digits[0] == '0' {
		return 0, p.errorf("want a class number below %d", maxNames)
	}
	return n, nil
}

func (p *pyText) str() (string, error) {
	p.skip()
	if p.i == len(p.s) || p.s[p.i] != '\'' && p.s[p.i] != '"' {
		return "", p.errorf("want a quoted name")
	}
	quote := p.s[p.i]
	p.i++
	var b strings.Builder
	for p.i < len(p.s) {
		c := p.s[p.i]
		switch {
		case c == quote:
			p.i++
			return b.String(), nil
		case c == '\\':
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
			continue
		case c == '\n':
			return "", p.errorf("line break inside a name")
		}
		b.WriteByte(c)
		p.i++
	}
	return "", p.errorf("name without its closing quote")
}

// simpleEscapes are Python's one-letter escapes (language reference, 2.4.1).
var simpleEscapes = map[byte]rune{
	'\\': '\\', '\'': '\'', '"': '"', 'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
}

// escape reads one backslash escape. repr() writes only the simple ones, \xHH, \uHHHH and
// \UHHHHHHHH; the rest of Python's is refused.
func (p *pyText) escape() (rune, error) {
	if p.i+1 >= len(p.s) {
		return 0, p.errorf("backslash at the end")
	}
	c := p.s[p.i+1]
	if r, ok := simpleEscapes[c]; ok {
		p.i += 2
		return r, nil
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if digits == 0 || p.i+2+digits > len(p.s) {
		return 0, p.errorf("unknown escape %q in a name", p.s[p.i:p.i+2])
	}
	v, err := strconv.ParseUint(p.s[p.i+2:p.i+2+digits], 16, 32)
	if err != nil || v > utf8.MaxRune || !utf8.ValidRune(rune(v)) {
		return 0, p.errorf("escape %q is no character", p.s[p.i:p.i+2+digits])
	}
	p.i += 2 + digits
	return rune(v), nil
}
