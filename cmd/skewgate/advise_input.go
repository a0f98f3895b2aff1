package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skewgate/skewgate/appliance/advise"
	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
)

const (
	// maxAdviseMessages bounds what is kept of a recording, at some 100 bytes a message.
	maxAdviseMessages = 4_000_000
	// adviseHorizon is how long a frame is watched, where the recording is long enough.
	adviseHorizon = 10 * time.Second
	// adviseInstant bounds capture times to 1824 … 2116, so that differences are never too large.
	adviseInstant = 1 << 62
	// adviseTimeout bounds the timeout in force, so that no sum of waits is too large.
	adviseTimeout = 30 * time.Minute
	// adviseOpen bounds the frames that are open at a time.
	adviseOpen = 1 << 20
)

// adviser watches a recording replayed without a timeout: what a frame's own closing took it is
// what every timeout is judged by.
type adviser struct {
	replay   *replay
	settings correlate.Config // as they were in force
	most     int
	messages int
	leftOut  int

	cameras map[string]*advisedCamera
	streams map[correlate.StreamID]advisedStream
	models  map[correlate.ModelID]*advise.Model
	frames  []advisedFrame
	answers []advisedAnswer // of all frames, in their order
}

type advisedCamera struct {
	advise.Camera
	config correlate.CameraConfig
	number int
	ids    map[string]int64 // frame ids that are no plain number
}

type advisedStream struct {
	camera *advisedCamera
	number int32
}

// advisedFrame is one frame that waited for somebody.
type advisedFrame struct {
	camera  *advisedCamera
	first   clock.Mono
	by      advise.Closing
	lagNS   int64
	answers int // how many of adviser.answers are its own
}

// advisedAnswer is one model's in a frame: how long behind the first arrival, or that it was
// waited for and never came.
type advisedAnswer struct {
	model correlate.ModelID
	lagNS int64
}

// adviseOn reads a recording and works the advice out.
func adviseOn(in io.Reader, complain io.Writer, most int) (*advise.Report, error) {
	a := &adviser{
		replay: newReplay(io.Discard), most: most, cameras: make(map[string]*advisedCamera),
		streams: make(map[correlate.StreamID]advisedStream), models: make(map[correlate.ModelID]*advise.Model),
	}
	a.replay.adjust, a.replay.heard, a.replay.group = a.watch, a.heard, a.closed
	err := a.replay.run(in, complain)
	var refused *replayConfigError
	if errors.As(err, &refused) {
		return nil, exit(exitConfig, err)
	} else if err != nil {
		return nil, err
	}
	if t := time.Duration(a.settings.TimeoutNS); t > adviseTimeout {
		return nil, fmt.Errorf("the timeout in force is %s, and there is nothing to advise above %s", t, adviseTimeout)
	}
	// What is still open has been watched for as long as there was something to see.
	a.replay.c.Tick(a.replay.last + clock.Mono(a.watchedNS()))
	return advise.Advise(a.input()), nil
}

// watchedNS is how long a frame may take at most to close by itself.
func (a *adviser) watchedNS() int64 {
	return max(int64(adviseHorizon), 4*min(a.settings.TimeoutNS, int64(adviseTimeout)))
}

// watch takes the timeout away, and with it all that would close a frame for another reason
// than its own messages.
func (a *adviser) watch(cfg *correlate.Config) {
	a.settings = *cfg
	if cfg.ClosedTTLNS == correlate.DefaultTTL {
		cfg.ClosedTTLNS = max(int64(time.Minute), 4*min(cfg.TimeoutNS, int64(adviseTimeout)))
	}
	cfg.TimeoutNS, cfg.MaxAgeNS, cfg.MaxPending, cfg.EmitEmpty = a.watchedNS(), correlate.Never, adviseOpen, true
}

func (a *adviser) heard(_ clock.Mono, m *correlate.Message, id string) {
	if a.messages >= a.most {
		a.leftOut++
		return
	}
	a.messages++
	s := a.stream(m.Stream)
	c := s.camera
	byID := id != "" && (c.config.Match == correlate.MatchAuto || c.config.Match == correlate.MatchFrameID)
	if c.config.Match != correlate.MatchWindow && !byID && !m.Unreadable() {
		c.Bucketed++
	}
	offset := c.config.OffsetNS[a.replay.c.ModelName(m.Model)]
	if m.Unreadable() || max(m.CaptureNS, -m.CaptureNS, m.CaptureNS-offset, offset-m.CaptureNS) >= adviseInstant || m.CaptureNS == math.MinInt64 {
		c.Unreadable++
		return
	}
	c.Messages = append(c.Messages, advise.Message{
		Stream: s.number, Model: int32(m.Model), Picture: c.picture(id), CaptureNS: m.CaptureNS - offset,
	})
}

