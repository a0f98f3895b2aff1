package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/skewgate/skewgate/appliance/advise"
)

// printAdvice writes a report for a person: the advice first, then what it rests on.
func printAdvice(out io.Writer, r *advise.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d events in %s; timeout %s, quantum %s in force\n", r.Events, seconds(r.Span), r.Settings.Timeout, r.Settings.Quantum)
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	for _, advice := range []struct {
		name string
		*advise.Advice
	}{{"timeout", &r.Timeout.Advice}, {"quantum", &r.Quantum.Advice}} {
		fmt.Fprintf(&b, "\n%s: %s\n  %s.\n", strings.ToUpper(advice.name), adviceText(advice.Advice), strings.TrimSuffix(advice.Reason, "."))
		for _, note := range advice.Notes {
			fmt.Fprintf(&b, "  %s.\n", note)
		}
	}
	b.WriteString("\nTimeouts. Complete: all living models answered before it. Mean wait: from a frame's first message\nto its closing.")
	fmt.Fprintf(&b, " Each frame is watched for %s; %d that began later than that before the end are left out.\n", seconds(r.Timeout.Horizon), r.Timeout.NotFinal)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	curves := r.Timeout.Cameras
	if len(curves) != 1 {
		curves = append([]advise.TimeoutCurve{r.Timeout.All}, curves...)
	}
	for _, c := range curves {
		printTimeouts(w, &c)
	}
	if len(r.Timeout.Models) > 0 {
		fmt.Fprint(w, "\nmodel\tframes\tmissing\tlag p50\tp99\tmax\t\n")
		for _, m := range r.Timeout.Models {
			fmt.Fprintf(w, "%s\t%d\t%d\t%s\t\n", m.Model, m.Frames, m.Missing, summaryCells(m.Lag))
		}
	}
	for i := range r.Quantum.Cameras {
		printQuanta(w, &r.Quantum.Cameras[i])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// adviceText is the outcome in a few words.
func adviceText(a *advise.Advice) string {
	samples := fmt.Sprintf("on %d samples", a.Samples)
	switch {
	case a.Advised == nil && a.Enough:
		return fmt.Sprintf("no advice, %s", samples)
	case a.Advised == nil:
		return fmt.Sprintf("no advice (%d samples, about %d are needed)", a.Samples, a.Needed)
	case *a.Advised == a.Now:
		return fmt.Sprintf("keep %s, %s", a.Now, samples)
	}
	return fmt.Sprintf("%s in place of %s, %s", *a.Advised, a.Now, samples)
}

func printTimeouts(w io.Writer, c *advise.TimeoutCurve) {
	name := c.Camera
	if name == "" {
		name = "all cameras"
	}
	fmt.Fprintf(w, "\n%s: %d frames, %d never complete, %d given up because a model died\n", name, c.Frames, c.Never, c.GivenUp)
	if c.Frames == 0 {
		return
	}
	fmt.Fprint(w, "timeout\tcomplete\tmean wait\t\t\n")
	for _, p := range c.Points {
		fmt.Fprintf(w, "%s\t%.2f %%\t%s\t%s\t\n", p.Timeout, 100*p.Yield, p.Wait, p.Mark)
	}
}

func printQuanta(w io.Writer, c *advise.QuantumCurve) {
	fmt.Fprintf(w, "\nQuanta of %s: matched by %s, %d of %d messages by bucket; %d pictures of two models or more", c.Camera, c.Match, c.Bucketed, c.Messages+c.Unread, c.Pictures)
	if c.Interval != nil {
		fmt.Fprintf(w, ", %s apart", *c.Interval)
	}
	if c.Spread != nil {
		fmt.Fprintf(w, ", spread p99 %s max %s", c.Spread.P99, c.Spread.Max)
	}
	if c.Safe != nil {
		fmt.Fprintf(w, "; up to %s no two are joined", *c.Safe)
	}
	fmt.Fprint(w, ".\n")
	for _, note := range c.Notes {
		fmt.Fprintf(w, "note: %s\n", note)
	}
	if c.Unread > 0 {
		fmt.Fprintf(w, "note: %d messages without a readable time are left out\n", c.Unread)
	}
	if len(c.Points) == 0 {
		return
	}
	fmt.Fprint(w, "quantum\tsplit\tany phase\tcollision\tmix\t\t\n")
	said := ""
	for _, p := range c.Points {
		figures := fmt.Sprintf("%.2f %%\t%.2f %%\t%.2f %%\t%.2f %%", 100*p.Split, 100*p.AnyPhase, 100*p.Collision, 100*p.Mix)
		if figures != said || p.Mark != "" { // a row that says nothing new is left out
			fmt.Fprintf(w, "%s\t%s\t%s\t\n", p.Quantum, figures, p.Mark)
		}
		said = figures
	}
}

func summaryCells(s *advise.Summary) string {
	if s == nil {
		return "-\t-\t-"
	}
	return fmt.Sprintf("%s\t%s\t%s", s.P50, s.P99, s.Max)
}

// seconds writes a longer time.
func seconds(m advise.Millis) string { return fmt.Sprintf("%.3g s", float64(m)/1e9) }
