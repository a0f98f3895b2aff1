package fuse

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fastjson"
)

// Lines answers fusion requests in the form of the references' test vectors, a JSON object
// a line:
//
//	{"algorithm":"wbf","params":{"iou_thr":0.55},"inputs":[{"boxes":[[x1,y1,x2,y2],…],"scores":[…],"labels":[…]},…]}
//
// Other keys of the object are ignored, other keys of params are refused. It is made for
// the verb `skewgate fuse`: exact and safe against hostile lines, but not fast.
type Lines struct {
	parser  fastjson.Parser
	engine  engine
	request request
	raw     []byte
	notes   notes
}

// Answer appends to dst one line without its end: {"boxes","scores","labels"}, or {"error"}
// with what is wrong with the line. The notes name each box that the gate removed and why;
// they are valid until the next Answer.
func (l *Lines) Answer(dst, line []byte) (answer []byte, removed []string) {
	l.notes.text, l.notes.more = l.notes.text[:0], 0
	err := l.parse(line)
	if err == nil {
		err = l.engine.fuse(&l.request, &l.notes)
	}
	if err != nil {
		return appendError(dst, err), nil
	}
	if l.notes.more > 0 {
		l.notes.text = append(l.notes.text, fmt.Sprintf("and %d more", l.notes.more))
	}
	return l.write(dst), l.notes.text
}

// Refusal is the answer to a line that cannot be handed to Answer.
func Refusal(dst []byte, err error) []byte { return appendError(dst, err) }

func appendError(dst []byte, err error) []byte {
	text, _ := json.Marshal(err.Error()) // a string always can be
	return append(append(append(dst, `{"error":`...), text...), '}')
}

func (l *Lines) write(dst []byte) []byte {
	groups := l.engine.groups
	dst = append(dst, `{"boxes":[`...)
	for i := range groups {
		g := &groups[i]
		for j, v := range [4]float64{g.x1, g.y1, g.x2, g.y2} {
			dst = append(dst, separators[min(i, 1)][j]...)
			dst = strconv.AppendFloat(dst, unit(v), 'g', -1, 64)
		}
		dst = append(dst, ']')
	}
	dst = append(dst, `],"scores":[`...)
	for i := range groups {
		dst = append(dst, separators[min(i, 1)][4]...)
		dst = strconv.AppendFloat(dst, unit(groups[i].score), 'g', -1, 64)
	}
	dst = append(dst, `],"labels":[`...)
	for i := range groups {
		dst = append(dst, separators[min(i, 1)][4]...)
		dst = strconv.AppendFloat(dst, l.request.labels[groups[i].class], 'f', -1, 64)
	}
	return append(dst, "]}"...)
}

// separators stand before the corners of a box and, last, before a plain number; first for
// the first of a list.
var separators = [2][5]string{{"[", ",", ",", ",", ""}, {",[", ",", ",", ",", ","}}

// parse reads a line into l.request.
func (l *Lines) parse(line []byte) error {
	v, err := l.parser.ParseBytes(line)
	if err != nil {
		return fmt.Errorf("not JSON: %s", short(err.Error()))
	}
	if v.Type() != fastjson.TypeObject {
		return fmt.Errorf("a line must be an object, not %s", kind(v))
	}
	r := &l.request
	if r.dialect, err = dialectOf(v.Get("algorithm")); err != nil {
		return err
	}
	if err := l.parseParams(v.Get("params")); err != nil {
		return err
	}
	return l.parseInputs(v.Get("inputs"))
}

func dialectOf(v *fastjson.Value) (*dialect, error) {
	known := make([]string, len(dialects))
	for i := range dialects {
		known[i] = dialects[i].name
	}
	if v == nil || v.Type() != fastjson.TypeString {
		return nil, fmt.Errorf("algorithm: missing or not a string: must be one of %s", strings.Join(known, ", "))
	}
	name := string(v.GetStringBytes())
	at, err := indexOf("algorithm", known, short(name))
	if err != nil {
		return nil, err
	}
	return &dialects[at], nil
}

