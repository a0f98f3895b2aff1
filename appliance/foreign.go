package appliance

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/skewgate/skewgate/appliance/attach"
	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/appliance/fuse"
	"github.com/skewgate/skewgate/shm"
)

// foreign is what a replica has whose process attaches by itself.
type foreign struct {
	desk   int          // the attach server's number
	handed *os.File     // its ring, as observers get it; belongs to whoever renews the ring
	heard  *attach.Word // what the path knows of it
	news   *attach.Word // what it is about to hear
	open   bool         // its ring is read: somebody is attached, or just went

	labels  *detect.Labels
	reader  *detect.BodyReader
	classes []int32 // by label: the fused class, or one of the words below

	strikes  int // quarantines in a row
	lastWild clock.Mono
}

// Bounds on the labels of a foreign detector. Numbers below maxLabelNumber are labels by
// themselves, texts get the numbers from there on, so that 7 and "7" are one class.
const (
	maxLabelNumber  = 2048
	maxForeignBytes = 63      // of a class name
	maxClasses      = 1 << 14 // of all models together
)

// Words in foreign.classes beside fused classes.
const (
	classUnasked = -3
	classUnknown = -2
	classDropped = -1
)

func newForeign(desk int) *foreign {
	numbers := make([]string, maxLabelNumber)
	for i := range numbers {
		numbers[i] = strconv.Itoa(i)
	}
	f := &foreign{desk: desk, heard: &attach.Word{}, news: &attach.Word{}, labels: detect.NewLabels(numbers)}
	f.reader = detect.NewBodyReader(f.labels)
	return f
}

// readForeign turns a slot into a message. Nothing in it is to be believed: kind, body,
// names and epoch are a stranger's words. Progress comes back as a message that has only
// stream, model and capture time.
func (p *path) readForeign(r *replica) (*correlate.Message, error) {
	h, f := &r.head, r.foreign
	stream, err := p.stream(r) // of our unit, a camera of its own, an epoch that has begun
	if err != nil {
		return nil, err
	}
	p.begin(r, stream)
	// The slot was copied out whole, so what follows looks at memory that stands still.
	body := r.body[:r.length]
	if h.CaptureNS == shm.RawCapture {
		var text []byte
		if text, body, err = shm.SplitRaw(body); err != nil {
			return nil, err
		}
		if ns, ok := detect.ReadInstant(text, detect.Milliseconds); ok {
			p.message.CaptureNS, p.message.Exact = ns, true
		} else {
			p.message.CaptureNS, p.message.Raw = detect.RawInstant, text
		}
	}
	var boxes []detect.Box
	switch h.Kind {
	case shm.KindBoxes:
		boxes, err = p.unpack(body, int(h.Count))
	case shm.KindJSON:
		p.boxes, err = f.reader.Read(p.boxes[:0], body)
		boxes = p.boxes
	case shm.KindProgress:
		if p.message.Raw != nil {
			return nil, fmt.Errorf("message %d is progress up to a time that cannot be read", h.Sequence)
		}
		return &p.message, nil
	default:
		return nil, fmt.Errorf("message %d is of kind %d, a detector sends boxes, JSON or progress", h.Sequence, h.Kind)
	}
	if err != nil {
		return nil, fmt.Errorf("message %d: %w", h.Sequence, err)
	}
	p.message.Boxes = p.out.classify(r, boxes)
	r.frame = h.FrameID
	return &p.message, nil
}

// checkEpoch refuses a stream_epoch that the camera has not reached: capture alone mints it.
func (r *replica) checkEpoch(camera string, epoch uint32) error {
	for _, c := range r.cameras {
		if c.cfg.Name != camera {
			continue
		}
		if now := c.frames.Info().StreamEpoch; epoch > now {
			return fmt.Errorf("message %d is of stream_epoch %d, camera %s is at %d", r.head.Sequence, epoch, camera, now)
		}
	}
	return nil
}

// classify puts fused classes in place of a foreign model's own labels and leaves out what
// has none, counted as the fusion's gate would.
func (o *publisher) classify(r *replica, boxes []detect.Box) []detect.Box {
	classes := r.foreign.classes
	for i := range boxes { // mostly all have one, and stay where they are
		b := &boxes[i]
		if uint64(b.Label) >= uint64(len(classes)) || classes[b.Label] < 0 {
			return o.sift(r, boxes, i)
		}
		b.Label = uint32(classes[b.Label])
	}
	return boxes
}

