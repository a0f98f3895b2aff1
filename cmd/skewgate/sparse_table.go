package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// sparseSummary is what detectors cost that find something in few pictures.
type sparseSummary struct {
	TimeoutMS float64     `json:"timeout_ms"`
	Frames    int         `json:"frames"` // behind each figure, or more
	Detectors []sparseRow `json:"detectors"`
}

// sparseRow is one of them: medians, by what it says of pictures in which it found nothing.
type sparseRow struct {
	Detector   string   `json:"detector"`
	Found      *float64 `json:"found_share"` // of the frames: it found something
	SilentMS   *float64 `json:"silent_ms"`
	AnswersMS  *float64 `json:"empty_answers_ms"`
	ProgressMS *float64 `json:"progress_ms"`
	SlowestMS  *float64 `json:"slowest_detector_ms"` // with empty answers: how far the last answer of all is behind the first
	NotRun     string   `json:"not_run,omitempty"`   // what is missing, and what brings it
	Problem    string   `json:"problem,omitempty"`

	found, frames int
}

func millis(d time.Duration) float64 { return round(float64(d)/1e6, 3) }

// median returns the middle one in milliseconds.
func median(all []time.Duration) *float64 {
	sorted := slices.Sorted(slices.Values(all))
	m := millis(sorted[len(sorted)/2])
	return &m
}

// add takes the figure of one way of saying that nothing was found.
func (r *sparseRow) add(says string, f *sparseFigure) {
	switch says {
	case saysNothing:
		r.SilentMS = median(f.waits)
	case saysAnswers:
		r.AnswersMS, r.SlowestMS = median(f.waits), median(f.slowest)
	case saysProgress:
		r.ProgressMS = median(f.waits)
	}
	r.found, r.frames = r.found+f.found, r.frames+len(f.waits)
	share := round(float64(r.found)/float64(r.frames), 4)
	r.Found = &share
}

// judge says whether the latency fell. Where silence does not cost the timeout there is nothing
// that could fall, so that is a problem too.
func (r *sparseRow) judge(timeout time.Duration) {
	if r.NotRun != "" || r.Problem != "" {
		return
	}
	silent, bound := *r.SilentMS, millis(timeout)
	switch {
	case silent < bound:
		r.Problem = fmt.Sprintf("%s: frames did not wait for it while it was silent: %.1f ms, the timeout is %.1f ms", r.Detector, silent, bound)
	case *r.AnswersMS > silent/2:
		r.Problem = fmt.Sprintf("%s: empty answers did not make the latency fall: %.1f ms in place of %.1f ms", r.Detector, *r.AnswersMS, silent)
	case *r.ProgressMS > silent/2:
		r.Problem = fmt.Sprintf("%s: progress did not make the latency fall: %.1f ms in place of %.1f ms", r.Detector, *r.ProgressMS, silent)
	}
}

// problems are what a row has found wrong.
func (s *sparseSummary) problems() (all []string) {
	for i := range s.Detectors {
		if p := s.Detectors[i].Problem; p != "" {
			all = append(all, p)
		}
	}
	return all
}

func (s *sparseSummary) print(out io.Writer) {
	fmt.Fprintf(out, "\ndetectors that find something in few pictures: from a frame's first answer to its fused result,\n"+
		"median of %d frames or more, by what they say of a picture in which they found nothing; the timeout is %.0f ms\n", s.Frames, s.TimeoutMS)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  detector\tfinds in\tsays nothing\tempty answers\tprogress\tslowest detector")
	for i := range s.Detectors {
		r := &s.Detectors[i]
		if r.NotRun != "" {
			fmt.Fprintf(w, "  %s\tnot run: %s\n", r.Detector, r.NotRun)
			continue
		}
		share := "-"
		if r.Found != nil {
			share = fmt.Sprintf("%.0f %%", 100**r.Found)
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\t%s\n", r.Detector, share, millisText(r.SilentMS), millisText(r.AnswersMS), millisText(r.ProgressMS), millisText(r.SlowestMS))
	}
	_ = w.Flush() // as all that is printed here
	fmt.Fprintln(out, "  managed detectors always answer; what their silence would cost is this run's own messages, replayed without the empty ones")
	for _, p := range s.problems() {
		fmt.Fprintln(out, "  problem:", p)
	}
}

func millisText(ms *float64) string {
	if ms == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f ms", *ms)
}

// tell prints a row as soon as it is there.
func (p *sparsePart) tell(r *sparseRow) {
	switch {
	case r.NotRun != "":
		fmt.Fprintf(p.say, "sparse detectors, %s: not run: %s\n", r.Detector, r.NotRun)
	case r.Problem != "":
		fmt.Fprintf(p.say, "sparse detectors, %s\n", r.Problem)
	default:
		fmt.Fprintf(p.say, "sparse detectors, %s: says nothing %s, empty answers %s, progress %s\n", r.Detector, millisText(r.SilentMS), millisText(r.AnswersMS), millisText(r.ProgressMS))
	}
}
