package sink

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/skewgate/skewgate/shm"
)

// tables number the names in an output ring's records. They only grow.
type tables struct {
	models     map[string]uint16
	classes    map[string]uint32
	modelList  []string
	classList  []string
	classBytes int    // of all class names as JSON
	changes    uint32 // told as "tables"

	// The numbers of the frame learned last, in its order; reused.
	answers, missing, votes []uint16
	labels                  []uint32 // by box
}

// Bounds of the tables. The length of one name is bounded where it comes from.
const (
	maxTableModels  = math.MaxUint16
	maxTableClasses = 1 << 16
	// maxTableParts is in how many messages the tables may be told.
	maxTableParts = 8
	// tableHead is what a telling needs beside the names.
	tableHead = 512
)

// errTables is returned for a frame whose names find no room any more.
var errTables = errors.New("the tables of names are full")

func newTables(models []string) *tables {
	t := &tables{models: make(map[string]uint16), classes: make(map[string]uint32), changes: 1}
	for _, m := range models {
		t.addModel(m)
	}
	return t
}

// nearNames are looked through before a map is asked: comparing a string with itself is quicker
// than hashing it, and most boxes are of few models and classes.
const nearNames = 8

func numberOf[N uint16 | uint32](list []string, all map[string]N, name string) (n N, known bool) {
	for i, have := range list[:min(len(list), nearNames)] {
		if have == name {
			return N(i), true
		}
	}
	n, known = all[name]
	return n, known
}

// addModel returns a name's number, and gives it one if it has none; false if none is left.
func (t *tables) addModel(name string) (n uint16, ok bool) {
	n, known := numberOf(t.modelList, t.models, name)
	if known || len(t.modelList) >= maxTableModels {
		return n, known
	}
	n = uint16(len(t.modelList))
	t.models[name] = n
	t.modelList = append(t.modelList, name)
	t.changes++
	return n, true
}

// addClass does that for a class. room is how many bytes all class names may take.
func (t *tables) addClass(name string, room int) (n uint32, ok bool) {
	n, known := numberOf(t.classList, t.classes, name)
	if known {
		return n, true
	}
	bytes := t.classBytes + len(appendText(nil, name)) + 1
	if len(t.classList) >= maxTableClasses || bytes > room {
		return 0, false
	}
	n = uint32(len(t.classList))
	t.classes[name] = n
	t.classList = append(t.classList, name)
	t.classBytes = bytes
	t.changes++
	return n, true
}

// learn enters the frame's names and keeps their numbers until the next. room is how many bytes
// all class names may take.
func (t *tables) learn(f *Frame, room int) error {
	t.answers, t.missing, t.votes, t.labels = t.answers[:0], t.missing[:0], t.votes[:0], t.labels[:0]
	for i := range f.Models {
		n, ok := t.addModel(f.Models[i].Model)
		if !ok {
			return errTables
		}
		t.answers = append(t.answers, n)
	}
	for i := range f.Missing {
		n, ok := t.addModel(f.Missing[i].Model)
		if !ok {
			return errTables
		}
		t.missing = append(t.missing, n)
	}
	for i := range f.Boxes {
		n, ok := t.addClass(f.Boxes[i].Label, room)
		if !ok {
			return errTables
		}
		t.labels = append(t.labels, n)
		for j := range f.Boxes[i].By {
			n, ok := t.addModel(f.Boxes[i].By[j].Model)
			if !ok {
				return errTables
			}
			t.votes = append(t.votes, n)
		}
	}
	return nil
}

// telling returns the messages that tell all names, each at most limit bytes.
func (t *tables) telling(unit string, limit int) ([][]byte, error) {
	var parts [][]byte
	// One message as a rule; more only if the classes' names do not fit. Each is whole JSON
	// and says where its classes begin, so a reader may miss any of them.
	for first := 0; first == 0 || first < len(t.classList); {
		b := fmt.Appendf(nil, `{"schema":%d,"unit":`, Schema)
		b = appendText(b, unit)
		b = fmt.Appendf(b, `,"tables":%d,"models":[`, t.changes)
		for i, m := range t.modelList {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendText(b, m)
		}
		b = fmt.Appendf(b, `],"first_class":%d,"classes":[`, first)
		n := 0
		for ; first+n < len(t.classList); n++ {
			before := len(b)
			if n > 0 {
				b = append(b, ',')
			}
			if b = appendText(b, t.classList[first+n]); len(b)+2 > limit {
				b = b[:before]
				break
			}
		}
		if b = append(b, "]}"...); len(b) > limit || n == 0 && first < len(t.classList) {
			return nil, fmt.Errorf("tell %d models: %d bytes, a slot holds %d", len(t.modelList), len(b), limit)
		}
		parts = append(parts, b)
		if first += n; n == 0 {
			break
		}
	}
	return parts, nil
}

// ErrNames is returned for a record with a name that was not told yet: it is told within
// the next 64 messages.
var ErrNames = errors.New("name not told yet")

// notTold stands where a name is still to come; no JSON text can hold it.
const notTold = "\xff"

func nameOf(names []string, i uint32, what string) (string, error) {
	if int64(i) >= int64(len(names)) || names[i] == notTold {
		return "", fmt.Errorf("%w: %s %d", ErrNames, what, i)
	}
	return names[i], nil
}

// told is a message that tells names. A name is never null.
type told struct {
	Schema     int       `json:"schema"`
	Models     []*string `json:"models"`
	FirstClass uint32    `json:"first_class"`
	Classes    []*string `json:"classes"`
}

// Names takes a message of kind JSON.
func (d *Decoder) Names(h *shm.SlotHeader, body []byte) error {
	if h.Kind != shm.KindJSON {
		return fmt.Errorf("%w: message %d is of kind %d", ErrRecord, h.Sequence, h.Kind)
	}
	var t told
	if err := json.Unmarshal(body, &t); err != nil {
		return fmt.Errorf("%w: names: %w", ErrRecord, err)
	}
	if t.Schema != Schema {
		return fmt.Errorf("%w: names of schema %d, this program reads %d: use one release on both sides", ErrRecord, t.Schema, Schema)
	}
	if len(t.Models) > maxTableModels || int64(t.FirstClass)+int64(len(t.Classes)) > maxTableClasses {
		return fmt.Errorf("%w: %d models and classes from %d to %d", ErrRecord, len(t.Models), t.FirstClass, int64(t.FirstClass)+int64(len(t.Classes)))
	}
	if slices.Contains(t.Models, nil) || slices.Contains(t.Classes, nil) {
		return fmt.Errorf("%w: a name is null", ErrRecord)
	}
	d.models = enter(d.models, 0, t.Models)
	d.classes = enter(d.classes, int(t.FirstClass), t.Classes)
	return nil
}

// enter puts names at their places.
func enter(names []string, first int, more []*string) []string {
	for len(names) < first+len(more) {
		names = append(names, notTold)
	}
	for i, name := range more {
		names[first+i] = *name
	}
	return names
}