// sift is the rest of classify, from the first box on that has no class, or none yet.
func (o *publisher) sift(r *replica, boxes []detect.Box, from int) []detect.Box {
	f, kept := r.foreign, from
	for i := from; i < len(boxes); i++ {
		b := &boxes[i]
		class := int32(classUnasked)
		if uint64(b.Label) < uint64(len(f.classes)) {
			class = f.classes[b.Label]
		}
		if class == classUnasked {
			class = o.ask(r, b.Label)
		}
		switch class {
		case classUnknown:
			o.clipped[fuse.UnknownLabel]++
		case classDropped:
			o.clipped[fuse.DroppedClass]++
		default:
			b.Label = uint32(class)
			boxes[kept] = *b
			kept++
		}
	}
	return boxes[:kept]
}

// ask finds out what a label means and remembers it, if it is one of the model's.
func (o *publisher) ask(r *replica, label uint32) int32 {
	f := r.foreign
	name := f.labels.Name(label)
	if name == "" {
		return classUnknown
	}
	for uint64(label) >= uint64(len(f.classes)) {
		f.classes = append(f.classes, classUnasked)
	}
	fused, mapped := r.cfg.Classes[name]
	switch {
	case !mapped && r.cfg.Unmapped == config.UnmappedDrop:
		f.classes[label] = classDropped
		return classDropped
	case !mapped:
		fused = name
	}
	// A name of the config's may be anything; one that a stranger made up goes into every
	// output, so it must be decent and there must be an end to them.
	_, known := o.classes.ids[fused]
	if !mapped && !decent(fused) || !known && len(o.classes.names) >= maxClasses {
		f.classes[label] = classUnknown
		return classUnknown
	}
	f.classes[label] = o.classes.id(fused)
	return f.classes[label]
}

// decent says whether a stranger's text may become the name of a class in every output.
func decent(name string) bool {
	return len(name) <= maxForeignBytes && utf8.ValidString(name) && !slices.ContainsFunc([]rune(name), unicode.IsControl)
}

// openForeign has the rings of those who have attached read from now on. It comes before it is
// said who went: that is dated now, and what others published before must not come after it.
// At the turn before nobody was there to publish: no stamp is believed that is older.
func (p *path) openForeign() {
	for _, r := range p.replicas {
		f := r.foreign
		if f == nil || r.replacing {
			continue
		}
		f.news = p.desk(f.desk)
		if f.news.Serial != f.heard.Serial && !f.open {
			f.open, r.lastEmpty = true, max(r.lastEmpty, p.lastTurn)
		}
	}
}

// hearForeign follows who is attached. A model that nobody is attached as is dead; it is
// waited for again from its first message or progress on.
func (p *path) hearForeign(now clock.Mono, r *replica) {
	f := r.foreign
	w := f.news
	if w == f.heard { // words never change: the same one is no news
		return
	}
	came := w.Serial - f.heard.Serial
	if f.heard.Peer != nil || came > 1 || came == 1 && w.Peer == nil {
		p.lose(now, r, false) // what was published before the end is read
		if err := r.ring.CheckTakeover(); err != nil && r.quarantine == "" {
			r.quarantine = err.Error()
		}
	}
	f.heard, f.open = w, w.Peer != nil
}

// Delays before a ring that held nonsense may be attached again: a client that does it
// each time costs a new segment each time.
const (
	firstRenewal  = 100 * time.Millisecond
	lastRenewal   = 30 * time.Second
	goodForStrike = time.Minute // a ring that was good this long begins anew
)

// replaceForeign gives a foreign detector's broken ring up: its process cannot be made to
// let go of that memory, so the next one gets other memory.
func (p *path) replaceForeign(now clock.Mono, r *replica) {
	f := r.foreign
	if now.Sub(f.lastWild) > goodForStrike {
		f.strikes = 0
	}
	delay := min(firstRenewal<<min(f.strikes, 10), lastRenewal)
	f.strikes, f.lastWild = f.strikes+1, now
	p.log.Error("detection ring quarantined, its detector is sent away", "task", r.task, "reason", r.quarantine, "again_after", delay)
	r.beginReplacing()
	f.open = true
	p.lose(now, r, false)
	f.heard, f.open = &attach.Word{Serial: f.heard.Serial}, false
	f.news = f.heard
	p.a.renew(r, r.quarantine, delay)
}

// adopt takes a new segment for a ring that was given up. It returns the old one.
func (r *replica) adopt(s *shm.Segment, ring *shm.Reader) *shm.Segment {
	r.closeAccount()
	old := r.segment
	r.segment, r.ring, r.have, r.quarantine, r.replacing = s, ring, false, "", false
	r.streams, r.mark = [shm.MaxStreams]streamCache{}, ringMark{}
	return old
}
