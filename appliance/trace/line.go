package trace

import (
	"encoding/hex"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/detect"
)

// lines writes events as lines. Names come again and again, so their JSON form is kept; there
// are as many as the correlator's tables hold.
type lines struct {
	names map[string][]byte
}

// append appends the line of an event, lost being how many are missing before it. ok is false,
// and nothing is appended, for one that the form cannot say.
func (l *lines) append(b []byte, e *Event, lost uint64) (_ []byte, ok bool) {
	whole := b
	b = append(b, `{"now_ms":`...)
	b = clock.AppendMillis(b, int64(e.NowNS))
	switch e.Kind {
	case Message:
		b = l.message(b, e)
	case Progress:
		if b, ok = l.progress(b, e); !ok {
			return whole, false
		}
	case Tick:
		b = append(b, `,"tick":true`...)
	case ModelDown:
		b = append(b, `,"model_down":`...)
		p := Place{e.Unit, e.Camera, e.Model}
		b = p.append(b)
	case Expected:
		b = append(b, `,"set_expected":`...)
		if e.Camera == "" {
			b = appendTexts(b, e.Names)
		} else {
			c := Change{e.Unit, e.Camera, e.Names}
			b = c.append(b)
		}
	case Slept:
		b = append(b, `,"slept":true`...)
	case Refused:
		b = append(b, `,"refused":`...)
		b = appendText(b, e.Text)
	default:
		return whole, false
	}
	if lost > 0 {
		b = append(b, `,"trace":{"lost":`...)
		b = append(strconv.AppendUint(b, lost, 10), '}')
	}
	return append(b, "}\n"...), true
}

func (l *lines) message(b []byte, e *Event) []byte {
	b = append(b, `,"msg":{`...)
	b = l.who(b, e)
	switch {
	case !e.Unreadable:
		b = append(b, `,"timestamp":`...)
		b = strconv.AppendInt(b, e.CaptureNS, 10)
	case plain(e.Raw):
		b = append(b, `,"timestamp":`...)
		b = appendText(b, string(e.Raw))
	default:
		b = append(b, `,"raw_hex":"`...)
		b = append(hex.AppendEncode(b, e.Raw), '"')
	}
	b = appendEpoch(b, e.Epoch)
	if e.FrameID != 0 {
		b = append(b, `,"frame_id":"`...)
		b = append(strconv.AppendUint(b, e.FrameID, 10), '"')
	}
	if e.Generation != 0 {
		b = append(b, `,"generation":`...)
		b = strconv.AppendUint(b, e.Generation, 10)
	}
	if e.Empty {
		b = append(b, `,"boxes":[]`...)
	}
	return append(b, '}')
}

// plain reports whether an unreadable text stays itself as a JSON string and is unreadable to
// the reader too, whose numbers are nanoseconds where the appliance's may not have been.
func plain(raw []byte) bool {
	if !utf8.Valid(raw) {
		return false
	}
	_, readable := detect.ReadInstant(raw, detect.Nanoseconds)
	return !readable
}

// coversNS is what a watermark's millisecond reaches beyond its beginning.
const coversNS = 999_999

// progress writes how far a model is. A watermark covers its whole millisecond, so what is
// written lies that much lower; in the first millisecond of all there is no such number.
func (l *lines) progress(b []byte, e *Event) ([]byte, bool) {
	if e.CaptureNS < math.MinInt64+coversNS {
		return b, false
	}
	b = append(b, `,"watermark":{`...)
	b = l.who(b, e)
	b = append(b, `,"ts_ms":`...)
	b = clock.AppendMillis(b, e.CaptureNS-coversNS)
	b = appendEpoch(b, e.Epoch)
	return append(b, '}'), true
}

func (l *lines) who(b []byte, e *Event) []byte {
	b = append(b, `"unit":`...)
	b = l.name(b, e.Unit)
	b = append(b, `,"camera":`...)
	b = l.name(b, e.Camera)
	b = append(b, `,"model":`...)
	return l.name(b, e.Model)
}

func (l *lines) name(b []byte, name string) []byte {
	text, ok := l.names[name]
	if !ok {
		text = appendText(nil, name)
		if l.names == nil {
			l.names = make(map[string][]byte)
		}
		l.names[name] = text
	}
	return append(b, text...)
}

func appendEpoch(b []byte, epoch uint32) []byte {
	if epoch == 0 {
		return b
	}
	b = append(b, `,"epoch":`...)
	return strconv.AppendUint(b, uint64(epoch), 10)
}
