package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/appliance/status"
	"github.com/skewgate/skewgate/shm/client"
)

func init() {
	if os.Getenv(foreignEnv) == "sparse" {
		if err := foreignSparse(os.Getenv("FOREIGN_SAYS")); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// foreignSparse finds something in one picture of ten. Of the others it says nothing, that it
// looked, or how far it is.
func foreignSparse(says string) error {
	w, err := client.AttachWriter(client.Options{Client: "sparse/1"}, "mine", 0)
	if err != nil {
		return err
	}
	for seen, n := uint64(0), 0; !w.Draining(); time.Sleep(time.Millisecond) {
		if err := w.Poll(monotonic()); err != nil {
			return err
		}
		f, ok, err := w.Newest(0, monotonic())
		if err != nil {
			return err
		}
		if !ok || f.Seq == seen {
			continue
		}
		seen = f.Seq
		n++
		switch m := client.MessageOf(0, &f, monotonic()); {
		case n%10 == 1:
			err = w.Boxes(m, []detect.Box{{X1: .1, Y1: .1, X2: .4, Y2: .4, Score: .5, Label: 3}})
		case says == "answers":
			err = w.Boxes(m, nil)
		case says == "promises":
			err = w.Progress(0, f.CaptureNS, monotonic())
		}
		if err != nil && !errors.Is(err, client.ErrDetached) {
			return err
		}
	}
	return w.Close()
}

const sparseInPython = `
import sys
from skewgate_shm import State, Writer

with Writer.attach("mine") as writer:
    writer.state = State.READY
    for n, frame in enumerate(writer.frames("shapes")):
        if n % 10 == 0:
            writer.publish(frame, [(0.1, 0.1, 0.4, 0.4, 0.5, 3)])
        elif sys.argv[1] == "answers":
            writer.publish(frame, [])
`

// CORRELATION §6: a detector that finds something in one picture of ten and is silent about the
// others holds each of those up for the timeout. One that answers empty, or promises, does not:
// frames take as long as the slowest detector. Both figures, side by side.
func TestSparseDetectorNeedsNoTimeout(t *testing.T) {
	const timeout = 300 * time.Millisecond
	text := strings.Replace(withForeign, "emit_empty: true", "emit_empty: true, timeout: 300ms", 1)
	byTimeText := strings.Replace(byTime, "timeout: 2s, max_age: 4s", "timeout: 300ms", 1)
	for _, row := range []struct {
		name, text string
		begin      func(b *box, says string)
		says       []string
	}{
		{"Go", text, func(b *box, says string) { startForeign(t, b, "sparse", 0, "FOREIGN_SAYS="+says) }, []string{"answers", "promises"}},
		{"Python", text, func(b *box, says string) {
			buildC(t, "../../shm/c", b.path("c"))
			path, env := python(t, b)
			s := &script{env: env(b.path("c/libskewgate_shm.so"))}
			s.start(t, b, []string{path, "-c", sparseInPython, says}, 0)
		}, []string{"answers"}},
		{"C", byTimeText, func(b *box, says string) { sparseInC(t, b, says) }, []string{"answers"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			silent := sparseLatency(t, row.text, func(b *box) { row.begin(b, "nothing") })
			for _, says := range row.says {
				told := sparseLatency(t, row.text, func(b *box) { row.begin(b, says) })
				t.Logf("%s, first arrival to closed, median: silent %v, %s %v", row.name, silent, says, told)
				if silent < timeout || told > timeout/2 {
					t.Errorf("want the timeout of %v while it is silent and less than half of it when it %s, got %v and %v", timeout, says, silent, told)
				}
			}
		})
	}
}

// sparseLatency is the median of what frames took that waited for a foreign detector.
func sparseLatency(t *testing.T, text string, begin func(b *box)) time.Duration {
	t.Helper()
	b := newBox(t, text)
	b.start()
	b.until("frames come without it", 60*time.Second, func(d *status.Document) bool { return camera(d, "shapes").Fused > 10 })
	begin(b)
	d := b.until("it has spoken", 30*time.Second, func(d *status.Document) bool { return model(d, "mine").Messages > 0 })
	b.until("frames have waited for it", 30*time.Second, func(now *status.Document) bool {
		return camera(now, "shapes").Fused > camera(d, "shapes").Fused+60
	})
	b.stop()
	var took []time.Duration
	for _, f := range readFrames(t, b.path("out.jsonl")) {
		if f.Missing["mine"] != "dead" && slices.Contains(f.Models, "proposals") {
			took = append(took, time.Duration(f.ClosedNS-f.FirstNS))
		}
	}
	if len(took) < 20 {
		t.Fatalf("%d frames waited for it, want 20 or more", len(took))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// sparseInC tells the C example what to say, picture by picture.
func sparseInC(t *testing.T, b *box, says string) {
	t.Helper()
	buildC(t, "../../shm/c", b.path("c"))
	cmd, in, said := startC(t, b)
	n := 0
	pictureTimes(t, b, 81, func(captureNS int64) {
		line := ""
		if n%10 == 0 {
			line = fmt.Sprintf("%d 0.9 0.9 0.99 0.99 0.75 thing\n", captureNS)
		} else if says == "answers" {
			line = fmt.Sprintln(captureNS)
		}
		n++
		if _, err := in.Write([]byte(line)); err != nil {
			t.Fatalf("%v: %s", err, said.String())
		}
	})
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil { // what comes now does not wait for it
		t.Fatalf("%v: %s", err, said.String())
	}
}
