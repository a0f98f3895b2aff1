package client_test

import (
	"errors"
	"log"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/shm/client"
)

func now() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}

// A whole detector: it looks at the newest picture of one camera and says what is there.
func Example() {
	w, err := client.AttachWriter(client.Options{Client: "brightness/1.0"}, "mine", 0)
	if err != nil {
		log.Fatal(err)
	}
	gate, err := w.Stream("gate")
	if err != nil {
		log.Fatal(err)
	}
	for seen := uint64(0); ; time.Sleep(time.Millisecond) {
		f, ok, err := w.Newest(gate, now())
		if errors.Is(err, client.ErrDetached) || errors.Is(err, client.ErrReattached) {
			seen = 0 // the appliance restarts; the next one counts its pictures anew
			continue
		} else if err != nil {
			log.Fatal(err)
		}
		if !ok || f.Seq == seen {
			_ = w.Poll(now()) // nothing new: a heartbeat
			continue
		}
		seen = f.Seq
		boxes := bright(f.Pixels[:f.Width*f.Height], int(f.Width))
		if !w.Valid(gate, f.Seq) {
			continue // it was overwritten while we looked
		}
		if err := w.Boxes(client.MessageOf(gate, &f, now()), boxes); err != nil {
			log.Print(err)
		}
	}
}

// bright stands for the detector's own work.
func bright(luma []byte, width int) []detect.Box { return nil }
