package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/skewgate/skewgate/bench/load"
)

// keep notes latencies for the histogram log of a scenario.
func (h *Harness) keep(scenario, tag string, start time.Time, latencies *load.Histogram) {
	h.logged[scenario] = append(h.logged[scenario], load.Interval{Tag: tag, Start: start, End: time.Now(), Latencies: latencies})
}

// WriteLogs writes the histograms of all scenarios run so far, one file each, into
// Options.Out.
func (h *Harness) WriteLogs() error {
	if h.Out == "" || len(h.logged) == 0 {
		return nil
	}
	if err := os.MkdirAll(h.Out, 0o755); err != nil {
		return fmt.Errorf("make folder for histogram logs: %w", err)
	}
	for scenario, intervals := range h.logged {
		f, err := os.Create(filepath.Join(h.Out, scenario+".hlog"))
		if err != nil {
			return fmt.Errorf("write histogram log: %w", err)
		}
		err = load.WriteLog(f, "latencies of scenario "+scenario+" in ns, from the intended time of sending", intervals)
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return err
		}
	}
	return nil
}
