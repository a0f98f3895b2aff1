package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/skewgate/skewgate/appliance/capture"
	"github.com/skewgate/skewgate/appliance/capture/barcode"
	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/appliance/onnx"
	"github.com/skewgate/skewgate/shm"
)

const boxBytes = detect.BoxBytes

// idleNS is the longest sleep without work; the heartbeat and a request to drain wait at most so long.
const idleNS = int64(100 * time.Millisecond)

// loop takes assignments one by one, oldest first. It belongs to the main goroutine.
type loop struct {
	unit     string
	ring     *shm.Writer
	work     *shm.DispatchReader
	detector *onnx.Detector
	cameras  []camera
	done     uint64 // the last assignment accounted for
	errors   errorLog

	boxes []detect.Box // reused
	body  []byte
}

// camera is a source of pictures and where its answers go.
type camera struct {
	jobCamera
	frames []byte // its frame ring
	reader *shm.FrameReader

	registered bool
	stream     uint32 // index in the detection ring …
	epoch      uint32 // … registered with this stream_epoch
}

func newLoop(j *job, m *memory, d *onnx.Detector, work *shm.DispatchReader) *loop {
	l := &loop{
		unit: j.Unit, ring: m.ring, work: work, detector: d, done: work.Enq(),
		boxes: make([]detect.Box, 0, j.Manifest.MaxBoxes), body: make([]byte, 0, j.Manifest.MaxBoxes*boxBytes),
	}
	for i, c := range j.Cameras {
		l.cameras = append(l.cameras, camera{jobCamera: c, frames: m.frames[i]})
	}
	return l
}

// until works until drain is closed, and finishes what it has begun.
func (l *loop) until(drain <-chan struct{}) error {
	for {
		select {
		case <-drain:
			return nil
		default:
		}
		l.ring.Heartbeat(int64(clock.Now()))
		var a shm.Assignment
		ok, err := l.work.Next(&a)
		if err != nil {
			return err
		}
		if ok {
			l.do(&a)
		} else if err := l.work.Wait(l.ring.SleepFlag(), idleNS); err != nil {
			return err
		}
	}
}

// do works on one assignment and says how it ended. An error of one picture is counted and told,
// and the next one is taken.
func (l *loop) do(a *shm.Assignment) {
	// What was overwritten before it could be taken is accounted for too: done is the sum of outcomes.
	for n := l.done + 1; n < a.Seq; n++ {
		l.ring.SetDone(n, shm.OutcomeDropped)
	}
	l.ring.SetTaken(a.Seq)
	outcome, err := l.detect(a)
	if err != nil {
		l.errors.say(clock.Now(), fmt.Errorf("picture %d of camera %d: %w", a.FrameID, a.Camera, err))
	}
	l.ring.SetDone(a.Seq, outcome)
	l.done = a.Seq
}

var errFormat = errors.New("its pixels are not I420, the one format of this version")

// detect makes one answer of one picture. An error comes with OutcomeError alone.
func (l *loop) detect(a *shm.Assignment) (shm.Outcome, error) {
	if a.DeadlineNS != 0 && int64(clock.Now()) > a.DeadlineNS {
		return shm.OutcomeExpired, nil
	}
	if int64(a.Camera) >= int64(len(l.cameras)) {
		return shm.OutcomeError, fmt.Errorf("there are %d cameras", len(l.cameras))
	}
	c := &l.cameras[a.Camera]
	frame, pixels, ok, err := c.view(a.FrameSeq)
	if err != nil {
		return shm.OutcomeError, err
	}
	if !ok {
		return shm.OutcomeLapped, nil
	}
	if frame.Format != shm.FormatI420 {
		return shm.OutcomeError, errFormat
	}
	err = l.detector.Prepare(onnx.Picture{Pixels: pixels, Width: int(frame.Width), Height: int(frame.Height)})
	tag := c.readTag(&frame, pixels)
	// The pixels lie in memory that goes on being written; what was made of them counts only if
	// they were still this picture's when the last of them was read.
	if !c.reader.Valid(a.FrameSeq) {
		return shm.OutcomeLapped, nil
	}
	if err != nil {
		return shm.OutcomeError, err
	}
	if err := l.detector.Run(); err != nil {
		return shm.OutcomeError, err
	}
	if l.boxes, err = l.detector.Boxes(l.boxes[:0]); err != nil {
		return shm.OutcomeError, err
	}
	if err := l.publish(c, &frame, tag); err != nil {
		return shm.OutcomeError, err
	}
	return shm.OutcomeOK, nil
}

// publish sends the boxes, also when there are none: "looked, found nothing" is an answer.
func (l *loop) publish(c *camera, frame *shm.FrameMeta, tag uint64) error {
	if !c.registered || c.epoch != frame.StreamEpoch {
		stream, err := l.ring.RegisterStream(l.unit, c.Name, frame.StreamEpoch)
		if err != nil {
			return err
		}
		c.stream, c.epoch, c.registered = stream, frame.StreamEpoch, true
	}
	l.body = detect.AppendPacked(l.body[:0], l.boxes)
	h := shm.SlotHeader{
		CaptureNS: frame.CaptureNS, FrameID: frame.FrameID, Tag: tag,
		Stream: c.stream, StreamEpoch: frame.StreamEpoch,
		Kind: shm.KindBoxes, Count: uint16(len(l.boxes)),
	}
	h.PublishNS = int64(clock.Now())
	return l.ring.Publish(&h, l.body)
}

// view finds the picture in its ring; ok is false when it is gone. A ring that made no sense is
// attached to anew at the next picture: a new capture process may have put it right.
func (c *camera) view(seq uint64) (frame shm.FrameMeta, pixels []byte, ok bool, err error) {
	if c.reader == nil {
		if c.reader, err = shm.NewFrameReader(c.frames); err != nil {
			c.reader = nil
			return frame, nil, false, err
		}
	}
	frame, pixels, ok = c.reader.View(seq)
	if err = c.reader.Err(); err != nil {
		c.reader = nil
	}
	return frame, pixels, ok, err
}

// readTag reads the barcode from the pixels that were used, not from the header: it then proves
// which picture the boxes belong to.
func (c *camera) readTag(frame *shm.FrameMeta, pixels []byte) uint64 {
	if c.Tag != capture.TagBarcode {
		return frame.Tag
	}
	width, height := int(frame.Width), int(frame.Height)
	code, ok := barcode.Read(pixels[:width*height], width, width, height)
	if !ok {
		return capture.NoTag
	}
	return code
}

// errorLog tells errors on stderr, of which the supervisor keeps the last lines, at most one a
// second, so that the same error on every picture does not push out all others.
type errorLog struct {
	last   clock.Mono
	unsaid int
}

func (e *errorLog) say(now clock.Mono, err error) {
	if e.last != 0 && now < e.last.Add(time.Second) {
		e.unsaid++
		return
	}
	if e.unsaid > 0 {
		err = fmt.Errorf("%w (and %d errors before it)", err, e.unsaid)
	}
	fmt.Fprintln(os.Stderr, "skewgate-detect:", err)
	e.last, e.unsaid = now, 0
}
