package load

import (
	"errors"
	"fmt"
	"io"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// An Interval is one line of a histogram log: what was measured from Start to End.
type Interval struct {
	Tag        string // no comma, no space
	Start, End time.Time
	Latencies  *Histogram
}

// WriteLog writes intervals in the HdrHistogram log format, version 1.3, which
// HistogramLogAnalyzer and the like read. Times are kept to the millisecond, the
// column of the maximum is in ms.
func WriteLog(out io.Writer, comment string, intervals []Interval) error {
	w := hdr.NewHistogramLogWriter(out)
	var start int64
	for i, in := range intervals {
		if ms := in.Start.UnixMilli(); i == 0 || ms < start {
			start = ms
		}
	}
	start -= start % 1000 // the format's base time is in whole seconds
	w.SetBaseTime(start)
	err := errors.Join(w.OutputComment(comment), w.OutputLogFormatVersion(),
		w.OutputBaseTime(start), w.OutputStartTime(start), w.OutputLegend())
	if err != nil {
		return fmt.Errorf("write histogram log: %w", err)
	}
	for _, in := range intervals {
		h := in.Latencies.h
		h.SetTag(in.Tag)
		h.SetStartTimeMs(in.Start.UnixMilli())
		h.SetEndTimeMs(in.End.UnixMilli())
		if err := w.OutputIntervalHistogram(h); err != nil {
			return fmt.Errorf("write histogram log, interval %q: %w", in.Tag, err)
		}
	}
	return nil
}
