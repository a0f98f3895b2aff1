package client

import (
	"fmt"
	"os"

	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/shm"
)

// Writer is a detector's attachment: the one writer of its detection ring.
type Writer struct {
	session *session
	streams streams
	ring    *shm.Writer
	state   shm.State
	header  shm.SlotHeader
	body    []byte
}

// AttachWriter asks the appliance for the ring of (model, replica), whose config says
// command: attach. It waits at most two seconds. A *RefusedError is the appliance's no.
func AttachWriter(o Options, model string, replica uint32) (*Writer, error) {
	w := &Writer{state: shm.StateReady}
	err := shm.CheckName("model", model)
	if err != nil {
		return nil, err
	}
	if w.session, err = newSession(&o, hello{Role: "writer", Model: model, Replica: replica}); err != nil {
		return nil, err
	}
	w.session.adopt, w.session.hear, w.session.forget = w.adopt, w.hear, w.streams.forget
	if err := w.session.attach(); err != nil {
		return nil, fmt.Errorf("attach as %s/%d: %w", model, replica, err)
	}
	return w, nil
}

// adopt takes the ring over.
func (w *Writer) adopt(s *said, mapped map[string]*shm.Segment) error {
	ring, bellPage := mapped["ring"], mapped["doorbell"]
	if ring == nil || bellPage == nil {
		return fmt.Errorf("%w: an answer to a writer without ring or doorbell", ErrProtocol)
	}
	bell, err := shm.NewDoorbell(bellPage.Bytes())
	if err != nil {
		bell = nil // somebody wrecked it: messages go through all the same, some ms later
	}
	if w.ring, err = shm.NewWriter(ring.Bytes(), uint32(os.Getpid()), bell); err != nil {
		return err
	}
	if err := w.streams.take(s, mapped); err != nil {
		return err
	}
	// A predecessor's entries stay where they are, so indexes may differ from ours.
	for i := range w.streams.all {
		if t := &w.streams.all[i]; t.here {
			if t.index, err = w.ring.RegisterStream(s.Unit, t.name, t.epoch); err != nil {
				return err
			}
		}
	}
	w.ring.SetState(w.state)
	return nil
}

func (w *Writer) hear(e *said) {
	if i := w.streams.find(e.Camera); e.Event == "stream_epoch" && i >= 0 && w.streams.all[i].here {
		t := &w.streams.all[i]
		t.epoch = e.StreamEpoch
		_, _ = w.ring.RegisterStream(w.session.unit, t.name, t.epoch) // it is there: only the epoch changes
	}
}

// Message is what a message is about. Stream is a number from Stream.
type Message struct {
	Stream      int
	StreamEpoch uint32 // 0 = the appliance's latest word
	CaptureNS   int64  // when the picture was taken; for the frame ring's, its capture time
	CaptureText string // the capture time as text, if it is known as text only
	FrameID     uint64 // 0 = none
	Tag         uint64 // what was read from the pixels themselves, if anything
	NowNS       int64  // CLOCK_MONOTONIC, read just before
}

// MessageOf is the message about a picture of the frame ring.
func MessageOf(stream int, f *Frame, nowNS int64) *Message {
	return &Message{Stream: stream, StreamEpoch: f.StreamEpoch, CaptureNS: f.CaptureNS, FrameID: f.FrameID, NowNS: nowNS}
}

// Boxes publishes what was found; none is an answer too: looked, found nothing.
func (w *Writer) Boxes(m *Message, boxes []detect.Box) error {
	return w.publish(m, shm.KindBoxes, len(boxes), func(dst []byte) []byte { return detect.AppendPacked(dst, boxes) })
}

// JSON publishes a body {"detections":[{"box":[x1,y1,x2,y2],"score":0.9,"label":"person"}]}.
func (w *Writer) JSON(m *Message, body []byte) error {
	return w.publish(m, shm.KindJSON, 0, func(dst []byte) []byte { return append(dst, body...) })
}

// Progress promises that nothing of the stream with a capture time at or below captureNS
// will be published any more.
func (w *Writer) Progress(stream int, captureNS, nowNS int64) error {
	m := Message{Stream: stream, CaptureNS: captureNS, NowNS: nowNS}
	return w.publish(&m, shm.KindProgress, 0, func(dst []byte) []byte { return dst })
}

func (w *Writer) publish(m *Message, kind shm.Kind, count int, body func([]byte) []byte) error {
	if err := w.session.advance(m.NowNS); err != nil {
		return err
	}
	t, err := w.streams.at(m.Stream)
	if err != nil {
		return err
	}
	if count > 1<<16-1 {
		return fmt.Errorf("publish %d boxes, a message counts %d: %w", count, 1<<16-1, shm.ErrTooLarge)
	}
	w.header = shm.SlotHeader{
		CaptureNS: m.CaptureNS, PublishNS: m.NowNS, FrameID: m.FrameID, Tag: m.Tag,
		Stream: t.index, StreamEpoch: m.StreamEpoch, Kind: kind, Count: uint16(count),
	}
	if m.StreamEpoch == 0 {
		w.header.StreamEpoch = t.epoch
	}
	w.body = w.body[:0]
	if m.CaptureText != "" {
		w.header.CaptureNS = shm.RawCapture
		if w.body, err = shm.AppendRaw(w.body, m.CaptureText, nil); err != nil {
			return err
		}
	}
	w.body = body(w.body)
	// Publishing is a sign of life; who does it need not call Poll.
	w.ring.Heartbeat(m.NowNS)
	return w.ring.Publish(&w.header, w.body)
}

// Poll is for times without messages: it gives a heartbeat and looks at the socket. Call it
// twice a second or more.
func (w *Writer) Poll(nowNS int64) error {
	if err := w.session.advance(nowNS); err != nil {
		return err
	}
	w.ring.Heartbeat(nowNS)
	return nil
}

// SetState tells how far the detector has come; ready is the first. It is kept when the
// attachment is renewed.
func (w *Writer) SetState(s shm.State) {
	w.state = s
	if w.session.stage == attached {
		w.ring.SetState(s)
	}
}

// Stream returns the number of a camera of this model.
func (w *Writer) Stream(camera string) (int, error) { return w.streams.number(camera) }

// Cameras are the model's cameras by their stream numbers.
func (w *Writer) Cameras() []string { return w.streams.names() }

// Unit is the appliance's name.
func (w *Writer) Unit() string { return w.session.unit }

// RingEpoch counts the writers of the ring, this one included.
func (w *Writer) RingEpoch() uint32 { return w.ring.RingEpoch() }

// StreamEpoch is the appliance's latest word for a stream.
func (w *Writer) StreamEpoch(stream int) uint32 {
	if t, err := w.streams.at(stream); err == nil {
		return t.epoch
	}
	return 0
}

// Newest returns the newest picture of a camera in place; false: there is none yet.
func (w *Writer) Newest(stream int, nowNS int64) (Frame, bool, error) {
	if err := w.session.advance(nowNS); err != nil {
		return Frame{}, false, err
	}
	return w.streams.newest(stream)
}

// Valid says whether all that was read of picture seq so far was of that picture.
func (w *Writer) Valid(stream int, seq uint64) bool { return w.streams.valid(stream, seq) }

// Draining says that the appliance is about to end: publish what is in hand. Going on is
// right, too: the end shows as ErrDetached, and the next appliance is attached to.
func (w *Writer) Draining() bool { return w.session.draining }

// Close detaches. The appliance sees the end at once.
func (w *Writer) Close() error { return w.session.close() }
