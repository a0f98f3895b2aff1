package story

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
)

const (
	// around is how many frames on either side of one are looked through for what belongs to
	// it and went elsewhere.
	around = 48
	// maxCopied bounds the frames of a page, which bounds what a question costs the path.
	maxCopied = 512
)

var (
	// ErrNoCamera is returned for a camera of which no frame has been heard.
	ErrNoCamera = errors.New("no such camera")
	// ErrNoFrame is returned when no frame that is held is meant.
	ErrNoFrame = errors.New("no such frame")
)

// Page is a part of a book, copied out for a question.
type Page struct {
	book    *Book // its settings alone, which never change
	unit    string
	camera  string
	frames  []frame // in order of closing
	entries []entry
	raws    []raw
	targets []int   // of frames
	nearNS  []int64 // of each target: correlate.NearNS
	models  []string
	offsets []int64 // by model: what its clock is ahead by
	held    Held
	marks   []uint64
	extras  map[extraOf]Extra

	// NowNS and WallNS are one instant on both clocks, for what is told to people; 0 = not known.
	NowNS  clock.Mono
	WallNS int64
	// Began is when what the book knows of begins: who was dead before has been for longer.
	Began clock.Mono
	Notes []string
}

type extraOf struct {
	frame int
	model string
}

// Extra is what somebody else than the correlator knows of a missing model.
type Extra struct {
	Cause    string // how it came to be dead
	Hung     bool   // it is not dead: it hangs
	Dispatch *Dispatch
}

// Wanted is one missing model of a frame that will be told, for whoever knows more of it.
type Wanted struct {
	Model       string
	Dead        bool
	Since       clock.Mono // Dead: since when
	StreamEpoch uint32
	FrameID     uint64
	CaptureNS   []int64 // of the picture, as its members say
	Extra       *Extra
}

// NewPage returns a page with room for any question, so that Copy allocates little. It may be
// called on any goroutine.
func (b *Book) NewPage() *Page {
	return &Page{
		book: b, frames: make([]frame, 0, maxCopied+maxSame), entries: make([]entry, 0, (maxCopied+maxSame)*b.o.Messages),
		raws:  make([]raw, 0, maxCopied+maxSame),
		marks: make([]uint64, 0, MaxLast), extras: make(map[extraOf]Extra),
	}
}

// Copy copies what a query is about. unit may be "" where it does not matter. It fails with
// ErrNoCamera, naming those that are known, and with ErrNoFrame, saying what is held.
func (b *Book) Copy(p *Page, c *correlate.Correlator, unit, camera string, q Query) error {
	s := b.find(unit, camera)
	if s == nil {
		return b.noCamera(camera)
	}
	p.unit, p.camera = s.unit, s.camera
	p.held = Held{Frames: len(s.frames), Bound: b.o.Frames, Unattached: s.unattached}
	oldest := s.made - uint64(len(s.frames)) + 1
	for mark := s.made; mark >= oldest && len(p.marks) < q.most(); mark-- {
		f := b.at(s, mark)
		if q.wants(b, f, b.entriesOf(s, mark)[:f.n], b.rawAt(s, mark)) {
			p.marks = append(p.marks, mark)
		}
	}
	if s.made > 0 {
		p.held.Oldest, p.held.Newest = b.note(s, oldest), b.note(s, s.made)
	}
	slices.Sort(p.marks)
	p.copyAround(s, oldest)
	if q.kind == byID || q.kind == byKey || len(p.marks) == 0 && q.kind == byNewest {
		p.copyOpen(s, c, &q)
	}
	if len(p.targets) == 0 {
		return b.noFrame(s, &q)
	}
	for _, i := range p.targets {
		p.nearNS = append(p.nearNS, c.NearNS(p.frames[i].key))
	}
	p.models = append(p.models, "")
	for id := correlate.ModelID(1); c.ModelName(id) != ""; id++ {
		p.models = append(p.models, c.ModelName(id))
		p.offsets = append(p.offsets, -c.Matched(p.frames[p.targets[0]].key.Stream, id, 0))
	}
	return nil
}

// find returns the shelf of a camera, or, where a unit has only one of that name, of its name.
func (b *Book) find(unit, camera string) *shelf {
	for _, s := range b.shelves {
		if s != nil && s.camera == camera && (unit == "" || s.unit == unit) {
			return s
		}
	}
	return nil
}

// copyAround copies the frames that were found and those around them.
func (p *Page) copyAround(s *shelf, oldest uint64) {
	reach := uint64(around)
	if n := len(p.marks); n > 1 {
		reach = min(reach, uint64(maxCopied/n/2))
	}
	next := oldest
	for _, target := range p.marks {
		from := next
		if target > reach {
			from = max(next, target-reach)
		}
		for next = from; next <= min(target+reach, s.made); next++ {
			p.copy(s, next)
		}
	}
	for _, target := range p.marks {
		i, _ := slices.BinarySearchFunc(p.frames, target, func(f frame, mark uint64) int { return cmp.Compare(f.mark, mark) })
		p.targets = append(p.targets, i)
	}
}

