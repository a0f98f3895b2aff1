package correlate

import (
	"strconv"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/detect"
)

// StreamID names one timeline of one camera: the camera's place in the table and, in the lower
// 32 bits, its stream_epoch. Get one from Stream; the zero value names nothing.
type StreamID uint64

// Epoch returns the stream_epoch.
func (s StreamID) Epoch() uint32 { return uint32(s) }

// Camera returns the camera's place in the table, from 1.
func (s StreamID) Camera() uint32 { return uint32(s >> 32) }

// Tag is the kind of a key's value; it makes kinds unable to collide.
type Tag uint8

const (
	TagID      Tag = iota + 1 // the source's frame id
	TagBucket                 // number of the bucket
	TagInstant                // exact instant in ns, with quantum 0
	TagWindow                 // the first message's instant in ns
	TagRaw                    // unreadable text, by its number in the table of texts
)

// Key is what makes messages one group: a tagged instant of one stream. The generation is not
// part of it. Two groups matched by window may have the same key.
type Key struct {
	Stream StreamID
	Value  int64
	Tag    Tag
}

// AppendNote appends the key's value as text: q25:40, q0:<ns>ns, id:<id>, w:<ns>ns or
// raw:<text>. The texts may hold any bytes.
func (c *Correlator) AppendNote(dst []byte, k Key) []byte {
	text := ""
	switch {
	case k.Tag == TagRaw:
		text = c.raw.Text(k.Value)
	case k.Tag == TagID && c.cfg.FrameIDs != nil:
		text = c.cfg.FrameIDs.Text(k.Value)
	}
	return AppendNote(dst, k, c.cfg.QuantumNS, text)
}

// AppendNote is the method for who keeps texts of his own: text is that of an unreadable time,
// or of a frame id that is more than a number.
func AppendNote[T string | []byte](dst []byte, k Key, quantumNS int64, text T) []byte {
	switch k.Tag {
	case TagBucket:
		dst = append(dst, 'q')
		dst = clock.AppendMillis(dst, quantumNS)
		dst = append(dst, ':')
		return strconv.AppendInt(dst, k.Value, 10)
	case TagID:
		dst = append(dst, "id:"...)
		if len(text) > 0 {
			return append(dst, text...)
		}
		return strconv.AppendUint(dst, uint64(k.Value), 10)
	case TagRaw:
		dst = append(dst, "raw:"...)
		return append(dst, text...)
	case TagWindow:
		dst = append(dst, "w:"...)
	default:
		dst = append(dst, "q0:"...)
	}
	dst = strconv.AppendInt(dst, k.Value, 10)
	return append(dst, "ns"...)
}

// keyOf returns the key of a message with the matched capture time t. Window matches have no
// key of their own: the group that is joined has. An unreadable text that nobody uses has the
// number 0.
func (c *Correlator) keyOf(cam *camera, m *Message, t int64, readable bool) Key {
	k := Key{Stream: m.Stream}
	switch {
	case m.FrameID != 0 && (cam.match == MatchFrameID || cam.match == MatchAuto):
		k.Tag, k.Value = TagID, int64(m.FrameID)
	case !readable:
		k.Tag, k.Value = TagRaw, c.raw.Lookup(c.rawText)
	case c.cfg.QuantumNS == 0:
		k.Tag, k.Value = TagInstant, t
	default:
		k.Tag, k.Value = TagBucket, floorDiv(t, c.cfg.QuantumNS)
	}
	return k
}

// Unreadable reports whether the message has no capture time.
func (m *Message) Unreadable() bool {
	return m.Raw != nil || m.CaptureNS == detect.RawInstant && !m.Exact
}

// floorDiv rounds down also below zero, where Go's / truncates.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
