package clock

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Now must lie inside a bracket of clock_gettime reads, up to the calibration's own error.
func TestNowIsClockMonotonic(t *testing.T) {
	const slackNS = 20_000
	outside := 0
	for range 10_000 {
		before := read(unix.CLOCK_MONOTONIC)
		now := int64(Now())
		after := read(unix.CLOCK_MONOTONIC)
		if now < before-slackNS || now > after+slackNS {
			outside++
		}
	}
	if outside != 0 {
		t.Errorf("%d of 10000 reads outside their clock_gettime bracket, want 0", outside)
	}
}

func TestNowNeverRunsBack(t *testing.T) {
	last := Now()
	for range 100_000 {
		now := Now()
		if now < last {
			t.Fatalf("Now ran back from %d to %d", last, now)
		}
		last = now
	}
}

func BenchmarkNow(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = Now()
	}
}

func TestAppendMillis(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0", 5_000_000: "5", 1: "0.000001", -1: "-0.000001", 1_500_000: "1.5", 16_666_667: "16.666667",
		-25_000_010: "-25.00001", 1<<63 - 1: "9223372036854.775807", -1 << 63: "-9223372036854.775808",
	} {
		if got := string(AppendMillis(nil, ns)); got != want {
			t.Errorf("%d ns is %s ms, want %s", ns, got, want)
		}
	}
}
