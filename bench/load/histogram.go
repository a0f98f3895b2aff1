package load

import (
	"fmt"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// What a Histogram can hold: 1 ns to 5 minutes with three significant digits.
const (
	lowestNS  = 1
	highestNS = 300_000_000_000
	digits    = 3
)

// A Histogram holds latencies in ns. It belongs to one goroutine.
type Histogram struct {
	h       *hdr.Histogram
	outside uint64
}

// NewHistogram is empty.
func NewHistogram() *Histogram {
	return &Histogram{h: hdr.New(lowestNS, highestNS, digits)}
}

// Record adds one latency. One that does not fit is counted in Outside and entered as
// the nearest that does: a negative one tells of clocks that disagree.
func (h *Histogram) Record(ns int64) {
	if ns < lowestNS || ns > highestNS {
		if ns != 0 {
			h.outside++
		}
		ns = min(max(ns, lowestNS), highestNS)
	}
	_ = h.h.RecordValue(ns) // in range, and no run lasts until a counter overflows
}

// Outside counts values below 0 or above 5 minutes.
func (h *Histogram) Outside() uint64 { return h.outside }

// Count is the number of latencies recorded.
func (h *Histogram) Count() uint64 { return uint64(h.h.TotalCount()) }

// Quantile of q in 0…1, in ns; 0 when nothing was recorded.
func (h *Histogram) Quantile(q float64) int64 { return h.h.ValueAtQuantile(q * 100) }

// Max is the largest latency in ns.
func (h *Histogram) Max() int64 { return h.h.Max() }

// MarshalText is the standard compressed V2 encoding in base64.
func (h *Histogram) MarshalText() ([]byte, error) { return h.h.EncodeV2() }

// UnmarshalText reads what MarshalText wrote. Values outside are not in it.
func (h *Histogram) UnmarshalText(text []byte) error {
	decoded, err := hdr.Decode(text)
	if err != nil {
		return fmt.Errorf("decode histogram: %w", err)
	}
	h.h, h.outside = decoded, 0
	return nil
}
