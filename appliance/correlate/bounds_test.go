package correlate

import (
	"errors"
	"fmt"
	"testing"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/detect"
)

// Floods end in a counted refusal, not in growth.

func TestFloodOfCameras(t *testing.T) {
	r := newRig(t, func(cfg *Config) { cfg.Limits.Cameras = 5 })
	var err error
	for i := range 100 {
		_, err = r.c.Stream("u1", fmt.Sprint(i), 0)
	}
	if !errors.Is(err, ErrFull) || len(r.c.cameras) != 1+5 {
		t.Errorf("%d cameras, %v; want 5 and %v", len(r.c.cameras)-1, err, ErrFull)
	}
	if _, err := r.c.Stream("u1", "3", 7); err != nil {
		t.Errorf("a known camera is refused: %v", err)
	}
}

func TestFloodOfModels(t *testing.T) {
	r := newRig(t, func(cfg *Config) { cfg.Limits.Models = 5 })
	var err error
	for i := range 100 {
		_, err = r.c.Model(fmt.Sprint(i))
	}
	if !errors.Is(err, ErrFull) || len(r.c.models) != 1+5 {
		t.Errorf("%d models, %v; want 5 and %v", len(r.c.models)-1, err, ErrFull)
	}
	// Unexpected names must not bar those that become expected.
	if err := r.c.SetExpected(0, []string{"A", "new"}); err != nil {
		t.Errorf("expect a new model: %v", err)
	}
	var names []string
	for i := range maxExpected {
		names = append(names, fmt.Sprintf("expected-%d", i))
	}
	before := len(r.c.models)
	if err := r.c.SetExpected(0, names); !errors.Is(err, ErrFull) || len(r.c.models) != before {
		t.Errorf("expecting %d more names: %v and %d new models; want %v and none", maxExpected, err, len(r.c.models)-before, ErrFull)
	}
}

func TestNamesAreChecked(t *testing.T) {
	r := newRig(t, nil)
	long := string(make([]byte, MaxNameBytes+1))
	_, err1 := r.c.Stream("", "c", 0)
	_, err2 := r.c.Stream("u", long, 0)
	_, err3 := r.c.Model(long)
	_, err4 := r.c.expectedModel("")
	for i, err := range []error{err1, err2, err3, err4} {
		if !errors.Is(err, ErrName) {
			t.Errorf("name %d: %v, want %v", i, err, ErrName)
		}
	}
}

// Ids that were never given are refused and counted, and touch nothing else.
func TestUnknownIDsAreRefused(t *testing.T) {
	r := newRig(t, nil)
	s, m := r.stream("c1"), r.model("A")
	before := r.c.Counters()
	for _, in := range []Message{{}, {Stream: s}, {Model: m}, {Stream: s + 1<<32, Model: m}, {Stream: s, Model: m + 99}} {
		if got := r.send(0, in); got != Refused {
			t.Errorf("%+v: %s, want refused", in, got)
		}
	}
	if r.c.Progress(0, 0, m, 0) || r.c.Progress(0, s, 0, 0) {
		t.Error("progress of an unknown stream or model is taken")
	}
	before.Refused += 5
	if got := r.c.Counters(); got != before {
		t.Errorf("counters %+v, want %+v", got, before)
	}
	if r.c.SetCameraExpected(0, 0, nil) == nil || r.c.ModelDownAt(0, 0, "A") == nil || r.c.ModelDown(0, "") == nil {
		t.Error("an unknown stream or empty name is taken")
	}
}

func TestFloodOfGarbageTimestamps(t *testing.T) {
	r := newRig(t, func(cfg *Config) { cfg.Limits.RawKeys = 10 })
	garbage := func(now int64, i int) Verdict {
		return r.send(now, Message{Stream: r.stream("c1"), Model: r.model("A"), CaptureNS: detect.RawInstant, Raw: fmt.Appendf(nil, "garbage %d", i)})
	}
	for i := range 1000 {
		garbage(0, i)
	}
	n := r.c.Counters()
	if n.Refused != 990 || n.Received != 10 || n.Unparsed != 10 || r.c.raw.Len() != 10 {
		t.Errorf("counters %+v and %d texts, want 990 refused of 1000", n, r.c.raw.Len())
	}
	if got := garbage(0, 3); got != DupResend {
		t.Errorf("a known text: %s, want dup_resend", got)
	}
	other := Message{Stream: r.stream("c2"), Model: r.model("A"), CaptureNS: detect.RawInstant, Raw: []byte("garbage 3")}
	if got := r.send(0, other); got != Accepted {
		t.Errorf("a text that another camera has in use: %s, want accepted", got)
	}
	if got := r.step(1, "A", 1000); got != Accepted {
		t.Errorf("a good timestamp: %s, want accepted", got)
	}
	// A refused message moves no counter but its own, also when its clock runs back.
	garbage(0, 5000)
	if n := r.c.Counters(); n.NowRegressions != 0 {
		t.Errorf("now_regressions %d, want 0", n.NowRegressions)
	}
	// Once the groups are closed and their records expire there is room again.
	r.tick(1000)
	if got := garbage(1_000_000, 2000); got != Accepted {
		t.Errorf("after the records' time: %s, want accepted", got)
	}
	if r.c.raw.Len() > 2 {
		t.Errorf("%d texts are still known", r.c.raw.Len())
	}
}

