package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/valyala/fastjson"

	"github.com/skewgate/skewgate/appliance"
	"github.com/skewgate/skewgate/appliance/correlate"
)

// sparseRecording is what the correlator heard for some seconds, as `skewgate record` has it.
type sparseRecording struct {
	lines bytes.Buffer // the recorder's until it has ended
	begun chan struct{}
	once  sync.Once
	stop  context.CancelFunc
	over  chan error
}

// Write takes lines from the recorder.
func (r *sparseRecording) Write(lines []byte) (int, error) {
	r.once.Do(func() { close(r.begun) })
	return r.lines.Write(lines)
}

// record begins a recording and returns when it runs.
func (p *sparsePart) record(ctx context.Context) (*sparseRecording, error) {
	r := &sparseRecording{begun: make(chan struct{}), over: make(chan error, 1)}
	ctx, r.stop = context.WithCancel(ctx)
	go func(a *appliance.Appliance) { r.over <- a.Trace(ctx, r, 0) }(p.a)
	select {
	case <-r.begun:
		return r, nil
	case err := <-r.over:
		r.stop()
		return nil, errors.Join(err, errors.New("the recording ended before it began"))
	}
}

// end ends it; from then on its lines can be read.
func (r *sparseRecording) end() error {
	r.stop()
	return <-r.over
}

// replay tells what the frames of a figure would have taken, had a model said nothing of the
// pictures in which it found nothing. With promises, what the appliance promised for it counts.
func (r *sparseRecording) replay(of *sparseFigure, model string, promises bool) (*sparseFigure, error) {
	figure := &sparseFigure{found: of.found}
	run := newReplay(io.Discard)
	run.adjust = func(cfg *correlate.Config) { cfg.FrameIDs = nil } // they are numbers here, not texts
	run.number = func(id string) (uint64, error) { return strconv.ParseUint(id, 10, 64) }
	run.group = func(g *correlate.Group) {
		if len(g.Members) > 0 && of.ids[sparseID{g.Epoch, g.Members[0].FrameID}] {
			figure.waits = append(figure.waits, g.ClosedAt.Sub(g.FirstArrival))
			figure.slowest = append(figure.slowest, g.LastArrival.Sub(g.FirstArrival))
		}
	}
	var parser fastjson.Parser
	number := 0
	for line := range bytes.Lines(r.lines.Bytes()) {
		number++
		if number == 1 {
			if err := run.configure(line); err != nil {
				return nil, fmt.Errorf("replay the recording: %w", err)
			}
			continue
		}
		event, err := parseStrict(&parser, line)
		if err == nil {
			err = run.closeBefore(event)
		}
		if err == nil && !saidOfNothing(event, model, promises) {
			err = run.event(line)
		}
		if err != nil {
			return nil, fmt.Errorf("replay line %d of the recording: %w", number, err)
		}
	}
	if err := run.closeAll(); err != nil {
		return nil, err
	}
	if len(figure.waits) != len(of.waits) {
		return nil, fmt.Errorf("replay the recording: it closed %d frames of %d", len(figure.waits), len(of.waits))
	}
	return figure, nil
}

// saidOfNothing reports whether an event is a model's word of a picture in which it found nothing.
func saidOfNothing(event *fastjson.Value, model string, promises bool) bool {
	if m := event.Get("msg"); m != nil {
		return string(m.GetStringBytes("model")) == model && m.Exists("boxes") // recorded where there are none
	}
	return !promises && string(event.GetStringBytes("watermark", "model")) == model
}

// closeBefore lets frames time out at their own instants in front of an event. A recording has
// the ticks that closed something in the run, and here others are due.
func (r *replay) closeBefore(event *fastjson.Value) error {
	now, err := r.now(event.Get("now_ms"))
	if err != nil {
		return err
	}
	for at, open := r.c.NextDeadline(); open && at <= now; at, open = r.c.NextDeadline() {
		r.c.Tick(at)
	}
	return nil
}

// closeAll lets the frames time out that are still open at the end.
func (r *replay) closeAll() error {
	if r.c == nil {
		return errors.New("replay the recording: it is empty")
	}
	for at, open := r.c.NextDeadline(); open; at, open = r.c.NextDeadline() {
		r.c.Tick(at)
	}
	return nil
}
