package main

import (
	"encoding/json"
	"fmt"
	"os/signal"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/clock"
)

// tailPoll is how often the rings are looked at; at 256 slots no ring laps it below
// 10,000 messages a second, and what is lost all the same is said.
const tailPoll = 20 * time.Millisecond

func newRingTailCmd() *cobra.Command {
	var f ringFlags
	var limit int
	cmd := &cobra.Command{
		Use:   "tail [RING…]",
		Short: "Follow messages as they are published, of all rings or of those named",
		Long: `Follow messages as they are published, of all rings or of those named.

It ends with Ctrl-C, with the appliance, or after --count messages. A line on standard
error says how many messages were overwritten before they could be shown.`,
		Example: "  skewgate ring tail\n  skewgate ring tail people/0 --count 5 --json",
		Args:    usageArgs(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 0 {
				return exit(exitUsage, fmt.Errorf("--count %d: want 0 (no end) or more", limit))
			}
			return tailRings(cmd, &f, args, limit)
		},
	}
	f.register(cmd)
	cmd.Flags().IntVar(&limit, "count", 0, "end after this many messages; 0 = no end")
	return cmd
}

func tailRings(cmd *cobra.Command, f *ringFlags, names []string, limit int) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	o, err := f.observe()
	if err != nil {
		return err
	}
	defer o.Close()
	if len(names) == 0 {
		for _, r := range o.Rings() {
			names = append(names, r.Name)
		}
	}
	var readers []*messageReader
	for _, name := range names {
		r, err := find(o, name)
		if err != nil {
			return err
		}
		ring, err := r.Reader()
		if err != nil {
			return fmt.Errorf("ring %s: %w", name, err)
		}
		m := newMessageReader(name, ring)
		if r.Output {
			m.learnNames()
		}
		readers = append(readers, m)
	}
	lost := make([]uint64, len(readers))
	out := json.NewEncoder(cmd.OutOrStdout())
	for shown := 0; ; {
		for i, r := range readers {
			for {
				m, err := r.next()
				if err != nil {
					return fmt.Errorf("ring %s: %w", r.name, err)
				}
				if m == nil {
					break
				}
				if f.json {
					err = out.Encode(m)
				} else {
					_, err = fmt.Fprintln(cmd.OutOrStdout(), m)
				}
				if err != nil {
					return fmt.Errorf("print: %w", err)
				}
				if shown++; limit > 0 && shown == limit {
					return nil
				}
			}
			if n := r.ring.Lost(); n != lost[i] {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d messages were overwritten before they could be shown\n", r.name, n-lost[i])
				lost[i] = n
			}
		}
		if err := o.Present(int64(clock.Now())); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(tailPoll):
		}
	}
}

// learnNames reads what was told before the tail begins.
func (r *messageReader) learnNames() {
	head := r.ring.Written()
	r.ring.Rewind(namesBack)
	for range namesBack {
		m, err := r.next()
		if m == nil || err != nil || m.Sequence >= head {
			return
		}
	}
}
