package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/status"
	"github.com/skewgate/skewgate/shm"
	"github.com/skewgate/skewgate/shm/client"
)

// ringRow is what a ring says of itself and what the appliance has read of it.
type ringRow struct {
	Ring           string   `json:"ring"`
	Kind           string   `json:"kind"` // detection, output or frames
	PID            uint32   `json:"pid"`  // of the writer, by its own word; 0 = none yet
	RingEpoch      uint32   `json:"ring_epoch"`
	State          string   `json:"state"`
	HeartbeatAgeMS *int64   `json:"heartbeat_age_ms"`         // null before the first, or with a note
	HeartbeatNote  string   `json:"heartbeat_note,omitempty"` // future or negative: the writer's word makes no sense
	Slots          int      `json:"slots"`
	PayloadBytes   int      `json:"payload_bytes"`
	Written        uint64   `json:"written"` // over the ring's life
	Read           *uint64  `json:"read"`    // by the appliance; null for what it does not read
	Lost           *uint64  `json:"lost"`    // overwritten before the appliance read them
	Fill           *float64 `json:"fill"`    // share of the slots the appliance has not read yet
	StreamEpoch    uint32   `json:"stream_epoch,omitempty"`
	Fault          string   `json:"fault,omitempty"` // why the ring makes no sense
}

func newRingListCmd() *cobra.Command {
	var f ringFlags
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List all rings: who writes, how alive, how much, what was lost",
		Example: "  skewgate ring list\n  skewgate ring list --json | jq '.rings[] | select(.lost > 0)'",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.observe()
			if err != nil {
				return err
			}
			defer o.Close()
			rows, err := ringRows(cmd, o, &f)
			if err != nil {
				return err
			}
			if f.json {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{"schema": 1, "rings": rows})
			}
			return printRings(cmd.OutOrStdout(), rows)
		},
	}
	f.register(cmd)
	return cmd
}

// ringRows asks the memory itself, and the appliance for what it has read.
func ringRows(cmd *cobra.Command, o *client.Observer, f *ringFlags) ([]ringRow, error) {
	body, err := fetchStatus(cmd.Context(), f.runDir)
	if err != nil {
		return nil, err
	}
	var d status.Document
	if err := json.Unmarshal(body, &d); err != nil {
		return nil, fmt.Errorf("read the appliance's answer: %w", err)
	}
	var rows []ringRow
	for i := range o.Rings() {
		r := &o.Rings()[i]
		row := ringRow{Ring: r.Name, Kind: "detection"}
		if r.Output {
			row.Kind = "output"
		}
		if reader, err := r.Reader(); err != nil {
			row.Fault = err.Error()
		} else {
			row.take(reader.Info())
		}
		for j := range d.Models {
			if m := &d.Models[j]; !r.Output && fmt.Sprintf("%s/%d", m.Name, m.Replica) == r.Name {
				row.account(m)
			}
		}
		rows = append(rows, row)
	}
	for i := range o.Frames() {
		rows = append(rows, frameRow(&o.Frames()[i]))
	}
	return rows, nil
}

func (row *ringRow) take(info shm.RingInfo) {
	row.PID, row.RingEpoch, row.State = info.PID, info.RingEpoch, info.State.String()
	row.Slots, row.PayloadBytes, row.Written = info.Slots, info.PayloadBytes, info.Head
	row.HeartbeatAgeMS, row.HeartbeatNote = status.HeartbeatAge(info.HeartbeatNS, int64(clock.Now()))
}

// account adds the appliance's reader. Its figures are up to 0.2 s old.
func (row *ringRow) account(m *status.Model) {
	read, lost := m.Read, m.Lost
	row.Read, row.Lost = &read, &lost
	if row.Slots > 0 && m.Written >= read+lost {
		fill := min(1, float64(m.Written-read-lost)/float64(row.Slots))
		row.Fill = &fill
	}
	if m.Quarantine != "" {
		row.Fault = m.Quarantine
	}
}

func frameRow(f *client.ObservedFrames) ringRow {
	row := ringRow{Ring: "frames/" + f.Camera, Kind: "frames"}
	reader, err := f.Reader()
	if err != nil {
		row.Fault = err.Error()
		return row
	}
	info := reader.Info()
	row.PID, row.RingEpoch, row.State = info.PID, info.RingEpoch, info.State.String()
	row.Slots, row.PayloadBytes, row.Written = info.Slots, info.PixelBytes, info.Head
	row.StreamEpoch = info.StreamEpoch
	row.HeartbeatAgeMS, row.HeartbeatNote = status.HeartbeatAge(info.HeartbeatNS, int64(clock.Now()))
	return row
}

func printRings(out io.Writer, rows []ringRow) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "RING\tKIND\tWRITER\tRING EPOCH\tSTATE\tHEARTBEAT\tWRITTEN\tREAD\tLOST\tFILL\tSLOTS\tFAULT\n")
	for _, r := range rows {
		writer := "-"
		if r.PID != 0 {
			writer = fmt.Sprintf("pid %d", r.PID)
		}
		heartbeat := cmp.Or(r.HeartbeatNote, "-")
		if r.HeartbeatAgeMS != nil {
			heartbeat = (time.Duration(*r.HeartbeatAgeMS) * time.Millisecond).String()
		}
		fill := "-"
		if r.Fill != nil {
			fill = fmt.Sprintf("%.0f %%", 100**r.Fill)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%d\t%s\t%s\t%s\t%d\t%s\n", r.Ring, r.Kind, writer, r.RingEpoch, r.State, heartbeat,
			r.Written, numberText(r.Read), numberText(r.Lost), fill, r.Slots, r.Fault)
	}
	return w.Flush()
}

func numberText(n *uint64) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}
