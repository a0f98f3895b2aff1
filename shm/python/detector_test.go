package python

import (
	"math"
	"syscall"
	"testing"
	"time"

	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/shm"
)

// patience bounds each wait for Python, which a busy machine may keep from its turn.
const patience = time.Minute

// answer waits for the next message and returns it with its boxes.
func (b *box) answer() (h shm.SlotHeader, boxes []detect.Box) {
	b.t.Helper()
	body := make([]byte, 4096)
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		n, ok, err := b.reader.Next(&h, body)
		if err != nil {
			b.t.Fatal(err)
		}
		if ok {
			if boxes, err = detect.AppendUnpacked(nil, body[:n], int(h.Count)); err != nil {
				b.t.Fatal(err)
			}
			return h, boxes
		}
		if time.Now().After(end) {
			b.t.Fatalf("the detector is silent for %v", patience)
		}
	}
}

// wantAnswer checks what is said of picture id: one box around these pixels, or none.
func (b *box) wantAnswer(id uint64, pixels []float64) {
	b.t.Helper()
	h, boxes := b.answer()
	if h.Kind != shm.KindBoxes || h.FrameID != id || h.CaptureNS != int64(id)*1000 || h.StreamEpoch != b.frames.StreamEpoch() {
		b.t.Errorf("want boxes of picture %d in epoch %d, got %+v", id, b.frames.StreamEpoch(), h)
	}
	if len(pixels) == 0 || len(boxes) != 1 {
		if len(pixels) != 4*len(boxes) {
			b.t.Errorf("picture %d: want box %v, got %v", id, pixels, boxes)
		}
		return
	}
	// The example looks at each 8th pixel.
	got := []float64{float64(boxes[0].X1) * width, float64(boxes[0].Y1) * height, float64(boxes[0].X2) * width, float64(boxes[0].Y2) * height}
	for i, want := range pixels {
		if math.Abs(want-got[i]) > 8 {
			b.t.Errorf("picture %d: want about %v, got %v", id, pixels, got)
			break
		}
	}
	if boxes[0].Score <= 0 || boxes[0].Score > 1 {
		b.t.Errorf("picture %d: score %v", id, boxes[0].Score)
	}
}

// The example is a whole detector: it finds what moves, says when nothing does, and goes
// on with an appliance that was stopped and started again.
func testDetector(t *testing.T, b *build) {
	socket := socketPath(t)
	first := newBox(t, socket)
	cmd := b.command([]string{"SKEWGATE_ATTACH=" + socket}, "examples/detector.py", "mine", "gate")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
			t.Errorf("detector: %v, want it to run until it is told to end", err)
		}
	}()

	run := func(b *box) {
		b.show(1, 40, 80, 40)
		b.wantAnswer(1, nil) // there is nothing to compare it with, or it is much as before
		b.show(2, 160, 120, 40)
		b.wantAnswer(2, []float64{40, 80, 200, 160})
		b.show(3, 160, 120, 40)
		b.wantAnswer(3, nil)
		b.show(4, 160, 120, 0)
		b.wantAnswer(4, []float64{160, 120, 200, 160})
		b.show(5, 40, 80, 40)
		b.wantAnswer(5, []float64{40, 80, 80, 120})
		if i := b.reader.Info(); i.State != shm.StateReady || i.PID != uint32(cmd.Process.Pid) || i.RingEpoch != 1 {
			t.Errorf("ring says %+v, want it ready and of pid %d", i, cmd.Process.Pid)
		}
	}
	run(first)
	first.server.Drain()
	first.stop()
	run(newBox(t, socket))
}
