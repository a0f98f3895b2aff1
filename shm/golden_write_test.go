package shm

import (
	"encoding/hex"
	"fmt"
)

func unhex(s string) ([]byte, error) {
	if s == "-" {
		return nil, nil
	}
	return hex.DecodeString(s)
}

// do is one operation of what a recipe writes. A word that is no number panics: recipes
// are our own.
func (g *golden) do(line goldenLine) (err error) {
	w := line.words
	switch line.op {
	case "format": // output slots payload model replica index generation
		c := RingConfig{Slots: w.int(1), PayloadBytes: w.int(2), Model: w[3], Replica: w.u32(4), Index: w.int(5), Generation: w.u64(6)}
		g.b = make([]byte, c.Bytes())
		if w.int(0) == 1 {
			return FormatOutputRing(g.b, c)
		}
		return FormatRing(g.b, c)
	case "writer": // pid
		g.ring, err = NewWriter(g.b, w.u32(0), nil)
	case "stream": // unit camera epoch
		_, err = g.ring.RegisterStream(w[0], w[1], w.u32(2))
	case "generation":
		g.ring.SetGeneration(w.u64(0))
	case "publish": // kind stream epoch capture publish frame tag count flags body
		h := goldenHeader(w)
		return g.ring.Publish(&h, w.hex(9))
	case "publish-text": // the same, then text and body
		h := goldenHeader(w)
		h.CaptureNS = RawCapture
		body, err := AppendRaw(nil, string(w.hex(9)), w.hex(10))
		if err != nil {
			return err
		}
		return g.ring.Publish(&h, body)
	case "work": // enq
		g.ring.ResetWork(w.u64(0))
	case "taken":
		g.ring.SetTaken(w.u64(0))
	case "done": // number outcome
		g.ring.SetDone(w.u64(0), Outcome(w.int(1)))
	case "state":
		if g.frames != nil {
			g.frames.SetState(State(w.u32(0)))
			return nil
		}
		g.ring.SetState(State(w.u32(0)))
	case "heartbeat":
		if g.frames != nil {
			g.frames.Heartbeat(w.i64(0))
			return nil
		}
		g.ring.Heartbeat(w.i64(0))
	case "asleep":
		if g.bell != nil {
			g.bell.sleep.Store(w.u32(0))
			return nil
		}
		g.ring.own.sleep.Store(w.u32(0))
	case "format-doorbell":
		g.b = make([]byte, DoorbellBytes())
		if err := FormatDoorbell(g.b); err != nil {
			return err
		}
		g.bell, err = NewDoorbell(g.b)
	case "ring":
		g.bell.Ring()
	default:
		return g.doOthers(line)
	}
	return err
}

func goldenHeader(w goldenWords) SlotHeader {
	return SlotHeader{
		Kind: Kind(w.int(0)), Stream: w.u32(1), StreamEpoch: w.u32(2), CaptureNS: w.i64(3), PublishNS: w.i64(4),
		FrameID: w.u64(5), Tag: w.u64(6), Count: uint16(w.int(7)), Flags: uint8(w.int(8)),
	}
}

// doOthers has the operations on frame rings and dispatch segments.
func (g *golden) doOthers(line goldenLine) (err error) {
	w := line.words
	switch line.op {
	case "format-frames": // slots bytes unit camera index
		c := FrameRingConfig{Slots: w.int(0), PixelBytes: w.int(1), Unit: w[2], Camera: w[3], Index: w.int(4)}
		g.b = make([]byte, c.Bytes())
		return FormatFrameRing(g.b, c)
	case "frame-writer": // pid
		g.frames, err = NewFrameWriter(g.b, w.u32(0), nil)
		return err
	case "next-epoch":
		g.frames.NextStreamEpoch()
		return nil
	case "picture": // epoch format width height clock capture publish frame tag pixels
		if err := g.fill(w.hex(9)); err != nil {
			return err
		}
		_, err = g.frames.Publish(&FrameMeta{
			StreamEpoch: w.u32(0), Format: w.u32(1), Width: w.u32(2), Height: w.u32(3), ClockSource: ClockSource(w.u32(4)),
			CaptureNS: w.i64(5), PublishNS: w.i64(6), FrameID: w.u64(7), Tag: w.u64(8),
		})
		return err
	case "aborted": // pixels
		if err := g.fill(w.hex(0)); err != nil {
			return err
		}
		g.frames.Abort()
		return nil
	case "format-dispatch": // slots
		g.b = make([]byte, DispatchBytes(w.int(0)))
		if err := FormatDispatch(g.b, w.int(0)); err != nil {
			return err
		}
		if g.work, err = NewDispatchWriter(g.b); err != nil {
			return err
		}
		var awake [8]byte // a child that needs no waking
		g.work.SetPeer(Peer{word32(awake[:], 0)})
		return nil
	case "assign": // frame-sequence frame capture enqueued deadline generation camera epoch
		return g.work.Enqueue(&Assignment{
			FrameSeq: w.u64(0), FrameID: w.u64(1), CaptureNS: w.i64(2), EnqueuedNS: w.i64(3), DeadlineNS: w.i64(4),
			Generation: w.u64(5), Camera: w.u32(6), StreamEpoch: w.u32(7),
		})
	case "allowed":
		g.work.SetAllowed(w.u64(0))
		return nil
	case "wake":
		g.work.Wake()
		return nil
	}
	return fmt.Errorf("no such operation")
}

func (g *golden) fill(pixels []byte) error {
	b, err := g.frames.Begin(len(pixels))
	copy(b, pixels)
	return err
}
