package main

import (
	"context"
	"fmt"
	"image/jpeg"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/skewgate/skewgate/appliance"
	"github.com/skewgate/skewgate/appliance/status"
	"github.com/skewgate/skewgate/shm"
)

const (
	// tapQueue bounds what waits between the path and the scores; what does not fit is
	// counted, never waited for.
	tapQueue = 512
	// keptPictures is how many last pictures per camera may become JPEGs.
	keptPictures = 3
	jpegQuality  = 90
)

// audience watches the demo: it scores every fused frame and keeps the last pictures.
type audience struct {
	scorers  map[string]*scorer
	order    []*scorer
	frames   chan *appliance.Fused
	missed   int // did not fit into the queue
	limit    int
	total    int
	snapshot bool
	kept     map[string][]keptFrame
	pictures func(camera string, epoch uint32, frameID uint64, buf []byte) (shm.FrameMeta, []byte, bool)
}

// keptFrame is one fused frame with its pixels.
type keptFrame struct {
	frame  *appliance.Fused
	meta   shm.FrameMeta
	pixels []byte
}

func newAudience(films []*film, o demoOptions) (*audience, error) {
	w := &audience{
		scorers: make(map[string]*scorer), frames: make(chan *appliance.Fused, tapQueue), limit: o.frames,
		snapshot: o.snapshot != "", kept: make(map[string][]keptFrame),
	}
	for _, f := range films {
		s, err := newScorer(f)
		if err != nil {
			return nil, err
		}
		w.scorers[f.camera] = s
		w.order = append(w.order, s)
	}
	return w, nil
}

// tap runs on the path's thread: it copies the frame and never waits.
func (w *audience) tap(f *appliance.Fused) {
	select {
	case w.frames <- f.Clone():
	default:
		w.missed++
	}
}

// follow scores frames until ctx ends, and ends the demo at its limit or when no
// frame comes any more.
func (w *audience) follow(ctx context.Context, end context.CancelCauseFunc) {
	stall := time.NewTimer(demoStall)
	defer stall.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-stall.C:
			end(errDemoStalled)
			return
		case f := <-w.frames:
			stall.Reset(demoStall)
			w.see(f)
			if w.limit > 0 && w.total >= w.limit {
				end(nil)
				return
			}
		}
	}
}

func (w *audience) see(f *appliance.Fused) {
	w.total++
	s := w.scorers[f.Frame.Camera]
	if s == nil {
		return
	}
	s.add(f)
	if w.snapshot && len(f.Members) == len(s.film.models) {
		w.keep(f)
	}
}

// keep copies the frame's picture while it is still in its ring; the oldest kept one
// gives up its buffer.
func (w *audience) keep(f *appliance.Fused) {
	kept := w.kept[f.Frame.Camera]
	var buf []byte
	if len(kept) == keptPictures {
		buf = kept[0].pixels
	}
	meta, pixels, ok := w.pictures(f.Frame.Camera, f.StreamEpoch, f.FrameID, buf)
	if !ok {
		return // overwritten meanwhile
	}
	if len(kept) == keptPictures {
		kept = append(kept[:0], kept[1:]...)
	}
	w.kept[f.Frame.Camera] = append(kept, keptFrame{f, meta, pixels})
}

// writeSnapshots draws the kept pictures and returns their files.
func (w *audience) writeSnapshots(dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the snapshot folder: %w", err)
	}
	var files []string
	for _, s := range w.order {
		for i, k := range w.kept[s.film.camera] {
			path := filepath.Join(dir, fmt.Sprintf("%s-%d.jpg", s.film.camera, i+1))
			if err := writeSnapshot(path, s.film, &k); err != nil {
				return nil, err
			}
			files = append(files, path)
		}
	}
	return files, nil
}

