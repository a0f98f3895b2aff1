package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/skewgate/skewgate/appliance/advise"
)

func newAdviseCmd() *cobra.Command {
	var asJSON bool
	var svg string
	cmd := &cobra.Command{
		Use:   "advise FILE…|-",
		Short: "Say what another timeout or quantum would have made of a recording",
		Long: `Say what another timeout or quantum would have made of a recording, exactly: when a frame is
closed has no influence on when messages arrive, so one recording holds the outcome of every
setting.

For timeouts it prints how many frames would have been complete and how long a frame would have
waited on average, messages that came late and models that never came included. For quanta it
prints which share of the pictures would lie in two buckets (split), which share of the messages
would have met another picture of their own model (collision), and which share of the frames would
have joined two pictures (mix). Then it says which value it would take, why, and on how many
samples that rests; a p99 takes about 300.

The input is what ` + "`skewgate record`, `skewgate run --record` or `skewgate replay`" + ` write and read. Messages
beyond the first four million are left out, and that is said.

Exit codes: 0 worked out, 1 a file could not be read, 2 usage, 78 its settings are refused.`,
		Example: `  skewgate record --for 5m -o trace.jsonl && skewgate advise trace.jsonl
  skewgate advise --json trace.jsonl trace.jsonl.1 | jq .timeout.advice
  skewgate record --for 60s -o - | skewgate advise - --svg advice.svg`,
		Args: recordingArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := openRecording(args, cmd.InOrStdin())
			if err != nil {
				return err
			}
			defer in.Close()
			report, err := adviseOn(in, cmd.ErrOrStderr(), maxAdviseMessages)
			if err != nil {
				return err
			}
			if svg != "" {
				if err := writeFile(svg, func(w io.Writer) error { return advise.WriteSVG(w, report) }); err != nil {
					return err
				}
			}
			if asJSON {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return enc.Encode(report)
			}
			return printAdvice(cmd.OutOrStdout(), report)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print all curves and the advice as JSON")
	cmd.Flags().StringVar(&svg, "svg", "", "draw the curves into this file as well")
	return cmd
}

// writeFile makes a file whole or says why not.
func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		_ = file.Close()
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
