package capture

import (
	"bytes"
	"slices"
	"strings"
)

const (
	tailLines     = 16
	tailLineBytes = 400
)

// tail keeps the last lines of ffmpeg's stderr, each cut to a bound. os/exec writes it
// from its own goroutine until Wait has returned; it is read only after that.
type tail struct {
	lines   []string
	partial []byte
}

func (t *tail) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		t.partial = append(t.partial, line[:min(len(line), tailLineBytes-len(t.partial))]...)
		if whole {
			t.end()
		}
		rest = after
	}
	return len(p), nil
}

func (t *tail) end() {
	if line := strings.TrimSpace(string(t.partial)); line != "" {
		if len(t.lines) == tailLines {
			t.lines = append(t.lines[:0], t.lines[1:]...)
		}
		t.lines = append(t.lines, line)
	}
	t.partial = t.partial[:0]
}

// lastError is the last line that says error or worse, without what ffmpeg puts before
// the text (its part's address, the level), or "".
func (t *tail) lastError() string {
	for _, line := range slices.Backward(t.lines) {
		for _, level := range []string{"[error] ", "[fatal] ", "[panic] "} {
			if _, text, ok := strings.Cut(line, level); ok {
				return text
			}
		}
	}
	return ""
}

// reason is the last error, else the last line, else "".
func (t *tail) reason() string {
	t.end()
	if text := t.lastError(); text != "" || len(t.lines) == 0 {
		return text
	}
	last := t.lines[len(t.lines)-1]
	if _, text, ok := strings.Cut(last, "[warning] "); ok {
		return text
	}
	return last
}
