package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skewgate/skewgate/bench/report"
)

// TestFlatOutLosesNothing: the writer laps a small ring many times over, and the bench
// keeps it from overtaking the reader by a word outside of the ring.
func TestFlatOutLosesNothing(t *testing.T) {
	h := tinyHarness(t)
	for _, slots := range []int{2, 64} {
		read, wrote, err := h.ring(within(t, 5*time.Minute), ringRun{slots: slots, messages: 20_000, wait: waitSpin, limit: 4 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if read.Lost != 0 || read.Messages != 20_000 || wrote.Messages != 20_000 {
			t.Errorf("%d slots: want 20000 sent and received, got %d and %d, %d lost", slots, wrote.Messages, read.Messages, read.Lost)
		}
		if read.rate() <= 0 {
			t.Errorf("%d slots: no rate from %+v", slots, read)
		}
	}
}

// TestOpenLoopDoesNotWait: at a rate that no reader of two slots can follow, messages
// are lost, none is invented, and each is accounted for.
func TestOpenLoopDoesNotWait(t *testing.T) {
	h := tinyHarness(t)
	read, wrote, err := h.ring(within(t, 5*time.Minute), ringRun{
		slots: 2, messages: 200_000, rate: 50e6, poisson: true, wait: waitSpin, limit: 4 * time.Minute, mayFail: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if read.Lost == 0 {
		t.Error("a reader of 2 slots kept up with 50 M messages/s")
	}
	if read.Messages+read.Lost != wrote.Messages || read.Latencies.Count() != read.Messages {
		t.Errorf("sent %d, received %d, lost %d, timed %d", wrote.Messages, read.Messages, read.Lost, read.Latencies.Count())
	}
}

// TestAdaptiveReaderSleeps: what the appliance's path does between rare messages.
func TestAdaptiveReaderSleeps(t *testing.T) {
	h := tinyHarness(t)
	read, _, err := h.ring(within(t, 5*time.Minute), ringRun{slots: 256, messages: 200, rate: 200, wait: waitAdaptive, limit: 4 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if read.Lost != 0 || read.Latencies.Count() != 200 {
		t.Errorf("want 200 messages, none lost, got %d, %d lost", read.Latencies.Count(), read.Lost)
	}
	// A spinning reader uses what the machine gives it: half a core and more even here.
	if share := float64(read.CPUNS) / float64(read.LastNS-read.FirstNS); share > 0.3 {
		t.Errorf("the reader used %.2f of a core for 200 messages/s: it does not sleep", share)
	}
}

func TestRunIsBounded(t *testing.T) {
	h := tinyHarness(t)
	began := time.Now()
	// An hour's worth of messages.
	_, _, err := h.ring(within(t, 5*time.Minute), ringRun{slots: 64, messages: 3600, rate: 1, wait: waitSpin, limit: 500 * time.Millisecond})
	if err == nil {
		t.Fatal("a run of an hour ended well within half a second")
	}
	if !strings.Contains(err.Error(), "500") {
		t.Errorf("want an error that names the limit, got %v", err)
	}
	if took := time.Since(began); took > 2*time.Minute {
		t.Errorf("it took %v", took)
	}
}

// TestBrokenSideIsNamed: its own words arrive, and the other side does not hang on.
func TestBrokenSideIsNamed(t *testing.T) {
	h := tinyHarness(t)
	h.Program = []string{"/bin/sh", "-c", `case $0 in *writer*) echo out of luck >&2; exit 3;; *) exec sleep 600;; esac`}
	_, _, err := h.ring(within(t, 5*time.Minute), ringRun{slots: 64, messages: 10, wait: waitSpin, limit: 4 * time.Minute})
	if err == nil || !strings.Contains(err.Error(), "writer") || !strings.Contains(err.Error(), "out of luck") {
		t.Errorf("want the writer's own words, got %v", err)
	}
}

// TestMissingMessagesAreNoFigure: a reader that received less than was sent, and says it
// lost nothing, must not pass for a fast one.
func TestMissingMessagesAreNoFigure(t *testing.T) {
	h := tinyHarness(t)
	h.Program = []string{"/bin/sh", "-c", `case $0 in *writer*) echo '{"messages":10}';; *) echo '{"messages":9}';; esac`}
	_, _, err := h.ring(within(t, 5*time.Minute), ringRun{slots: 64, messages: 10, wait: waitSpin, limit: 4 * time.Minute})
	if err == nil || !strings.Contains(err.Error(), "do not add up") {
		t.Errorf("want an error about the count, got %v", err)
	}
}

func TestRoleRefusesStrangers(t *testing.T) {
	for _, args := range [][]string{nil, {"{}"}, {"no json"}, {`{"role":"cook"}`}, {"{}", "{}"}} {
		if err := Role(args); err == nil {
			t.Errorf("Role(%q): want an error", args)
		}
	}
}

func TestCompilerErrorIsShown(t *testing.T) {
	h := tinyHarness(t)
	if err := os.WriteFile(filepath.Join(h.dir, "peers", "broken.c"), []byte("int main(void) { return nonsense; }"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := h.compile(within(t, time.Minute), "broken")
	if err == nil || !strings.Contains(err.Error(), "nonsense") || !strings.Contains(err.Error(), "broken") {
		t.Errorf("want the compiler's words, got %v", err)
	}
}

// TestRepeatEndsWhenToldTo: a broken repetition, and an interrupt between two.
func TestRepeatEndsWhenToldTo(t *testing.T) {
	h := tinyHarness(t)
	h.Reps = 5
	row := &report.Row{Name: "x"}
	broken := errors.New("broken")
	err := h.repeat(context.Background(), "x", []*report.Row{row}, func(_ context.Context, rep int) ([]report.Run, error) {
		return nil, broken
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "repetition 1") {
		t.Errorf("want the error and its repetition, got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := 0
	err = h.repeat(ctx, "x", []*report.Row{row}, func(context.Context, int) ([]report.Run, error) {
		done++
		cancel()
		return []report.Run{{Value: 1}}, nil
	})
	if !errors.Is(err, context.Canceled) || done != 1 {
		t.Errorf("want an end after one repetition, got %d, %v", done, err)
	}
}

// TestFailedRepetitionKeepsTheOthers: what was measured before stays in the report, which
// names the one that failed; a scenario that fails before it measures has a row as well.
func TestFailedRepetitionKeepsTheOthers(t *testing.T) {
	h := tinyHarness(t)
	h.Reps, h.Tries = 4, 1
	luck := Scenario{Name: "luck", Short: "a figure", run: func(ctx context.Context, h *Harness) ([]report.Row, error) {
		rows := []*report.Row{{Name: "luck_a", What: "one side"}, {Name: "luck_b", What: "the other"}}
		err := h.repeat(ctx, "luck", rows, func(_ context.Context, rep int) ([]report.Run, error) {
			if rep == 2 {
				return []report.Run{{Value: 1000}, {Value: 1000}}, errors.New("out of luck")
			}
			return []report.Run{{Value: float64(10 + rep)}, {Value: float64(20 + rep)}}, nil
		})
		return settled(rows), err
	}}
	rows, err := h.Run(context.Background(), luck)
	if err == nil || !strings.Contains(err.Error(), "luck, repetition 3: out of luck") {
		t.Errorf("want an error that names scenario and repetition, got %v", err)
	}
	if len(rows) != 2 || rows[0].Figure.N != 2 || rows[0].Figure.Max != 11 || rows[1].Figure.Min != 20 {
		t.Fatalf("want two rows of two runs each, got %+v", rows)
	}
	for _, r := range rows {
		if !strings.Contains(r.Failed, "repetition 3: out of luck") || r.Doubt == "" {
			t.Errorf("row %s does not say what failed: %q, doubt %q", r.Name, r.Failed, r.Doubt)
		}
	}
	var table strings.Builder
	if err := (&report.Report{Rows: rows}).Table(&table); err != nil || !strings.Contains(table.String(), "failed: luck, repetition 3: out of luck") {
		t.Errorf("the table does not say it (%v):\n%s", err, table.String())
	}

	early := Scenario{Name: "early", Short: "nothing", run: func(context.Context, *Harness) ([]report.Row, error) { return nil, errors.New("no compiler") }}
	rows, err = h.Run(context.Background(), early)
	if err == nil || len(rows) != 1 || rows[0].Name != "early" || !strings.Contains(rows[0].Failed, "no compiler") || rows[0].Verdict() != report.NotMeasured {
		t.Errorf("want a row that says why nothing was measured, got %+v, %v", rows, err)
	}
}

// TestRepeatTriesAreBounded: quiet or not, there is an end, and each run is on record.
func TestRepeatTriesAreBounded(t *testing.T) {
	h := tinyHarness(t)
	h.Reps, h.Tries = 2, 2
	row := &report.Row{Name: "x", Unit: "ns", RunUnit: "ns"}
	done := 0
	err := h.repeat(context.Background(), "x", []*report.Row{row}, func(context.Context, int) ([]report.Run, error) {
		done++
		time.Sleep(20 * time.Millisecond)
		return []report.Run{{Value: float64(done)}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if done < 2 || done > 4 || len(row.Runs) != done || row.Figure.N == 0 {
		t.Errorf("want 2…4 repetitions, all on record, got %d, row %+v", done, row)
	}
}
