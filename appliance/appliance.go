// Package appliance builds the path, top to bottom in the order of the picture, and
// runs it: captures fill frame rings, dispatch hands pictures to detectors, their
// rings are correlated, groups are fused, sinks carry the result out.
//
// One thread does all of that between the rings and the sinks (path.go). Everything
// that may wait, such as processes, files and clients, runs elsewhere and talks to it
// through memory.
package appliance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skewgate/skewgate/appliance/attach"
	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/supervise"
	"github.com/skewgate/skewgate/appliance/web"
	"github.com/skewgate/skewgate/shm"
)

// Options are what the command line adds to a config.
type Options struct {
	Log     *slog.Logger
	Version string
	Self    string // absolute path of this program: captures are its hidden verb
	Detect  string // absolute path of skewgate-detect
	Library string // absolute path of libonnxruntime
	FFmpeg  string // absolute path of ffmpeg
	RunDir  string // where control.sock and attach.sock live
	// Tap, if set, is called on the path's thread with every published frame; what it
	// is given is valid only during the call.
	Tap func(*Fused)
	// Record, if it names a file, records the run from its first event on.
	Record Record
}

// Bounds of an orderly end.
const (
	captureStop = 3 * time.Second
	drainSlack  = 500 * time.Millisecond // on top of the correlation timeout
	childrenEnd = 5 * time.Second
)

// Appliance is one running skewgate.
type Appliance struct {
	cfg     *config.Config
	o       Options
	started clock.Mono

	lock     *os.File
	memory   memory
	control  listener
	sinks    []*outlet
	attach   *attach.Server
	deskNews atomic.Bool // a foreign detector came or went
	bellPage []byte
	sup      *supervise.Supervisor
	mail     mailbox
	path     *path
	children []supervise.Spec

	recordings recordings
	explaining chan struct{} // a place for each question about frames
	goroutines sync.WaitGroup
	quit       chan struct{} // closed when the path has ended
	state      stateWord
}

// New builds everything that can fail before the first process starts: an error
// means that nothing runs and nothing is left behind.
func New(cfg *config.Config, o Options) (*Appliance, error) {
	a := &Appliance{cfg: cfg, o: o, started: clock.Now(), quit: make(chan struct{}), explaining: make(chan struct{}, maxExplaining)}
	if err := a.build(); err != nil {
		return nil, errors.Join(err, a.release())
	}
	return a, nil
}

func (a *Appliance) build() error {
	var err error
	if a.lock, err = lockState(a.cfg.StateDir); err != nil {
		return err
	}
	if a.control, err = listenAll(a.o.RunDir, a.cfg.HTTP.Listen); err != nil {
		return err
	}
	if err := CheckRoom(a.cfg, os.DirFS("/")); errors.Is(err, shm.ErrNoRoom) {
		return err
	} else if err != nil {
		a.o.Log.Warn("go on without knowing whether the shared memory fits", "err", err)
	}
	bellSegment, bell, err := a.memory.doorbell()
	if err != nil {
		return err
	}
	cameras, err := a.buildCameras()
	if err != nil {
		return err
	}
	replicas, err := a.buildReplicas(cameras)
	if err != nil {
		return err
	}
	output, err := a.openSinks()
	if err != nil {
		return err
	}
	a.mail.bell = bell
	if err := a.buildAttach(bellSegment, bell, cameras, replicas, output); err != nil {
		return err
	}
	a.nameMatching()
	if a.path, err = newPath(a, bell, cameras, replicas); err != nil {
		return err
	}
	if a.sup, err = supervise.New(supervise.Options{Log: a.o.Log, OnEvent: a.mail.put}); err != nil {
		return err
	}
	return a.specs(bellSegment, cameras, replicas)
}

// goFunc starts every goroutine of the appliance, so that Run can wait for all.
func (a *Appliance) goFunc(name string, f func()) {
	a.goroutines.Add(1)
	go func() {
		defer a.goroutines.Done()
		a.o.Log.Debug("goroutine started", "name", name)
		f()
	}()
}

