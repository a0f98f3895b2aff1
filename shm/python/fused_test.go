package python

import (
	"bufio"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/appliance/sink"
)

// fusedFrame is what the binding makes of a fused frame.
type fusedFrame struct {
	Seq           uint64            `json:"seq"`
	Unit          string            `json:"unit"`
	Camera        string            `json:"camera"`
	StreamEpoch   uint32            `json:"stream_epoch"`
	FrameID       *uint64           `json:"frame_id"`
	Generation    *uint64           `json:"generation"`
	CaptureNS     *int64            `json:"capture_ns"`
	Captures      map[string]*int64 `json:"captures"`
	Missing       map[string]string `json:"missing"`
	Reason        string            `json:"reason"`
	FirstArrival  int64             `json:"first_arrival_mono_ns"`
	Closed        int64             `json:"closed_mono_ns"`
	Published     int64             `json:"published_mono_ns"`
	ArrivalSkewNS *int64            `json:"arrival_skew_ns"`
	Degraded      bool              `json:"degraded"`
	Boxes         []fusedBox        `json:"boxes"`
}

type fusedBox struct {
	Box   [4]float64         `json:"box"`
	Score float64            `json:"score"`
	Label string             `json:"label"`
	Votes map[string]float64 `json:"votes"`
}

// What the appliance's sink puts into the output ring, Python reads.
func testFusedFrames(t *testing.T, b *build) {
	ns := func(v int64) *int64 { return &v }
	id := func(v uint64) *uint64 { return &v }
	cases := []struct {
		in   sink.Frame
		want fusedFrame
	}{
		{
			sink.Frame{Seq: 1, Unit: "box", Camera: "gate", StreamEpoch: 2, FrameID: 9, CaptureNS: 1000, Reason: "timeout",
				Models: []sink.Answer{{Model: "mine", CaptureNS: 1000}, {Model: "other", CaptureNS: detect.RawInstant, Raw: []byte("noon")}},
				Missing: []sink.Missing{
					{Model: "third", Why: "dead"}, {Model: "4", Why: "late"}, {Model: "5", Why: "other_bucket"}, {Model: "6", Why: "wrong_generation"}, {Model: "7", Why: "?"},
				},
				FirstArrival: 10, LastArrival: 30, Closed: 40, Published: 50, Degraded: true,
				Boxes: []sink.Box{
					{X1: 0, Y1: 0.25, X2: 0.5, Y2: 1, Score: 0.75, Label: "person", By: []sink.Vote{{Model: "mine", Score: 0.5}, {Model: "other", Score: 1}}},
					{X1: 0.5, Y1: 0.5, X2: 0.625, Y2: 0.75, Score: 0.5, Label: "Käfer", By: []sink.Vote{{Model: "other", Score: 0.5}}},
				}},
			fusedFrame{Seq: 1, Unit: "box", Camera: "gate", StreamEpoch: 2, FrameID: id(9), CaptureNS: ns(1000), Reason: "timeout",
				Captures: map[string]*int64{"mine": ns(1000), "other": nil}, Missing: map[string]string{"third": "dead", "4": "late", "5": "other_bucket", "6": "wrong_generation", "7": "other"},
				FirstArrival: 10, Closed: 40, Published: 50, ArrivalSkewNS: ns(20), Degraded: true,
				Boxes: []fusedBox{
					{[4]float64{0, 0.25, 0.5, 1}, 0.75, "person", map[string]float64{"mine": 0.5, "other": 1}},
					{[4]float64{0.5, 0.5, 0.625, 0.75}, 0.5, "Käfer", map[string]float64{"other": 0.5}},
				}},
		},
		{
			sink.Frame{Seq: 2, Unit: "box", Camera: "gate", StreamEpoch: 2, CaptureNS: -5, Reason: "quorum",
				Models: []sink.Answer{{Model: "mine", CaptureNS: -5}}, FirstArrival: 60, LastArrival: 60, Closed: 60, Published: 60},
			fusedFrame{Seq: 2, Unit: "box", Camera: "gate", StreamEpoch: 2, CaptureNS: ns(-5), Reason: "quorum",
				Captures: map[string]*int64{"mine": ns(-5)}, Missing: map[string]string{}, FirstArrival: 60, Closed: 60, Published: 60, Boxes: []fusedBox{}},
		},
	}
	socket := socketPath(t)
	box := newBox(t, socket)
	cmd := b.command(nil, "-m", "tests.follow", socket, "2")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	read := func(v any) {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("no line: %v", lines.Err())
		}
		if err := json.Unmarshal(lines.Bytes(), v); err != nil {
			t.Fatalf("line %q: %v", lines.Text(), err)
		}
	}
	var hello struct {
		Unit    string
		Cameras map[string]uint32
	}
	read(&hello)
	if hello.Unit != "box" || len(hello.Cameras) != 1 || hello.Cameras["gate"] != 1 {
		t.Errorf("attached to %+v", hello)
	}
	for _, c := range cases {
		box.output.Offer(&c.in)
		var got fusedFrame
		read(&got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("frame %d (-want +got):\n%s", c.in.Seq, diff)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
