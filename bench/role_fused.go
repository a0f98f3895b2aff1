package bench

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/bench/load"
	"github.com/skewgate/skewgate/bench/machine"
	"github.com/skewgate/skewgate/shm"
	"github.com/skewgate/skewgate/shm/client"
)

// fusedCamera is the one camera of the fused scenario, fusedFirst the id of its first frame:
// the frame ring's own are far below.
const (
	fusedCamera = "camera"
	fusedFirst  = uint64(1) << 40
	// fusedJitter is how long the processor's own jitter is looked at afterwards.
	fusedJitter = 200 * time.Millisecond
)

// fusedRole is all detectors of an appliance and the consumer of its output ring: it publishes
// their answers about a picture, awaits the fused record, and does so again.
func fusedRole(j *job) (r *result, err error) {
	f := &fusedLoop{j: j, record: make([]byte, 1<<20)}
	defer func() { err = errors.Join(err, f.close()) }()
	if err := f.attach(); err != nil {
		return nil, err
	}
	r = &result{Messages: j.Messages, Latencies: load.NewHistogram()}
	for i := range j.Warmup + j.Messages {
		ns, err := f.once(fusedFirst + i)
		if err != nil {
			return nil, err
		}
		if i >= j.Warmup {
			r.Latencies.Record(ns)
		}
	}
	gaps, err := machine.NoiseFloor([]int{j.CPU}, fusedJitter)
	r.Jitter = gaps
	return r, err
}

type fusedLoop struct {
	j       *job
	writers []*client.Writer
	seen    *client.Observer
	output  *shm.Reader
	boxes   [][]detect.Box // by model
	header  shm.SlotHeader
	record  []byte
}

// attach waits for the appliance, and until its camera has begun.
func (f *fusedLoop) attach() error {
	o := client.Options{Socket: f.j.Socket, Client: "skewbench"}
	var err error
	for end := nowNS() + f.j.LimitNS/2; ; time.Sleep(10 * time.Millisecond) {
		if f.seen, err = client.AttachObserver(o); err == nil {
			break
		}
		if nowNS() > end {
			return err
		}
	}
	for _, ring := range f.seen.Rings() {
		if ring.Output {
			if f.output, err = ring.Reader(); err != nil {
				return err
			}
		}
	}
	if f.output == nil {
		return errors.New("the appliance has no output ring")
	}
	for m := range f.j.Models {
		w, err := client.AttachWriter(o, fmt.Sprintf("model-%d", m), 0)
		if err != nil {
			return err
		}
		f.writers = append(f.writers, w)
		f.boxes = append(f.boxes, fusedBoxes(int(m), int(f.j.Boxes)))
	}
	for end := nowNS() + f.j.LimitNS/2; ; time.Sleep(10 * time.Millisecond) {
		begun := true
		for _, w := range f.writers {
			if err := w.Poll(nowNS()); err != nil {
				return err
			}
			begun = begun && w.StreamEpoch(0) > 0
		}
		switch {
		case begun:
			return nil
		case nowNS() > end:
			return errors.New("the camera has not begun: is ffmpeg there?")
		}
	}
}

// fusedBoxes are objects apart from each other; models see each a little differently.
func fusedBoxes(model, n int) (boxes []detect.Box) {
	for i := range n {
		x, y := 0.01*float32(model)+0.24*float32(i%4), 0.3*float32(i/4)
		boxes = append(boxes, detect.Box{X1: x, Y1: y, X2: x + 0.2, Y2: y + 0.25, Score: 0.9, Label: uint32(i % 3)})
	}
	return boxes
}

// once returns the time from just before the last model's publish until the record was read.
func (f *fusedLoop) once(id uint64) (int64, error) {
	var began int64
	for m, w := range f.writers {
		began = nowNS()
		err := w.Boxes(&client.Message{CaptureNS: began, FrameID: id, NowNS: began}, f.boxes[m])
		if err != nil {
			return 0, err
		}
	}
	for looks := 1; ; looks++ {
		_, ok, err := f.output.Next(&f.header, f.record)
		if err != nil {
			return 0, err
		}
		if ok && f.header.Kind == shm.KindFused && f.header.FrameID == id {
			break
		}
		if looks%(1<<16) == 0 { // alone on a processor this never happens
			if nowNS()-began > int64(5*time.Second) {
				return 0, fmt.Errorf("frame %d is not in the output ring after 5 s", id-fusedFirst)
			}
			runtime.Gosched()
		}
	}
	took := nowNS() - began
	if int(f.header.Count) != int(f.j.Boxes) {
		return 0, fmt.Errorf("frame %d has %d fused boxes, want %d", id-fusedFirst, f.header.Count, f.j.Boxes)
	}
	return took, nil
}

func (f *fusedLoop) close() error {
	var errs []error
	for _, w := range f.writers {
		errs = append(errs, w.Close())
	}
	if f.seen != nil {
		errs = append(errs, f.seen.Close())
	}
	return errors.Join(errs...)
}
