package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/skewgate/skewgate/appliance/status"
)

// maxStatusBytes bounds what is read from the socket.
const maxStatusBytes = 16 << 20

func newStatusCmd() *cobra.Command {
	var runDir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what a running appliance does and what is wrong with it",
		Long: `Show what a running appliance does and what is wrong with it.

It asks the appliance through its control socket. Findings come first, each with its
next step. Exit code 0 when the appliance answered, 1 when none did.`,
		Example: `  skewgate status
  skewgate status --json | jq .correlation.counters
  skewgate status --run-dir out/demo/run`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			body, err := fetchStatus(cmd.Context(), runDir)
			if err != nil {
				return err
			}
			if asJSON {
				_, err := cmd.OutOrStdout().Write(body)
				return err
			}
			var d status.Document
			if err := json.Unmarshal(body, &d); err != nil {
				return fmt.Errorf("read the appliance's answer: %w", err)
			}
			return printStatus(cmd.OutOrStdout(), &d)
		},
	}
	cmd.Flags().StringVar(&runDir, "run-dir", defaultRunDir(), "folder of the appliance's control.sock")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the whole document as JSON")
	return cmd
}

// defaultRunDir is /run/skewgate for root and $XDG_RUNTIME_DIR/skewgate otherwise.
func defaultRunDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); os.Geteuid() != 0 && dir != "" {
		return filepath.Join(dir, "skewgate")
	}
	return "/run/skewgate"
}

// usageArgs makes a wrong number of arguments a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return exit(exitUsage, fmt.Errorf("%s: %w (see `skewgate %s --help`)", cmd.Name(), err, cmd.Name()))
		}
		return nil
	}
}

func fetchStatus(ctx context.Context, runDir string) ([]byte, error) {
	resp, err := askAppliance(ctx, runDir, "/api/v1/status", 5*time.Second)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxStatusBytes))
	if err != nil {
		return nil, fmt.Errorf("read the appliance's answer: %w", err)
	}
	return body, nil
}

// printStatus writes the document for a person, findings first.
func printStatus(out io.Writer, d *status.Document) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  up %v  pid %d  skewgate %s\n", d.Unit, d.State, (time.Duration(d.UptimeMS) * time.Millisecond).Round(time.Second), d.PID, d.Version)
	if len(d.Health) == 0 {
		b.WriteString("nothing is wrong\n")
	}
	for _, f := range d.Health {
		fmt.Fprintf(&b, "%s [%s] %s\n    next: %s\n", strings.ToUpper(string(f.Severity)), f.Code, f.Text, f.Next)
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\nCAMERA\tSTATE\tMATCH\tFRAMES\tLOST\tEPOCH\tPICTURE\tAGE\tFUSED\t≥2 MODELS\tDETAIL\n")
	for _, c := range d.Cameras {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%dx%d\t%s\t%d\t%s\t%s\n", c.Name, c.State, c.Match, c.Frames, c.FramesLost, c.StreamEpoch,
			c.Width, c.Height, ageText(c.LastFrameAgeMS), c.Fused, shareText(c.FusedMulti, c.Fused), c.Detail)
	}
	fmt.Fprint(w, "\nDETECTOR\tSTATE\tCAMERAS\tASSIGNED\tQUEUE\tDROPPED\tOUTCOMES\tWRITTEN\tREAD\tLOST\tREFUSED\tLAG p50/p99\tBY\n")
	for _, m := range d.Models {
		by := "-" // the supervisor's: see its task
		if m.Peer != nil {
			by = fmt.Sprintf("pid %d uid %d %s", m.Peer.PID, m.Peer.UID, m.Peer.Client)
		}
		fmt.Fprintf(w, "%s/%d\t%s\t%s\t%d\t%d\t%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\n", m.Name, m.Replica, m.State, strings.Join(m.Cameras, ","), m.Assigned, m.Queue,
			countsText(m.Dropped), countsText(m.Outcomes), m.Written, m.Read, m.Lost, m.Refused, quantilesText(m.LagMS), by)
	}
	printMatching(w, d)
	fmt.Fprint(w, "\nTASK\tSTATE\tPID\tSTART\tRESTARTS\tLAST EXIT\n")
	for _, t := range d.Tasks {
		last := "-"
		if t.LastExit != nil {
			last = t.LastExit.Text
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%s\n", t.Name, t.State, t.PID, t.Start, t.Restarts, last)
	}
	fmt.Fprint(w, "\nSINK\tSTATE\tOFFERED\tWRITTEN\tQUEUED\tLOST\tDETAIL\n")
	for _, s := range d.Sinks {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%s\t%s\n", s.Name, s.State, s.Offered, s.Written, s.Queued, countsText(s.Lost), s.Detail)
	}
	if len(d.Recordings) > 0 {
		fmt.Fprint(w, "\nRECORDING TO\tEVENTS\tQUEUED\tLOST\tERROR\n")
	}
	for _, r := range d.Recordings {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\n", r.To, r.Events, r.Queued, r.Lost, r.Error)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\nframes: %d published, %s from two models or more\n", d.Fusion.Published, shareText(d.Fusion.Multi, d.Fusion.Published))
	fmt.Fprintf(&b, "arrival skew p50/p99/max ms: %s   publish→fused p50/p99/max ms: %s\n", quantilesText(d.Correlation.SkewMS), quantilesText(d.Correlation.PathMS))
	printFinal(&b, &d.Correlation.Final)
	fmt.Fprintf(&b, "counters: %s\n", countsText(d.Correlation.Counters))
	fmt.Fprintf(&b, "shared memory: %d segments, %.1f MB\n", d.Memory.Segments, float64(d.Memory.Bytes)/1e6)
	_, err := io.WriteString(out, b.String())
	return err
}

func ageText(ms *int64) string {
	if ms == nil {
		return "-"
	}
	return (time.Duration(*ms) * time.Millisecond).String()
}

func shareText(part, whole uint64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

func quantilesText(q *status.Quantiles) string {
	if q == nil {
		return "-"
	}
	return fmt.Sprintf("%.3g/%.3g/%.3g", q.P50, q.P99, q.Max)
}

// countsText lists what is not zero, by name.
func countsText(counts map[string]uint64) string {
	names := make([]string, 0, len(counts))
	for name, n := range counts {
		if n != 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "-"
	}
	sort.Strings(names)
	for i, name := range names {
		names[i] = fmt.Sprintf("%s=%d", name, counts[name])
	}
	return strings.Join(names, " ")
}
