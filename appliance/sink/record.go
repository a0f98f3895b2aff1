package sink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/shm"
)

// A fused frame in the output ring: the layout of "Fused frames" in shm/ABI.md.
const (
	recordSeq        = 0  // u64
	recordFirst      = 8  // i64
	recordClosed     = 16 // i64
	recordSkew       = 24 // i64, noSkew = none
	recordGeneration = 32 // u64
	recordReason     = 40 // u8
	recordAnswers    = 41 // u8
	recordMissing    = 42 // u8
	recordFlags      = 43 // u8
	recordVotes      = 44 // u32
	recordHead       = 48

	answerBytes  = 16
	missingBytes = 4
	boxBytes     = 32
	voteBytes    = 8

	noSkew       = -1
	flagDegraded = 1
)

var le = binary.LittleEndian

// Words that the record has as numbers; the first stands for what is not listed.
var (
	reasonWords = [...]string{"", "quorum", "settled", "timeout", "eviction"}
	whyWords    = [...]string{"other", "absent", "dead", "passed"}
)

// ErrRecord says that a record of an output ring is malformed. It concerns that record only.
var ErrRecord = errors.New("fused record malformed")

// errTooMany is returned for a frame with more parts than a record can count.
var errTooMany = errors.New("a frame has more models, boxes or votes than a record can count")

// RecordBytes is the most that a record needs for a camera of so many models, which
// together send so many boxes: each fused box and each vote stands for one of them.
func RecordBytes(models, boxes int) int {
	return recordHead + models*(answerBytes+missingBytes) + 8 + boxes*(boxBytes+voteBytes)
}

// appendRecord appends the frame's body. All its names are in t. The slot header's part
// is in h. On an error dst is returned as it was.
func appendRecord(dst []byte, h *shm.SlotHeader, f *Frame, t *tables) ([]byte, error) {
	if !f.finite() {
		return dst, errNotFinite
	}
	votes := 0
	for i := range f.Boxes {
		votes += len(f.Boxes[i].By)
	}
	if len(f.Models) > math.MaxUint8 || len(f.Missing) > math.MaxUint8 || len(f.Boxes) > math.MaxUint16 || votes > math.MaxUint32 {
		return dst, errTooMany
	}
	skew := int64(noSkew)
	if len(f.Models) >= 2 {
		skew = int64(f.LastArrival - f.FirstArrival)
	}
	flags := byte(0)
	if f.Degraded {
		flags |= flagDegraded
	}
	b := dst
	b = le.AppendUint64(b, f.Seq)
	b = le.AppendUint64(b, uint64(f.FirstArrival))
	b = le.AppendUint64(b, uint64(f.Closed))
	b = le.AppendUint64(b, uint64(skew))
	b = le.AppendUint64(b, 0) // no generations in this version
	b = append(b, wordNumber(reasonWords[:], f.Reason), byte(len(f.Models)), byte(len(f.Missing)), flags)
	b = le.AppendUint32(b, uint32(votes))
	for i := range f.Models {
		m := &f.Models[i]
		b = le.AppendUint64(b, uint64(t.models[m.Model])) // u16 model, u16 0, u32 0
		b = le.AppendUint64(b, uint64(m.CaptureNS))
	}
	for i := range f.Missing {
		m := &f.Missing[i]
		b = le.AppendUint16(b, t.models[m.Model])
		b = append(b, wordNumber(whyWords[:], m.Why), 0)
	}
	for (len(b)-len(dst))%8 != 0 {
		b = append(b, 0)
	}
	first := uint32(0)
	for i := range f.Boxes {
		x := &f.Boxes[i]
		for _, v := range [...]float64{x.X1, x.Y1, x.X2, x.Y2, x.Score} {
			b = le.AppendUint32(b, math.Float32bits(float32(v)))
		}
		b = le.AppendUint32(b, t.classes[x.Label])
		b = le.AppendUint32(b, first)
		b = le.AppendUint32(b, uint32(len(x.By)))
		first += uint32(len(x.By))
	}
	for i := range f.Boxes {
		for _, v := range f.Boxes[i].By {
			b = le.AppendUint32(b, uint32(t.models[v.Model])) // u16 model, u16 0
			b = le.AppendUint32(b, math.Float32bits(float32(v.Score)))
		}
	}
	*h = shm.SlotHeader{
		CaptureNS: f.CaptureNS, PublishNS: int64(f.Published), FrameID: f.FrameID, Tag: f.Seq,
		StreamEpoch: f.StreamEpoch, Kind: shm.KindFused, Count: uint16(len(f.Boxes)),
	}
	return b, nil
}

func wordNumber(words []string, word string) byte {
	for i, w := range words {
		if w == word {
			return byte(i)
		}
	}
	return 0
}

func wordOf(words []string, n byte) string {
	if int(n) < len(words) {
		return words[n]
	}
	return words[0]
}

// record finds the parts of a body, after their sum was checked.
type record struct {
	body                         []byte
	answers, missing, boxes, all int // how many; all = votes
}

