package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/skewgate/skewgate/shm"
	"github.com/skewgate/skewgate/shm/client"
)

// maxLast bounds what `ring show` looks back.
const maxLast = 10_000

// ringDetail is what `ring show --json` prints.
type ringDetail struct {
	Schema  int            `json:"schema"`
	Ring    ringRow        `json:"ring"`
	Streams []ringStream   `json:"streams"`
	Last    []*ringMessage `json:"last"`
}

type ringStream struct {
	Unit        string `json:"unit"`
	Camera      string `json:"camera"`
	StreamEpoch uint32 `json:"stream_epoch"`
	Hash        string `json:"hash"` // as the probe files it, without the epoch
}

func newRingShowCmd() *cobra.Command {
	var f ringFlags
	var last int
	cmd := &cobra.Command{
		Use:     "show RING",
		Short:   "Show one ring: its writer, its streams, its last messages",
		Example: "  skewgate ring show people/0\n  skewgate ring show output --last 3 --json",
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if last < 0 || last > maxLast {
				return exit(exitUsage, fmt.Errorf("--last %d: want 0 to %d", last, maxLast))
			}
			o, err := f.observe()
			if err != nil {
				return err
			}
			defer o.Close()
			r, err := find(o, args[0])
			if err != nil {
				return err
			}
			rows, err := ringRows(cmd, o, &f)
			if err != nil {
				return err
			}
			d := ringDetail{Schema: 1, Streams: []ringStream{}, Last: []*ringMessage{}}
			for _, row := range rows {
				if row.Ring == r.Name {
					d.Ring = row
				}
			}
			if d.Ring.Fault == "" {
				if err := d.look(r, last); err != nil {
					return err
				}
			}
			if f.json {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(d)
			}
			if err := printRings(cmd.OutOrStdout(), []ringRow{d.Ring}); err != nil {
				return err
			}
			for _, s := range d.Streams {
				fmt.Fprintf(cmd.OutOrStdout(), "stream %s/%s epoch %d hash %s\n", s.Unit, s.Camera, s.StreamEpoch, s.Hash)
			}
			for _, m := range d.Last {
				fmt.Fprintln(cmd.OutOrStdout(), m)
			}
			return nil
		},
	}
	f.register(cmd)
	cmd.Flags().IntVar(&last, "last", 10, "how many of the last messages to show")
	return cmd
}

// look reads the stream table and the last messages that are still there.
func (d *ringDetail) look(r *client.ObservedRing, last int) error {
	ring, err := r.Reader()
	if err != nil {
		return err
	}
	for i := uint32(0); i < shm.MaxStreams; i++ {
		if s, ok := ring.Stream(i); ok {
			d.Streams = append(d.Streams, ringStream{s.Unit, s.Camera, s.Epoch, fmt.Sprintf("%016x", s.Hash)})
		}
	}
	// The output ring's names lie among the messages before the ones that are wanted.
	back := last
	if r.Output {
		back += namesBack
	}
	ring.Rewind(uint64(back))
	messages := newMessageReader(r.Name, ring)
	for range back {
		m, err := messages.next()
		if err != nil {
			d.Ring.Fault = err.Error()
			return nil
		}
		if m == nil {
			break
		}
		d.Last = append(d.Last, m)
	}
	d.Last = d.Last[max(0, len(d.Last)-last):]
	return nil
}