// parseInputs reads the models' boxes.
func (l *Lines) parseInputs(v *fastjson.Value) error {
	r := &l.request
	models, err := array(v, "inputs")
	if err != nil {
		return err
	}
	if len(models) > MaxModels {
		return fmt.Errorf("inputs: %d models: at most %d", len(models), MaxModels)
	}
	r.inputs, r.labels = slices.Grow(r.inputs[:0], len(models))[:len(models)], r.labels[:0]
	total := 0
	for m, v := range models {
		at := fmt.Sprintf("inputs[%d]", m)
		if v.Type() != fastjson.TypeObject {
			return fmt.Errorf("%s: must be an object, not %s", at, kind(v))
		}
		if err := l.parseInput(v, at, &r.inputs[m]); err != nil {
			return err
		}
		if total += len(r.inputs[m].boxes); total > MaxFrameBoxes {
			return fmt.Errorf("%s: more than %d boxes in all", at, MaxFrameBoxes)
		}
		r.labels = append(r.labels, r.inputs[m].labels...)
	}
	slices.Sort(r.labels)
	r.labels = slices.Compact(r.labels)
	return nil
}

func (l *Lines) parseInput(v *fastjson.Value, at string, in *input) error {
	boxes, err := array(v.Get("boxes"), at+".boxes")
	if err != nil {
		return err
	}
	in.boxes = in.boxes[:0]
	var corners []float64
	for i, b := range boxes {
		here := fmt.Sprintf("%s.boxes[%d]", at, i)
		if corners, err = l.numbers(b, here, corners[:0]); err != nil {
			return err
		}
		if len(corners) != 4 {
			return fmt.Errorf("%s: %d numbers: must be 4, x1 y1 x2 y2", here, len(corners))
		}
		in.boxes = append(in.boxes, rect{corners[0], corners[1], corners[2], corners[3]})
	}
	if in.scores, err = l.numbers(v.Get("scores"), at+".scores", in.scores[:0]); err != nil {
		return err
	}
	if in.labels, err = l.numbers(v.Get("labels"), at+".labels", in.labels[:0]); err != nil {
		return err
	}
	if len(in.scores) != len(in.boxes) || len(in.labels) != len(in.boxes) {
		return fmt.Errorf("%s: %d boxes, %d scores, %d labels: must be as many of each", at, len(in.boxes), len(in.scores), len(in.labels))
	}
	for i, label := range in.labels {
		if !(math.Abs(label) < 1<<53) {
			return fmt.Errorf("%s.labels[%d]: %v: must be a number within ±2^53", at, i, label)
		}
		if l.request.dialect.truncates {
			label = math.Trunc(label)
		}
		in.labels[i] = label + 0 // −0 becomes 0
	}
	return nil
}

// numbers appends an array of numbers to dst.
func (l *Lines) numbers(v *fastjson.Value, at string, dst []float64) ([]float64, error) {
	values, err := array(v, at)
	if err != nil {
		return dst, err
	}
	for i, v := range values {
		f, err := l.number(v)
		if err != nil {
			return dst, fmt.Errorf("%s[%d]: %w", at, i, err)
		}
		dst = append(dst, f)
	}
	return dst, nil
}

// number reads a JSON number, rounded to the nearest float64 (fastjson's own reading may
// be off by a bit), or one of the strings that stand for what JSON has no number for.
func (l *Lines) number(v *fastjson.Value) (float64, error) {
	switch v.Type() {
	case fastjson.TypeNumber:
		l.raw = v.MarshalTo(l.raw[:0])
		f, err := strconv.ParseFloat(string(l.raw), 64)
		if err != nil {
			return 0, fmt.Errorf("%q is no number that a float64 can hold", short(string(l.raw)))
		}
		return f, nil
	case fastjson.TypeString:
		switch s := string(v.GetStringBytes()); s {
		case "NaN":
			return math.NaN(), nil
		case "Infinity":
			return math.Inf(1), nil
		case "-Infinity":
			return math.Inf(-1), nil
		default:
			return 0, fmt.Errorf("%q: must be a number, or one of the strings NaN, Infinity, -Infinity", short(s))
		}
	}
	return 0, fmt.Errorf("must be a number, not %s", kind(v))
}

func array(v *fastjson.Value, at string) ([]*fastjson.Value, error) {
	if v == nil {
		return nil, fmt.Errorf("%s: missing: must be an array", at)
	}
	if v.Type() != fastjson.TypeArray {
		return nil, fmt.Errorf("%s: must be an array, not %s", at, kind(v))
	}
	return v.GetArray(), nil
}

// kind names a value's type without its content.
func kind(v *fastjson.Value) string {
	switch v.Type() {
	case fastjson.TypeTrue, fastjson.TypeFalse:
		return "true or false"
	case fastjson.TypeNull:
		return "null"
	}
	return v.Type().String()
}

// short bounds text of the input that an error repeats.
func short(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
