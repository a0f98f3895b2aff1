package main

import (
	"fmt"
	"io"

	"github.com/skewgate/skewgate/appliance/status"
)

// printMatching writes what the setting in force does with each camera's pictures.
func printMatching(w io.Writer, d *status.Document) {
	fmt.Fprint(w, "\nMATCHING\tBY\tINTERVAL ms\tCAPTURE SKEW p50/p99/max\tSPLIT est\tSPLIT\tMIXED\tCOLLIDED\tRUN UNFUSED now/longest\n")
	for i := range d.Cameras {
		c := &d.Cameras[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", c.Name, byText(c), intervalText(c), quantilesText(c.CaptureSkewMS), estimateText(c.SplitShare),
			ofText(c.PicturesSplit, c.Pictures), ofText(c.FusedMixed, c.FusedJudged), c.Collisions, runText(c))
	}
	header := "\nCLOCKS\tOF\tAHEAD OF\tBY ms (median)\tDISTANCE p99\n"
	for _, c := range d.Cameras {
		for _, p := range c.PairOffsets {
			fmt.Fprintf(w, "%s%s\t%s\t%s\t%+.3g\t%.3g\n", header, c.Name, p.B, p.A, p.MedianMS, p.DistanceP99MS)
			header = ""
		}
	}
	header = "\nNEVER FUSED\tON\tWHY\tBY ms (median)\tMESSAGES\n"
	for i := range d.Models {
		m := &d.Models[i]
		for _, a := range m.Alone {
			fmt.Fprintf(w, "%s%s/%d\t%s\t%s\t%s\t%s\n", header, m.Name, m.Replica, a.Camera, a.Reason, signedText(a.ByMS), ofText(a.Count, a.Messages))
			header = ""
		}
	}
}

// byText names what makes messages one picture, with its width.
func byText(c *status.Camera) string {
	switch {
	case c.QuantumMS != nil:
		return fmt.Sprintf("bucket of %.6g ms", *c.QuantumMS)
	case c.WindowMS != nil:
		return fmt.Sprintf("window of %.6g ms", *c.WindowMS)
	}
	return c.Match
}

func intervalText(c *status.Camera) string {
	text := "-"
	if c.IntervalMS != nil {
		text = fmt.Sprintf("%.5g", *c.IntervalMS)
	}
	if c.IntervalConfigMS != nil {
		text += fmt.Sprintf(" (config %.5g)", *c.IntervalConfigMS)
	}
	return text
}

func estimateText(share *float64) string {
	if share == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100**share)
}

func signedText(ms *float64) string {
	if ms == nil {
		return "-"
	}
	return fmt.Sprintf("%+.4g", *ms)
}

func ofText(part, whole uint64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", part, whole)
}

func runText(c *status.Camera) string {
	if c.RunUnfused == nil || c.LongestRunUnfused == nil {
		return "-"
	}
	return fmt.Sprintf("%d/%d (%s)", *c.RunUnfused, *c.LongestRunUnfused, ageText(c.LongestUnfusedMS))
}

// printFinal writes the skew of the frames that nothing can change any more.
func printFinal(w io.Writer, f *status.FinalSkew) {
	fmt.Fprintf(w, "final skew, %.3g s after closing, p50/p99/max ms: %s   later still: %d messages, p50/p99/max ms %s; forgotten before: %d frames\n",
		float64(f.HorizonMS)/1000, quantilesText(f.SkewMS), f.Beyond, quantilesText(f.BeyondMS), f.Cut)
}
