package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/skewgate/skewgate/appliance/story"
)

// printStories writes stories for a person. Names and texts in them are strangers' words.
func printStories(out io.Writer, d *story.Document) error {
	var b strings.Builder
	for i := range d.Frames {
		if i > 0 {
			b.WriteString("\n")
		}
		printFrame(&b, d, &d.Frames[i])
	}
	if len(d.Frames) > 1 && d.Frames[0].FrameID != nil && d.Frames[1].FrameID != nil && *d.Frames[0].FrameID == *d.Frames[1].FrameID {
		fmt.Fprintf(&b, "\n%d frames go by what was asked for\n", len(d.Frames))
	}
	for _, note := range d.Notes {
		fmt.Fprintf(&b, "note: %s\n", shown(note))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func printFrame(b *strings.Builder, d *story.Document, f *story.Frame) {
	fmt.Fprintf(b, "%s/%s  %s", story.Printable(d.Unit), story.Printable(d.Camera), story.Printable(f.Key))
	if f.FrameID != nil && "id:"+*f.FrameID != f.Key {
		fmt.Fprintf(b, "  frame id %s", story.Printable(*f.FrameID))
	}
	if f.Seq != nil {
		fmt.Fprintf(b, "  seq %d", *f.Seq)
	}
	fmt.Fprintf(b, "  stream_epoch %d", f.StreamEpoch)
	if f.Generation != nil {
		fmt.Fprintf(b, "  generation %s", story.Printable(*f.Generation))
	}
	b.WriteString("\n")
	if f.CaptureNS != nil {
		fmt.Fprintf(b, "  captured %s", instant(*f.CaptureNS))
		if f.CaptureSkew != nil {
			fmt.Fprintf(b, ", its models' pictures %s apart", story.Millis(*f.CaptureSkew))
		}
		b.WriteString("\n")
	}
	if f.ClosedUnixNS != nil {
		fmt.Fprintf(b, "  closed %s\n", instant(*f.ClosedUnixNS))
	}
	var rows [][4]string
	closed := f.ClosedMonoNS == nil
	for i := range f.Messages {
		m := &f.Messages[i]
		if !closed && m.AfterCloseNS != nil {
			rows, closed = append(rows, closingRow(f)), true
		}
		rows = append(rows, messageRow(m))
	}
	if !closed {
		rows = append(rows, closingRow(f))
	}
	for i := range f.Missing {
		rows = append(rows, missingRow(&f.Missing[i]))
	}
	printRows(b, rows)
	if f.LeftOut > 0 {
		fmt.Fprintf(b, "  %d more messages came for it, and are not told one by one\n", f.LeftOut)
	}
	fmt.Fprintf(b, "  = %s\n", shown(f.Verdict))
	if f.Next != "" {
		fmt.Fprintf(b, "    next: %s\n", shown(f.Next))
	}
}

// printRows writes columns, the first to the right.
func printRows(b *strings.Builder, rows [][4]string) {
	var width [3]int
	for _, r := range rows {
		for i := range width {
			width[i] = max(width[i], utf8.RuneCountInString(r[i]))
		}
	}
	pad := func(s string, n int) string { return strings.Repeat(" ", n-utf8.RuneCountInString(s)) }
	for _, r := range rows {
		line := "  " + pad(r[0], width[0]) + r[0] + "  " + r[1] + pad(r[1], width[1]) + "  " + r[2] + pad(r[2], width[2]) + "  " + r[3]
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

func messageRow(m *story.Message) [4]string {
	var say []string
	if m.Verdict == "late" && m.AfterCloseNS != nil {
		say = append(say, story.Millis(*m.AfterCloseNS)+" after the frame was closed")
	}
	if m.Verdict == "wrong_generation" && m.Generation != nil {
		say = append(say, "of generation "+story.Printable(*m.Generation))
	}
	switch {
	case m.Boxes == nil:
	case *m.Boxes == 0:
		say = append(say, "found nothing")
	case *m.Boxes == 1:
		say = append(say, "1 box")
	default:
		say = append(say, fmt.Sprintf("%d boxes", *m.Boxes))
	}
	switch {
	case m.Raw != nil:
		say = append(say, "time not readable: "+quoted(*m.Raw))
	case m.CaptureNS == nil:
		say = append(say, "time not readable")
	case m.CaptureAfter != nil && *m.CaptureAfter != 0:
		say = append(say, fmt.Sprintf("captured %s", signed(*m.CaptureAfter)))
	}
	if !m.Expected {
		say = append(say, "name not expected")
	}
	return [4]string{signed(m.AtNS), story.Printable(m.Model), m.Verdict, strings.Join(say, ", ")}
}

func closingRow(f *story.Frame) [4]string {
	what := map[string]string{
		"published": "published", "suppressed_empty": "not published: nobody found anything", "dropped": "dropped",
	}[f.State]
	if f.Seq != nil {
		what = fmt.Sprintf("published as seq %d", *f.Seq)
	}
	return [4]string{signed(f.WaitNS), "──", "closed", fmt.Sprintf("by %s, %s", *f.Reason, what)}
}

func missingRow(m *story.Missing) [4]string {
	var say []string
	switch m.Why {
	case "late":
		if m.LateNS != nil {
			say = append(say, fmt.Sprintf("by %s, see above", story.Millis(*m.LateNS)))
		}
	case "dead", "hung":
		if m.DownForNS != nil {
			since := "for " + story.Millis(*m.DownForNS)
			if m.DownLonger {
				since = "since before the recording began"
			}
			say = append(say, since)
		}
		if m.Cause != "" {
			say = append(say, shown(m.Cause))
		}
	case "passed":
		say = append(say, "it had nothing to say up to a later picture")
	case "unreadable_time":
		if m.RawNearby != nil {
			say = append(say, "it sent "+quoted(*m.RawNearby))
		}
	}
	if n := m.Nearest; n != nil && (m.Why == "other_bucket" || m.Why == "absent") {
		say = append(say, nearestText(n))
	}
	if d := m.Dispatch; d != nil && m.Why != "passed" {
		say = append(say, dispatchText(d.Fate))
	}
	return [4]string{"missing", story.Printable(m.Model), m.Why, strings.Join(say, "; ")}
}

func nearestText(n *story.Nearest) string {
	where := story.Printable(n.Key)
	if n.Seq != nil {
		where += fmt.Sprintf(" (seq %d)", *n.Seq)
	}
	if n.OtherHalf {
		return fmt.Sprintf("captured %s off, its message went to %s at %s", signed(n.ByNS), where, signed(n.AtNS))
	}
	return fmt.Sprintf("its nearest message is of a picture %s off, in %s", signed(n.ByNS), where)
}

// dispatchText says a fate in words; what is not known says nothing.
func dispatchText(fate string) string {
	text, ok := map[string]string{
		"waiting":    "the picture waits for room in its queue",
		"assigned":   "it has the picture and is not done with it",
		"finished":   "it was given the picture and is done with it, without an answer",
		"died":       "it was given the picture, and its process ended before it was done",
		"superseded": "it was never given the picture: a newer one took its place",
		"not_ready":  "it was never given the picture: it was not ready",
		"fault":      "it was never given the picture: its queue refused it",
		"unknown":    "whether it was given the picture is not known any more",
	}[fate]
	if !ok {
		return story.Printable(fate)
	}
	return text
}

func signed(ns int64) string {
	if ns < 0 {
		return story.Millis(ns)
	}
	return "+" + story.Millis(ns)
}

// instant shows a time of the wall, or, where it is none, its number.
func instant(ns int64) string {
	const from, to = 946684800e9, 4102444800e9 // the years 2000 to 2099
	if ns < from || ns > to {
		return fmt.Sprintf("%d ns", ns)
	}
	return time.Unix(0, ns).UTC().Format("2006-01-02 15:04:05.000 UTC")
}

// quoted shows a stranger's text in quotes, whatever it is.
func quoted(s string) string { return fmt.Sprintf("%.80q", s) }

// shown lets a sentence through and escapes what a terminal could take for a command.
func shown(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == ' ' || strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(fmt.Sprintf("%q", string(r)), `"`))
		}
	}
	return b.String()
}
