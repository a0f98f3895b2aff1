package sink

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

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
	whyWords    = [...]string{"other", "absent", "dead", "passed", "late", "other_bucket", "wrong_generation"}
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

// appendRecord appends the frame's body. t has learned this frame last. The slot header's part
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
	skew := int64(noSkew) // one model has no skew: not 0
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
		b = le.AppendUint64(b, uint64(t.answers[i])) // u16 model, u16 0, u32 0
		b = le.AppendUint64(b, uint64(m.CaptureNS))
	}
	for i := range f.Missing {
		m := &f.Missing[i]
		b = le.AppendUint16(b, t.missing[i])
		b = append(b, wordNumber(whyWords[:], m.Why), 0)
	}
	for (len(b)-len(dst))%8 != 0 {
		b = append(b, 0)
	}
	// Votes lie behind all boxes, so that boxes have one size and can be found by number.
	at := len(b)
	b = slices.Grow(b, len(f.Boxes)*boxBytes+votes*voteBytes)[:at+len(f.Boxes)*boxBytes+votes*voteBytes]
	boxPart, votePart := b[at:], b[at+len(f.Boxes)*boxBytes:]
	first := 0
	for i := range f.Boxes {
		x, e := &f.Boxes[i], boxPart[i*boxBytes:][:boxBytes]
		putFloat(e[0:], x.X1)
		putFloat(e[4:], x.Y1)
		putFloat(e[8:], x.X2)
		putFloat(e[12:], x.Y2)
		putFloat(e[16:], x.Score)
		le.PutUint32(e[20:], t.labels[i])
		le.PutUint32(e[24:], uint32(first))
		le.PutUint32(e[28:], uint32(len(x.By)))
		for j := range x.By {
			e := votePart[first*voteBytes:][:voteBytes]
			le.PutUint32(e, uint32(t.votes[first])) // u16 model, u16 0
			putFloat(e[4:], x.By[j].Score)
			first++
		}
	}
	*h = shm.SlotHeader{
		CaptureNS: f.CaptureNS, PublishNS: int64(f.Published), FrameID: f.FrameID, Tag: f.Seq,
		StreamEpoch: f.StreamEpoch, Kind: shm.KindFused, Count: uint16(len(f.Boxes)),
	}
	return b, nil
}

func putFloat(b []byte, v float64) { le.PutUint32(b, math.Float32bits(float32(v))) }

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

// The record has int64's smallest value for a time that is text, as package detect does.
var _ [0]struct{} = [detect.RawInstant - shm.RawCapture]struct{}{}
