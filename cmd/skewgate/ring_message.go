package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/appliance/sink"
	"github.com/skewgate/skewgate/shm"
)

// namesBack is how far back the names of an output ring are told again.
const namesBack = 127

// ringMessage is one message as `ring show` and `ring tail` print it.
type ringMessage struct {
	Schema      int             `json:"schema"`
	Ring        string          `json:"ring"`
	Sequence    uint64          `json:"sequence"`
	Kind        string          `json:"kind"`
	Unit        string          `json:"unit"`
	Camera      string          `json:"camera"`
	StreamEpoch uint32          `json:"stream_epoch"`
	FrameID     uint64          `json:"frame_id"`
	Tag         uint64          `json:"tag"`
	CaptureNS   *int64          `json:"capture_ns"` // null: see capture_text
	CaptureText string          `json:"capture_text,omitempty"`
	PublishNS   int64           `json:"publish_mono_ns"`
	Bytes       uint32          `json:"bytes"`
	Boxes       [][]float64     `json:"boxes,omitempty"` // x1, y1, x2, y2, score, label
	Body        json.RawMessage `json:"body,omitempty"`  // of kind json
	Frame       json.RawMessage `json:"frame,omitempty"` // of kind fused
	Fault       string          `json:"fault,omitempty"` // why the body makes no sense
}

// messageReader reads one ring and explains what it reads.
type messageReader struct {
	name    string
	ring    *shm.Reader
	decoder sink.Decoder
	body    []byte
	boxes   []detect.Box
}

func newMessageReader(name string, ring *shm.Reader) *messageReader {
	return &messageReader{name: name, ring: ring, body: make([]byte, ring.PayloadBytes())}
}

// next returns the next message, nil when there is none at the moment.
func (r *messageReader) next() (*ringMessage, error) {
	var h shm.SlotHeader
	n, ok, err := r.ring.Next(&h, r.body)
	if err != nil || !ok {
		return nil, err
	}
	m := &ringMessage{
		Schema: 1, Ring: r.name, Sequence: h.Sequence, StreamEpoch: h.StreamEpoch, FrameID: h.FrameID, Tag: h.Tag,
		PublishNS: h.PublishNS, Bytes: h.Length, CaptureNS: &h.CaptureNS,
	}
	if info, ok := r.ring.Stream(h.Stream); ok {
		m.Unit, m.Camera = info.Unit, info.Camera
	}
	body := r.body[:n]
	if h.CaptureNS == shm.RawCapture && h.Kind != shm.KindFused {
		m.CaptureNS = nil
		var text []byte
		if text, body, err = shm.SplitRaw(body); err != nil {
			m.Fault = err.Error()
			return m, nil
		}
		m.CaptureText = string(text)
	}
	if err := r.explain(m, &h, body); err != nil {
		m.Fault = err.Error()
	}
	return m, nil
}

// explain fills in what the body says.
func (r *messageReader) explain(m *ringMessage, h *shm.SlotHeader, body []byte) (err error) {
	switch h.Kind {
	case shm.KindBoxes:
		m.Kind = "boxes"
		r.boxes, err = detect.AppendUnpacked(r.boxes[:0], body, int(h.Count))
		for _, b := range r.boxes {
			m.Boxes = append(m.Boxes, []float64{float64(b.X1), float64(b.Y1), float64(b.X2), float64(b.Y2), float64(b.Score), float64(b.Label)})
		}
	case shm.KindJSON:
		m.Kind = "json"
		if !json.Valid(body) {
			return fmt.Errorf("the body of %d bytes is not JSON", len(body))
		}
		m.Body = append(m.Body, body...)
		// Names are told in the output ring; in a detection ring JSON is a detector's answer.
		if r.name == "output" {
			err = r.decoder.Names(h, body)
		}
	case shm.KindProgress:
		m.Kind = "progress"
	case shm.KindFused:
		m.Kind = "fused"
		var f *sink.Frame
		if f, err = r.decoder.Frame(h, m.Unit, m.Camera, body); err == nil {
			m.Frame, err = f.AppendJSON(nil)
		}
	}
	return err
}

// String is the message in one line.
func (m *ringMessage) String() string {
	var b strings.Builder
	capture := m.CaptureText
	if m.CaptureNS != nil {
		capture = fmt.Sprint(*m.CaptureNS)
	}
	fmt.Fprintf(&b, "%s #%d %s %s/%s epoch %d frame %d capture %s", m.Ring, m.Sequence, m.Kind, m.Unit, m.Camera, m.StreamEpoch, m.FrameID, capture)
	switch {
	case m.Fault != "":
		fmt.Fprintf(&b, " FAULT %s", m.Fault)
	case m.Kind == "boxes" && len(m.Boxes) == 0:
		b.WriteString(" looked, found nothing")
	case m.Kind == "boxes":
		fmt.Fprintf(&b, " %d boxes", len(m.Boxes))
		for _, x := range m.Boxes {
			fmt.Fprintf(&b, " [%.3f %.3f %.3f %.3f] %.2f of %g", x[0], x[1], x[2], x[3], x[4], x[5])
		}
	case m.Kind == "fused":
		fmt.Fprintf(&b, " %s", m.Frame)
	case m.Kind == "json":
		fmt.Fprintf(&b, " %s", m.Body)
	}
	return b.String()
}
