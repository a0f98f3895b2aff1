package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skewgate/skewgate/bench/report"
)

// TestScenariosWork runs each with real processes and tiny counts. What a scenario must
// not lose, it loses here neither, or it would not give rows.
func TestScenariosWork(t *testing.T) {
	for _, s := range Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			h := tinyHarness(t)
			rows, err := h.Run(within(t, 5*time.Minute), s)
			if err != nil {
				t.Fatal(err)
			}
			if len(rows) == 0 {
				t.Fatal("no rows")
			}
			for _, r := range rows {
				if r.Missing != "" {
					t.Errorf("%s is not measured though all its parts are in the tree: %s", r.Name, r.Missing)
					continue
				}
				checkRow(t, r)
			}
		})
	}
}

func checkRow(t *testing.T, r report.Row) {
	t.Helper()
	if r.Figure.N != 1 || len(r.Runs) != 1 || r.What == "" || r.RunUnit == "" {
		t.Errorf("%s: want one repetition and a description, got %+v", r.Name, r)
	}
	// The most is far beyond any machine, the least is what a counter forgotten gives.
	mayBeZero := strings.HasSuffix(r.Name, "_allocs") || r.Name == "openloop" || r.Name == "adaptive_cpu" || strings.HasPrefix(r.Name, "probe")
	if v := r.Ours.Median; !(v > 0 || mayBeZero) || v > 1e10 {
		t.Errorf("%s: %v %s makes no sense", r.Name, v, r.RunUnit)
	}
	if r.PeerName != "" && !(r.Peer.Median > 0) {
		t.Errorf("%s: peer %s has no figure: %v", r.Name, r.PeerName, r.Peer.Median)
	}
}

func TestHistogramLogsLieBesideTheResults(t *testing.T) {
	h := tinyHarness(t)
	s, err := Find("latency")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Run(within(t, 5*time.Minute), s); err != nil {
		t.Fatal(err)
	}
	if err := h.WriteLogs(); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(h.Out, "latency.hlog"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"#[Histogram log format version 1.3]\n", "\nTag=go,", "\nTag=c,"} {
		if strings.Count(string(log), text) != 1 {
			t.Errorf("log has %q %d times, want once:\n%s", text, strings.Count(string(log), text), log)
		}
	}
}

func TestFindNamesWhatThereIs(t *testing.T) {
	_, err := Find("speed")
	if err == nil || !strings.Contains(err.Error(), "throughput") {
		t.Errorf("want an error that lists the scenarios, got %v", err)
	}
}

func TestOptionsRefused(t *testing.T) {
	fine := Options{Reps: 1, Tries: 1, Scale: 1, Program: []string{"x"}}
	for name, spoil := range map[string]func(*Options){
		"no repetition": func(o *Options) { o.Reps = 0 }, "too many": func(o *Options) { o.Reps = maxReps + 1 },
		"no try": func(o *Options) { o.Tries = 0 }, "tries": func(o *Options) { o.Tries = maxTries + 1 },
		"no scale": func(o *Options) { o.Scale = 0 }, "too large": func(o *Options) { o.Scale = maxScale + 1 },
		"patience": func(o *Options) { o.Patience = -1 }, "endless": func(o *Options) { o.Patience = 2 * time.Hour },
		"no program": func(o *Options) { o.Program = nil },
	} {
		o := fine
		spoil(&o)
		if _, err := NewHarness(o); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
}

func TestInTurn(t *testing.T) {
	var order strings.Builder
	side := func(name string) func() error {
		return func() error { order.WriteString(name); return nil }
	}
	h := tinyHarness(t)
	for rep := range 3 {
		if err := h.inTurn(t.Context(), rep, side("a"), side("b")); err != nil {
			t.Fatal(err)
		}
	}
	if got := order.String(); got != "abbaab" {
		t.Errorf("want each side first in turn, abbaab, got %s", got)
	}
}
