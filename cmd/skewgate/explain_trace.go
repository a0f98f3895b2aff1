package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/story"
)

const (
	// explainFrames bounds the frames that are kept of a recording: more than an hour of one
	// camera at 30 frames/s.
	explainFrames = 1 << 17
	// explainIDs bounds the frame ids that are no numbers, explainCameras the cameras an error names.
	explainIDs     = 1 << 20
	explainCameras = 8
)

// explainer replays a recording into a book.
type explainer struct {
	replay  *replay
	book    *story.Book
	unit    string
	camera  string
	ids     *correlate.Texts // frame ids that are no numbers
	cameras []string         // some that were heard of
}

// textID marks the numbers that stand for frame ids that are none.
const textID = 1 << 63

func explainTrace(cmd *cobra.Command, o *explainOptions) error {
	if err := recordingArgs(cmd, o.traces); err != nil {
		return err
	}
	in, err := openRecording(o.traces, cmd.InOrStdin())
	if err != nil {
		return err
	}
	defer in.Close()
	d, err := explainFrom(in, cmd.ErrOrStderr(), o)
	if err != nil {
		return err
	}
	if o.asJSON {
		enc := json.NewEncoder(cmd.OutOrStdout())
		enc.SetIndent("", "  ")
		return enc.Encode(d)
	}
	return printStories(cmd.OutOrStdout(), d)
}

// explainFrom reads a recording and tells what was asked for.
func explainFrom(in io.Reader, complain io.Writer, o *explainOptions) (*story.Document, error) {
	e := &explainer{replay: newReplay(io.Discard), camera: o.camera, ids: correlate.NewTexts(explainIDs)}
	if unit, camera, both := strings.Cut(o.camera, "/"); both {
		e.unit, e.camera = unit, camera
	}
	ask := o.ask
	ask.FrameID = e.known
	query, err := story.Parse(ask)
	if ask.Frame == "" && err != nil {
		return nil, exit(exitUsage, err)
	}
	r := e.replay
	r.until, r.adjust, r.heard, r.number, r.group = o.until, e.watch, e.heard, e.number, func(*correlate.Group) {}
	err = r.run(in, complain)
	var refused *replayConfigError
	if errors.As(err, &refused) {
		return nil, exit(exitConfig, err)
	} else if err != nil {
		return nil, err
	}
	if query, err = story.Parse(ask); err != nil { // ids that are no numbers are known only now
		return nil, exit(exitUsage, err)
	}
	page := e.book.NewPage()
	page.NowNS = r.last
	page.Notes = r.trace.notes(o.until > 0)
	page.Began = r.first
	if h := &r.trace.begin; h.WallNS != 0 {
		page.WallNS = h.WallNS + int64(r.last) - h.MonoNS
	}
	if err := e.book.Copy(page, r.c, e.unit, e.camera, query); errors.Is(err, story.ErrNoCamera) {
		return nil, e.noCamera()
	} else if err != nil {
		return nil, err
	}
	return page.Document(), nil
}

// watch puts the book in front of the correlator. Frame ids are numbers, as they were in the
// appliance: a table that reuses numbers could not say later which id was meant.
func (e *explainer) watch(cfg *correlate.Config) {
	expected := len(cfg.Camera.Expected)
	for _, c := range cfg.Cameras {
		expected = max(expected, len(c.Expected))
	}
	e.book = story.NewBook(cfg, story.Options{
		Cameras: 1, Frames: explainFrames, Messages: story.MessagesFor(expected), Unit: e.unit, Only: e.camera, FrameID: e.text,
	})
	cfg.FrameIDs, cfg.Watch = nil, e.book
}

// number gives a frame id its number: its own, if it is one.
func (e *explainer) number(text string) (uint64, error) {
	if n, err := strconv.ParseUint(text, 10, 64); err == nil && n != 0 && n < textID && strconv.FormatUint(n, 10) == text {
		return n, nil
	}
	if e.ids.Lookup([]byte(text)) == 0 && e.ids.Full() {
		return 0, fmt.Errorf("frame_id %.40q: %d that are no plain numbers are known, the most there may be", text, explainIDs)
	}
	return textID + uint64(e.ids.Add([]byte(text))), nil
}

// known finds a frame id that is no plain number.
func (e *explainer) known(text string) (uint64, bool) {
	n := e.ids.Lookup([]byte(text))
	return textID + uint64(n), n != 0
}

// text is a frame id as it was written.
func (e *explainer) text(id uint64) string {
	if id > textID {
		return e.ids.Text(int64(id - textID))
	}
	return strconv.FormatUint(id, 10)
}

func (e *explainer) heard(_ clock.Mono, m *correlate.Message, _ string) {
	if len(e.cameras) >= explainCameras {
		return
	}
	unit, camera, _ := e.replay.c.StreamName(m.Stream)
	if name := story.Printable(unit + "/" + camera); !slices.Contains(e.cameras, name) {
		e.cameras = append(e.cameras, name)
	}
}

func (e *explainer) noCamera() error {
	switch {
	case len(e.cameras) == 0:
		return errors.New("the recording holds no message of any camera")
	case slices.ContainsFunc(e.cameras, func(s string) bool {
		return s == e.unit+"/"+e.camera || e.unit == "" && strings.HasSuffix(s, "/"+e.camera)
	}):
		return fmt.Errorf("the recording holds no closed frame of camera %s", story.Printable(e.camera))
	}
	return fmt.Errorf("the recording holds no frame of camera %s; it holds some of %s", story.Printable(e.camera), strings.Join(e.cameras, ", "))
}
