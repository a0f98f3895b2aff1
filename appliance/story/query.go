package story

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/skewgate/skewgate/appliance/correlate"
)

const (
	// MaxLast bounds how many frames may be asked for at once.
	MaxLast = 64
	// maxNote bounds the text that names a frame: a name in front of a raw text, or an id.
	maxNote = 300
	// maxSame bounds the frames that are told where several go by what was asked for.
	maxSame = 8
)

// Query says which frames are meant.
type Query struct {
	kind  queryKind
	n     uint64 // of a frame id or seq; how many of the last
	value int64  // of a key
	tag   correlate.Tag
	text  string // as it was asked
}

type queryKind uint8

const (
	byNewest queryKind = iota
	byIncomplete
	byLast
	byID
	bySeq
	byKey
)

// Ask is what somebody typed.
type Ask struct {
	Frame      string // "" = the newest closed one
	Last       int    // 0 = not asked
	Incomplete bool   // the newest one in which somebody was missing
	// FrameID reads a frame id that is no decimal number; nil = there are none.
	FrameID func(text string) (uint64, bool)
}

// Parse reads what somebody typed: a frame id, seq:N, or a key as it is printed (id:7, q25:40,
// q0:…ns, w:…ns, raw:text).
func Parse(a Ask) (Query, error) {
	given := 0
	for _, is := range []bool{a.Frame != "", a.Last != 0, a.Incomplete} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		return Query{}, errors.New("name a frame, or ask for the last ones, or for an incomplete one: one of the three")
	case a.Last < 0 || a.Last > MaxLast:
		return Query{}, fmt.Errorf("the last %d frames: ask for 1 to %d", a.Last, MaxLast)
	case a.Last > 0:
		return Query{kind: byLast, n: uint64(a.Last)}, nil
	case a.Incomplete:
		return Query{kind: byIncomplete}, nil
	case a.Frame == "":
		return Query{kind: byNewest}, nil
	case len(a.Frame) > maxNote:
		return Query{}, fmt.Errorf("frame %.40q… has %d bytes, at most %d", a.Frame, len(a.Frame), maxNote)
	}
	q := Query{text: a.Frame}
	if q.parse(a.FrameID) {
		return q, nil
	}
	return Query{}, fmt.Errorf("frame %.60q is neither a frame id, seq:N, nor a key like id:7, q25:40, w:…ns or raw:text", a.Frame)
}

func (q *Query) parse(frameID func(string) (uint64, bool)) bool {
	kind, rest, colon := strings.Cut(q.text, ":")
	switch {
	case !colon:
		rest = q.text
		fallthrough
	case kind == "id":
		q.kind = byID
		if q.n = decimal(rest); q.n != 0 {
			return true
		}
		if frameID == nil {
			return false
		}
		n, ok := frameID(rest)
		q.n = n
		return ok
	case kind == "seq":
		q.kind, q.n = bySeq, decimal(rest)
		return q.n != 0
	case kind == "raw":
		q.kind, q.tag = byKey, correlate.TagRaw
		return true
	case kind == "w":
		q.kind, q.tag = byKey, correlate.TagWindow
	case kind == "q0":
		q.kind, q.tag = byKey, correlate.TagInstant
	case strings.HasPrefix(kind, "q"):
		q.kind, q.tag = byKey, correlate.TagBucket
		rest += "ns" // of a bucket's number there is no unit
	default:
		return false
	}
	rest, ok := strings.CutSuffix(rest, "ns")
	value, err := strconv.ParseInt(rest, 10, 64)
	q.value = value
	return ok && err == nil
}

// decimal reads a whole number above 0 that is written as we write it; 0 = it is none.
func decimal(s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || strconv.FormatUint(n, 10) != s {
		return 0
	}
	return n
}

// wants reports whether a frame is one of those that are meant.
func (q *Query) wants(b *Book, f *frame, entries []entry, text *raw) bool {
	switch q.kind {
	case byNewest, byLast:
		return f.reason != 0
	case byIncomplete:
		return f.reason != 0 && f.incomplete(entries)
	case bySeq:
		return f.published == q.n
	case byKey:
		return f.key.Tag == q.tag && (q.tag == correlate.TagRaw || f.key.Value == q.value) && string(b.appendNote(nil, f, text)) == q.text
	}
	if f.frameID == q.n {
		return true
	}
	for i := range entries {
		if entries[i].frameID == q.n && entries[i].what < missing && entries[i].what != what(correlate.WrongGeneration) {
			return true
		}
	}
	return false
}

// incomplete reports whether somebody who was waited for did not make it into the frame.
func (f *frame) incomplete(entries []entry) bool {
	if f.reason == correlate.Stale {
		return true
	}
	for i := range entries {
		if w := entries[i].what; w == missingAbsent || w == missingDead {
			return true
		}
	}
	return false
}

// most is how many frames a query may find.
func (q *Query) most() int {
	switch q.kind {
	case byNewest, byIncomplete:
		return 1
	case byLast:
		return int(q.n)
	}
	return maxSame
}

// appendNote appends a frame's key as correlate does, from what the book itself has kept: the
// correlator's texts may have been forgotten since.
func (b *Book) appendNote(dst []byte, f *frame, text *raw) []byte {
	switch f.key.Tag {
	case correlate.TagID:
		return correlate.AppendNote(dst, f.key, b.cfg.QuantumNS, b.idText(uint64(f.key.Value)))
	case correlate.TagRaw: // another frame may have one among its messages
		return correlate.AppendNote(dst, f.key, b.cfg.QuantumNS, text.text[:text.n])
	}
	return correlate.AppendNote(dst, f.key, b.cfg.QuantumNS, "")
}

func (b *Book) idText(id uint64) string {
	if b.o.FrameID != nil {
		return b.o.FrameID(id)
	}
	return strconv.FormatUint(id, 10)
}
