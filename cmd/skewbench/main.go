// Command skewbench measures skewgate on the machine at hand, against what one would use
// in its place.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/skewgate/skewgate/bench"
)

// Exit codes, as those of skewgate.
const (
	exitFailed   = 1
	exitUsage    = 2
	exitFindings = 3 // a bound is missed, or a figure is worse than before
)

// exitError carries the process's exit code along with what to print.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// errSilent marks an exit whose message was printed already.
var errSilent = errors.New("")

func newRootCmd() *cobra.Command {
	root := &cobra.Command{
		Use:   "skewbench",
		Short: "Measure skewgate on this machine",
		Long: `Measure skewgate on this machine, against what one would use in its place.

A figure is a median over repetitions with its spread. Repetitions during which other
processes or the hypervisor used the machine do not count and are tried again; with too
few left the row says "few quiet runs", and if none remains all count and it says "busy
machine". docs/benchmarks.md says what each figure means.

Exit codes: 0; 1 failed; 2 usage; 3 a bound is missed, has no figure, or is worse.`,
		SilenceUsage: true, SilenceErrors: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &exitError{exitUsage, err} })
	root.AddCommand(newAllCmd(), newListCmd(), newEnvCmd(), newCompareCmd())
	for _, s := range bench.Scenarios() {
		root.AddCommand(newScenarioCmd(s))
	}
	return root
}

// usageArgs makes a wrong number of arguments a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &exitError{exitUsage, fmt.Errorf("%s: %w (see `skewbench %s --help`)", cmd.Name(), err, cmd.Name())}
		}
		return nil
	}
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == bench.RoleArg {
		if err := bench.Role(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "skewbench:", err)
			os.Exit(exitFailed)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRootCmd().ExecuteContext(ctx)
	stop()
	if err == nil {
		return
	}
	code := exitFailed
	var ee *exitError
	if errors.As(err, &ee) {
		code = ee.code
	}
	if !errors.Is(err, errSilent) {
		fmt.Fprintln(os.Stderr, "skewbench:", err)
	}
	os.Exit(code)
}
