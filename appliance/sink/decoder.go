package sink

import (
	"fmt"
	"math"
	"strconv"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/shm"
)

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
	// In 64 bits: the counts are somebody else's, and no sum of them overflows these.
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
		// Each vote belongs to the box that follows the last one's: nothing else is honest.
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
