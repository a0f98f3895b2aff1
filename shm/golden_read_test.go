package shm

import "fmt"

// ask is one question of what a recipe reads; answers are numbers and names in the order
// of ABI.md, bodies in hexadecimal.
func (g *golden) ask(line goldenLine) (answer string, err error) {
	w := line.words
	switch line.op {
	case "reader":
		g.reader, err = NewReader(g.b)
		return "0", err
	case "rewind":
		g.reader.Rewind(w.u64(0))
		return "0", nil
	case "info":
		i := g.reader.Info()
		return fmt.Sprint(i.Model, " ", i.Replica, " ", i.Slots, i.PayloadBytes, i.Generation, i.PID, i.RingEpoch, uint32(i.State), i.HeartbeatNS, i.Head, i.Streams), nil
	case "stream-info":
		s, ok := g.reader.Stream(w.u32(0))
		if !ok {
			return "none", g.reader.Err()
		}
		return fmt.Sprintf("%s %s %d %d %d", s.Unit, s.Camera, s.Epoch, s.Hash, EpochHash(s.Hash, s.Epoch)), nil
	case "next": // room
		var h SlotHeader
		body := make([]byte, w.int(0))
		n, ok, err := g.reader.Next(&h, body)
		if !ok {
			return "0", err
		}
		return fmt.Sprintf("1 %d %d %d %d %d %d %d %d %d %d %d %s", h.Sequence, h.CaptureNS, h.PublishNS, h.FrameID, h.Tag,
			h.Stream, h.StreamEpoch, h.Length, h.Count, h.Kind, h.Flags, hexOf(body[:n])), nil
	case "counts":
		return fmt.Sprint(g.reader.Start(), g.reader.Read(), g.reader.Lost(), g.reader.Written()), nil
	case "work":
		o := g.reader.Outcomes()
		return fmt.Sprint(g.reader.Taken(), g.reader.Done(), o[0], o[1], o[2], o[3], o[4], g.reader.Peer().Asleep()), nil
	case "bell":
		bell, err := NewDoorbell(g.b)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(bell.bell.Load(), bell.sleep.Load()), nil
	}
	return g.askOthers(line)
}

// askOthers has the questions about frame rings and dispatch segments.
func (g *golden) askOthers(line goldenLine) (answer string, err error) {
	w := line.words
	switch line.op {
	case "frames":
		g.looker, err = NewFrameReader(g.b)
		return "0", err
	case "frame-info":
		i := g.looker.Info()
		return fmt.Sprint(i.Unit, " ", i.Camera, " ", i.Slots, i.PixelBytes, i.PID, i.RingEpoch, i.StreamEpoch, uint32(i.State), i.HeartbeatNS, i.Head), nil
	case "frame": // sequence or newest
		seq := g.looker.Head()
		if w[0] != "newest" {
			seq = w.u64(0)
		}
		m, pixels, ok := g.looker.View(seq)
		if !ok || !g.looker.Valid(seq) {
			return "0", g.looker.Err()
		}
		return fmt.Sprintf("1 %d %d %d %d %d %d %d %d %d %d %d %x", m.Seq, m.CaptureNS, m.PublishNS, m.FrameID, m.Tag,
			m.StreamEpoch, m.Format, m.Width, m.Height, m.Length, m.ClockSource, fnv(fnvOffset, string(pixels))), nil
	case "assignments": // from the first on; a child begins at enq
		if g.taker, err = NewDispatchReader(g.b); err == nil {
			g.taker.next = 1
		}
		return "0", err
	case "take":
		var a Assignment
		ok, err := g.taker.Next(&a)
		if !ok {
			return "0", err
		}
		return fmt.Sprint(1, a.Seq, a.FrameSeq, a.FrameID, a.CaptureNS, a.EnqueuedNS, a.DeadlineNS, a.Generation, a.Camera, a.StreamEpoch), nil
	case "enq":
		return fmt.Sprint(g.taker.Enq(), g.taker.Allowed(), g.taker.bell.Load(), g.taker.Lost()), nil
	}
	return "", fmt.Errorf("no such question")
}
