package detect

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestReadInstant(t *testing.T) {
	const day = 24 * 3600 * int64(1e9)
	for _, tc := range []struct {
		text string
		unit NumberUnit
		want int64
	}{
		{"0", Milliseconds, 0},
		{" \t+1000\r\n", Milliseconds, 1_000_000_000},
		{"-1", Milliseconds, -1_000_000},
		{"1.5", Milliseconds, 1_500_000},
		{"0.000001", Milliseconds, 1},
		{"0.0000019", Milliseconds, 1},
		{"-0.0000001", Milliseconds, -1},                     // floor, not truncation
		{"-0.0000000001", Milliseconds, 0},                   // the tenth digit is cut first
		{"-0.0000000001", Seconds, 0},                        //
		{"-5.5", Nanoseconds, -6},                            //
		{"00000000000000000000000007", Milliseconds, 7e6},    // leading zeros are no magnitude
		{"9223372036854775807", Nanoseconds, math.MaxInt64},  //
		{"-9223372036854775808", Nanoseconds, math.MinInt64}, //
		{"9223372036.854775807", Seconds, math.MaxInt64},     //
		{"-9223372036.854775808", Seconds, math.MinInt64},    //
		{"1700000000", Auto, 1_700_000_000_000_000_000},
		{"1700000000000", Auto, 1_700_000_000_000_000_000},
		{"1700000000000000", Auto, 1_700_000_000_000_000_000},
		{"1700000000000000000", Auto, 1_700_000_000_000_000_000},
		{"-1700000000.25", Auto, -1_700_000_000_250_000_000},
		{"1970-01-01T00:00:00Z", 0, 0},
		{"1970-01-01 00:00:00", 0, 0}, // R000-5: no zone is UTC
		{"1970-01-02t00:00:00z", 0, day},
		{"1969-12-31T23:59:59.999999999", 0, -1},
		{"2016-12-31T23:59:60.010Z", 0, 1_483_228_800_010_000_000},
		{"2026-03-01T09:00:00,010+09:00", 0, 1_772_323_200_010_000_000},
		{"2026-03-01T09:00:00.01 +0900", 0, 1_772_323_200_010_000_000},
		{"2026-03-01T09:00:00.01+09", 0, 1_772_323_200_010_000_000},
		{"2026-02-28T15:00:00.01-09", 0, 1_772_323_200_010_000_000},
		{"2024-02-29T00:00:00.1234567899999Z", 0, 1_709_164_800_123_456_789},
		{"2262-04-11T23:47:16.854775807Z", 0, math.MaxInt64},
		{"1677-09-21T00:12:43.145224192Z", 0, math.MinInt64},
	} {
		t.Run(tc.text, func(t *testing.T) {
			got, ok := ReadInstant(tc.text, tc.unit)
			if !ok || got != tc.want {
				t.Errorf("got %d, %t; want %d", got, ok, tc.want)
			}
		})
	}
}

func TestAutoUnitEdges(t *testing.T) {
	for _, tc := range []struct {
		text string
		want int64
		ok   bool
	}{
		{"9223372036", 9_223_372_036_000_000_000, true},       // seconds
		{"99999999999", 0, false},                             // still seconds: the year 5138
		{"100000000000", 100_000_000_000_000_000, true},       // milliseconds
		{"99999999999999", 0, false},                          // still milliseconds
		{"100000000000000", 100_000_000_000_000_000, true},    // microseconds
		{"99999999999999999", 0, false},                       // still microseconds
		{"100000000000000000", 100_000_000_000_000_000, true}, // nanoseconds
	} {
		got, ok := ReadInstant(tc.text, Auto)
		if ok != tc.ok || got != tc.want {
			t.Errorf("%s: got %d, %t; want %d, %t", tc.text, got, ok, tc.want, tc.ok)
		}
	}
}

// R000-6: what cannot be read is refused, never guessed.
func TestReadInstantRefuses(t *testing.T) {
	for _, text := range []string{
		"", " ", "null", "true", "yesterday-ish", "???", "NaN", "Infinity", "-", "+", "+-1", "- 1",
		".5", "5.", "1e3", "1E3", "1_000", "0x10", "1,5", "1 000", "1 2", "１", "1\x00",
		"9223372036854775808ns", "9223372036855", "18446744073709551616", strings.Repeat("9", 400),
		"2026-03-01", "2026-03-01T", "2026-03-01T00:00", "2026-03-01T00:00Z", "2026-3-1T00:00:00",
		"20260301T000000Z", "2026-03-01_00:00:00", "2026-03-01  00:00:00", "2026-03-01T00:00:00.",
		"2026-03-01T00:00:00.Z", "2026-03-01T24:00:00", "2026-03-01T23:60:00", "2026-03-01T23:59:61",
		"2026-02-29T00:00:00", "1900-02-29T00:00:00Z", "2026-04-31T00:00:00", "2026-00-01T00:00:00",
		"2026-01-00T00:00:00", "2026-13-01T00:00:00", "2026-01-32T00:00:00", "0000-01-01T00:00:00",
		"2026-03-01T00:00:00+24", "2026-03-01T00:00:00+09:60", "2026-03-01T00:00:00+9", "2026-03-01T00:00:00+09:",
		"2026-03-01T00:00:00+090", "2026-03-01T00:00:00 + 09", "2026-03-01T00:00:00ZZ", "2026-03-01T00:00:00UTC",
		"2026-03-01T00:00:00Z+01", "+2026-03-01T00:00:00Z", "2262-04-11T23:47:16.854775808Z",
		"1677-09-21T00:12:43.145224191Z", "9999-12-31T23:59:59Z",
	} {
		t.Run(text, func(t *testing.T) {
			if got, ok := ReadInstant(text, Milliseconds); ok {
				t.Errorf("read as %d, want refused", got)
			}
		})
	}
}

