package advise

import (
	"fmt"
	"math"
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
)

// Millis is a duration or an instant in nanoseconds. In JSON it is a number of milliseconds,
// exactly.
type Millis int64

// MarshalJSON writes the number.
func (m Millis) MarshalJSON() ([]byte, error) { return clock.AppendMillis(nil, int64(m)), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (m *Millis) UnmarshalJSON(b []byte) error {
	d, err := time.ParseDuration(string(b) + "ms")
	*m = Millis(d)
	return err
}

// String writes the number with its unit, rounded for a person to 4 digits or so.
func (m Millis) String() string {
	ms := float64(m) / 1e6
	switch size := math.Abs(ms); {
	case size >= 100:
		return fmt.Sprintf("%.0f ms", ms)
	case size >= 10:
		return fmt.Sprintf("%.1f ms", ms)
	case size >= 1:
		return fmt.Sprintf("%.2f ms", ms)
	}
	return fmt.Sprintf("%.3f ms", ms)
}

// Summary is of samples by nearest rank; nil where there are none.
type Summary struct {
	Count int    `json:"count"`
	P50   Millis `json:"p50_ms"`
	P99   Millis `json:"p99_ms"`
	Max   Millis `json:"max_ms"`
}

// rank returns the smallest of sorted values with at least that many thousandths at or below it.
func rank(sorted []int64, thousandths int) int64 {
	n := (len(sorted)*thousandths + 999) / 1000
	return sorted[max(n, 1)-1]
}

func summarize(sorted []int64) *Summary {
	if len(sorted) == 0 {
		return nil
	}
	return &Summary{len(sorted), Millis(rank(sorted, 500)), Millis(rank(sorted, 990)), Millis(sorted[len(sorted)-1])}
}

// share is part of whole, 0 of nothing.
func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
