package detect

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/valyala/fastjson"
)

const (
	// MaxBodyBytes bounds a JSON body.
	MaxBodyBytes = 1 << 20
	// MaxBodyBoxes bounds the boxes of one message: a slot counts them in 16 bits.
	MaxBodyBoxes = math.MaxUint16
	// maxLabelBytes bounds one label text.
	maxLabelBytes = 255
)

// ErrBody says that a JSON body is malformed or over a bound; what wraps it says where.
var ErrBody = errors.New("body is malformed")

// BodyReader reads JSON bodies of one model:
//
//	{"detections":[{"box":[x1,y1,x2,y2],"score":0.9,"label":"person"}, …]}
//	{"boxes":[x1,y1,x2,y2,score,label, …]}
//
// A label is a text or a number. Keys that are not named here are ignored; anything else that
// is malformed, a key given twice included, refuses the whole body. No boxes is an answer. It
// is not safe for concurrent use.
type BodyReader struct {
	// Judged leaves all bodies to fastjson: for the bench.
	Judged bool

	labels *Labels
	parser fastjson.Parser

	// The label that quick met last.
	last      string
	lastLabel uint32
}

// NewBodyReader returns a reader that numbers label texts by labels.
func NewBodyReader(labels *Labels) *BodyReader { return &BodyReader{labels: labels} }

// Read appends the boxes of body to dst; on error dst comes back as it was. As with packed
// boxes only the form is judged, and that numbers fit a float32: whether a box lies inside the
// frame is for the fusion's input gate. Allocates nothing once warm.
func (r *BodyReader) Read(dst []Box, body []byte) ([]Box, error) {
	if !r.Judged && len(body) <= MaxBodyBytes {
		if boxes, ok := r.quick(dst, body); ok {
			return boxes, nil
		}
	}
	return r.ReadJudged(dst, body)
}

// ReadJudged is Read by fastjson alone, which decides what a body is.
func (r *BodyReader) ReadJudged(dst []Box, body []byte) ([]Box, error) {
	if len(body) > MaxBodyBytes {
		return dst, fmt.Errorf("%w: %d bytes, at most %d are taken", ErrBody, len(body), MaxBodyBytes)
	}
	if !utf8.Valid(body) {
		return dst, fmt.Errorf("%w: not UTF-8", ErrBody)
	}
	// The parser bounds the depth but lets pass what is not JSON; the validator does not. It is
	// not asked where it can have nothing to object to: it takes as long as the parser.
	root, err := r.parser.ParseBytes(body)
	if err == nil && !plainTokens(body) {
		err = fastjson.ValidateBytes(body)
	}
	if err != nil {
		return dst, fmt.Errorf("%w: %.120s", ErrBody, err)
	}
	detections, boxes, err := bodyKind(root)
	if err != nil {
		return dst, err
	}
	before := dst
	if boxes != nil {
		dst, err = r.compact(dst, boxes)
	} else {
		dst, err = r.detections(dst, detections)
	}
	if err != nil {
		return before, err
	}
	return dst, nil
}

// bodyKind returns the array of one of the two forms.
func bodyKind(root *fastjson.Value) (detections, boxes *fastjson.Value, err error) {
	var found [2]*fastjson.Value
	if err := pick(root, "body", found[:], "detections", "boxes"); err != nil {
		return nil, nil, err
	}
	switch {
	case found[0] == nil && found[1] == nil:
		return nil, nil, fmt.Errorf(`%w: it has neither "detections" nor "boxes"`, ErrBody)
	case found[0] != nil && found[1] != nil:
		return nil, nil, fmt.Errorf(`%w: it has both "detections" and "boxes"`, ErrBody)
	}
	return found[0], found[1], nil
}

// plainTokens reports whether a body that fastjson has parsed is JSON for sure. The parser knows
// brackets, commas and colons; what it takes too easily are numbers, words and the inside of
// texts. False means that there is something unusual among them, not that it is wrong.
func plainTokens(b []byte) bool {
	for i := 0; i < len(b); {
		switch tokens[b[i]] {
		case tokenText:
			for i++; b[i] != '"'; i++ { // the parser has found the end
				if b[i] < ' ' || b[i] == '\\' {
					return false
				}
			}
			i++
		case tokenNumber:
			if b[i] == '-' {
				i++
			}
			_, end := digits(b, i)
			if starts(b, end, ".") {
				i = end + 1
				if _, end = moreDigits(0, b, i); end == i {
					return false
				}
			}
			if end < 0 || end < len(b) && tokens[b[end]] != tokenBetween {
				return false
			}
			i = end
		case tokenBetween:
			i++
		default:
			return false
		}
	}
	return true
}

// tokens says what begins with a byte; 0 is the unusual.
const (
	tokenText = 1 + iota
	tokenNumber
	tokenBetween // brackets, commas, colons and space
)

