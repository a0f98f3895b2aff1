package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/skewgate/skewgate/appliance"
	"github.com/skewgate/skewgate/appliance/clock"
)

// What a detector says of pictures in which it found nothing decides how long their frames take.
// This part of the demo measures it: an appliance with a detector that finds something in most
// pictures, and beside it one after the other of those that find something in about one of ten.

const (
	sparseCamera  = "shapes"
	sparseDense   = "proposals" // finds something in nearly every picture
	sparseManaged = "rare"
	// At this score the model shapes_yolo finds something in a tenth of the film's pictures.
	sparseThreshold = 0.647
	// sparseMost bounds the frames behind each figure.
	sparseMost = 10_000
	// sparseQueue bounds what waits between the path and the figures.
	sparseQueue = 512
	// sparseFrame is the longest that a frame may take beside the time to get going.
	sparseFrame = 500 * time.Millisecond
)

// The ways of saying that nothing was found, as the examples name them.
const (
	saysNothing  = "nothing"
	saysAnswers  = "answers"
	saysProgress = "progress"
)

// sparsePart is the appliance of this part and what comes out of it.
type sparsePart struct {
	a       *appliance.Appliance
	frames  chan *appliance.Fused
	timeout time.Duration // of the frames, from the config
	each    int           // frames behind each figure
	dir     string
	say     io.Writer
}

// runSparse measures all of it, in about half a minute. An error says that there is no result; what
// went wrong with one detector is in its row.
func runSparse(ctx context.Context, o demoOptions, say, logTo io.Writer) (*sparseSummary, error) {
	level := o.logLevel
	if level == "warn" {
		// A detector's first word may be about a frame that was closed without it, and a warning
		// would send the user after a fault that is none.
		level = "error"
	}
	log, err := newLogger(logTo, "text", level)
	if err != nil {
		return nil, exit(exitUsage, err)
	}
	p := &sparsePart{frames: make(chan *appliance.Fused, sparseQueue), each: o.sparse, dir: filepath.Join(o.out, "sparse"), say: say}
	peers := sparsePeers(o)
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the detectors that find little: %w", err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "rare.yaml"), []byte(sparseManifest(o.films)), 0o644); err != nil {
		return nil, fmt.Errorf("write a manifest: %w", err)
	}
	cfg, err := loadWritten(filepath.Join(p.dir, "skewgate.yaml"), sparseConfig(o.films, p.dir, peers))
	if err != nil {
		return nil, err
	}
	p.timeout = cfg.Correlation.Timeout
	places, err := locate(cfg)
	if err != nil {
		return nil, err
	}
	places.Log, places.RunDir, places.Tap = log, filepath.Join(p.dir, "run"), p.tap
	if p.a, err = appliance.New(cfg, places); err != nil {
		return nil, err
	}
	ctx, end := context.WithCancelCause(ctx)
	ended := make(chan error, 1)
	go func() {
		err := p.a.Run(ctx)
		end(err) // it may have ended by itself
		ended <- err
	}()
	s, err := p.measure(ctx, peers)
	end(nil)
	if errRun := <-ended; err == nil {
		err = errRun // else it is the cause
	}
	// The config stays, to be looked at and run; what the run itself left does not.
	return s, errors.Join(err, os.RemoveAll(places.RunDir), os.RemoveAll(cfg.StateDir))
}

func sparseConfig(films, dir string, peers []sparsePeer) string {
	at := func(name string) string { return filepath.Join(films, name) }
	var b strings.Builder
	fmt.Fprintf(&b, "# Written by skewgate demo. Run it with: skewgate run -c %s\n", filepath.Join(dir, "skewgate.yaml"))
	fmt.Fprintf(&b, "unit: demo\nstate_dir: %q\ncorrelation: {emit_empty: true}\n", filepath.Join(dir, "state"))
	fmt.Fprintf(&b, "cameras:\n  - {name: %s, source: %q, loop: true, max_picture: 640x360}\n", sparseCamera, at("shapes_video.mp4"))
	fmt.Fprintf(&b, "models:\n  - {name: %s, manifest: %q, cameras: [%s]}\n", sparseDense, at("proposals.yaml"), sparseCamera)
	fmt.Fprintf(&b, "  - {name: %s, manifest: %q, cameras: [%s]}\n", sparseManaged, filepath.Join(dir, "rare.yaml"), sparseCamera)
	for _, peer := range peers {
		fmt.Fprintf(&b, "  - {name: %s, command: attach, cameras: [%s], frame_ids: true}\n", peer.model, sparseCamera)
	}
	return b.String()
}

func sparseManifest(films string) string {
	return fmt.Sprintf("# Written by skewgate demo: a threshold that few shapes reach.\nmodel: %q\nlayout: yolov8\nthreshold: %v\n",
		filepath.Join(films, "shapes_yolo.onnx"), sparseThreshold)
}

// tap runs on the path's thread: it copies the frame and never waits.
func (p *sparsePart) tap(f *appliance.Fused) {
	select {
	case p.frames <- f.Clone():
	default: // nobody takes frames now
	}
}

