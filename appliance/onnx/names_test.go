package onnx

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseNames(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"Three", `{0: 'circle', 1: 'square', 2: 'triangle'}`, []string{"circle", "square", "triangle"}},
		{"DoubleQuotes", `{0: "driver's door"}`, []string{"driver's door"}},
		{"BothQuotes", `{0: 'say \'x\' and "y"'}`, []string{`say 'x' and "y"`}},
		{"Escapes", `{0: '\\\n\t\x41\u00e9\U0001F600'}`, []string{"\\\n\tAé😀"}},
		{"UTF8", `{0: '사람'}`, []string{"사람"}},
		{"AnyOrder", `{1: 'b', 0: 'a'}`, []string{"a", "b"}},
		{"NoSpaces", `{0:'a',1:'b',}`, []string{"a", "b"}},
		{"BracesInside", `{0: 'a}, 1: b{'}`, []string{"a}, 1: b{"}},
		{"Empty", `{}`, []string{}},
		{"Outer space", "\n{ 0 : 'a' }\n", []string{"a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseNames(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParseNamesRefuses(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"Nothing", "", "want {"}, {"None", "None", "want {"}, {"List", "['a']", "want {"},
		{"Open", "{0: 'a'", "want , or }"}, {"OpenName", "{0: 'a}", "without its closing quote"},
		{"Gap", "{0: 'a', 2: 'b'}", "none for class 1"}, {"Twice", "{0: 'a', 0: 'b'}", "class 0 is named twice"},
		{"Negative", "{-1: 'a'}", "class number"}, {"LeadingZero", "{00: 'a'}", "class number"}, {"HugeKey", "{99999999999999999999: 'a'}", "class number"},
		{"TextKey", "{'0': 'a'}", "class number"}, {"NoColon", "{0 'a'}", "want :"}, {"NumberName", "{0: 1}", "quoted name"},
		{"After", "{0: 'a'} x", "text after }"}, {"EmptyName", "{0: ''}", "name 0 is empty"}, {"LongName", "{0: '" + strings.Repeat("x", 129) + "'}", "129 bytes"},
		{"Surrogate", `{0: '\ud800'}`, "is no character"}, {"BadHex", `{0: '\xg0'}`, "is no character"}, {"NamedEscape", `{0: '\N{BULLET}'}`, "unknown escape"},
		{"ShortHex", `{0: '\x4`, "unknown escape"}, {"Backslash", `{0: '\`, "backslash at the end"}, {"BadUTF8", "{0: '\xff'}", "not UTF-8"},
		{"LineBreak", "{0: 'a\nb'}", "line break"}, {"TwoCommas", "{0: 'a',, 1: 'b'}", "class number"}, {"OnlyComma", "{,}", "class number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseNames(tt.in)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("want an error with %q, got %v and %q", tt.want, err, got)
			}
		})
	}
}

func FuzzParseNames(f *testing.F) {
	f.Add(`{0: 'person', 1: "driver's door", 2: '\x41\u00e9'}`)
	f.Add(`{1: 'b', 0: 'a',}`)
	f.Add(`{0: '\`)
	f.Fuzz(func(t *testing.T, in string) {
		names, err := parseNames(in)
		if err != nil {
			return
		}
		if err := checkNames(names); err != nil {
			t.Fatalf("accepted what checkNames refuses: %v", err)
		}
		if _, err := json.Marshal(names); err != nil {
			t.Fatal(err)
		}
	})
}

func TestParseSize(t *testing.T) {
	if h, w, err := parseSize("[480, 640]"); err != nil || h != 480 || w != 640 {
		t.Errorf("want 480 640, got %d %d %v", h, w, err)
	}
	for _, in := range []string{"", "[640]", "640, 640", "[640, 640", "[a, 640]", "[640, 640, 3]"} {
		if _, _, err := parseSize(in); err == nil {
			t.Errorf("%q: want an error", in)
		}
	}
}
