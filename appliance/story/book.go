package story

import (
	"math/bits"
	"reflect"

	"github.com/skewgate/skewgate/appliance/cacheline"
	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
)

// Options are a book's bounds.
type Options struct {
	Cameras  int // cameras that have a shelf; what is of another is not kept
	Frames   int // of each camera; the power of two at or below it counts
	Messages int // of each frame, those that are missing included
	// Unit and Only, if not empty, name the one camera that is kept; room is then taken as frames
	// come, for a recording that may be short.
	Unit, Only string
	// FrameID returns the text of a frame id; nil = it is the number in decimal.
	FrameID func(id uint64) string
}

// maxAside bounds the messages of one frame that neither joined it nor were late for it: an
// endless repetition must not push out who came.
const maxAside = 4

// minMessages leaves room for some whose names are not expected.
const minMessages = 12

// MessagesFor is the room that a frame needs for everybody to be missing first and late then.
func MessagesFor(expected int) int { return max(2*expected+maxAside, minMessages) }

// FrameBytes is what one frame takes.
func (o *Options) FrameBytes() int {
	return int(reflect.TypeFor[frame]().Size()) + int(reflect.TypeFor[raw]().Size()) + o.Messages*int(reflect.TypeFor[entry]().Size())
}

// Bytes is what a book with all its cameras takes.
func (o *Options) Bytes() int { return o.Cameras * o.frames() * o.FrameBytes() }

func (o *Options) frames() int { return 1 << (bits.Len(uint(max(o.Frames, 1))) - 1) }

// Book keeps the newest frames of each camera. Its methods belong to the correlator's thread.
type Book struct {
	o       Options
	cfg     correlate.Config
	mask    uint64   // of a mark: its frame's place
	shelves []*shelf // by StreamID.Camera; nil = none
	n       int
}

// shelf holds the frames of one camera.
type shelf struct {
	unit, camera string
	frames       []frame // a ring: mark m is at (m − 1) & mask
	entries      []entry // Options.Messages a frame
	raws         []raw   // one a frame
	made         uint64  // marks given
	unattached   uint64  // messages whose frame was gone
}

// rawBytes holds what detect.AppendRaw leaves of a text.
const rawBytes = 44

// frame is a group as it was closed, or as it stands if reason is 0. Frames and entries are small
// and what is rare stands elsewhere: writing them is what the book costs the path.
type frame struct {
	key                 correlate.Key
	mark                uint64
	first, last, closed clock.Mono
	generation          uint64
	frameID             uint64 // of the first member that has one
	published           uint64
	more                uint32 // messages without an entry
	n, aside            uint16 // entries, and those bounded by maxAside
	rawOf               uint16 // 1 + the first entry with a timestamp that cannot be read, whose text is kept
	reason              correlate.Reason
	slept               bool
}

// raw is the text of an unreadable timestamp.
type raw struct {
	text [rawBytes]byte
	n    uint8
}

// entry is a message of a frame, or an expected model that did not come.
type entry struct {
	at        clock.Mono // arrival; of a dead model since when
	captureNS int64      // as received; of a model that had passed how far
	frameID   uint64     // of a message of another generation its generation
	boxes     int32      // -1 = not known
	model     correlate.ModelID
	what      what
	flags     flags
}

// flags say of an entry what else there is to say. They share a byte, which makes an entry half
// a cache line.
type flags uint8

const (
	unreadable flags = 1 << iota // its capture time
	expected                     // its model
)

func (f flags) has(bit flags) bool { return f&bit != 0 }

func flagsOf(isUnreadable, isExpected bool) (f flags) {
	if isUnreadable {
		f = unreadable
	}
	if isExpected {
		f |= expected
	}
	return f
}

// what says what an entry is: a verdict on a message, or why a model is missing.
type what uint8

const (
	missing       what = 16 // and correlate.MissingReason
	missingAbsent      = missing + what(correlate.Absent)
	missingDead        = missing + what(correlate.Dead)
	missingPassed      = missing + what(correlate.Passed)
)

// NewBook returns an empty book for a correlator with these settings.
func NewBook(cfg *correlate.Config, o Options) *Book {
	o.Frames = o.frames()
	return &Book{o: o, cfg: *cfg, mask: uint64(o.Frames - 1)}
}

// shelf returns a camera's shelf, nil if it is not kept.
func (b *Book) shelf(s correlate.StreamID) *shelf {
	if i := int(s.Camera()); i < len(b.shelves) {
		return b.shelves[i]
	}
	return nil
}

// enter gives a camera a shelf with its first frame, if it is to have one.
func (b *Book) enter(s correlate.StreamID, unit, camera string) *shelf {
	if b.n >= b.o.Cameras || b.o.Only != "" && (camera != b.o.Only || b.o.Unit != "" && unit != b.o.Unit) {
		return nil
	}
	b.n++
	for len(b.shelves) <= int(s.Camera()) {
		b.shelves = append(b.shelves, nil)
	}
	made := &shelf{unit: unit, camera: camera}
	if b.o.Only == "" {
		made.frames = make([]frame, 0, b.o.Frames)
		made.entries = make([]entry, 0, b.o.Frames*b.o.Messages)
		made.raws = make([]raw, 0, b.o.Frames)
	}
	b.shelves[s.Camera()] = made
	return made
}