// Against the standard library, which this package must not use itself.
func TestISOAgainstTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Int64().Draw(t, "ns")
		east := rapid.IntRange(-23*60-59, 23*60+59).Draw(t, "minutes east")
		at := time.Unix(0, ns).In(time.FixedZone("", east*60))
		if y := at.Year(); y < 1678 || y > 2261 {
			return // the zone may carry the text's date over the edge; TestReadInstant has the edges
		}
		layout := "2006-01-02T15:04:05.000000000-07:00"
		if rapid.Bool().Draw(t, "space and comma") {
			layout = "2006-01-02 15:04:05,000000000 -0700"
		}
		text := at.Format(layout)
		if got, ok := ReadInstant([]byte(text), Milliseconds); !ok || got != ns {
			t.Fatalf("%s: got %d, %t; want %d", text, got, ok, ns)
		}
	})
}

func TestEveryDayAgainstTime(t *testing.T) {
	for at := time.Date(1678, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2262; at = at.AddDate(0, 0, 1) {
		text := at.Format("2006-01-02T15:04:05Z")
		if got, ok := ReadInstant(text, Milliseconds); !ok || got != at.UnixNano() {
			t.Fatalf("%s: got %d, %t; want %d", text, got, ok, at.UnixNano())
		}
	}
}

var numberGrammar = regexp.MustCompile(`^[ \t\n\r]*([+-]?)([0-9]+)(?:\.([0-9]+))?[ \t\n\r]*$`)

// readNumberSlowly is the number grammar again, with a regular expression and big numbers.
func readNumberSlowly(text string, unit NumberUnit) (int64, bool) {
	m := numberGrammar.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	whole, _ := new(big.Int).SetString(m[2], 10)
	perUnit := map[NumberUnit]int64{Seconds: 1e9, Milliseconds: 1e6, Microseconds: 1e3, Nanoseconds: 1}[unit]
	if unit == Auto {
		switch {
		case whole.Cmp(big.NewInt(1e11)) < 0:
			perUnit = 1e9
		case whole.Cmp(big.NewInt(1e14)) < 0:
			perUnit = 1e6
		case whole.Cmp(big.NewInt(1e17)) < 0:
			perUnit = 1e3
		default:
			perUnit = 1
		}
	}
	fraction := (m[3] + "000000000")[:9]
	v, _ := new(big.Int).SetString(m[1]+m[2]+fraction, 10)
	v.Mul(v, big.NewInt(perUnit))
	v.Div(v, big.NewInt(1e9)) // Euclidean, which is floor for a positive divisor
	return v.Int64(), v.IsInt64()
}

func TestNumberAgainstBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(` ?[+-]?[0-9]{1,21}(\.[0-9]{0,12})? ?`).Draw(t, "text")
		unit := NumberUnit(rapid.IntRange(0, int(Auto)).Draw(t, "unit"))
		got, ok := ReadInstant(text, unit)
		want, wantOK := readNumberSlowly(text, unit)
		if ok != wantOK || ok && got != want {
			t.Fatalf("%q: got %d, %t; want %d, %t", text, got, ok, want, wantOK)
		}
	})
}

func FuzzReadInstant(f *testing.F) {
	for _, seed := range []string{"1000", "-0.0000001", "2016-12-31T23:59:60.010Z", "2026-03-01T09:00:00,010 +09:00", "9223372036854775807", "yesterday-ish", "1e3"} {
		f.Add([]byte(seed), uint8(Nanoseconds))
	}
	f.Fuzz(func(t *testing.T, text []byte, unit uint8) {
		u := NumberUnit(unit % (uint8(Auto) + 1))
		got, ok := ReadInstant(text, u)
		if asString, okString := ReadInstant(string(text), u); asString != got || okString != ok {
			t.Fatalf("%q reads differently as string (%d, %t) and as bytes (%d, %t)", text, asString, okString, got, ok)
		}
		if want, wantOK := readNumberSlowly(string(text), u); wantOK && (!ok || got != want) {
			t.Fatalf("%q: got %d, %t; want %d", text, got, ok, want)
		}
		if !ok {
			return
		}
		// What was read must read the same from its canonical text.
		if again, ok := ReadInstant(fmt.Sprint(got), Nanoseconds); !ok || again != got {
			t.Fatalf("%q: %d reads back as %d, %t", text, got, again, ok)
		}
	})
}

func TestReadInstantAllocatesNothing(t *testing.T) {
	text := []byte("2026-03-01T09:00:00.010+09:00")
	if n := testing.AllocsPerRun(100, func() { ReadInstant(text, Milliseconds) }); n != 0 {
		t.Errorf("%v allocations a read, want 0", n)
	}
}

func TestAppendRaw(t *testing.T) {
	at40 := strings.Repeat("x", 40)
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", ""},
		{"short", "yesterday-ish", "yesterday-ish"},
		{"at the bound", at40, at40},
		// the hash of 41 x, as sha256sum gives it
		{"one over", at40 + "x", "xxxxxxxxxxxxxxxxxxxxxxxx\u20263164596df4fdd018"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := string(AppendRaw(nil, []byte(tc.text))); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	a, b := AppendRaw(nil, []byte(at40+"a")), AppendRaw(nil, []byte(at40+"b"))
	if string(a) == string(b) {
		t.Errorf("texts that begin alike collide as %q", a)
	}
	if len(a) != ShortRawMax {
		t.Errorf("%d bytes, want %d", len(a), ShortRawMax)
	}
}