func openRecord(h *shm.SlotHeader, body []byte) (record, error) {
	if len(body) < recordHead {
		return record{}, fmt.Errorf("%w: %d bytes, its head alone has %d", ErrRecord, len(body), recordHead)
	}
	r := record{body: body, answers: int(body[recordAnswers]), missing: int(body[recordMissing]), boxes: int(h.Count)}
	votes := le.Uint32(body[recordVotes:])
	if want := int64(r.votesAt()) + int64(votes)*voteBytes; int64(len(body)) != want {
		return record{}, fmt.Errorf("%w: %d bytes, want %d for %d models, %d boxes and %d votes", ErrRecord, len(body), want, r.answers+r.missing, r.boxes, votes)
	}
	r.all = int(votes)
	return r, nil
}

func (r *record) missingAt() int { return recordHead + r.answers*answerBytes }
func (r *record) boxesAt() int   { return (r.missingAt() + r.missing*missingBytes + 7) / 8 * 8 }
func (r *record) votesAt() int   { return r.boxesAt() + r.boxes*boxBytes }

func float(b []byte) float64 { return float64(math.Float32frombits(le.Uint32(b))) }

// A Decoder turns the messages of one output ring back into frames. It is told every
// message in order: Names for kind JSON, Frame for kind fused.
type Decoder struct {
	models, classes []string
	frame           Frame
	votes           []Vote
}

// Frame decodes one record. unit and camera are those of the record's stream. The frame
// is valid until the next call. An error is ErrRecord, or ErrNames for a name that was
// not told yet.
func (d *Decoder) Frame(h *shm.SlotHeader, unit, camera string, body []byte) (*Frame, error) {
	if h.Kind != shm.KindFused {
		return nil, fmt.Errorf("%w: message %d is of kind %d", ErrRecord, h.Sequence, h.Kind)
	}
	r, err := openRecord(h, body)
	if err != nil {
		return nil, err
	}
	f := &d.frame
	*f = Frame{
		Seq: le.Uint64(body[recordSeq:]), Unit: unit, Camera: camera, StreamEpoch: h.StreamEpoch, FrameID: h.FrameID,
		CaptureNS: h.CaptureNS, Reason: wordOf(reasonWords[:], body[recordReason]),
		FirstArrival: clock.Mono(le.Uint64(body[recordFirst:])), Closed: clock.Mono(le.Uint64(body[recordClosed:])),
		Published: clock.Mono(h.PublishNS), Degraded: body[recordFlags]&flagDegraded != 0,
		Models: f.Models[:0], Missing: f.Missing[:0], Boxes: f.Boxes[:0],
	}
	if g := le.Uint64(body[recordGeneration:]); g != 0 {
		f.Generation = strconv.FormatUint(g, 10)
	}
	f.LastArrival = f.FirstArrival
	if skew := int64(le.Uint64(body[recordSkew:])); skew >= 0 {
		f.LastArrival += clock.Mono(skew)
	}
	if err := d.answered(f, &r); err != nil {
		return nil, err
	}
	return f, d.boxes(f, &r)
}

func (d *Decoder) answered(f *Frame, r *record) error {
	for i := range r.answers {
		b := r.body[recordHead+i*answerBytes:]
		name, err := nameOf(d.models, uint32(le.Uint16(b)), "model")
		if err != nil {
			return err
		}
		f.Models = append(f.Models, Answer{Model: name, CaptureNS: int64(le.Uint64(b[8:]))})
	}
	for i := range r.missing {
		b := r.body[r.missingAt()+i*missingBytes:]
		name, err := nameOf(d.models, uint32(le.Uint16(b)), "model")
		if err != nil {
			return err
		}
		f.Missing = append(f.Missing, Missing{Model: name, Why: wordOf(whyWords[:], b[2])})
	}
	return nil
}

func (d *Decoder) boxes(f *Frame, r *record) error {
	d.votes = d.votes[:0]
	for i := range r.all {
		b := r.body[r.votesAt()+i*voteBytes:]
		name, err := nameOf(d.models, uint32(le.Uint16(b)), "model")
		if err != nil {
			return err
		}
		d.votes = append(d.votes, Vote{Model: name, Score: float(b[4:])})
	}
	used := 0
	for i := range r.boxes {
		b := r.body[r.boxesAt()+i*boxBytes:]
		label, err := nameOf(d.classes, le.Uint32(b[20:]), "class")
		if err != nil {
			return err
		}
		first, n := int(le.Uint32(b[24:])), int(le.Uint32(b[28:]))
		if first != used || n > r.all-used {
			return fmt.Errorf("%w: box %d has votes %d to %d of %d", ErrRecord, i, first, first+n, r.all)
		}
		used += n
		f.Boxes = append(f.Boxes, Box{
			X1: float(b), Y1: float(b[4:]), X2: float(b[8:]), Y2: float(b[12:]), Score: float(b[16:]),
			Label: label, By: d.votes[first:used:used],
		})
	}
	if used != r.all {
		return fmt.Errorf("%w: %d of %d votes are nobody's", ErrRecord, r.all-used, r.all)
	}
	return nil
}

// The record has int64's smallest value for a time that is text, as package detect does.
var _ [0]struct{} = [detect.RawInstant - shm.RawCapture]struct{}{}
