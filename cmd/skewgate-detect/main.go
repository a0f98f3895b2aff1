// Command skewgate-detect is the child that runs one model on ONNX Runtime: it takes pictures
// out of shared memory and publishes boxes into it. `skewgate run` starts it; a person uses
// `inspect`.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// version is set by the build (-ldflags -X main.version=…).
var version = "dev"

// Exit codes, the same as skewgate's.
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

func newRootCmd() *cobra.Command {
	root := &cobra.Command{
		Use:           "skewgate-detect",
		Short:         "Runs one vision model on ONNX Runtime for skewgate",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &exitError{exitUsage, err} })
	root.AddCommand(newRunCmd(), newInspectCmd())
	return root
}

func main() {
	err := newRootCmd().Execute()
	if err == nil {
		return
	}
	code := exitFailed
	if ee, ok := errors.AsType[*exitError](err); ok {
		code = ee.code
	}
	fmt.Fprintln(os.Stderr, "skewgate-detect:", err)
	os.Exit(code)
}
