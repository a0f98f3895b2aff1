package shm_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/appliance/sink"
	"github.com/skewgate/skewgate/shm"
)

// goldenFrames are the frames of output.seg: all that a record can carry.
func goldenFrames() []sink.Frame {
	return []sink.Frame{
		{
			Seq: 1, Unit: "box-7", Camera: "gate", StreamEpoch: 4, FrameID: 41,
			CaptureNS: 1_700_000_000_000_000_000, Reason: "quorum", FirstArrival: 5000, LastArrival: 5750, Closed: 6000, Published: 6100,
			Models: []sink.Answer{{Model: "people", CaptureNS: 1_700_000_000_000_000_000}, {Model: "faces", CaptureNS: 1_700_000_000_000_000_009}},
			Boxes: []sink.Box{
				{X1: 0.25, Y1: 0.5, X2: 0.75, Y2: 1, Score: 0.875, Label: "person", By: []sink.Vote{{Model: "people", Score: 0.75}, {Model: "faces", Score: 1}}},
				{X1: 0, Y1: 0, X2: 0.125, Y2: 0.0625, Score: 0.5, Label: "Gesicht ✓", By: []sink.Vote{{Model: "faces", Score: 0.5}}},
			},
		},
		{ // looked, found nothing; a box of a class that is new
			Seq: 2, Unit: "box-7", Camera: "road", StreamEpoch: 1, CaptureNS: -5, Reason: "settled",
			FirstArrival: 7000, LastArrival: 7000, Closed: 7001, Published: 7002, Degraded: true,
			Models:  []sink.Answer{{Model: "people", CaptureNS: -5}},
			Missing: []sink.Missing{{Model: "faces", Why: "dead"}},
		},
		{ // a time that was text only, a model that was not in the config, a reason that has no number
			Seq: 18446744073709551615, Unit: "box-7", Camera: "gate", StreamEpoch: 4294967295, FrameID: 18446744073709551615,
			CaptureNS: detect.RawInstant, Reason: "eviction", FirstArrival: 8000, LastArrival: 8001, Closed: 9000, Published: 9001,
			Models:  []sink.Answer{{Model: "mine", CaptureNS: detect.RawInstant}},
			Missing: []sink.Missing{{Model: "people", Why: "absent"}, {Model: "faces", Why: "passed"}, {Model: "cars", Why: "unheard_of"}},
			Boxes:   []sink.Box{{X1: 0.5, Y1: 0.5, X2: 1, Y2: 1, Score: 1, Label: "car", By: []sink.Vote{{Model: "mine", Score: 1}}}},
		},
		{
			Seq: 3, Unit: "box-7", Camera: "gate", StreamEpoch: 4, FrameID: 42, CaptureNS: 1, Reason: "timeout",
			FirstArrival: 1, LastArrival: 1, Closed: 2, Published: 3,
			Models: []sink.Answer{{Model: "people", CaptureNS: 1}}, Missing: []sink.Missing{{Model: "faces", Why: "other"}},
		},
	}
}

// The appliance's own sink writes the frozen output ring, byte for byte, and its decoder
// reads the frames from it.
func TestGoldenOutput(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "golden", "output.seg"))
	if err != nil {
		t.Fatal(err)
	}
	c := shm.RingConfig{Slots: 16, PayloadBytes: 1024, Model: "fused", Index: 6}
	got := make([]byte, c.Bytes())
	if err := shm.FormatOutputRing(got, c); err != nil {
		t.Fatal(err)
	}
	s, err := sink.NewRing(got, 5000, "box-7", []string{"gate", "road"}, []string{"people", "faces"}, 4000)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range goldenFrames() {
		s.Offer(&f)
	}
	s.Heartbeat(9999)
	if st := s.Stats(); st.Written != 4 {
		t.Fatalf("want 4 frames written, got %+v", st)
	}
	if !bytes.Equal(got, want) {
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				t.Fatalf("byte %d differs from the frozen one: version 1 cannot change, make version 2", i)
			}
		}
		t.Fatalf("%d bytes, %d are frozen", len(got), len(want))
	}
	wantLines, err := os.ReadFile(filepath.Join("testdata", "golden", "output.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := decodeGolden(t, want); string(lines) != string(wantLines) {
		t.Errorf("want\n%s\ngot\n%s", wantLines, lines)
	}
}

func decodeGolden(t *testing.T, ring []byte) (lines []byte) {
	t.Helper()
	r, err := shm.NewReader(ring)
	if err != nil {
		t.Fatal(err)
	}
	r.Rewind(r.Written())
	var d sink.Decoder
	var h shm.SlotHeader
	body := make([]byte, r.PayloadBytes())
	for {
		n, ok, err := r.Next(&h, body)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return lines
		}
		if h.Kind == shm.KindJSON {
			if err := d.Names(&h, body[:n]); err != nil {
				t.Fatal(err)
			}
			continue
		}
		stream, _ := r.Stream(h.Stream)
		f, err := d.Frame(&h, stream.Unit, stream.Camera, body[:n])
		if err != nil {
			t.Fatal(err)
		}
		if lines, err = f.AppendJSON(lines); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, '\n')
	}
}
