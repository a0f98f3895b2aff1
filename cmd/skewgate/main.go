// Command skewgate is the appliance and its verbs: one frame, several models, one
// trustworthy answer.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// Exit codes, the same for every verb.
const (
	exitFailed   = 1
	exitUsage    = 2
	exitFindings = 3
	exitConfig   = 78 // EX_CONFIG of sysexits.h
)

// exitError carries the process's exit code along with what to print.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// exit wraps err so that main ends with code. A nil err prints nothing more:
// the verb has said what there was to say.
func exit(code int, err error) error {
	if err == nil {
		err = errSilent
	}
	return &exitError{code: code, err: err}
}

// errSilent marks an exit whose message the verb has already printed.
var errSilent = errors.New("")

func newRootCmd() *cobra.Command {
	root := &cobra.Command{
		Use:           "skewgate",
		Short:         "One trustworthy answer per frame from several vision models on one box",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exit(exitUsage, err) })
	root.AddCommand(
		newRunCmd(), newCheckCmd(), newDemoCmd(), newDoctorCmd(), newStatusCmd(),
		newRecordCmd(), newReplayCmd(), newAdviseCmd(), newExplainCmd(), newFuseCmd(), newRingCmd(), newVersionCmd(), newCaptureCmd(),
	)
	return root
}

func main() {
	err := newRootCmd().Execute()
	if err == nil {
		return
	}
	code := exitFailed
	var ee *exitError
	if errors.As(err, &ee) {
		code = ee.code
	}
	if !errors.Is(err, errSilent) {
		fmt.Fprintln(os.Stderr, "skewgate:", err)
	}
	os.Exit(code)
}
