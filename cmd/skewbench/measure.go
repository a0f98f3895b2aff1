package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/skewgate/skewgate/bench"
	"github.com/skewgate/skewgate/bench/report"
)

// measureFlags are the flags of everything that measures.
type measureFlags struct {
	reps     int
	tries    int
	scale    float64
	patience time.Duration
	out      string
	source   string
	asJSON   bool
}

func (f *measureFlags) add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.reps, "reps", 5, "repetitions that count")
	cmd.Flags().IntVar(&f.tries, "tries", 2, "tries of one repetition, until nobody else used the machine")
	cmd.Flags().Float64Var(&f.scale, "scale", 1, "factor on messages and times; below 0.1 figures mean little")
	cmd.Flags().DurationVar(&f.patience, "patience", 5*time.Second, "how long to wait for a quiet moment before each repetition")
	cmd.Flags().StringVar(&f.out, "out", "", "folder for results.json, environment.json and histogram logs (default: none are kept)")
	cmd.Flags().StringVar(&f.source, "source", "", "checkout with shm/c and shm/python (default: the one around the working folder)")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print the whole report as JSON")
}

func newAllCmd() *cobra.Command {
	var f measureFlags
	cmd := &cobra.Command{
		Use:   "all",
		Short: "Run all scenarios and print one table: bound, figure, spread, verdict",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.measure(cmd, bench.Scenarios())
		},
	}
	f.add(cmd)
	return cmd
}

func newScenarioCmd(s bench.Scenario) *cobra.Command {
	var f measureFlags
	cmd := &cobra.Command{
		Use:   s.Name,
		Short: s.Short,
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.measure(cmd, []bench.Scenario{s})
		},
	}
	f.add(cmd)
	return cmd
}

// measure runs scenarios, prints their report and keeps it if asked to. The report is
// printed even if a scenario fails: the others' figures are good.
func (f *measureFlags) measure(cmd *cobra.Command, scenarios []bench.Scenario) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	source, err := f.findSource()
	if err != nil {
		return err
	}
	h, err := bench.NewHarness(bench.Options{
		Reps: f.reps, Tries: f.tries, Scale: f.scale, Patience: f.patience, Out: f.out, Source: source,
		Progress: cmd.ErrOrStderr(), Program: []string{self, bench.RoleArg},
	})
	if err != nil {
		return &exitError{exitUsage, err}
	}
	defer h.Close()
	env, err := h.Environment()
	if err != nil {
		return err
	}
	rep := &report.Report{Schema: report.Schema, Environment: env, Logs: f.out}
	failed := runAll(cmd.Context(), h, scenarios, rep)
	if err := errors.Join(h.WriteLogs(), f.keep(rep)); err != nil {
		return err
	}
	if err := f.print(cmd.OutOrStdout(), rep); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	if missed, none := rep.Missed(); missed+none > 0 {
		return &exitError{exitFindings, fmt.Errorf("%d bounds missed, %d without a figure", missed, none)}
	}
	return nil
}

func runAll(ctx context.Context, h *bench.Harness, scenarios []bench.Scenario, rep *report.Report) error {
	var failed []error
	for _, s := range scenarios {
		rows, err := h.Run(ctx, s)
		rep.Rows = append(rep.Rows, rows...)
		if err != nil {
			failed = append(failed, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}

func (f *measureFlags) print(out io.Writer, rep *report.Report) error {
	if f.asJSON {
		return rep.Write(out)
	}
	return rep.Table(out)
}

// keep writes results.json and environment.json beside the histogram logs.
func (f *measureFlags) keep(rep *report.Report) error {
	if f.out == "" {
		return nil
	}
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return fmt.Errorf("make folder for results: %w", err)
	}
	if err := writeFile(filepath.Join(f.out, "results.json"), rep.Write); err != nil {
		return err
	}
	return writeFile(filepath.Join(f.out, "environment.json"), func(w io.Writer) error { return printJSON(w, rep.Environment) })
}

func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// findSource looks for go.mod from the working folder up. None found is no error: then
// what needs the checkout is not measured, and its rows say so.
func (f *measureFlags) findSource() (string, error) {
	if f.source != "" {
		if _, err := os.Stat(filepath.Join(f.source, "shm", "ABI.md")); err != nil {
			return "", &exitError{exitUsage, fmt.Errorf("--source %s is no checkout of skewgate: %w", f.source, err)}
		}
		return f.source, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the checkout (give --source): %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "shm", "ABI.md")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", nil
		}
		dir = filepath.Dir(dir)
	}
}