func TestFloodOfEpochs(t *testing.T) {
	for _, match := range []Match{MatchBucket, MatchWindow} {
		r := newRig(t, func(cfg *Config) {
			cfg.MaxPending, cfg.Limits.Closed = 8, 32
			cfg.Camera.Match, cfg.Camera.FrameIntervalNS = match, 1
		})
		for epoch := range uint32(5000) {
			s, err := r.c.Stream("u1", "c1", epoch)
			if err != nil {
				t.Fatal(err)
			}
			r.c.Progress(0, s, r.model("B"), 0)
			r.send(0, Message{Stream: s, Model: r.model("A"), CaptureNS: ms})
		}
		cam := r.c.cameras[1]
		if got, bound := len(cam.all), idleEpochs+1+8+32; got > bound {
			t.Errorf("match %d: %d epochs are remembered, bound %d", match, got, bound)
		}
		if got := len(r.c.order.nodes); got > 300 {
			t.Errorf("match %d: %d nodes", match, got)
		}
	}
}

// Every model of every camera asks for a seat. Who finds none has no figures, and is joined like
// all others; pairs of models end likewise.
func TestFloodOfSeats(t *testing.T) {
	expected := make([]string, maxExpected)
	for i := range expected {
		expected[i] = fmt.Sprint("model-", i)
	}
	r := newRig(t, func(cfg *Config) {
		cfg.Camera.Expected, cfg.SkewWindowNS = expected, surveysInWindow*100_000 // a survey each picture
	})
	const cameras, pictures = maxSeats/maxExpected + 44, minIntervals + 4
	now := clock.Mono(0)
	for picture := range int64(pictures) {
		for i := range cameras {
			now += 1000
			for _, model := range expected {
				if got := r.c.Step(now, &Message{Stream: r.stream(fmt.Sprint("c", i)), Model: r.model(model), CaptureNS: picture * 40 * ms}); got != Accepted {
					t.Fatalf("picture %d of camera %d, %s: %s, want accepted", picture, i, model, got)
				}
			}
		}
		if err := errors.Join(r.c.CheckIdentities(), r.c.checkTables()); err != nil {
			t.Fatal(err)
		}
	}
	n := r.c.Counters()
	if frames := uint64(pictures * cameras); n.FlushedQuorum != frames || n.Refused != 0 || n.Accepted != frames*maxExpected {
		t.Errorf("%d frames are whole, want %d; counters %+v", n.FlushedQuorum, frames, n)
	}
	if r.c.seatsTaken != maxSeats || r.c.surveyor.pairs != maxPairs {
		t.Errorf("%d seats and %d pairs, want %d and %d", r.c.seatsTaken, r.c.surveyor.pairs, maxSeats, maxPairs)
	}
	last := &r.c.cameras[cameras].seats
	if len(last.taken) != 0 || len(last.pairs) != 0 {
		t.Errorf("the last camera has %d seats and %d pairs", len(last.taken), len(last.pairs))
	}
	for _, table := range r.c.AppendTables(nil) {
		if table.Len > table.Bound {
			t.Errorf("%s holds %d, bound %d", table.Name, table.Len, table.Bound)
		}
	}
}

// One window full of groups must not make every message in it search them all.
func TestFloodOfOneWindow(t *testing.T) {
	r := newRig(t, func(cfg *Config) {
		cfg.Camera.Match, cfg.Camera.WindowNS, cfg.Camera.FrameIntervalNS = MatchWindow, 10*ms, 33*ms
		cfg.Camera.Expected = []string{"B"}
		cfg.Limits.WindowGroups = 20
	})
	s, a, b := r.stream("c1"), r.model("A"), r.model("B")
	at := func(id ModelID, ns int64) Verdict { return r.send(0, Message{Stream: s, Model: id, CaptureNS: ns}) }
	most := 0
	for i := range int64(2000) {
		ns := 1000*ms + i*7919%(30*ms) // all over three windows
		_, _, crowd := r.c.nearest(r.c.cameras[1].epochAt(0), a, ns, 10*ms)
		most = max(most, crowd)
		at(a, ns)
	}
	n := r.c.Counters()
	if most > 2*20 || n.Pending > 3*20 || n.Refused != 2000-n.Received || n.Received > 3*20 {
		t.Errorf("%d groups were searched and %d are open; %d messages received, %d refused; want at most 40 and 60, and 2000 in all",
			most, n.Pending, n.Received, n.Refused)
	}
	if got := at(b, 1000*ms); got != Accepted {
		t.Errorf("what has a group to join: %s, want accepted", got)
	}
	if got := at(a, 1000*ms); got != DupResend {
		t.Errorf("what is known: %s, want dup_resend", got)
	}
	if got := at(a, 1100*ms); got != Accepted {
		t.Errorf("another window: %s, want accepted", got)
	}
}

