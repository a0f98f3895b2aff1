package trace

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/valyala/fastjson"
)

func TestHeaderComesBack(t *testing.T) {
	want := Header{
		ID: "5f", Part: 7, Running: true, Version: `v"1`, WallNS: math.MaxInt64, MonoNS: -1,
		State: State{
			Open: 2, Down: []Place{{"", "", "m"}, {"u", "c", "m"}}, Changed: true, Expected: []string{},
			OnCameras: []Change{{"u", "c", []string{"m"}}, {"u", "d", []string{}}},
		},
	}
	text := want.append(nil)
	v, err := fastjson.ParseBytes(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	got, err := ReadHeader(v)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", text, diff)
	}
}

func TestReadHeaderRefuses(t *testing.T) {
	good := `{"schema":1,"id":"a","part":1,"start":"empty","state":{"open":0,"down":[]}}`
	if v := fastjson.MustParse(good); true {
		if _, err := ReadHeader(v); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct{ old, new, want string }{
		{good, `[]`, "not an object"},
		{`"schema":1`, `"schema":2`, "reads 1"},
		{`"id":"a"`, `"id":""`, "no id"},
		{`"id":"a"`, `"id":"` + strings.Repeat("a", 65) + `"`, "no id"},
		{`"part":1`, `"part":0`, "counts from 1"},
		{`"part":1`, `"part":1.5`, "counts from 1"},
		{`"empty"`, `"full"`, "neither empty nor running"},
		{`"down":[]`, `"down":[7]`, "without a name"},
		{`"down":[]`, `"down":[{"model":"m"}]`, "without unit and camera"},
		{`"down":[]`, `"down":[` + strings.Repeat(`"m",`, maxDown) + `"m"]`, "at most"},
		{`"down":[]`, `"expected_at":[` + strings.Repeat(`{},`, maxDown) + `{}]`, "at most"},
	} {
		text := strings.Replace(good, tc.old, tc.new, 1)
		if _, err := ReadHeader(fastjson.MustParse(text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.100s: want %q, got %v", text, tc.want, err)
		}
	}
}

func TestEndComesBack(t *testing.T) {
	want := &End{Events: 9, Lost: math.MaxUint64, Cut: `w"y`, Counters: []Counter{{"received", 9}, {"late", 0}}}
	line := AppendEnd(nil, []byte("1.5"), want)
	v, err := fastjson.ParseBytes(line)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	m, err := ReadMark(v.Get("trace"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, m.End); diff != "" || m.Lost != 0 {
		t.Errorf("%s (-want +got):\n%s", line, diff)
	}
}

func TestReadMarkRefuses(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{`7`, "not an object"},
		{`{}`, "neither"},
		{`{"lost":0}`, "neither"},
		{`{"end":[]}`, "end is not an object"},
		{`{"end":{"counters":{"late":-1}}}`, `"late" is no whole number`},
		{`{"end":{"counters":{` + strings.Repeat(`"x":1,`, maxCounters) + `"x":1}}}`, "at most"},
	} {
		if _, err := ReadMark(fastjson.MustParse(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.100s: want %q, got %v", tc.text, tc.want, err)
		}
	}
}

// Whatever stands under "trace": no crash, and what is taken is written as it was understood.
func FuzzTrace(f *testing.F) {
	h := Header{ID: "5f", Part: 1, State: State{Down: []Place{{"", "", "m"}, {"u", "c", "m"}}, Changed: true, OnCameras: []Change{{"u", "c", nil}}}}
	f.Add(h.append(nil))
	f.Add([]byte(`{"lost":3}`))
	f.Add([]byte(`{"end":{"events":9,"lost":1,"cut":"x","counters":{"late":2}}}`))
	f.Add([]byte(`{"schema":1,"id":"a","part":1,"start":"running","state":{"down":[{"model":{}}],"expected":[1],"expected_at":[[]]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := fastjson.ParseBytes(text)
		if err != nil {
			return
		}
		if h, err := ReadHeader(v); err == nil {
			text := h.append(nil)
			again, err := fastjson.ParseBytes(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if back, err := ReadHeader(again); err != nil {
				t.Fatalf("%s: %v", text, err)
			} else if diff := cmp.Diff(h, back); diff != "" && !strings.ContainsRune(string(text), '\uFFFD') {
				t.Fatalf("%s (-want +got):\n%s", text, diff)
			}
		}
		if m, err := ReadMark(v); err == nil && m.End != nil {
			line := AppendEnd(nil, []byte("1"), m.End)
			again, err := fastjson.ParseBytes(line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if _, err := ReadMark(again.Get("trace")); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
	})
}