var tokens = [256]uint8{
	'"': tokenText, '-': tokenNumber,
	'0': tokenNumber, '1': tokenNumber, '2': tokenNumber, '3': tokenNumber, '4': tokenNumber,
	'5': tokenNumber, '6': tokenNumber, '7': tokenNumber, '8': tokenNumber, '9': tokenNumber,
	'{': tokenBetween, '}': tokenBetween, '[': tokenBetween, ']': tokenBetween, ',': tokenBetween, ':': tokenBetween,
	' ': tokenBetween, '\n': tokenBetween, '\r': tokenBetween, '\t': tokenBetween,
}

// pick looks up keys in an object.
func pick(v *fastjson.Value, what string, found []*fastjson.Value, keys ...string) error {
	object, err := v.Object()
	if err != nil {
		return fmt.Errorf("%w: %s is no object", ErrBody, what)
	}
	if object.Len() == len(keys) { // all of them once, most often
		missing := false
		for i, name := range keys {
			found[i] = object.Get(name)
			missing = missing || found[i] == nil
		}
		if !missing {
			return nil
		}
		clear(found)
	}
	twice := -1
	object.Visit(func(key []byte, value *fastjson.Value) {
		for i, name := range keys {
			if string(key) == name {
				if found[i] != nil {
					twice = i
				}
				found[i] = value
			}
		}
	})
	if twice >= 0 {
		return fmt.Errorf("%w: %s has %q twice", ErrBody, what, keys[twice])
	}
	return nil
}

func (r *BodyReader) detections(dst []Box, v *fastjson.Value) ([]Box, error) {
	list, err := v.Array()
	if err != nil {
		return dst, fmt.Errorf(`%w: "detections" is no list`, ErrBody)
	}
	if len(list) > MaxBodyBoxes {
		return dst, fmt.Errorf("%w: %d detections, at most %d are taken", ErrBody, len(list), MaxBodyBoxes)
	}
	for i, detection := range list {
		var found [3]*fastjson.Value
		if err := pick(detection, "detection", found[:], "box", "score", "label"); err != nil {
			return dst, fmt.Errorf("detection %d: %w", i, err)
		}
		for k, key := range [...]string{"box", "score", "label"} {
			if found[k] == nil {
				return dst, fmt.Errorf("detection %d: %w: it has no %q", i, ErrBody, key)
			}
		}
		corners, err := found[0].Array()
		if err != nil || len(corners) != 4 {
			return dst, fmt.Errorf(`detection %d: %w: "box" is not 4 numbers`, i, ErrBody)
		}
		box, err := r.box(corners, found[1], found[2])
		if err != nil {
			return dst, fmt.Errorf("detection %d: %w", i, err)
		}
		dst = append(dst, box)
	}
	return dst, nil
}

func (r *BodyReader) compact(dst []Box, v *fastjson.Value) ([]Box, error) {
	list, err := v.Array()
	if err != nil {
		return dst, fmt.Errorf(`%w: "boxes" is no list`, ErrBody)
	}
	if len(list)%6 != 0 || len(list)/6 > MaxBodyBoxes {
		return dst, fmt.Errorf(`%w: %d values in "boxes" are not 6 each of at most %d boxes`, ErrBody, len(list), MaxBodyBoxes)
	}
	for i := 0; i < len(list); i += 6 {
		box, err := r.box(list[i:i+4], list[i+4], list[i+5])
		if err != nil {
			return dst, fmt.Errorf("box %d: %w", i/6, err)
		}
		dst = append(dst, box)
	}
	return dst, nil
}

func (r *BodyReader) box(corners []*fastjson.Value, score, label *fastjson.Value) (Box, error) {
	var b Box
	for i, to := range [...]*float32{&b.X1, &b.Y1, &b.X2, &b.Y2, &b.Score} {
		from := score
		if i < 4 {
			from = corners[i]
		}
		d, err := from.Float64()
		f := float32(d)
		*to = f
		if err != nil || f > math.MaxFloat32 || f < -math.MaxFloat32 {
			return b, fmt.Errorf("%w: a coordinate or score is no number that fits", ErrBody)
		}
	}
	var err error
	b.Label, err = r.label(label)
	return b, err
}

func (r *BodyReader) label(v *fastjson.Value) (uint32, error) {
	switch v.Type() {
	case fastjson.TypeNumber:
		if n, err := v.Uint64(); err == nil && n <= math.MaxUint32 {
			return uint32(n), nil
		}
		return 0, fmt.Errorf("%w: label is not an integer from 0 to %d", ErrBody, uint32(math.MaxUint32))
	case fastjson.TypeString:
		text, err := v.StringBytes()
		if err != nil || len(text) == 0 || len(text) > maxLabelBytes {
			return 0, fmt.Errorf("%w: label is empty or longer than %d bytes", ErrBody, maxLabelBytes)
		}
		if n, ok := r.labels.Number(text); ok {
			return n, nil
		}
		return 0, fmt.Errorf("%w: more than %d labels: check the names that the detector sends", ErrBody, maxLabels)
	}
	return 0, fmt.Errorf("%w: label is neither text nor number", ErrBody)
}