// A thousand names in one frame: those beyond the bound are refused, open and closed.
func TestFloodOfNamesInOneFrame(t *testing.T) {
	r := newRig(t, func(cfg *Config) { cfg.Limits.GroupModels = 3 })
	want := func(model string, verdict Verdict) {
		t.Helper()
		if got := r.step(0, model, 1000); got != verdict {
			t.Errorf("%s: %s, want %s", model, got, verdict)
		}
	}
	want("x1", Accepted)
	want("x2", Accepted)
	want("A", Accepted)
	want("x3", Refused)
	want("x2", DupResend)
	s := r.stream("c1")
	for _, model := range []string{"x1", "x2", "x3"} {
		r.c.Progress(0, s, r.model(model), 0)
	}
	if r.c.Progress(0, s, r.model("x4"), 0) || !r.c.Progress(0, s, r.model("x3"), 1) {
		t.Error("a fourth model's progress is kept, or a known one's is not")
	}
	r.tick(300)
	want("x3", Refused)
	want("x1", DupResend)
	if n := r.c.Counters(); n.Refused != 3 || n.Received != 5 {
		t.Errorf("counters %+v, want 3 refused of 8", n)
	}
}

func TestClosedRecordsAreBounded(t *testing.T) {
	r := newRig(t, func(cfg *Config) { cfg.Limits.Closed = 3 })
	for i := range int64(5) {
		r.step(i, "A", i*100)
		r.step(i, "B", i*100)
	}
	if n := r.c.Counters(); n.ClosedForgotten != 2 || r.c.closed.n != 3 {
		t.Errorf("%d forgotten, %d kept; want 2 and 3", n.ClosedForgotten, r.c.closed.n)
	}
	if got := r.step(9, "X", 0); got != Accepted {
		t.Errorf("for a forgotten key: %s; it must look new", got)
	}
	if got := r.step(9, "X", 400); got != Late {
		t.Errorf("for a kept key: %s, want late", got)
	}
}

// The default bound is part of the contract.
func TestDefaultLimits(t *testing.T) {
	if got := (Limits{}).withDefaults(); got.Closed != 65536 {
		t.Errorf("closed records %d, want 65536", got.Closed)
	}
}

// The clock argument is bounded so that differences cannot overflow.
func TestExtremeTimes(t *testing.T) {
	r := newRig(t, nil)
	s, a := r.stream("c1"), r.model("A")
	for _, now := range []clock.Mono{-1 << 63, 0, 1<<63 - 1} {
		for _, capture := range []int64{-1<<63 + 1, -1, 0, 1<<63 - 1} {
			r.c.Step(now, &Message{Stream: s, Model: a, CaptureNS: capture})
			r.c.Progress(now, s, a, capture)
			if err := errors.Join(r.c.CheckIdentities(), r.c.checkTables()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := r.c.Counters(); n.NowRegressions != 0 || n.Received != 12 {
		t.Errorf("counters %+v", n)
	}
}

func TestStepAllocatesNothingWhenWarm(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"frame ids": nil,
		"buckets":   func(cfg *Config) { cfg.Camera.Match = MatchBucket },
		"instants":  func(cfg *Config) { cfg.Camera.Match, cfg.QuantumNS = MatchBucket, 0 },
		"window": func(cfg *Config) {
			cfg.Camera.Match, cfg.Camera.WindowNS, cfg.Camera.FrameIntervalNS = MatchWindow, 10*ms, 33*ms
		},
		"implicit progress": func(cfg *Config) { cfg.ImplicitProgress = true },
		"timeouts":          func(cfg *Config) { cfg.Camera.Expected, cfg.TimeoutNS = nil, 100_000 },
		"evictions":         func(cfg *Config) { cfg.Camera.Expected, cfg.MaxPending = nil, 20 },
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTraffic(t, 16, 3, 8, func(cfg *Config) {
				cfg.Limits.Closed, cfg.Limits.SkewSamples = 1000, 1024
				if change != nil {
					change(cfg)
				}
			})
			tr.warm()
			run := func() {
				tr.step()
				tr.c.Progress(tr.now, tr.m.Stream, tr.m.Model, tr.m.CaptureNS)
				tr.c.Tick(tr.now)
			}
			for range 10_000 {
				run()
			}
			if n := testing.AllocsPerRun(5000, run); n != 0 {
				t.Errorf("%v allocations a step, want 0", n)
			}
		})
	}
}
