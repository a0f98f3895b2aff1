package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
)

// Table prints the rows for people: one line each, notes below.
func (r *Report) Table(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WHAT\tBOUND\tMEDIAN\tSPREAD\tOURS\tPEER\tQUIET\tVERDICT")
	for i := range r.Rows {
		row := &r.Rows[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", row.Name, bound(row), median(row), spread(row.Figure, row.Unit),
			ours(row), peer(row), quiet(row), verdict(row))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		text := row.What
		if row.PeerName != "" {
			text += ", ours / " + row.PeerName
		}
		if row.Note != "" {
			text += "; " + row.Note
		}
		if row.Missing != "" {
			text += "; not measured: " + row.Missing
		}
		if row.Failed != "" {
			text += "; failed: " + row.Failed
		}
		if _, err := fmt.Fprintf(out, "%s: %s\n", row.Name, text); err != nil {
			return err
		}
	}
	return nil
}

func bound(r *Row) string {
	if r.Bound.Compare == Reported {
		return "-"
	}
	return string(r.Bound.Compare) + " " + number(r.Bound.Limit, r.Unit)
}

func median(r *Row) string {
	if r.Figure.N == 0 {
		return "-"
	}
	return number(r.Figure.Median, r.Unit)
}

// ours and peer are the two sides of a ratio.
func ours(r *Row) string {
	if r.PeerName == "" || r.Ours.N == 0 {
		return "-"
	}
	return number(r.Ours.Median, r.RunUnit)
}

func peer(r *Row) string {
	if r.PeerName == "" || r.Peer.N == 0 {
		return "-"
	}
	return fmt.Sprintf("%s (%s)", number(r.Peer.Median, r.RunUnit), spread(r.Peer, r.RunUnit))
}

func quiet(r *Row) string {
	n := 0
	for _, run := range r.Runs {
		if run.Quiet {
			n++
		}
	}
	return fmt.Sprintf("%d/%d", n, len(r.Runs))
}

func verdict(r *Row) string {
	v := string(r.Verdict())
	if r.Doubt != "" && r.Missing == "" {
		v += " (" + r.Doubt + ")"
	}
	return v
}

// number keeps about four significant digits and takes a unit that fits.
func number(v float64, unit string) string {
	size := math.Abs(v)
	switch {
	case unit == "ns" && size >= 1e6:
		v, unit = v/1e6, "ms"
	case unit == "ns" && size >= 1e3:
		v, unit = v/1e3, "µs"
	case unit == "msg/s" && size >= 1e5:
		v, unit = v/1e6, "M/s"
	}
	digits := 3
	for size = math.Abs(v); digits > 0 && size >= 10; digits-- {
		size /= 10
	}
	return strings.TrimSpace(fmt.Sprintf("%.*f %s", digits, v, unit))
}

// spread gives both ends in the unit that fits each.
func spread(s Spread, unit string) string {
	if s.N == 0 {
		return "-"
	}
	low, high := number(s.Min, unit), number(s.Max, unit)
	if value, lowUnit, ok := strings.Cut(low, " "); ok && strings.HasSuffix(high, " "+lowUnit) {
		low = value
	}
	return low + "…" + high
}
