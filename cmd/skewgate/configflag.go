package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skewgate/skewgate/appliance/config"
)

// defaultConfigs are tried in this order when no -c is given.
var defaultConfigs = []string{"skewgate.yaml", "/etc/skewgate/config.yaml"}

// configFlag is -c, --config of every verb that reads a config.
type configFlag struct{ path string }

func (f *configFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.path, "config", "c", "", "config file (default ./skewgate.yaml, else /etc/skewgate/config.yaml)")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
}

// find returns the file to read; none is a fault of the config.
func (f *configFlag) find() (string, error) {
	if f.path != "" {
		return f.path, nil
	}
	for _, path := range defaultConfigs {
		// A file that is there and may not be read is the one meant: reading it says why.
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
	}
	return "", exit(exitConfig, fmt.Errorf("no config at %s: name one with -c; docs/config.example.yaml is one to start from", strings.Join(defaultConfigs, " or ")))
}

// load reads the config. With an error among its problems it prints all of them, one a line,
// on standard error, and returns code 78; what are only warnings goes to the log.
func (f *configFlag) load(cmd *cobra.Command, log *slog.Logger) (*config.Config, error) {
	path, err := f.find()
	if err != nil {
		return nil, err
	}
	cfg, problems := config.Load(path, config.Options{})
	if cfg == nil {
		for _, p := range problems {
			fmt.Fprintln(cmd.ErrOrStderr(), p)
		}
		errs, _ := countProblems(problems)
		return nil, exit(exitConfig, fmt.Errorf("%s has %s: mend them, `skewgate check -c %s` says when it is right", path, count(errs, "error"), path))
	}
	for _, p := range problems {
		log.Warn("config: "+p.Text, "key", p.Key, "at", fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col), "cure", p.Cure)
	}
	return cfg, nil
}

func countProblems(problems []config.Problem) (errs, warnings int) {
	for _, p := range problems {
		if p.Severity == config.SeverityError {
			errs++
		} else {
			warnings++
		}
	}
	return errs, warnings
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
