package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/skewgate/skewgate/appliance/sink"
	"github.com/skewgate/skewgate/appliance/status"
	"github.com/skewgate/skewgate/shm"
)

// version and commit are set by the build: -ldflags "-X main.version=… -X main.commit=…".
// Without, commit is what the go tool has stamped, if it has.
var (
	version = "dev"
	commit  = ""
)

// versions is what `version --json` prints.
type versions struct {
	Schema   int            `json:"schema"`
	Version  string         `json:"version"`
	Commit   string         `json:"commit"`   // "" = not known
	Modified bool           `json:"modified"` // built from a tree with changes
	Go       string         `json:"go"`
	Platform string         `json:"platform"`
	ABI      int            `json:"shm_abi"`
	Schemas  map[string]int `json:"schemas"` // of what this program prints for others
}

func newVersionCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print this program's version and the versions of its formats",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := thisVersion()
			if asJSON {
				e := json.NewEncoder(cmd.OutOrStdout())
				e.SetIndent("", "  ")
				return e.Encode(v)
			}
			return v.print(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func thisVersion() versions {
	v := versions{
		Schema: 1, Version: version, Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		ABI: shm.Version, Schemas: map[string]int{"fused_frame": sink.Schema, "status": status.Schema},
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && commit == "":
			v.Commit = s.Value
		case s.Key == "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	// Installed with go install, there is no -ldflags.
	if v.Version == "dev" && info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	return v
}

func (v *versions) print(out io.Writer) error {
	commit := v.Commit
	switch {
	case commit == "":
		commit = "unknown"
	case v.Modified:
		commit += " with changes"
	}
	_, err := fmt.Fprintf(out, "skewgate %s\ncommit       %s\nbuilt with   %s for %s\nshm ABI      %d\nfused frame  schema %d\nstatus       schema %d\n",
		v.Version, commit, v.Go, v.Platform, v.ABI, v.Schemas["fused_frame"], v.Schemas["status"])
	return err
}
