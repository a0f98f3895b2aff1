package onnx

import (
	"errors"
	"fmt"
	"runtime"

	ort "github.com/yalue/onnxruntime_go"
)

// maxThreads bounds what a job may ask for.
const maxThreads = 256

// newOptions are the options of every session. Threads are always set: left alone, ONNX Runtime
// pins one to each core of the machine, which fails inside a cpuset (onnxruntime#8313), and its
// idle threads spin, which on a shared box takes cores from the other detectors (#26847).
func newOptions(threads int, level ort.GraphOptimizationLevel) (*ort.SessionOptions, error) {
	if threads < 1 || threads > maxThreads {
		return nil, fmt.Errorf("%d threads for ONNX Runtime; 1…%d are supported", threads, maxThreads)
	}
	o, err := ort.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		o.SetIntraOpNumThreads(threads),
		o.SetInterOpNumThreads(1),
		o.SetExecutionMode(ort.ExecutionModeSequential),
		o.SetGraphOptimizationLevel(level),
		o.AddSessionConfigEntry("session.intra_op.allow_spinning", "0"),
		o.AddSessionConfigEntry("session.inter_op.allow_spinning", "0"),
	)
	if err != nil {
		return nil, errors.Join(err, o.Destroy())
	}
	return o, nil
}

// session is a loaded model with its two tensors. The wrapper's session keeps bare C pointers to
// the tensors it was made with and nothing that keeps them alive: with tensors on the Go heap that
// are no longer referenced, one collection is enough for Run to read and write freed memory, and it
// answers with wrong numbers instead of an error. So their data lies in mapped memory, and the
// tensors stay referenced here until close.
type session struct {
	run     *ort.AdvancedSession
	tensors []*ort.Tensor[float32]
	in, out []float32 // the tensors' memory
}

func newSession(m *model, s *shape, threads int) (*session, error) {
	opts, err := newOptions(threads, ort.GraphOptimizationLevelEnableAll)
	if err != nil {
		return nil, err
	}
	defer opts.Destroy()
	if s.candidates == 0 {
		if err := s.learnCandidates(m, opts); err != nil {
			return nil, err
		}
	}
	ss := &session{}
	in, err := ss.newTensor(ort.NewShape(1, 3, int64(s.height), int64(s.width)), &ss.in)
	if err != nil {
		return nil, errors.Join(err, ss.close())
	}
	out, err := ss.newTensor(ort.NewShape(1, int64(4+s.classes), int64(s.candidates)), &ss.out)
	if err != nil {
		return nil, errors.Join(err, ss.close())
	}
	ss.run, err = ort.NewAdvancedSessionWithONNXData(m.data, []string{s.input}, []string{s.output},
		[]ort.Value{in}, []ort.Value{out}, opts)
	if err != nil {
		return nil, errors.Join(explain(err), ss.close())
	}
	return ss, nil
}

func (ss *session) newTensor(dims ort.Shape, memory *[]float32) (*ort.Tensor[float32], error) {
	var err error
	if *memory, err = newMemory(int(dims.FlattenedSize())); err != nil {
		return nil, err
	}
	t, err := ort.NewTensor(dims, *memory)
	if err != nil {
		return nil, fmt.Errorf("make a tensor of %v: %w", dims, err)
	}
	ss.tensors = append(ss.tensors, t)
	return t, nil
}

// infer runs the model: in is read, out is overwritten.
func (ss *session) infer() error {
	if ss.run == nil {
		return errors.New("run model: it is closed")
	}
	err := ss.run.Run()
	runtime.KeepAlive(ss)
	if err != nil {
		return fmt.Errorf("run model: %w", err)
	}
	return nil
}

// close gives everything back, the session first: it points at the tensors, they at the memory.
func (ss *session) close() error {
	var errs []error
	if ss.run != nil {
		errs = append(errs, ss.run.Destroy())
	}
	for _, t := range ss.tensors {
		errs = append(errs, t.Destroy())
	}
	errs = append(errs, freeMemory(ss.in), freeMemory(ss.out))
	*ss = session{}
	return errors.Join(errs...)
}

// learnCandidates runs a model that leaves its output's length open once, on an empty input of the
// real size, to see it.
func (s *shape) learnCandidates(m *model, opts *ort.SessionOptions) error {
	d, err := ort.NewDynamicAdvancedSessionWithONNXData(m.data, []string{s.input}, []string{s.output}, opts)
	if err != nil {
		return explain(err)
	}
	defer d.Destroy()
	in, err := ort.NewEmptyTensor[float32](ort.NewShape(1, 3, int64(s.height), int64(s.width)))
	if err != nil {
		return err
	}
	defer in.Destroy()
	out := []ort.Value{nil}
	err = d.Run([]ort.Value{in}, out)
	runtime.KeepAlive(in)
	if err != nil {
		return fmt.Errorf("run model to learn its output's size: %w", err)
	}
	defer out[0].Destroy()
	got := out[0].GetShape()
	if len(got) != 3 || got[0] != 1 || got[1] != int64(4+s.classes) {
		return fmt.Errorf("the output turned out as %v, not (1,%d,candidates) of layout %s", got, 4+s.classes, LayoutYOLOv8)
	}
	return s.setCandidates(got[2])
}
