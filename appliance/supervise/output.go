package supervise

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

const (
	keptLines    = 20   // lines of output kept of each start
	maxLineBytes = 1024 // of a line; the rest of it is dropped and the line marked
	readBytes    = 64 << 10
	cutMark      = " …[cut]"
)

// line is one line as the child wrote it, at most maxLineBytes of it.
type line struct {
	text []byte
	cut  bool
}

// text makes a line fit to be shown: printable, masked, marked if cut.
func (l line) String() string {
	s := printable(l.text)
	if l.cut {
		return maskCut(s) + cutMark
	}
	return Mask(s)
}

// output keeps the last lines of what a child writes, in fixed memory however much it
// writes and whether or not it ever ends a line.
type output struct {
	mu    sync.Mutex
	lines [keptLines + 1]line // a ring; lines[ended%len] is still open
	ended uint64
	// headline is the latest line that begins the last words of a language runtime:
	// the stacks that follow it are longer than what is kept.
	headline line
}

var headlines = [][]byte{[]byte("panic: "), []byte("fatal error: "), []byte("SIG"), []byte("terminate called "), []byte("Fatal Python error: ")}

func isHeadline(text []byte) bool {
	return slices.ContainsFunc(headlines, func(h []byte) bool { return bytes.HasPrefix(text, h) })
}

// drain reads r to its end. onLine is called for each line that ends, outside any lock;
// the line is valid during the call.
func (o *output) drain(r io.Reader, onLine func(line)) {
	buf := make([]byte, readBytes)
	for {
		n, err := r.Read(buf)
		o.write(buf[:n], onLine)
		if err != nil {
			return
		}
	}
}

// write takes any piece of the stream. \r ends a line too, or a progress display would
// be one line without end.
func (o *output) write(p []byte, onLine func(line)) {
	for len(p) > 0 {
		// Looking no further than a line may be long bounds the work on any input.
		piece := p[:min(len(p), maxLineBytes)]
		end := lineEnd(piece)
		o.mu.Lock()
		open := &o.lines[o.ended%uint64(len(o.lines))]
		room := maxLineBytes - len(open.text)
		open.text = append(open.text, piece[:min(end, room)]...)
		open.cut = open.cut || end > room
		done := *open
		closes := end < len(piece) && len(open.text) > 0 // empty lines are not kept
		if closes {
			if isHeadline(done.text) {
				o.headline.text = append(o.headline.text[:0], done.text...)
				o.headline.cut = done.cut
			}
			o.ended++
			next := &o.lines[o.ended%uint64(len(o.lines))]
			next.text, next.cut = next.text[:0], false
		}
		o.mu.Unlock()
		if closes && onLine != nil {
			// Only this goroutine writes, so the bytes stay until keptLines more
			// lines have ended.
			onLine(done)
		}
		p = p[min(end+1, len(piece)):]
	}
}

// lineEnd is the place of the first \n or \r of p, or its length.
func lineEnd(p []byte) int {
	if n := bytes.IndexByte(p, '\n'); n >= 0 {
		p = p[:n]
	}
	if r := bytes.IndexByte(p, '\r'); r >= 0 {
		return r
	}
	return len(p)
}

// saidAtTheEnd returns the headline, "" if there was none.
func (o *output) saidAtTheEnd() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.headline.String()
}

// last returns the kept lines, oldest first, with an unfinished one at the end.
func (o *output) last() (lines []string, truncated bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	from := uint64(0)
	to := o.ended
	if len(o.lines[to%uint64(len(o.lines))].text) > 0 {
		to++
	}
	if to > keptLines {
		from = to - keptLines
	}
	lines = make([]string, 0, keptLines)
	for i := from; i < to; i++ {
		l := o.lines[i%uint64(len(o.lines))]
		lines = append(lines, l.String())
		truncated = truncated || l.cut
	}
	return lines, truncated
}

// printable writes control characters and bytes that are no UTF-8 as \x1b, so that no
// child can steer a terminal or break a log line.
func printable(p []byte) string {
	var b strings.Builder
	b.Grow(len(p))
	for len(p) > 0 {
		r, size := utf8.DecodeRune(p)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, p[0])
		case r == '\t' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		p = p[size:]
	}
	return b.String()
}