func writeSnapshot(path string, f *film, k *keptFrame) error {
	var layers []layer
	for i, m := range f.models {
		l := layer{name: m.name, color: palette[i%len(palette)], thick: 1, line: i + 1}
		for j := range k.frame.Members {
			if k.frame.Members[j].Model != m.name {
				continue
			}
			for _, b := range k.frame.Members[j].Boxes {
				l.marks = append(l.marks, mark{float64(b.X1), float64(b.Y1), float64(b.X2), float64(b.Y2), fmt.Sprintf("%.2f", b.Score)})
			}
		}
		layers = append(layers, l)
	}
	fused := layer{name: "fused", color: fusedColor, thick: 2}
	for _, b := range k.frame.Frame.Boxes {
		fused.marks = append(fused.marks, mark{b.X1, b.Y1, b.X2, b.Y2, fmt.Sprintf("%s %.2f", b.Label, b.Score)})
	}
	title := fmt.Sprintf("%s #%d", f.camera, k.frame.FrameID)
	img, err := renderPicture(k.pixels, int(k.meta.Width), int(k.meta.Height), title, append(layers, fused))
	if err != nil {
		return err
	}
	out, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	defer out.Close()
	if err := jpeg.Encode(out, img, &jpeg.Options{Quality: jpegQuality}); err != nil {
		return fmt.Errorf("write snapshot %s: %w", path, err)
	}
	return out.Close()
}

// demoSummary is what the demo measured; its JSON form is schema 1.
type demoSummary struct {
	Schema      int               `json:"schema"`
	Frames      int               `json:"frames"`
	Unscored    int               `json:"unscored"` // fused, but the scores could not keep up
	Seconds     float64           `json:"seconds"`
	FPS         float64           `json:"frames_per_second"`
	ShareFused  float64           `json:"share_fused"` // of frames, from two models or more
	MixedFrames int               `json:"mixed_frames"`
	Restarts    uint64            `json:"restarts"`
	SkewMS      *status.Quantiles `json:"arrival_skew_ms"`
	PathMS      *status.Quantiles `json:"publish_to_fused_ms"`
	Cameras     []demoCamera      `json:"cameras"`
	Sparse      *sparseSummary    `json:"sparse"` // null: left out
	Snapshots   []string          `json:"snapshots"`
}

type demoCamera struct {
	Name             string      `json:"name"`
	Frames           int         `json:"frames"`
	FusedFromTwo     int         `json:"fused_from_two_or_more"`
	MixedFrames      int         `json:"mixed_frames"`
	PicturesProved   int         `json:"pictures_proved"` // detections whose barcode is the frame's number
	Unproved         int         `json:"pictures_unproved"`
	LabelledPictures int         `json:"labelled_pictures"`
	Models           []demoScore `json:"models"`
	Fused            demoScore   `json:"fused"`
}

type demoScore struct {
	Name      string  `json:"name"`
	Pictures  int     `json:"pictures"`
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	MeanIoU   float64 `json:"mean_iou"`
	TP        int     `json:"true_positives"`
	FP        int     `json:"false_positives"`
	FN        int     `json:"false_negatives"`
}

// summary is called after the appliance and follow have ended. What the path fused
// while it drained is left out: the figures are those of the frames asked for.
func (w *audience) summary(d *status.Document, took time.Duration) *demoSummary {
	s := &demoSummary{
		Schema: 1, Frames: w.total, Unscored: w.missed, Seconds: round(took.Seconds(), 3),
		FPS: round(float64(w.total)/took.Seconds(), 2), Snapshots: []string{},
		SkewMS: d.Correlation.SkewMS, PathMS: d.Correlation.PathMS,
	}
	for _, t := range d.Tasks {
		s.Restarts += t.Restarts
	}
	multi := 0
	for _, sc := range w.order {
		c := demoCamera{
			Name: sc.film.camera, Frames: sc.frames, FusedFromTwo: sc.multi, MixedFrames: sc.mixed,
			PicturesProved: sc.proved, Unproved: sc.unproved, LabelledPictures: sc.fused.Pictures,
		}
		for i, m := range sc.film.models {
			c.Models = append(c.Models, scoreOf(m.name, &sc.models[i]))
		}
		c.Fused = scoreOf("fused", &sc.fused)
		s.MixedFrames += sc.mixed
		multi += sc.multi
		s.Cameras = append(s.Cameras, c)
	}
	if w.total > 0 {
		s.ShareFused = round(float64(multi)/float64(w.total), 4)
	}
	return s
}

func round(f float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(f*scale) / scale
}