// Run starts the children and the path and returns after ctx ended and everything is
// drained: captures stop first, what is in flight is answered, open groups close by
// their own rules, detectors stop, sinks flush. Each step has a bound.
func (a *Appliance) Run(ctx context.Context) error {
	serve, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	for _, l := range a.control.listeners {
		handler := web.GuardHost(a.cfg.HTTP.Listen, web.Handler(a))
		if l.Addr().Network() == "unix" {
			handler = web.ControlHandler(a)
		}
		a.goFunc("serve "+l.Addr().String(), func() {
			if err := web.Serve(serve, l, handler, a.o.Log); err != nil {
				a.o.Log.Error("status API ended", "err", err)
			}
		})
	}
	a.goFunc("attach", func() { a.attach.Serve(a.control.attach) })
	flush, stopSinks := context.WithCancel(context.WithoutCancel(ctx))
	for _, s := range a.sinks {
		a.goFunc("sink "+s.name, func() { s.Run(flush) })
	}
	for _, r := range slices.Clone(a.recordings.all) { // the one into a file; clients come later
		a.goFunc("record "+r.name, func() { a.writeFile(r) })
	}
	pathEnded := make(chan struct{})
	a.goFunc("path", func() {
		defer close(pathEnded)
		a.path.run()
	})
	err := a.startChildren()
	if err == nil {
		a.state.set(stateRunning)
		<-ctx.Done()
	}

	a.state.set(stateDraining)
	a.o.Log.Info("draining")
	a.attach.Drain()
	err = errors.Join(err, a.drain())
	a.path.stop()
	<-pathEnded
	a.endRecordings()
	close(a.quit)
	a.attach.Close()
	err = errors.Join(err, a.control.attach.Close()) // ends its Serve; the HTTP servers close theirs
	stopSinks()
	stopServing()
	a.goroutines.Wait()
	return errors.Join(err, a.release())
}

// drain stops the sources, lets the path answer what is in flight, and ends all
// children.
func (a *Appliance) drain() error {
	ctx, cancel := context.WithTimeout(context.Background(), captureStop)
	var stops sync.WaitGroup
	for _, c := range a.path.cameras {
		stops.Go(func() {
			if err := a.sup.Stop(ctx, c.task); err != nil && !errors.Is(err, supervise.ErrNoTask) {
				a.o.Log.Warn("stop capture", "task", c.task, "err", err)
			}
		})
	}
	stops.Wait()
	cancel()
	a.path.settle(a.cfg.Correlation.Timeout + drainSlack)
	ctx, cancel = context.WithTimeout(context.Background(), childrenEnd)
	defer cancel()
	err := a.sup.Shutdown(ctx)
	// What detectors published while they ended is read and closed as well.
	a.path.settle(a.cfg.Correlation.Timeout + drainSlack)
	return err
}

// release undoes build, in reverse.
func (a *Appliance) release() error {
	var errs []error
	if a.sup != nil {
		ctx, cancel := context.WithTimeout(context.Background(), childrenEnd)
		if err := a.sup.Shutdown(ctx); !errors.Is(err, supervise.ErrShutdown) {
			errs = append(errs, err)
		}
		cancel()
	}
	errs = append(errs, a.memory.close(), a.control.close(), a.recordings.close())
	if a.lock != nil {
		errs = append(errs, a.lock.Close())
	}
	return errors.Join(errs...)
}

func (a *Appliance) buildCameras() ([]*camera, error) {
	var all []*camera
	for i := range a.cfg.Cameras {
		c := &camera{index: i, cfg: &a.cfg.Cameras[i], task: "capture/" + a.cfg.Cameras[i].Name}
		var err error
		if c.ring, c.frames, err = a.memory.frameRing(a.cfg.Unit, i, c.cfg); err != nil {
			return nil, err
		}
		if c.paceSegment, c.pace, err = a.memory.dispatch(c.task); err != nil {
			return nil, err
		}
		c.pace.SetPeer(c.frames.Peer())
		all = append(all, c)
	}
	return all, nil
}

func (a *Appliance) buildReplicas(cameras []*camera) ([]*replica, error) {
	var all []*replica
	desks := 0
	for i := range a.cfg.Models {
		m := &a.cfg.Models[i]
		r := &replica{index: i, cfg: m, task: fmt.Sprintf("detect/%s/0", m.Name), queue: noQueue}
		for _, name := range m.Cameras {
			for _, c := range cameras {
				if c.cfg.Name == name {
					r.cameras = append(r.cameras, c)
				}
			}
		}
		var err error
		if r.segment, r.ring, err = a.memory.detectionRing(i, m, 0); err != nil {
			return nil, err
		}
		r.body = make([]byte, r.ring.PayloadBytes())
		all = append(all, r)
		if m.Foreign() {
			r.foreign, r.settled = newForeign(desks), true
			desks++
			continue
		}
		if r.workSegment, r.work, err = a.memory.dispatch(r.task); err != nil {
			return nil, err
		}
		r.work.SetPeer(r.ring.Peer())
	}
	return all, nil
}

// Picture copies the picture of a published frame into buf while it is still in its
// frame ring. It may be called from one goroutine beside the path's.
func (a *Appliance) Picture(camera string, epoch uint32, frameID uint64, buf []byte) (shm.FrameMeta, []byte, bool) {
	for _, c := range a.path.cameras {
		if c.cfg.Name == camera {
			return c.picture(epoch, frameID, buf)
		}
	}
	return shm.FrameMeta{}, nil, false
}

// socketPath is where the control socket of an appliance with this folder lies.
func socketPath(runDir string) string { return filepath.Join(runDir, "control.sock") }