func (p *Page) copy(s *shelf, mark uint64) {
	f := *p.book.at(s, mark)
	entries := p.book.entriesOf(s, mark)
	p.frames = append(p.frames, f)
	p.entries = append(p.entries, entries...)
	p.raws = append(p.raws, *p.book.rawAt(s, mark))
}

// copyOpen adds the open frames that are meant.
func (p *Page) copyOpen(s *shelf, c *correlate.Correlator, q *Query) {
	c.EachOpen(s.unit, s.camera, func(g *correlate.Group, mark uint64) {
		// What the book has of it has no members, and is no frame of its own.
		p.targets = slices.DeleteFunc(p.targets, func(i int) bool { return mark != 0 && p.frames[i].mark == mark })
		if len(p.targets) >= maxSame {
			return
		}
		var f frame
		var text raw
		room := make([]entry, p.book.o.Messages) // some few a question
		if s.holds(mark) {                       // who did not join it
			f, text = *p.book.at(s, mark), *p.book.rawAt(s, mark)
			copy(room, p.book.entriesOf(s, mark)[:f.n])
		}
		f.write(g, room, &text)
		if q.kind != byNewest && !q.wants(p.book, &f, room[:f.n], &text) {
			return
		}
		p.targets = append(p.targets, len(p.frames))
		p.frames = append(p.frames, f)
		p.entries = append(p.entries, room...)
		p.raws = append(p.raws, text)
	})
}

func (p *Page) entriesOf(i int) []entry {
	n := p.book.o.Messages
	return p.entries[i*n : i*n+int(p.frames[i].n)]
}

// EachMissing calls f for each expected model that is missing in a frame that will be told.
// What it leaves in Extra is told along.
func (p *Page) EachMissing(f func(w *Wanted)) {
	for _, i := range p.targets {
		fr := &p.frames[i]
		var captures []int64
		for _, e := range p.entriesOf(i) {
			if e.what == what(correlate.Accepted) && !e.flags.has(unreadable) {
				captures = append(captures, e.captureNS)
			}
		}
		for _, e := range p.entriesOf(i) {
			if e.what < missing {
				continue
			}
			w := Wanted{Model: p.models[e.model], Dead: e.what == missingDead, StreamEpoch: fr.key.Stream.Epoch(), FrameID: fr.frameID, CaptureNS: captures}
			if w.Dead {
				w.Since = e.at
			}
			if f(&w); w.Extra != nil {
				p.extras[extraOf{i, w.Model}] = *w.Extra
			}
		}
	}
}

func (b *Book) noCamera(camera string) error {
	var known []string
	for _, s := range b.shelves {
		if s != nil && len(known) < maxSame {
			known = append(known, Printable(s.camera))
		}
	}
	switch {
	case len(known) == 0:
		return fmt.Errorf("camera %s: %w: none has had a frame yet", Printable(camera), ErrNoCamera)
	case b.n > len(known):
		known = append(known, fmt.Sprintf("and %d more", b.n-len(known)))
	}
	return fmt.Errorf("camera %s: %w with frames: there are %s", Printable(camera), ErrNoCamera, strings.Join(known, ", "))
}

func (b *Book) noFrame(s *shelf, q *Query) error {
	closed, newest := 0, (*frame)(nil)
	for mark := s.made; s.holds(mark); mark-- {
		if f := b.at(s, mark); f.reason != 0 {
			if closed++; newest == nil {
				newest = f
			}
		}
	}
	who := "camera " + Printable(s.camera)
	if closed == 0 {
		return fmt.Errorf("%s: %w: none has been closed yet", who, ErrNoFrame)
	}
	oldest := b.at(s, s.made-uint64(len(s.frames))+1)
	held := fmt.Sprintf("%d are held, from %s, closed %v before the newest, to %s", len(s.frames), Printable(b.note(s, oldest.mark)),
		newest.closed.Sub(oldest.closed).Round(time.Millisecond), Printable(b.note(s, newest.mark)))
	if q.kind == byIncomplete {
		return fmt.Errorf("%s: %w: nobody was missing in any (%s)", who, ErrNoFrame, held)
	}
	never := "it is older, or has not come"
	if len(s.frames) < b.o.Frames {
		never = "it has not come"
	}
	return fmt.Errorf("%s: %w as %s: %s; %s", who, ErrNoFrame, Printable(q.text), never, held)
}

func (b *Book) note(s *shelf, mark uint64) string {
	return string(b.appendNote(nil, b.at(s, mark), b.rawAt(s, mark)))
}

// note is the key of a frame of the page, as it is printed.
func (p *Page) note(i int) string {
	return text(string(p.book.appendNote(nil, &p.frames[i], &p.raws[i])))
}
