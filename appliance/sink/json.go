package sink

import (
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/skewgate/skewgate/appliance/detect"
)

// errNotFinite is returned for a frame with a NaN or an infinite number in a box. JSON
// has no word for these; the fusion's gate lets none through.
var errNotFinite = errors.New("a box holds a number that is not finite")

// AppendJSON appends the frame as one JSON object, without a line end, and returns the
// longer slice. The order of keys is fixed. Coordinates and scores have the precision of
// the packed form, float32. On an error dst is returned as it was.
func (f *Frame) AppendJSON(dst []byte) ([]byte, error) {
	if !f.finite() {
		return dst, errNotFinite
	}
	b := append(dst, `{"schema":`...)
	b = strconv.AppendInt(b, Schema, 10)
	b = append(b, `,"seq":`...)
	b = strconv.AppendUint(b, f.Seq, 10)
	b = append(b, `,"unit":`...)
	b = appendText(b, f.Unit)
	b = append(b, `,"camera":`...)
	b = appendText(b, f.Camera)
	b = append(b, `,"stream_epoch":`...)
	b = strconv.AppendUint(b, uint64(f.StreamEpoch), 10)
	b = append(b, `,"frame_id":`...)
	if f.FrameID == 0 {
		b = append(b, "null"...)
	} else {
		// As text: JavaScript's numbers lose what is above 2⁵³.
		b = append(b, '"')
		b = strconv.AppendUint(b, f.FrameID, 10)
		b = append(b, '"')
	}
	b = append(b, `,"generation":`...)
	if f.Generation == "" {
		b = append(b, "null"...)
	} else {
		b = appendText(b, f.Generation)
	}
	b = append(b, `,"capture_ns":`...)
	if f.CaptureNS == detect.RawInstant {
		b = append(b, "null"...)
	} else {
		b = strconv.AppendInt(b, f.CaptureNS, 10)
	}
	b = f.appendModels(b)
	b = append(b, `,"arrival_skew_ns":`...)
	if len(f.Models) < 2 { // one model has no skew: not 0
		b = append(b, "null"...)
	} else {
		b = strconv.AppendInt(b, int64(f.LastArrival-f.FirstArrival), 10)
	}
	b = append(b, `,"first_arrival_mono_ns":`...)
	b = strconv.AppendInt(b, int64(f.FirstArrival), 10)
	b = append(b, `,"closed_mono_ns":`...)
	b = strconv.AppendInt(b, int64(f.Closed), 10)
	b = append(b, `,"boxes":[`...)
	for i := range f.Boxes {
		if i > 0 {
			b = append(b, ',')
		}
		b = f.Boxes[i].appendJSON(b)
	}
	b = append(b, `],"degraded":`...)
	b = strconv.AppendBool(b, f.Degraded)
	return append(b, '}'), nil
}

// appendModels appends what is said of single models: timestamps as received, the
// reason of closing, who is in and who is missing.
func (f *Frame) appendModels(b []byte) []byte {
	b = append(b, `,"timestamps":{`...)
	for i := range f.Models {
		m := &f.Models[i]
		b = appendKey(b, i, m.Model)
		if m.CaptureNS == detect.RawInstant {
			b = appendText(b, m.Raw)
			continue
		}
		b = append(b, '"')
		b = strconv.AppendInt(b, m.CaptureNS, 10)
		b = append(b, '"')
	}
	b = append(b, `},"reason":`...)
	b = appendText(b, f.Reason)
	b = append(b, `,"models":[`...)
	for i := range f.Models {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, f.Models[i].Model)
	}
	b = append(b, `],"missing":{`...)
	for i, m := range f.Missing {
		b = appendKey(b, i, m.Model)
		b = appendText(b, m.Why)
	}
	return append(b, '}')
}

// appendJSON appends one box; by and scores name the same models.
func (x *Box) appendJSON(b []byte) []byte {
	b = append(b, `{"box":[`...)
	for i, v := range [...]float64{x.X1, x.Y1, x.X2, x.Y2} {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNumber(b, v)
	}
	b = append(b, `],"score":`...)
	b = appendNumber(b, x.Score)
	b = append(b, `,"label":`...)
	b = appendText(b, x.Label)
	b = append(b, `,"by":[`...)
	for i := range x.By {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, x.By[i].Model)
	}
	b = append(b, `],"scores":{`...)
	for i := range x.By {
		b = appendKey(b, i, x.By[i].Model)
		b = appendNumber(b, x.By[i].Score)
	}
	return append(b, "}}"...)
}

// finite looks at all numbers before the first byte is written, so that an error leaves
// no half object behind.
func (f *Frame) finite() bool {
	for i := range f.Boxes {
		x := &f.Boxes[i]
		if !finite(x.X1) || !finite(x.Y1) || !finite(x.X2) || !finite(x.Y2) || !finite(x.Score) {
			return false
		}
		for _, v := range x.By {
			if !finite(v.Score) {
				return false
			}
		}
	}
	return true
}

// finite looks at the float32, which is what is written.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(float64(float32(v)), 0) }

// appendKey appends the i-th key of an object with its comma and colon.
func appendKey(b []byte, i int, key string) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return append(appendText(b, key), ':')
}

// appendNumber writes the shortest decimal that reads back as the same float32, with an
// exponent where encoding/json has one.
func appendNumber(b []byte, v float64) []byte {
	format := byte('f')
	if a := float32(math.Abs(v)); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, v, format, -1, 32)
}

// appendText writes a JSON string. What is not UTF-8 becomes U+FFFD; U+2028 and U+2029
// are escaped, since JavaScript takes them for line ends.
func appendText[T string | []byte](b []byte, s T) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0 // what lies before it is written
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		size := 1
		var escape [6]byte
		text := escape[:0]
		switch {
		case c == '"' || c == '\\':
			text = append(text, '\\', c)
		case c == '\n':
			text = append(text, `\n`...)
		case c < ' ':
			text = append(text, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			var r rune
			r, size = utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
			switch {
			case r == utf8.RuneError && size == 1:
				text = append(text, "\uFFFD"...)
			case r == '\u2028' || r == '\u2029':
				text = append(text, '\\', 'u', '2', '0', '2', hex[r&15])
			default:
				i += size
				continue
			}
		}
		b = append(b, s[from:i]...)
		b = append(b, text...)
		i += size
		from = i
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}
