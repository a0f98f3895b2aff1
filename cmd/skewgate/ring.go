package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/shm/client"
)

func newRingCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ring",
		Short: "Look into the shared-memory rings of a running appliance, read-only",
		Long: `Look into the shared-memory rings of a running appliance, read-only.

A detection ring is named MODEL/REPLICA, as people/0; the ring of fused frames is named
output. Nothing that is looked at here changes anything: the memory is mapped read-only
and these verbs have a reader and an account of their own. Root and the appliance's own
user may look.`,
		Example: `  skewgate ring list
  skewgate ring show people/0
  skewgate ring tail people/0 --json | jq .boxes`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRingListCmd(), newRingShowCmd(), newRingTailCmd())
	return cmd
}

// ringFlags are those of every ring verb.
type ringFlags struct {
	runDir string
	json   bool
}

func (f *ringFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.runDir, "run-dir", defaultRunDir(), "folder of the appliance's sockets")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// observe attaches to the appliance as an observer.
func (f *ringFlags) observe() (*client.Observer, error) {
	path := filepath.Join(f.runDir, "attach.sock")
	o, err := client.AttachObserver(client.Options{Socket: path, Client: "skewgate ring/" + version})
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ECONNREFUSED):
		return nil, fmt.Errorf("no appliance answers on %s: start one with `skewgate run`, or name its folder with --run-dir", path)
	case err != nil:
		return nil, err
	}
	return o, nil
}

// find returns the ring of that name; the error lists those there are.
func find(o *client.Observer, name string) (*client.ObservedRing, error) {
	var names []string
	for i := range o.Rings() {
		r := &o.Rings()[i]
		if r.Name == name {
			return r, nil
		}
		names = append(names, r.Name)
	}
	return nil, fmt.Errorf("no ring is named %q; there are %v", name, names)
}
