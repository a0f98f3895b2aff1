package appliance

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/skewgate/skewgate/appliance/capture"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/supervise"
	"github.com/skewgate/skewgate/shm"
)

// Names under which children find their files.
const (
	fileFrames   = "frames"
	fileRing     = "ring"
	fileDispatch = "dispatch"
	fileDoorbell = "doorbell"
)

// detectJob is what skewgate-detect is told. It is written out here and read there:
// the detector links ONNX Runtime and shares no code with the appliance's root.
type detectJob struct {
	Unit       string          `json:"unit"`
	Model      string          `json:"model"`
	Replica    uint32          `json:"replica"`
	Generation uint64          `json:"generation"`
	Manifest   config.Manifest `json:"manifest"`
	Library    string          `json:"library"`
	Threads    int             `json:"threads"`
	Cameras    []detectCamera  `json:"cameras"`
}

type detectCamera struct {
	Name string `json:"name"`
	Tag  string `json:"tag"`
}

// specs describes every child; startChildren starts them.
func (a *Appliance) specs(bell *shm.Segment, cameras []*camera, replicas []*replica) error {
	for _, r := range replicas {
		if r.foreign != nil {
			continue
		}
		spec, err := a.detectSpec(bell, r)
		if err != nil {
			return err
		}
		a.children = append(a.children, spec)
	}
	for _, c := range cameras {
		spec, err := a.captureSpec(bell, c)
		if err != nil {
			return err
		}
		a.children = append(a.children, spec)
	}
	return nil
}

// startChildren starts detectors before captures, so that fewer first pictures find
// nobody to look at them.
func (a *Appliance) startChildren() error {
	for _, spec := range a.children {
		if err := a.sup.Add(spec); err != nil {
			return err
		}
	}
	return nil
}

func (a *Appliance) captureSpec(bell *shm.Segment, c *camera) (supervise.Spec, error) {
	pace, err := a.memory.readOnly(c.paceSegment)
	if err != nil {
		return supervise.Spec{}, err
	}
	return supervise.Spec{
		Task: c.task, Path: a.o.Self, Args: []string{"capture"},
		Files: []supervise.File{
			{Name: fileFrames, F: c.ring.File()},
			{Name: fileDispatch, F: pace},
			{Name: fileDoorbell, F: bell.File()},
		},
		Hello: capture.Job{
			Unit: a.cfg.Unit, Camera: c.cfg.Name, Source: c.cfg.Source.Reveal(), FPS: c.cfg.FPS,
			Pace: string(c.cfg.Pace), Loop: c.cfg.Loop, Tag: string(c.cfg.Tag), FFmpeg: a.o.FFmpeg,
		},
		LastFrame: func() uint64 { return c.frames.Info().Head },
	}, nil
}

func (a *Appliance) detectSpec(bell *shm.Segment, r *replica) (supervise.Spec, error) {
	work, err := a.memory.readOnly(r.workSegment)
	if err != nil {
		return supervise.Spec{}, err
	}
	files := []supervise.File{
		{Name: fileRing, F: r.segment.File()},
		{Name: fileDispatch, F: work},
		{Name: fileDoorbell, F: bell.File()},
	}
	job := detectJob{
		Unit: a.cfg.Unit, Model: r.cfg.Name, Manifest: r.cfg.Network,
		Library: a.o.Library, Threads: a.cfg.Runtime.Threads,
	}
	for _, c := range r.cameras {
		frames, err := a.memory.readOnly(c.ring)
		if err != nil {
			return supervise.Spec{}, err
		}
		files = append(files, supervise.File{Name: fileFrames + "/" + c.cfg.Name, F: frames})
		job.Cameras = append(job.Cameras, detectCamera{Name: c.cfg.Name, Tag: string(c.cfg.Tag)})
	}
	return supervise.Spec{
		Task: r.task, Path: a.o.Detect, Args: []string{"run"}, Files: files, Hello: job,
		LastFrame: r.lastFrame.Load,
	}, nil
}

// replaceWild ends children whose memory cannot be believed, has it laid out anew on
// the path's thread while no process writes it, and starts them again. after, if not nil,
// is called once that memory is good again.
func (a *Appliance) replaceWild(tasks []string, layOut func() error, after func()) {
	a.goFunc("replace "+tasks[0], func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*childrenEnd)
		defer cancel()
		var errs []error
		for _, task := range tasks {
			errs = append(errs, a.sup.Stop(ctx, task))
		}
		if err := errors.Join(errs...); err != nil {
			a.o.Log.Error("stop processes whose shared memory is broken", "tasks", tasks, "err", err)
			return
		}
		errs = append(errs, a.path.between(ctx, layOut))
		if after != nil {
			after()
		}
		for _, task := range tasks {
			errs = append(errs, a.sup.Start(ctx, task))
		}
		if err := errors.Join(errs...); err != nil {
			a.o.Log.Error("replace processes whose shared memory was broken", "tasks", tasks, "err", err)
		}
	})
}

// Absolute makes a program's path absolute; children are started by full path only.
func Absolute(path string) (string, error) {
	p, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("make %q absolute: %w", path, err)
	}
	return p, nil
}
