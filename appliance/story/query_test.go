package story

import (
	"strings"
	"testing"

	"github.com/skewgate/skewgate/appliance/correlate"
)

func TestParse(t *testing.T) {
	ids := func(s string) (uint64, bool) { return 1 << 63, s == "door-1" }
	for _, tc := range []struct {
		ask  Ask
		want Query
		err  string
	}{
		{ask: Ask{}, want: Query{kind: byNewest}},
		{ask: Ask{Incomplete: true}, want: Query{kind: byIncomplete}},
		{ask: Ask{Last: 64}, want: Query{kind: byLast, n: 64}},
		{ask: Ask{Frame: "7"}, want: Query{kind: byID, n: 7, text: "7"}},
		{ask: Ask{Frame: "id:18446744073709551615"}, want: Query{kind: byID, n: 1<<64 - 1, text: "id:18446744073709551615"}},
		{ask: Ask{Frame: "door-1", FrameID: ids}, want: Query{kind: byID, n: 1 << 63, text: "door-1"}},
		{ask: Ask{Frame: "seq:12"}, want: Query{kind: bySeq, n: 12, text: "seq:12"}},
		{ask: Ask{Frame: "q25:-40"}, want: Query{kind: byKey, tag: correlate.TagBucket, value: -40, text: "q25:-40"}},
		{ask: Ask{Frame: "q0:17ns"}, want: Query{kind: byKey, tag: correlate.TagInstant, value: 17, text: "q0:17ns"}},
		{ask: Ask{Frame: "w:-9223372036854775808ns"}, want: Query{kind: byKey, tag: correlate.TagWindow, value: -1 << 63, text: "w:-9223372036854775808ns"}},
		{ask: Ask{Frame: "raw:a:b"}, want: Query{kind: byKey, tag: correlate.TagRaw, text: "raw:a:b"}},
		{ask: Ask{Frame: "7", Last: 1}, err: "one of the three"},
		{ask: Ask{Frame: "7", Incomplete: true}, err: "one of the three"},
		{ask: Ask{Last: 65}, err: "1 to 64"},
		{ask: Ask{Last: -1}, err: "1 to 64"},
		{ask: Ask{Frame: strings.Repeat("7", 301)}, err: "at most 300"},
		{ask: Ask{Frame: "0"}, err: "neither"},
		{ask: Ask{Frame: "07"}, err: "neither"},
		{ask: Ask{Frame: "+7"}, err: "neither"},
		{ask: Ask{Frame: "18446744073709551616"}, err: "neither"},
		{ask: Ask{Frame: "door-2", FrameID: ids}, err: "neither"},
		{ask: Ask{Frame: "door-1"}, err: "neither"},
		{ask: Ask{Frame: "seq:"}, err: "neither"},
		{ask: Ask{Frame: "w:17"}, err: "neither"},
		{ask: Ask{Frame: "q25:17ns"}, err: "neither"},
		{ask: Ask{Frame: "x:1\x1b[2J"}, err: `x:1\x1b[2J`},
	} {
		got, err := Parse(tc.ask)
		switch {
		case tc.err == "" && (err != nil || got != tc.want):
			t.Errorf("%+v: want %+v, got %+v, %v", tc.ask, tc.want, got, err)
		case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)):
			t.Errorf("%+v: want %q, got %v", tc.ask, tc.err, err)
		}
	}
}

// What a stranger asks is read or refused in words that a terminal can show, and what is read
// finds nothing in an empty book.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "7", "id:7", "seq:1", "q25:40", "q0:1ns", "w:1ns", "raw:x", "q25", ":", "q:", "\x00", "id:\xff"} {
		f.Add(seed, 0, false)
	}
	f.Fuzz(func(t *testing.T, frame string, last int, incomplete bool) {
		q, err := Parse(Ask{Frame: frame, Last: last, Incomplete: incomplete})
		if err != nil {
			if len(err.Error()) > 500 || strings.ContainsAny(err.Error(), "\x00\x1b\n") {
				t.Errorf("%q", err)
			}
			return
		}
		if q.most() < 1 || q.most() > MaxLast {
			t.Errorf("%q finds up to %d frames", frame, q.most())
		}
		book, c := watched(t, nil)
		if err := book.Copy(book.NewPage(), c, "", "gate", q); err == nil {
			t.Errorf("%q is found in an empty book", frame)
		}
	})
}
