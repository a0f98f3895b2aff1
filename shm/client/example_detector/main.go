// Command example_detector is a whole detector in Go: it finds the brightest block in each
// new picture of its model's first camera, until it is told to end (Ctrl-C, SIGTERM). When
// the appliance ends it waits for the next.
//
//	example_detector MODEL        which the configuration has as `command: attach`
package main

import (
	"errors"
	"log"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/shm/client"
)

const side = 16 // blocks along a side

func main() {
	log.SetFlags(0)
	model := "brightest"
	if len(os.Args) > 1 {
		model = os.Args[1]
	}
	w, err := client.AttachWriter(client.Options{Client: "go/1.0"}, model, 0)
	if err != nil {
		log.Fatal(err)
	}
	for seen := uint64(0); ; time.Sleep(time.Millisecond) {
		err := w.Poll(now()) // a heartbeat, and a look at the socket
		if err == nil {
			err = look(w, &seen)
		}
		switch {
		case errors.Is(err, client.ErrDetached):
			// Tried again by itself.
		case errors.Is(err, client.ErrReattached):
			seen = 0 // the next appliance counts its pictures anew
		case err != nil:
			log.Fatal(err)
		}
	}
}

// look publishes what is in the newest picture, if there is a new one.
func look(w *client.Writer, seen *uint64) error {
	f, ok, err := w.Newest(0, now())
	if err != nil || !ok || f.Seq == *seen {
		return err
	}
	*seen = f.Seq
	box := brightest(f.Pixels, int(f.Width), int(f.Height))
	if !w.Valid(0, f.Seq) {
		return nil // it was overwritten meanwhile: the box means nothing
	}
	return w.Boxes(client.MessageOf(0, &f, now()), []detect.Box{box})
}

// brightest looks at the luma plane, which lies first.
func brightest(luma []byte, width, height int) detect.Box {
	w, h := width/side, height/side
	best, at := 0, 0
	for i := range side * side {
		sum := 0
		for y := i / side * h; y < (i/side+1)*h; y++ {
			for _, v := range luma[y*width+i%side*w:][:w] {
				sum += int(v)
			}
		}
		if sum > best {
			best, at = sum, i
		}
	}
	bw, bh := float32(w)/float32(width), float32(h)/float32(height)
	x, y := float32(at%side)*bw, float32(at/side)*bh
	return detect.Box{X1: x, Y1: y, X2: x + bw, Y2: y + bh, Score: float32(best) / float32(max(1, w*h*255)), Label: 0}
}

// now is CLOCK_MONOTONIC, the clock of the rings.
func now() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}
