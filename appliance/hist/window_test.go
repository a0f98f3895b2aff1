package hist

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestNearestRank(t *testing.T) {
	for _, tc := range []struct {
		name   string
		values []int64
		want   Summary
	}{
		{"nothing", nil, Summary{}},
		{"one", []int64{7}, Summary{1, 7, 7, 7}},
		{"zero is a value", []int64{0}, Summary{1, 0, 0, 0}},
		{"two: p50 is the lower", []int64{400, 1}, Summary{2, 1, 400, 400}},
		{"three", []int64{3, 1, 2}, Summary{3, 2, 3, 3}},
		{"hundred: p99 is the 99th", oneTo(100), Summary{100, 50, 99, 100}},
		{"hundred and one: p99 is the 100th", oneTo(101), Summary{101, 51, 100, 101}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Summarize(tc.values)); diff != "" {
				t.Errorf("figures differ (-want +got):\n%s", diff)
			}
		})
	}
}

func oneTo(n int64) []int64 {
	var v []int64
	for i := n; i > 0; i-- {
		v = append(v, i)
	}
	return v
}

// R000-16: the window moves by itself; a value must not freeze when no new one comes.
func TestWindowEmptiesWithoutNewSamples(t *testing.T) {
	w := NewWindow(60, 100)
	w.Add(0, 5)
	if got := w.Summary(59); got.Count != 1 || got.Max != 5 {
		t.Errorf("at 59 of 60: %+v, want the one sample", got)
	}
	if got := w.Summary(60); got != (Summary{}) {
		t.Errorf("at the age of the span: %+v, want nothing", got)
	}
}

func TestWindowOfNoSpanHoldsNothing(t *testing.T) {
	w := NewWindow(0, 100)
	w.Add(1, 5)
	if got := w.Len(1); got != 0 {
		t.Errorf("%d samples, want 0", got)
	}
}

func TestWindowFullDropsOldestAndCounts(t *testing.T) {
	w := NewWindow(math.MaxInt64, 64)
	for i := range int64(100) {
		w.Add(i, i)
	}
	if got, want := w.Overflow(), uint64(36); got != want {
		t.Errorf("overflow %d, want %d", got, want)
	}
	if got := w.AppendValues(nil, 100); got[0] != 36 || len(got) != 64 {
		t.Errorf("oldest kept %d of %d samples, want 36 of 64", got[0], len(got))
	}
}

// The ring against a plain slice.
func TestWindowAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := rapid.Int64Range(0, 50).Draw(t, "span")
		w := NewWindow(span, 1<<12)
		var plain []sample
		now := int64(-20)
		for range rapid.IntRange(0, 400).Draw(t, "steps") {
			now += rapid.Int64Range(0, 5).Draw(t, "dt")
			s := sample{now, rapid.Int64Range(-3, 1000).Draw(t, "value")}
			w.Add(s.at, s.value)
			plain = append(plain, s)
		}
		now += rapid.Int64Range(0, 60).Draw(t, "wait")
		var want []int64
		for _, s := range plain {
			if now-s.at < span {
				want = append(want, s.value)
			}
		}
		if got := w.AppendValues(nil, now); !slices.Equal(got, want) {
			t.Fatalf("values %v, want %v", got, want)
		}
	})
}

func TestAddAllocatesNothingWhenWarm(t *testing.T) {
	w := NewWindow(1000, 4096)
	now := int64(0)
	add := func() { now++; w.Add(now, now) }
	for range 5000 {
		add()
	}
	if n := testing.AllocsPerRun(1000, add); n != 0 {
		t.Errorf("%v allocations an Add, want 0", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	w := NewWindow(60e9, DefaultLimit)
	now := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		now += 1000
		w.Add(now, now)
	}
}