// holds reports whether the frame of a mark is still there.
func (s *shelf) holds(mark uint64) bool {
	return mark != 0 && mark <= s.made && s.made-mark < uint64(len(s.frames))
}

// take returns the frame of a mark, or a new one in place of the oldest.
func (b *Book) take(s *shelf, mark uint64) *frame {
	if s.holds(mark) {
		return b.at(s, mark)
	}
	s.made++
	if len(s.frames) < b.o.Frames {
		s.frames, s.raws = append(s.frames, frame{}), append(s.raws, raw{})
		for range b.o.Messages {
			s.entries = append(s.entries, entry{})
		}
	}
	b.prefetch(s, s.made+1)
	f := b.at(s, s.made)
	*f = frame{mark: s.made}
	return f
}

// prefetch asks for the place of a frame that is still to come: it was last written when the
// ring was there before.
func (b *Book) prefetch(s *shelf, mark uint64) {
	if int((mark-1)&b.mask) < len(s.frames) {
		cacheline.PrefetchTwo(b.at(s, mark))
		cacheline.PrefetchTwo(&b.entriesOf(s, mark)[0])
	}
}

func (b *Book) at(s *shelf, mark uint64) *frame { return &s.frames[(mark-1)&b.mask] }

func (b *Book) rawAt(s *shelf, mark uint64) *raw { return &s.raws[(mark-1)&b.mask] }

// entriesOf returns the room for a frame's entries.
func (b *Book) entriesOf(s *shelf, mark uint64) []entry {
	i := int((mark-1)&b.mask) * b.o.Messages
	return s.entries[i : i+b.o.Messages]
}

// Closed takes a group in. It is for the correlator.
func (b *Book) Closed(e *correlate.Closing) uint64 {
	s := b.shelf(e.Key.Stream)
	if s == nil {
		if s = b.enter(e.Key.Stream, e.Unit, e.Camera); s == nil {
			return 0
		}
	}
	f := b.take(s, e.Mark)
	f.write(e.Group, b.entriesOf(s, f.mark), b.rawAt(s, f.mark))
	f.reason, f.closed, f.slept, f.published = e.Reason, e.ClosedAt, e.Slept, e.Published
	return f.mark
}

// write puts a group's head, its members and who is missing into a frame.
func (f *frame) write(g *correlate.Group, room []entry, text *raw) {
	f.key, f.first, f.last, f.generation, f.frameID = g.Key, g.FirstArrival, g.LastArrival, g.Generation, 0
	for i := range g.Members {
		m := &g.Members[i]
		if f.frameID == 0 {
			f.frameID = m.FrameID
		}
		e := f.next(room)
		if e == nil {
			continue
		}
		e.at, e.captureNS, e.frameID, e.boxes = m.Arrival, m.CaptureNS, m.FrameID, -1
		if m.HasBoxes {
			e.boxes = int32(len(m.Boxes))
		}
		e.model, e.what, e.flags = m.Model, what(correlate.Accepted), flagsOf(m.Unreadable, m.Expected)
		if m.Unreadable {
			f.keep(text, m.Raw)
		}
	}
	for _, m := range g.Missing {
		if e := f.next(room); e != nil {
			*e = entry{model: m.Model, what: missing + what(m.Reason), flags: expected, at: m.Since, captureNS: m.PassedNS}
		}
	}
}

// next returns the frame's next entry, or nil and counts that there is none.
func (f *frame) next(room []entry) *entry {
	if int(f.n) >= len(room) {
		f.more++
		return nil
	}
	f.n++
	return &room[f.n-1]
}

// keep keeps the text of the entry that was written last, if it is the frame's first.
func (f *frame) keep(r *raw, text []byte) {
	if f.rawOf == 0 {
		r.n, f.rawOf = uint8(copy(r.text[:], text)), f.n
	}
}

// Apart takes a message in that did not join its group. It is for the correlator.
func (b *Book) Apart(a *correlate.Apart) uint64 {
	s := b.shelf(a.Key.Stream)
	if s == nil {
		if s = b.enter(a.Key.Stream, a.Unit, a.Camera); s == nil {
			return 0
		}
	}
	if !a.Open && !s.holds(a.Mark) {
		s.unattached++
		return a.Mark
	}
	f := b.take(s, a.Mark)
	if a.Open {
		f.key, f.first = a.Key, a.First
	}
	if a.Verdict != correlate.Late {
		if f.aside >= maxAside {
			f.more++
			return f.mark
		}
		f.aside++
	}
	e := f.next(b.entriesOf(s, f.mark))
	if e == nil {
		return f.mark
	}
	*e = entry{
		model: a.Model, what: what(a.Verdict), flags: flagsOf(a.Unreadable, a.Expected), boxes: -1,
		at: a.Arrival, captureNS: a.CaptureNS, frameID: a.FrameID,
	}
	if a.HasBoxes {
		e.boxes = int32(a.Boxes)
	}
	if a.Verdict == correlate.WrongGeneration {
		e.frameID = a.Generation
	}
	if a.Unreadable {
		f.keep(b.rawAt(s, f.mark), a.Raw)
	}
	return f.mark
}
