package load

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

func TestQuantiles(t *testing.T) {
	h := NewHistogram()
	for ns := int64(1); ns <= 100_000; ns++ {
		h.Record(ns)
	}
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 0.999, 1} {
		want := q * 100_000
		if got := float64(h.Quantile(q)); math.Abs(got/want-1) > 0.002 {
			t.Errorf("quantile %v: want %.0f, got %.0f", q, want, got)
		}
	}
	if h.Count() != 100_000 || h.Outside() != 0 {
		t.Errorf("want 100000 inside, got %d, %d outside", h.Count(), h.Outside())
	}
}

func TestOutsideIsCountedAndKept(t *testing.T) {
	h := NewHistogram()
	for _, ns := range []int64{-5, 0, highestNS, highestNS + 1, math.MaxInt64, math.MinInt64} {
		h.Record(ns)
	}
	if h.Count() != 6 || h.Outside() != 4 {
		t.Errorf("want 6 recorded, 4 of them outside, got %d and %d", h.Count(), h.Outside())
	}
}

func TestHistogramAsText(t *testing.T) {
	h := NewHistogram()
	for i := range int64(1000) {
		h.Record(i * i)
	}
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	back := &Histogram{}
	if err := json.Unmarshal(text, back); err != nil {
		t.Fatal(err)
	}
	if !back.h.Equals(h.h) {
		t.Error("histogram changed on its way through text")
	}
	for _, bad := range []string{`""`, `"HISTFAAAA"`, `"not base64 !"`} {
		if err := json.Unmarshal([]byte(bad), &Histogram{}); err == nil {
			t.Errorf("%s: want an error", bad)
		}
	}
}

// TestLogRoundTrip reads the log with the library's reader, which is that of the format.
func TestLogRoundTrip(t *testing.T) {
	start := time.Date(2026, 11, 30, 20, 0, 0, 250e6, time.UTC)
	var intervals []Interval
	for i, tag := range []string{"go", "c", "go"} {
		h := NewHistogram()
		for n := range int64(100) {
			h.Record((n + 1) * int64(i+1) * 1000)
		}
		from := start.Add(time.Duration(i) * 3 * time.Second)
		intervals = append(intervals, Interval{Tag: tag, Start: from, End: from.Add(1500 * time.Millisecond), Latencies: h})
	}
	var log bytes.Buffer
	if err := WriteLog(&log, "a comment", intervals); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	head := []string{
		"#a comment", "#[Histogram log format version 1.3]", "#[BaseTime: 1796068800 (seconds since epoch)]",
		"#[StartTime: 1796068800 (seconds since epoch), 2026-11-30T20:00:00Z]",
		`"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"`,
	}
	for i, want := range head {
		if lines[i] != want {
			t.Errorf("line %d:\nwant %s\ngot  %s", i+1, want, lines[i])
		}
	}
	// Seconds since the base time, length in seconds, maximum in ms.
	if want := "Tag=c,3.250000,1.500000,0.200063,HISTFAAA"; !strings.HasPrefix(lines[6], want) {
		t.Errorf("second interval: want %s…, got %.60s", want, lines[6])
	}
	r := hdr.NewHistogramLogReader(&log)
	for i, want := range intervals {
		got, err := r.NextIntervalHistogram()
		if err != nil || got == nil {
			t.Fatalf("interval %d: %v, %v", i, got, err)
		}
		off := got.StartTimeMs() - want.Start.UnixMilli()
		if got.Tag() != want.Tag || off < -1 || off > 1 || !got.Equals(want.Latencies.h) {
			t.Errorf("interval %d: want %s at %v, got %s at %d ms, off by %d ms", i, want.Tag, want.Start, got.Tag(), got.StartTimeMs(), off)
		}
	}
	if more, err := r.NextIntervalHistogram(); more != nil || err != nil {
		t.Errorf("want the end, got %v, %v", more, err)
	}
}