// picture numbers a frame id. A plain number is its own, so nothing has to be remembered of it.
func (c *advisedCamera) picture(id string) int64 {
	if id == "" {
		return 0
	}
	if n, err := strconv.ParseInt(id, 10, 64); err == nil && n > 0 && n < 1<<62 && strconv.FormatInt(n, 10) == id {
		return n
	}
	n, ok := c.ids[id]
	if !ok {
		n = 1<<62 + int64(len(c.ids)) // in order of appearance
		c.ids[id] = n
	}
	return n
}

func (a *adviser) stream(id correlate.StreamID) advisedStream {
	if s, ok := a.streams[id]; ok {
		return s
	}
	unit, camera, _ := a.replay.c.StreamName(id)
	s := advisedStream{a.camera(unit + "/" + camera), int32(len(a.streams))}
	a.streams[id] = s
	return s
}

func (a *adviser) camera(name string) *advisedCamera {
	c := a.cameras[name]
	if c == nil {
		c = &advisedCamera{number: len(a.cameras), ids: make(map[string]int64)}
		var own bool
		if c.config, own = a.settings.Cameras[name]; !own {
			c.config = a.settings.Camera
		}
		c.Name, c.Match = name, c.config.Match.String()
		a.cameras[name] = c
	}
	return c
}

// closed takes a frame's lag. One that its first message closed has waited for nobody.
func (a *adviser) closed(g *correlate.Group) {
	lag, by := int64(g.ClosedAt-g.FirstArrival), advise.Nothing
	switch {
	case g.Reason == correlate.Settled, g.Reason == correlate.Quorum && g.ClosedAt == g.LastArrival:
		by = advise.Answered
	case g.Reason == correlate.Quorum:
		by = advise.GivenUp
	}
	if len(g.Members) < 2 && by != advise.Nothing && lag == 0 || len(a.frames) >= a.most {
		return
	}
	before := len(a.answers)
	for i := range g.Members {
		a.answers = append(a.answers, advisedAnswer{g.Members[i].Model, int64(g.Members[i].Arrival - g.FirstArrival)})
	}
	for _, missing := range g.Missing {
		if missing.Reason != correlate.Dead && g.Reason != correlate.Settled { // it was waited for
			a.answers = append(a.answers, advisedAnswer{missing.Model, math.MaxInt64})
		}
	}
	a.frames = append(a.frames, advisedFrame{a.camera(g.Unit + "/" + g.Camera), g.FirstArrival, by, lag, len(a.answers) - before})
}

func (a *adviser) model(id correlate.ModelID) *advise.Model {
	m := a.models[id]
	if m == nil {
		m = &advise.Model{Name: a.replay.c.ModelName(id)}
		a.models[id] = m
	}
	return m
}

// input leaves out the frames whose fate the recording does not show, and puts all in order.
func (a *adviser) input() *advise.Input {
	span := max(0, int64(a.replay.last-a.replay.first))
	// Long enough to see what is late, short enough to leave most of the recording.
	horizon := min(max(span/4, a.settings.TimeoutNS), a.watchedNS())
	in := &advise.Input{
		Settings: advise.Settings{Timeout: advise.Millis(a.settings.TimeoutNS), Quantum: advise.Millis(a.settings.QuantumNS)},
		SpanNS:   span, HorizonNS: horizon, Events: a.replay.seen, LeftOut: a.leftOut, Notes: a.replay.trace.notes(false),
	}
	if a.settings.MaxAgeNS != correlate.Never {
		m := advise.Millis(a.settings.MaxAgeNS)
		in.Settings.MaxAge = &m
	}
	answers := a.answers
	for _, f := range a.frames {
		own := answers[:f.answers]
		answers = answers[f.answers:]
		if int64(a.replay.last-f.first) < horizon {
			in.NotFinal++
			continue
		}
		if f.lagNS >= horizon {
			f.by = advise.Nothing
		}
		f.camera.Waits.Add(f.by, f.lagNS)
		for _, answer := range own {
			if m := a.model(answer.model); answer.lagNS >= horizon {
				m.Missing++
			} else {
				m.Lags = append(m.Lags, answer.lagNS)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.cameras)) {
		if a.cameras[name].config.Match == correlate.MatchWindow {
			in.Notes = append(in.Notes, name+" is matched by window, where a timeout decides ties: its figures are near, not exact")
		}
		in.Cameras = append(in.Cameras, a.cameras[name].Camera)
	}
	for _, m := range a.models {
		in.Models = append(in.Models, *m)
	}
	slices.SortFunc(in.Models, func(x, y advise.Model) int { return strings.Compare(x.Name, y.Name) })
	if a.leftOut > 0 {
		in.Notes = append(in.Notes, fmt.Sprintf("only the first %d messages are looked at, %d more are left out", a.messages, a.leftOut))
	}
	return in
}
