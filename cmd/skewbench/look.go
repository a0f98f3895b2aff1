package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/skewgate/skewgate/bench"
	"github.com/skewgate/skewgate/bench/machine"
	"github.com/skewgate/skewgate/bench/report"
)

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func newListCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the scenarios",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			type entry struct {
				Name  string `json:"name"`
				Short string `json:"short"`
			}
			var list []entry
			for _, s := range bench.Scenarios() {
				list = append(list, entry{s.Name, s.Short})
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{"schema": 1, "scenarios": list})
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, e := range list {
				fmt.Fprintf(w, "%s\t%s\n", e.Name, e.Short)
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newEnvCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: "Print the environment record as JSON: machine, kernel, versions, noise floor (takes a second)",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cpus, err := machine.Allowed()
			if err != nil {
				return err
			}
			var f measureFlags
			source, err := f.findSource()
			if err != nil {
				return err
			}
			env, err := machine.ReadEnvironment(source, cpus)
			if err != nil {
				return err
			}
			return printJSON(cmd.OutOrStdout(), map[string]any{"schema": 1, "environment": env})
		},
	}
}

func newCompareCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "compare BEFORE.json AFTER.json",
		Short: "Compare two reports; exit code 3 if a figure with a bound got worse",
		Long: `Compare two reports of "skewbench all --json" or results.json.

A difference counts when the ranges of the two do not touch. Overlapping ranges show
none: that is not the same as there being none.`,
		Args: usageArgs(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			var reports [2]*report.Report
			for i, name := range args {
				file, err := os.Open(name)
				if err != nil {
					return &exitError{exitUsage, err}
				}
				reports[i], err = report.Read(file, name)
				_ = file.Close() // only read
				if err != nil {
					return &exitError{exitUsage, err}
				}
			}
			changes := report.CompareReports(reports[0], reports[1])
			var err error
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), map[string]any{"schema": 1, "changes": changes})
			} else {
				err = report.CompareTable(cmd.OutOrStdout(), changes)
			}
			for _, c := range changes {
				if err == nil && c.Worse {
					err = &exitError{exitFindings, errSilent}
				}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
