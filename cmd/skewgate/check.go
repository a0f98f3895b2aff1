package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/skewgate/skewgate/appliance/config"
)

// checked is what `check --json` prints.
type checked struct {
	Schema   int              `json:"schema"`
	File     string           `json:"file"`
	OK       bool             `json:"ok"`
	Errors   int              `json:"errors"`
	Warnings int              `json:"warnings"`
	Problems []config.Problem `json:"problems"`
	Plan     *plan            `json:"plan"` // null with errors
}

func newCheckCmd() *cobra.Command {
	var file configFlag
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Read a config and say everything that is wrong with it, and what it would run",
		Long: `Read a config with the manifests and networks it names, and say everything that is
wrong at once, each with file, line, column and cure. Without errors, say what would run, and
of each camera how its messages are matched and what that can do wrong: mix two pictures, or
split one. The words are in docs/matching.md.

Exit code 0 with no problem or only warnings, 78 with an error. A film or camera that is
not there is a warning: the appliance runs and retries it. Whether this machine has what
a run needs is said by ` + "`skewgate doctor`" + `.`,
		Example: `  skewgate check -c /etc/skewgate/config.yaml
  skewgate check -c skewgate.yaml --json | jq '.problems[]'`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := file.find()
			if err != nil {
				return err
			}
			cfg, problems := config.Load(path, config.Options{})
			c := checked{Schema: 1, File: path, OK: cfg != nil, Problems: problems}
			c.Errors, c.Warnings = countProblems(problems)
			if cfg != nil {
				c.Plan = planOf(cfg)
			}
			write := c.print
			if asJSON {
				write = c.printJSON
			}
			if err := write(cmd.OutOrStdout()); err != nil {
				return fmt.Errorf("print what was found: %w", err)
			}
			if !c.OK {
				return exit(exitConfig, nil)
			}
			return nil
		},
	}
	file.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print problems and plan as one JSON document")
	return cmd
}

func (c *checked) printJSON(out io.Writer) error {
	if c.Problems == nil {
		c.Problems = []config.Problem{} // [] and not null
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(c)
}

func (c *checked) print(out io.Writer) error {
	for _, p := range c.Problems {
		if _, err := fmt.Fprintln(out, p); err != nil {
			return err
		}
	}
	if !c.OK {
		_, err := fmt.Fprintf(out, "%s: %s, %s\n", c.File, count(c.Errors, "error"), count(c.Warnings, "warning"))
		return err
	}
	words := "ok"
	if c.Warnings > 0 {
		words += ", " + count(c.Warnings, "warning")
	}
	if _, err := fmt.Fprintf(out, "%s: %s\n", c.File, words); err != nil {
		return err
	}
	return c.Plan.print(out)
}
