package appliance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/status"
	"github.com/skewgate/skewgate/appliance/trace"
)

const (
	// maxRecordings bounds what recorders may cost the path: a copied event each.
	maxRecordings = 4
	// drainEvery is how often a recorder's queue is emptied; the path wakes nobody for it.
	drainEvery = 10 * time.Millisecond
	// endWithin bounds the waiting for the path to end a recording.
	endWithin = 2 * time.Second
)

// Record says that the run is recorded into a file from its first event on.
type Record struct {
	Path    string // "" = not
	MaxSize int64  // of one part
	Keep    int    // parts beside the present one
}

// recording is one recorder and where its lines go.
type recording struct {
	name string
	rec  *trace.Recorder
	file *trace.File // nil for a client's
	err  error       // why it ended early; guarded by recordings.mu
}

// recordings are those that run.
type recordings struct {
	mu  sync.Mutex
	all []*recording
}

func (rs *recordings) add(r *recording) error {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if len(rs.all) >= maxRecordings {
		return fmt.Errorf("%d recordings run already, the most that may: end one", len(rs.all))
	}
	rs.all = append(rs.all, r)
	return nil
}

func (rs *recordings) remove(r *recording) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.all = slices.DeleteFunc(rs.all, func(o *recording) bool { return o == r })
}

// clients counts those whose lines go to a client.
func (rs *recordings) clients() (n int) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, r := range rs.all {
		if r.file == nil {
			n++
		}
	}
	return n
}

// close closes the files of recordings that never ran.
func (rs *recordings) close() error {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	var errs []error
	for _, r := range rs.all {
		if r.file != nil {
			errs = append(errs, r.file.Close())
		}
	}
	return errors.Join(errs...)
}

func (rs *recordings) status() []status.Recording {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	all := []status.Recording{}
	for _, r := range rs.all {
		s := status.Recording{To: r.name, Queued: uint64(r.rec.Queued())}
		s.Events, s.Lost = r.rec.Stats()
		if r.err != nil {
			s.Error = r.err.Error()
		}
		all = append(all, s)
	}
	return all
}

// newRecorder makes a recorder that begins where the correlator is now. It is called on the
// path's thread, or before there is one.
func (p *path) newRecorder(running bool, partBytes int64) (*trace.Recorder, error) {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // cannot fail
	return trace.NewRecorder(trace.Options{
		Header: trace.Header{
			ID: hex.EncodeToString(id), Running: running, Version: p.a.o.Version,
			WallNS: time.Now().UnixNano(), MonoNS: int64(clock.Now()), State: p.corr.state(),
		},
		Settings: p.corr.settings, PartBytes: partBytes,
	})
}

// recordFile begins the recording that Options ask for, before anything has happened.
func (p *path) recordFile(o Record) error {
	if o.Path == "" {
		return nil
	}
	rec, err := p.newRecorder(false, o.MaxSize)
	if err != nil {
		return fmt.Errorf("record to %s: %w", o.Path, err)
	}
	file, err := trace.OpenFile(o.Path, o.Keep)
	if err != nil {
		return err
	}
	p.corr.attach(rec)
	return p.a.recordings.add(&recording{name: o.Path, rec: rec, file: file})
}

// writeFile takes the recording that recordFile began to its file until the path has ended.
func (a *Appliance) writeFile(r *recording) {
	err := a.pump(context.Background(), r, r.file)
	err = errors.Join(err, r.file.Close())
	if err == nil {
		a.recordings.remove(r)
		return
	}
	a.o.Log.Error("recording ended early; what is there replays up to that", "file", r.name, "err", err)
	a.recordings.mu.Lock()
	r.err = err // kept in status
	a.recordings.mu.Unlock()
}

// Trace records what the path does from now on and writes it to w, until ctx ends or the
// appliance does. partBytes is where a new part begins, 0 for never.
func (a *Appliance) Trace(ctx context.Context, w io.Writer, partBytes int64) error {
	r := &recording{name: "client"}
	err := a.path.between(ctx, func() (err error) {
		if r.rec, err = a.path.newRecorder(true, partBytes); err != nil {
			return err
		}
		if err = a.recordings.add(r); err == nil {
			a.path.corr.attach(r.rec)
		}
		return err
	})
	defer a.recordings.remove(r)
	if err != nil {
		// A client that goes at this very moment may leave a recorder attached.
		return errors.Join(err, a.endRecording(r))
	}
	return a.pump(ctx, r, w)
}

// pump takes a recording's lines to w until it is over. When ctx ends the recording is ended in
// order; when w fails it is given up.
func (a *Appliance) pump(ctx context.Context, r *recording, w io.Writer) error {
	tick := time.NewTicker(drainEvery)
	defer tick.Stop()
	asked := ctx.Done()
	var lines []byte
	for {
		lines = r.rec.Drain(lines[:0])
		if len(lines) > 0 {
			if _, err := w.Write(lines); err != nil {
				return errors.Join(err, a.endRecording(r))
			}
		}
		if r.rec.Finished() {
			return nil
		}
		if r.rec.Queued() > 0 {
			continue
		}
		select {
		case <-tick.C:
		case <-asked:
			asked = nil
			if err := a.endRecording(r); err != nil {
				return err
			}
		}
	}
}

// endRecording takes a recorder away from the path.
func (a *Appliance) endRecording(r *recording) error {
	ctx, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	err := a.path.between(ctx, func() error {
		a.path.corr.detach(r.rec)
		return nil
	})
	if err != nil {
		return fmt.Errorf("end a recording: the path does not answer: %w", err)
	}
	return nil
}

// endRecordings ends all of them, when the path has ended, and gives clients the time to take
// the last lines.
func (a *Appliance) endRecordings() {
	for _, r := range slices.Clone(a.path.corr.recorders) {
		a.path.corr.detach(r)
	}
	for range endWithin / drainEvery {
		if a.recordings.clients() == 0 {
			return
		}
		time.Sleep(drainEvery)
	}
}

// settingsOf are the correlator's settings as a trace says them.
func settingsOf(c *correlate.Config) trace.Settings {
	camera := func(cc *correlate.CameraConfig) trace.CameraSettings {
		return trace.CameraSettings{
			Match: cc.Match.String(), WindowNS: cc.WindowNS, FrameIntervalNS: cc.FrameIntervalNS, OffsetNS: cc.OffsetNS, Expected: cc.Expected,
		}
	}
	s := trace.Settings{
		QuantumNS: c.QuantumNS, TimeoutNS: c.TimeoutNS, MaxAgeNS: c.MaxAgeNS, ClosedTTLNS: c.ClosedTTLNS, SkewWindowNS: c.SkewWindowNS,
		MaxPending: c.MaxPending, EmitEmpty: c.EmitEmpty, ImplicitProgress: c.ImplicitProgress,
		Camera: camera(&c.Camera), Cameras: make(map[string]trace.CameraSettings),
	}
	if c.MaxAgeNS == correlate.Never {
		s.MaxAgeNS = -1
	}
	for name, cc := range c.Cameras {
		s.Cameras[name] = camera(&cc)
	}
	return s
}
