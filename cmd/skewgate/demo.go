package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/skewgate/skewgate/appliance"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/status"
)

// demoStall is how long the demo waits for the next fused frame before it gives up:
// longer than any restart of a detector, model loading included.
const demoStall = 60 * time.Second

func newDemoCmd() *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run two films through four detectors and measure the result against known truth",
		Long: `Run two films through four detectors and measure the result against known truth.

Camera road shows real footage, looked at by the models people and people_small; camera
shapes shows moving shapes with a frame number drawn into every picture, looked at by
shapes_yolo and proposals. Everything is real: ffmpeg decodes, ONNX Runtime infers, each
detector is a process of its own, detections go through shared memory.

A line a second says frames/s, the share of frames fused from two models, arrival skew,
and the time from a frame's last detection to its fused result. The summary holds
precision and recall of each model and of the fused result, and how many fused frames
joined boxes of different pictures: each detector reads the drawn frame number from the
very pixels it used, so that figure is proof. It must be 0; the exit code is 3 otherwise.

Before the films the demo measures, in about 30 s, what it costs that a detector says nothing of
pictures in which it found nothing: each of its frames waits for the timeout. With empty answers,
or a word of progress, they take as long as the slowest detector. One detector of each kind finds
something in about one picture of ten: a managed one, the example in C (shm/c) and the one in
Python (shm/python). The summary has all figures side by side. A detector whose language is not
here is named as not run, with what brings it. The exit code is 3 if the latency did not fall.`,
		Example: `  skewgate demo
  skewgate demo --sparse 0                                # the films alone
  skewgate demo --frames 40 --json | jq .sparse.detectors # little but the detectors that find little
  skewgate demo --frames 600 --snapshot out/demo
  skewgate demo --frames 600 --json | jq .mixed_frames`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.frames < 0 {
				return exit(exitUsage, fmt.Errorf("--frames %d: want 0 (until interrupted) or more", o.frames))
			}
			if o.sparse < 0 || o.sparse > sparseMost {
				return exit(exitUsage, fmt.Errorf("--sparse %d: want 0 (leave it out) to %d", o.sparse, sparseMost))
			}
			return runDemo(cmd, o)
		},
	}
	cmd.Flags().IntVar(&o.frames, "frames", 0, "end after this many fused frames, all cameras together; 0 = until interrupted")
	cmd.Flags().IntVar(&o.sparse, "sparse", 60, "frames behind each figure of the detectors that find little, 1 to 10000; 0 = leave them out")
	cmd.Flags().BoolVar(&o.json, "json", false, "print the summary as JSON on stdout, the lines on stderr")
	cmd.Flags().StringVar(&o.snapshot, "snapshot", "", "write JPEGs of the last fused frames into this folder")
	cmd.Flags().StringVar(&o.films, "films", "", "folder with the demo's films and models (default: testdata/models of the checkout)")
	cmd.Flags().StringVar(&o.out, "out", "", "folder for the demo's config, output and state (default: out/demo of the checkout)")
	cmd.Flags().StringVar(&o.cLibrary, "c-library", "", "folder that the C library and its example were built into (default: shm/c/build of the checkout)")
	cmd.Flags().StringVar(&o.pace, "pace", string(config.PaceRealtime), "realtime, or fast: as fast as the detectors can, no picture left out")
	cmd.Flags().StringVar(&o.logLevel, "log-level", "warn", "debug, info, warn or error")
	return cmd
}

type demoOptions struct {
	frames, sparse                                 int
	json                                           bool
	snapshot, films, out, cLibrary, pace, logLevel string
	checkout                                       string // where films and examples are from
}

func runDemo(cmd *cobra.Command, o demoOptions) error {
	log, err := newLogger(cmd.ErrOrStderr(), "text", o.logLevel)
	if err != nil {
		return exit(exitUsage, err)
	}
	lines := cmd.OutOrStdout()
	if o.json {
		lines = cmd.ErrOrStderr()
	}
	if o.films, o.out, err = demoFolders(o.films, o.out); err != nil {
		return err
	}
	o.checkout = filepath.Dir(filepath.Dir(o.films))
	if o.cLibrary == "" {
		o.cLibrary = filepath.Join(o.checkout, "shm", "c", "build")
	}
	films := demoFilms(o.films)
	cfg, err := demoConfig(o, films)
	if err != nil {
		return err
	}
	places, err := locate(cfg)
	if err != nil {
		return err
	}
	watch, err := newAudience(films, o)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	var sparse *sparseSummary
	if o.sparse > 0 {
		if sparse, err = runSparse(ctx, o, lines, cmd.ErrOrStderr()); ctx.Err() != nil {
			fmt.Fprintln(lines, "interrupted before the films began")
			return nil
		} else if err != nil {
			return fmt.Errorf("measure detectors that find little: %w", err)
		}
	}
	places.Log, places.RunDir, places.Tap = log, filepath.Join(o.out, "run"), watch.tap
	a, err := appliance.New(cfg, places)
	if err != nil {
		return err
	}
	watch.pictures = a.Picture

	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watch.follow(ctx, end)
	}()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		demoLines(ctx, lines, a, watch)
	}()
	begin := time.Now()
	err = a.Run(ctx)
	end(nil)
	<-watched
	<-ended
	if cause := context.Cause(ctx); err == nil && errors.Is(cause, errDemoStalled) {
		err = fmt.Errorf("%w: %s", cause, stallReason(a.Status()))
	}
	if err != nil {
		return err
	}
	s := watch.summary(a.Status(), time.Since(begin))
	s.Sparse = sparse
	if o.snapshot != "" {
		if s.Snapshots, err = watch.writeSnapshots(o.snapshot); err != nil {
			return err
		}
	}
	if err := s.print(cmd.OutOrStdout(), o.json); err != nil {
		return err
	}
	return s.verdict()
}

