package appliance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/dispatch"
	"github.com/skewgate/skewgate/appliance/story"
	"github.com/skewgate/skewgate/appliance/web"
)

// Bounds of what is remembered of frames, all cameras together.
const (
	bookBytes     = 18_000_000
	bookFramesMin = 64   // of each camera, whatever that takes
	bookFramesMax = 2048 // more than a minute at 30 frames/s
	// explainWithin bounds the waiting for the path to copy a story out.
	explainWithin = 2 * time.Second
	// maxExplaining bounds the questions, and with them the pages, at a time.
	maxExplaining = 4
)

// newBook makes the book that the correlator's frames are written into. All cameras and models
// are known from the config, so its size never changes.
func (p *path) newBook(cfg *correlate.Config) *story.Book {
	return story.NewBook(cfg, bookOptions(p.a.cfg))
}

func bookOptions(c *config.Config) story.Options {
	expected := 0
	for i := range c.Cameras {
		expected = max(expected, len(c.Expected(c.Cameras[i].Name)))
	}
	o := story.Options{Cameras: len(c.Cameras), Messages: story.MessagesFor(expected)}
	o.Frames = min(max(bookBytes/max(o.FrameBytes()*o.Cameras, 1), bookFramesMin), bookFramesMax)
	return o
}

// Explain tells what became of frames of a camera. Its errors are web.Problem.
func (a *Appliance) Explain(ctx context.Context, q web.Question) (any, error) {
	query, err := story.Parse(story.Ask{Frame: q.Frame, Last: q.Last, Incomplete: q.Incomplete})
	if err != nil {
		return nil, web.Problem(http.StatusBadRequest, err)
	}
	if !slices.ContainsFunc(a.path.cameras, func(c *camera) bool { return c.cfg.Name == q.Camera }) {
		return nil, web.Problem(http.StatusNotFound, a.unknownCamera(q.Camera))
	}
	ctx, cancel := context.WithTimeout(ctx, explainWithin)
	defer cancel()
	select {
	case a.explaining <- struct{}{}:
		defer func() { <-a.explaining }()
	case <-ctx.Done():
		return nil, web.Problem(http.StatusServiceUnavailable, errors.New("too many ask for frames at once: ask again"))
	}
	page := a.path.book.NewPage()
	page.WallNS, page.NowNS = time.Now().UnixNano(), clock.Now()
	err = a.path.between(ctx, func() error {
		if err := a.path.book.Copy(page, a.path.corr.Correlator, a.cfg.Unit, q.Camera, query); err != nil {
			return err
		}
		page.EachMissing(func(w *story.Wanted) { a.path.known(q.Camera, w) })
		return nil
	})
	switch {
	case errors.Is(err, story.ErrNoFrame), errors.Is(err, story.ErrNoCamera):
		return nil, web.Problem(http.StatusNotFound, err)
	case err != nil:
		return nil, web.Problem(http.StatusServiceUnavailable, fmt.Errorf("explain a frame: the path does not answer: %w", err))
	}
	return page.Document(), nil
}

func (a *Appliance) unknownCamera(name string) error {
	var known []string
	for _, c := range a.path.cameras {
		known = append(known, story.Printable(c.cfg.Name))
	}
	return fmt.Errorf("no camera %s: there are %s", story.Printable(name), strings.Join(known, ", "))
}

// known adds what the path knows of a model that is missing in a frame: how it came to be dead,
// and what the dispatch did with the picture.
func (p *path) known(camera string, w *story.Wanted) {
	for _, r := range p.replicas {
		if r.cfg.Name != w.Model || !r.serves(camera) {
			continue
		}
		e := &story.Extra{}
		if w.Dead {
			e.Cause, e.Hung = r.endings.at(w.Since)
		}
		if r.foreign == nil {
			fate, at := p.disp.Fate(r.queue, r.cameras[r.local(camera)].index, w.StreamEpoch, w.FrameID, w.CaptureNS)
			e.Dispatch = &story.Dispatch{Fate: fate.String()}
			if fate != dispatch.FateUnknown {
				ns := int64(at)
				e.Dispatch.AtNS = &ns
			}
		}
		w.Extra = e
		return
	}
}

// endings remembers how the last ends of a detector came: as many as frames that are still held
// are likely to tell of.
type endings struct {
	ring [16]ending
	made int
}

type ending struct {
	at   clock.Mono
	text string
	hung bool
}

// add notes that a detector left the quorum.
func (e *endings) add(at clock.Mono, text string, hung bool) {
	e.ring[e.made%len(e.ring)] = ending{at, text, hung}
	e.made++
}

// at returns how an end came: the first that was noted at that instant, for it is the one that
// the quorum heard of, else the last before it.
func (e *endings) at(since clock.Mono) (text string, hung bool) {
	for i := e.made - 1; i >= 0 && i >= e.made-len(e.ring); i-- {
		if n := &e.ring[i%len(e.ring)]; n.at <= since {
			return n.text, n.hung
		}
	}
	return "", false
}

// endedBy says how a detector came to leave the quorum now.
func (r *replica) endedBy() string {
	switch {
	case r.quarantine != "":
		return "its ring held nonsense: " + r.quarantine
	case r.foreign == nil && r.word.exit != nil:
		return "its process: " + r.word.exit.String()
	case r.foreign == nil:
		return "its process is " + r.word.state.String()
	case r.foreign.heard.Peer != nil:
		return fmt.Sprintf("its process (pid %d) went", r.foreign.heard.Peer.PID)
	}
	return "nobody is attached as it"
}
