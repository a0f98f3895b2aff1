package supervise

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestOutputKeepsLastLines(t *testing.T) {
	many := strings.Builder{}
	var last20 []string
	for i := range 50 {
		fmt.Fprintf(&many, "line %d\n", i)
		if i >= 30 {
			last20 = append(last20, fmt.Sprintf("line %d", i))
		}
	}
	for _, tt := range []struct {
		name, in string
		want     []string
		cut      bool
	}{
		{"nothing", "", []string{}, false},
		{"empty lines", "\n\r\n\n", []string{}, false},
		{"one", "hello\n", []string{"hello"}, false},
		{"no newline at the end", "a\nb", []string{"a", "b"}, false},
		{"more than kept", many.String(), last20, false},
		{"more than kept, last unfinished", many.String() + "x", append(last20[1:20:20], "x"), false},
		{"carriage returns", "frame=1\rframe=2\rframe=3", []string{"frame=1", "frame=2", "frame=3"}, false},
		{"exactly the bound", strings.Repeat("a", maxLineBytes) + "\n", []string{strings.Repeat("a", maxLineBytes)}, false},
		{"one too long", strings.Repeat("a", maxLineBytes+1) + "\nb\n", []string{strings.Repeat("a", maxLineBytes) + cutMark, "b"}, true},
		{"F13 NUL and terminal codes", "a\x00b\x1b[31mred\n", []string{`a\x00b\x1b[31mred`}, false},
		{"F13 bad UTF-8", "caf\xe9 \xff\xfe ok é\n", []string{`caf\xe9 \xff\xfe ok é`}, false},
		{"bidi override", "a\u202eb\n", []string{`a\u202eb`}, false},
		{"secret", "open rtsp://admin:p@ss/w0rd@10.0.0.5/live: refused\n", []string{"open rtsp://***@10.0.0.5/live: refused"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// Any way the stream is chopped gives the same lines.
			for _, chunk := range []int{1, 7, 1 << 20} {
				var o output
				for in := []byte(tt.in); len(in) > 0; in = in[min(chunk, len(in)):] {
					o.write(in[:min(chunk, len(in))], nil)
				}
				got, cut := o.last()
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("chunks of %d (-want +got):\n%s", chunk, diff)
				}
				if cut != tt.cut {
					t.Errorf("chunks of %d: truncated %v, want %v", chunk, cut, tt.cut)
				}
			}
		})
	}
}

// A URL cut in the middle of its password must not show the first half of it.
func TestOutputMasksCutSecret(t *testing.T) {
	var o output
	o.write([]byte(strings.Repeat("x", maxLineBytes-25)+" rtsp://admin:hunter2hunter2hunter2@cam/live\n"), nil)
	got, cut := o.last()
	if !cut || strings.Contains(got[0], "hunter") || !strings.Contains(got[0], "://***") {
		t.Errorf("line %q cut %v shows the secret", got[0][maxLineBytes-30:], cut)
	}
}

func TestMask(t *testing.T) {
	for in, want := range map[string]string{
		"rtsp://u:p@h/x":                       "rtsp://***@h/x",
		"a rtsp://u:p@h/x b rtsps://v:q@i c":   "a rtsp://***@h/x b rtsps://***@i c",
		"rtsp://h/user=a&password=b&channel=1": "rtsp://h/user=a&password=***&channel=1",
		"Token=abc x":                          "Token=*** x",
		"rtsp://h/x":                           "rtsp://h/x",
		"mail me@example.com":                  "mail me@example.com",
		"rtsp://u:p'q\"@h":                     "rtsp://***@h",
	} {
		if got := Mask(in); got != want {
			t.Errorf("Mask(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestOutputWritesWithoutAllocation(t *testing.T) {
	var o output
	p := []byte(strings.Repeat("a line of the usual length, more or less\n", 100))
	o.write(p, nil)
	if allocs := testing.AllocsPerRun(100, func() { o.write(p, nil) }); allocs != 0 {
		t.Errorf("%v allocations a write, want 0", allocs)
	}
}

// FuzzOutput: whatever is written in whatever pieces, what is kept is bounded,
// printable and the same as when written at once.
func FuzzOutput(f *testing.F) {
	f.Add([]byte("a\nb\r\n\x00\xff"), 1)
	f.Add([]byte(strings.Repeat("x", 3*maxLineBytes)), 1000)
	f.Add([]byte("rtsp://a:b@c\n"), 5)
	f.Fuzz(func(t *testing.T, in []byte, chunk int) {
		chunk = min(max(chunk, 1), 1<<16)
		var whole, pieces output
		whole.write(in, nil)
		for rest := in; len(rest) > 0; rest = rest[min(chunk, len(rest)):] {
			pieces.write(rest[:min(chunk, len(rest))], nil)
		}
		want, wantCut := whole.last()
		got, gotCut := pieces.last()
		if diff := cmp.Diff(want, got); diff != "" || wantCut != gotCut {
			t.Errorf("pieces of %d differ (-whole +pieces):\n%s", chunk, diff)
		}
		if len(got) > keptLines {
			t.Errorf("%d lines kept", len(got))
		}
		for _, l := range got {
			if len(l) > 6*maxLineBytes || !utf8.ValidString(l) {
				t.Errorf("line of %d bytes, valid UTF-8 %v", len(l), utf8.ValidString(l))
			}
			for _, r := range l {
				if r != '\t' && !unicode.IsPrint(r) {
					t.Errorf("line holds %U", r)
				}
			}
		}
	})
}
