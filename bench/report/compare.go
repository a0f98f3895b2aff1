package report

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// A Change is one row of two reports.
type Change struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Before Spread  `json:"before"`
	After  Spread  `json:"after"`
	Factor float64 `json:"factor"` // median after / median before
	Apart  bool    `json:"apart"`  // the ranges do not touch
	Worse  bool    `json:"worse"`  // apart, in the direction the bound forbids
	Doubt  string  `json:"doubt,omitempty"`
}

// CompareReports sets the rows of two reports side by side, in the order of b. A row
// that only one has is left out. A change counts only when the ranges of the two do
// not touch.
func CompareReports(a, b *Report) []Change {
	before := map[string]*Row{}
	for i := range a.Rows {
		before[a.Rows[i].Name] = &a.Rows[i]
	}
	var changes []Change
	for i := range b.Rows {
		after := &b.Rows[i]
		old := before[after.Name]
		if old == nil || old.Figure.N == 0 || after.Figure.N == 0 {
			continue
		}
		c := Change{Name: after.Name, Unit: after.Unit, Before: old.Figure, After: after.Figure, Apart: after.Figure.Apart(old.Figure)}
		if old.Figure.Median != 0 {
			c.Factor = after.Figure.Median / old.Figure.Median
		}
		up := after.Figure.Median > old.Figure.Median
		c.Worse = c.Apart && (up && after.Bound.Compare == AtMost || !up && after.Bound.Compare == AtLeast)
		switch {
		case old.Failed != "" || after.Failed != "":
			c.Doubt = "a repetition failed"
		case old.Doubt != "" || after.Doubt != "":
			c.Doubt = "busy machine"
		case a.Environment.CPU != b.Environment.CPU || a.Environment.Kernel != b.Environment.Kernel:
			c.Doubt = "other machine or kernel"
		}
		changes = append(changes, c)
	}
	return changes
}

// CompareTable prints changes for people.
func CompareTable(out io.Writer, changes []Change) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WHAT\tBEFORE\tSPREAD\tAFTER\tSPREAD\tFACTOR\tSAYS")
	for _, c := range changes {
		says := "no difference shown: the spreads overlap"
		if c.Apart {
			says = "differs"
		}
		if c.Worse {
			says = "WORSE"
		}
		if c.Doubt != "" {
			says += " (" + c.Doubt + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%.3f\t%s\n", c.Name, number(c.Before.Median, c.Unit), spread(c.Before, c.Unit),
			number(c.After.Median, c.Unit), spread(c.After, c.Unit), c.Factor, says)
	}
	return w.Flush()
}
