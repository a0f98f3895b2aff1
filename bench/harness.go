package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/skewgate/skewgate/bench/load"
	"github.com/skewgate/skewgate/bench/machine"
	"github.com/skewgate/skewgate/bench/report"
)

// A Harness runs scenarios. It belongs to one goroutine.
type Harness struct {
	Options
	writerCPU, readerCPU int

	dir    string                     // of what is compiled
	built  map[string]string          // C programs by name
	logged map[string][]load.Interval // histograms by scenario
	during machine.Load               // the worst of what the repetition's sides ran under
}

// NewHarness checks the options and the machine. Close it.
func NewHarness(o Options) (*Harness, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	h := &Harness{Options: o, built: map[string]string{}, logged: map[string][]load.Interval{}}
	var err error
	if h.writerCPU, h.readerCPU, err = machine.Pair(); err != nil {
		return nil, err
	}
	if h.dir, err = os.MkdirTemp("", "skewbench-"); err != nil {
		return nil, fmt.Errorf("make a folder for compiled peers: %w", err)
	}
	if err := os.CopyFS(h.dir, peerSources); err != nil {
		return nil, errors.Join(fmt.Errorf("unpack C sources: %w", err), h.Close())
	}
	return h, nil
}

// Close removes what was compiled.
func (h *Harness) Close() error { return os.RemoveAll(h.dir) }

// Environment reads the environment record; it takes a second.
func (h *Harness) Environment() (machine.Environment, error) {
	return machine.ReadEnvironment(h.Source, []int{h.writerCPU, h.readerCPU})
}

// repeat calls once, which runs all sides of a comparison through inTurn, until Reps
// repetitions had the machine for themselves or all tries are used up. Each appends a run
// to each row. When one fails the rows keep what the earlier ones measured, and say so.
func (h *Harness) repeat(ctx context.Context, name string, rows []*report.Row, once func(ctx context.Context, rep int) ([]report.Run, error)) error {
	defer func() {
		for _, row := range rows {
			row.Settle(h.Reps)
		}
	}()
	quiet := 0
	for try := 0; try < h.Reps*h.Tries && quiet < h.Reps; try++ {
		h.during = machine.Load{}
		runs, err := once(ctx, try)
		if err != nil {
			err = fmt.Errorf("%s, repetition %d: %w", name, try+1, err)
			for _, row := range rows {
				row.Failed = err.Error()
			}
			return err
		}
		if h.during.Quiet() {
			quiet++
		}
		for i := range runs {
			runs[i].Load, runs[i].Quiet = h.during, h.during.Quiet()
			rows[i].Runs = append(rows[i].Runs, runs[i])
		}
		h.say(name, try, runs, h.during)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// inTurn runs all sides, another one first each time: who goes first may find the machine
// warmer or colder. It waits for a quiet moment before each, and notes what others did
// meanwhile.
func (h *Harness) inTurn(ctx context.Context, rep int, sides ...func() error) error {
	for i := range sides {
		if _, err := machine.WaitQuiet(ctx, h.Patience); err != nil {
			return err
		}
		before, err := machine.ReadUsage()
		if err != nil {
			return err
		}
		if err := sides[(rep+i)%len(sides)](); err != nil {
			return err
		}
		after, err := machine.ReadUsage()
		if err != nil {
			return err
		}
		h.during = h.during.Worst(after.Since(before))
	}
	return nil
}

func (h *Harness) say(name string, try int, runs []report.Run, during machine.Load) {
	if h.Progress == nil {
		return
	}
	state := "quiet"
	if !during.Quiet() {
		state = fmt.Sprintf("busy: %.2f cores to others, %.2f stolen", during.Others, during.Steal)
	}
	fmt.Fprintf(h.Progress, "%s %s #%d", time.Now().UTC().Format(time.TimeOnly), name, try+1)
	for _, r := range runs {
		fmt.Fprintf(h.Progress, "  %.4g", r.Value)
		if r.Peer != 0 {
			fmt.Fprintf(h.Progress, "/%.4g", r.Peer)
		}
	}
	fmt.Fprintf(h.Progress, "  %s\n", state)
}