// verdict is what the demo found wrong.
func (s *demoSummary) verdict() error {
	var wrong []error
	if s.MixedFrames != 0 {
		wrong = append(wrong, fmt.Errorf("%d fused frames joined boxes of different pictures", s.MixedFrames))
	}
	if s.Sparse != nil {
		for _, p := range s.Sparse.problems() {
			wrong = append(wrong, errors.New(p))
		}
	}
	if len(wrong) > 0 {
		return exit(exitFindings, errors.Join(wrong...))
	}
	return nil
}

// errDemoStalled says that no frame was fused for demoStall.
var errDemoStalled = fmt.Errorf("no frame was fused for %v", demoStall)

func stallReason(d *status.Document) string {
	if len(d.Health) == 0 {
		return "nothing is known to be wrong; try --log-level info"
	}
	return d.Health[0].Text + "; " + d.Health[0].Next
}

// demoLines prints a line a second until ctx ends.
func demoLines(ctx context.Context, out io.Writer, a *appliance.Appliance, watch *audience) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last := map[string]uint64{}
	for second := 1; ; second++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		d := a.Status()
		fmt.Fprintf(out, "%3d s ", second)
		for _, c := range d.Cameras {
			fmt.Fprintf(out, " %s %d/s", c.Name, c.Fused-last[c.Name])
			last[c.Name] = c.Fused
			if c.State != "streaming" {
				fmt.Fprintf(out, " (%s)", c.State)
			}
		}
		var restarts uint64
		for _, t := range d.Tasks {
			restarts += t.Restarts
		}
		fmt.Fprintf(out, "  fused %s  skew p50/p99 %s ms  publish→fused p99 %s ms  restarts %d\n",
			shareText(d.Fusion.Multi, d.Fusion.Published), pairText(d.Correlation.SkewMS), p99Text(d.Correlation.PathMS), restarts)
	}
}

func pairText(q *status.Quantiles) string {
	if q == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f/%.1f", q.P50, q.P99)
}

func p99Text(q *status.Quantiles) string {
	if q == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", q.P99)
}

// demoFolders finds the films and the place for output: a checkout's testdata and out.
func demoFolders(films, out string) (string, string, error) {
	if films == "" {
		for _, root := range checkoutCandidates() {
			dir := filepath.Join(root, "testdata", "models")
			if info, err := os.Stat(filepath.Join(dir, "shapes_video.mp4")); err == nil && info.Mode().IsRegular() {
				films = dir
				if out == "" {
					out = filepath.Join(root, "out", "demo")
				}
				break
			}
		}
	}
	if films == "" {
		return "", "", errors.New("the demo's films are not here: run it in the checkout, or name the folder of testdata/models with --films")
	}
	if out == "" {
		out = filepath.Join("out", "demo")
	}
	films, err := filepath.Abs(films)
	if err != nil {
		return "", "", err
	}
	if out, err = filepath.Abs(out); err != nil {
		return "", "", err
	}
	return films, out, os.MkdirAll(out, 0o755)
}

// checkoutCandidates are the current folder and the one above the program's.
func checkoutCandidates() []string {
	candidates := []string{"."}
	if self, err := os.Executable(); err == nil {
		candidates = append(candidates, filepath.Join(filepath.Dir(self), ".."))
	}
	return candidates
}

// print writes the summary for a person or as JSON.
func (s *demoSummary) print(out io.Writer, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(s)
	}
	if s.Sparse != nil {
		s.Sparse.print(out)
	}
	fmt.Fprintf(out, "\n%d frames fused in %.1f s (%.1f/s), %.1f %% from two models, %d restarts\n", s.Frames, s.Seconds, s.FPS, 100*s.ShareFused, s.Restarts)
	for _, c := range s.Cameras {
		fmt.Fprintf(out, "\n%s: %d frames, %d pictures with known truth\n", c.Name, c.Frames, c.LabelledPictures)
		for _, m := range append(c.Models, c.Fused) {
			fmt.Fprintf(out, "  %-13s precision %.3f  recall %.3f  mean IoU %.3f  (%d right, %d false, %d missed)\n", m.Name, m.Precision, m.Recall, m.MeanIoU, m.TP, m.FP, m.FN)
		}
		if c.PicturesProved > 0 || c.Unproved > 0 {
			fmt.Fprintf(out, "  frame numbers read from the pixels by the detectors: %d right, %d not\n", c.PicturesProved, c.Unproved)
		}
	}
	fmt.Fprintf(out, "\nfused frames that joined boxes of different pictures: %d\n", s.MixedFrames)
	for _, p := range s.Snapshots {
		fmt.Fprintf(out, "picture: %s\n", p)
	}
	return nil
}
