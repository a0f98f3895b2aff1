package trace

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/valyala/fastjson"
)

// Schema is the version of what stands under "trace" in a header and in a mark.
const Schema = 1

// Bounds of what a reader takes for its own.
const (
	maxIDBytes = 64
	maxDown    = 1 << 16 // dead models in a header, each on each camera
)

// Header is what the first line of a part says beside the settings.
type Header struct {
	ID      string // the same in all parts of one trace
	Part    uint64 // from 1
	Running bool   // the correlator was at work already when part 1 began
	Version string // of the program that recorded
	WallNS  int64  // what the wall clock showed at MonoNS
	MonoNS  int64
	State   State
}

// State is what the correlator knows at the beginning of a part and no event of it says.
type State struct {
	Open      uint64   // groups that were open when the first part began
	Down      []Place  // models that are dead; without a camera: everywhere
	Expected  []string // who is expected on all cameras, if that was changed
	Changed   bool     // Expected counts
	OnCameras []Change // who is expected on one camera, if that was changed later
}

// Place is a model on a camera. Camera "" is every one.
type Place struct{ Unit, Camera, Model string }

// Change is who is expected on one camera.
type Change struct {
	Unit, Camera string
	Expected     []string
}

// append appends what stands after "trace" in a header.
func (h *Header) append(b []byte) []byte {
	b = append(b, `{"schema":`...)
	b = strconv.AppendInt(b, Schema, 10)
	b = append(b, `,"id":`...)
	b = appendText(b, h.ID)
	b = append(b, `,"part":`...)
	b = strconv.AppendUint(b, h.Part, 10)
	b = append(b, `,"start":"`...)
	if h.Running {
		b = append(b, `running`...)
	} else {
		b = append(b, `empty`...)
	}
	b = append(b, `","version":`...)
	b = appendText(b, h.Version)
	b = append(b, `,"wall_ns":`...)
	b = strconv.AppendInt(b, h.WallNS, 10)
	b = append(b, `,"mono_ns":`...)
	b = strconv.AppendInt(b, h.MonoNS, 10)
	b = append(b, `,"state":{"open":`...)
	b = strconv.AppendUint(b, h.State.Open, 10)
	b = append(b, `,"down":[`...)
	for i, p := range h.State.Down {
		if i > 0 {
			b = append(b, ',')
		}
		b = p.append(b)
	}
	b = append(b, ']')
	if h.State.Changed {
		b = append(b, `,"expected":`...)
		b = appendTexts(b, h.State.Expected)
	}
	for i, c := range h.State.OnCameras {
		if i == 0 {
			b = append(b, `,"expected_at":[`...)
		} else {
			b = append(b, ',')
		}
		b = c.append(b)
		if i == len(h.State.OnCameras)-1 {
			b = append(b, ']')
		}
	}
	return append(b, "}}"...)
}

// append writes a place in the two forms of model_down.
func (p *Place) append(b []byte) []byte {
	if p.Camera == "" {
		return appendText(b, p.Model)
	}
	b = append(b, `{"model":`...)
	b = appendText(b, p.Model)
	b = append(b, `,"unit":`...)
	b = appendText(b, p.Unit)
	b = append(b, `,"camera":`...)
	b = appendText(b, p.Camera)
	return append(b, '}')
}

// append writes a change in the form of set_expected for one camera.
func (c *Change) append(b []byte) []byte {
	b = append(b, `{"unit":`...)
	b = appendText(b, c.Unit)
	b = append(b, `,"camera":`...)
	b = appendText(b, c.Camera)
	b = append(b, `,"models":`...)
	b = appendTexts(b, c.Expected)
	return append(b, '}')
}

// ReadHeader reads what stands after "trace" in the first line of a part. The text is
// somebody's word: what is not as written by Header is refused with a reason.
func ReadHeader(v *fastjson.Value) (*Header, error) {
	if v == nil || v.Type() != fastjson.TypeObject {
		return nil, errors.New("trace is not an object")
	}
	if n := v.GetUint64("schema"); n != Schema {
		return nil, fmt.Errorf("trace has schema %d, this program reads %d: use the program that recorded it", n, Schema)
	}
	h := &Header{
		ID: string(v.GetStringBytes("id")), Part: v.GetUint64("part"), Version: string(v.GetStringBytes("version")),
		WallNS: v.GetInt64("wall_ns"), MonoNS: v.GetInt64("mono_ns"),
	}
	switch start := string(v.GetStringBytes("start")); start {
	case "empty":
	case "running":
		h.Running = true
	default:
		return nil, fmt.Errorf("trace start %.20q is neither empty nor running", start)
	}
	if h.ID == "" || len(h.ID) > maxIDBytes || h.Part == 0 || h.Part == math.MaxUint64 {
		return nil, errors.New("trace has no id, or no part that counts from 1")
	}
	return h, h.State.read(v.Get("state"))
}

func (s *State) read(v *fastjson.Value) error {
	s.Open = v.GetUint64("open")
	down := v.GetArray("down")
	if len(down) > maxDown {
		return fmt.Errorf("trace state names %d dead models, at most %d", len(down), maxDown)
	}
	for _, d := range down {
		p := Place{Model: textOf(d)}
		if d.Type() == fastjson.TypeObject {
			p = Place{Unit: textOf(d.Get("unit")), Camera: textOf(d.Get("camera")), Model: textOf(d.Get("model"))}
			if p.Unit == "" || p.Camera == "" {
				return errors.New("trace state has a dead model without unit and camera")
			}
		}
		if p.Model == "" {
			return errors.New("trace state has a dead model without a name")
		}
		s.Down = append(s.Down, p)
	}
	if v.Exists("expected") {
		s.Changed, s.Expected = true, textsOf(v.GetArray("expected"))
	}
	changes := v.GetArray("expected_at")
	if len(changes) > maxDown {
		return fmt.Errorf("trace state names %d cameras, at most %d", len(changes), maxDown)
	}
	for _, c := range changes {
		s.OnCameras = append(s.OnCameras, Change{
			Unit: textOf(c.Get("unit")), Camera: textOf(c.Get("camera")), Expected: textsOf(c.GetArray("models")),
		})
	}
	return nil
}

// textOf returns a string value, "" for anything else.
func textOf(v *fastjson.Value) string {
	if v == nil || v.Type() != fastjson.TypeString {
		return ""
	}
	b, _ := v.StringBytes() // cannot fail for a string
	return string(b)
}

func textsOf(all []*fastjson.Value) []string {
	texts := make([]string, 0, len(all))
	for _, v := range all {
		texts = append(texts, textOf(v))
	}
	return texts
}