func (p *sparsePart) measure(ctx context.Context, peers []sparsePeer) (*sparseSummary, error) {
	s := &sparseSummary{TimeoutMS: millis(p.timeout), Frames: p.each}
	row, err := p.managed(ctx)
	if err != nil {
		return nil, err
	}
	s.Detectors = append(s.Detectors, row)
	for i := range peers {
		row := p.foreign(ctx, &peers[i])
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		s.Detectors = append(s.Detectors, row)
	}
	for i := range s.Detectors {
		s.Detectors[i].judge(p.timeout)
	}
	return s, nil
}

// managed measures a detector of the appliance's own. It cannot be silent: it answers every
// picture, and the appliance promises for those that it never got. So its silence is worked out:
// what the correlator heard in this very run is replayed without them, for the same frames.
func (p *sparsePart) managed(ctx context.Context) (row sparseRow, err error) {
	row.Detector = "managed"
	if _, err = p.gather(ctx, sparseManaged, 1, nil); err != nil {
		return row, err
	}
	rec, err := p.record(ctx)
	if err != nil {
		return row, err
	}
	figure, err := p.gather(ctx, sparseManaged, 3*p.each, nil) // as many as all runs of another take
	if err == nil {
		err = sleep(ctx, p.timeout) // until the last of them would have timed out
	}
	if err = errors.Join(err, rec.end()); err != nil {
		return row, err
	}
	silent, err := rec.replay(figure, sparseManaged, false)
	if err != nil {
		return row, err
	}
	promised, err := rec.replay(figure, sparseManaged, true)
	if err != nil {
		return row, err
	}
	row.add(saysNothing, silent)
	row.add(saysAnswers, figure)
	row.add(saysProgress, promised)
	p.tell(&row)
	return row, nil
}

// foreign measures one that attaches, started anew for each way of saying that it found nothing.
func (p *sparsePart) foreign(ctx context.Context, peer *sparsePeer) sparseRow {
	row := sparseRow{Detector: peer.name}
	if row.NotRun = peer.missing(); row.NotRun == "" {
		for _, says := range []string{saysNothing, saysAnswers, saysProgress} {
			figure, err := p.attached(ctx, peer, says)
			if err != nil {
				row.Problem = fmt.Sprintf("%s, when it said %s: %v", peer.name, says, err)
				break
			}
			row.add(says, figure)
		}
	}
	p.tell(&row)
	return row
}

// attached is one life of a foreign detector.
func (p *sparsePart) attached(ctx context.Context, peer *sparsePeer, says string) (figure *sparseFigure, err error) {
	process, err := startSparse(peer, says, p.dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, process.stop(), p.absent(ctx, peer.model))
	}()
	return p.gather(ctx, peer.model, p.each, process)
}

// absent waits until the appliance has seen that a detector is gone; the next one would be
// refused before.
func (p *sparsePart) absent(ctx context.Context, model string) error {
	for begin := time.Now(); time.Since(begin) < demoStall; {
		for _, m := range p.a.Status().Models {
			if m.Name == model && m.State == "absent" {
				return nil
			}
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("the appliance does not notice within %v that the detector %s has ended", demoStall, model)
}

// sparseFigure is what some frames took that waited for one detector.
type sparseFigure struct {
	waits   []time.Duration // from a frame's first answer to its fused result
	slowest []time.Duration // from a frame's first answer to its last one
	found   int             // frames in which the detector found something
	ids     map[sparseID]bool
}

type sparseID struct {
	epoch uint32
	frame uint64
}

// gather takes n frames that had to wait for a model: those that another one answered, and that
// began after its first answer, which is one of after now. While a process stands behind the model
// it has to live.
func (p *sparsePart) gather(ctx context.Context, model string, n int, process *sparseProcess) (*sparseFigure, error) {
	since, heard := clock.Now(), false
	figure := &sparseFigure{ids: make(map[sparseID]bool)}
	within := demoStall + time.Duration(n)*sparseFrame
	late := time.NewTimer(within)
	defer late.Stop()
	for len(figure.waits) < n {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-process.done():
			return nil, process.reason()
		case <-late.C:
			return nil, fmt.Errorf("%d of %d frames waited for %s within %v: %s", len(figure.waits), n, model, within, stallReason(p.a.Status()))
		case f := <-p.frames:
			if f.Frame.FirstArrival <= since {
				continue
			}
			switch m := member(f, model); {
			case !heard:
				if heard = m != nil; heard {
					since = f.Frame.Closed
				}
			case member(f, sparseDense) != nil: // else a busy machine left it out
				figure.add(f, m != nil && len(m.Boxes) > 0)
			}
		}
	}
	return figure, nil
}

// member is what a model said of a frame, nil if nothing.
func member(f *appliance.Fused, model string) *appliance.Member {
	for i := range f.Members {
		if f.Members[i].Model == model {
			return &f.Members[i]
		}
	}
	return nil
}

func (s *sparseFigure) add(f *appliance.Fused, found bool) {
	s.waits = append(s.waits, f.Frame.Closed.Sub(f.Frame.FirstArrival))
	s.slowest = append(s.slowest, f.Frame.LastArrival.Sub(f.Frame.FirstArrival))
	s.ids[sparseID{f.StreamEpoch, f.FrameID}] = true
	if found {
		s.found++
	}
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
