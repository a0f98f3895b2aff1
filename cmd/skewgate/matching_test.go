package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skewgate/skewgate/appliance/advise"
	"github.com/skewgate/skewgate/appliance/status"
)

// ownCapture is a camera with detectors that decode it by themselves.
const ownCapture = `
unit: test
state_dir: $DIR/state
runtime: {library: $LIB}
correlation: {emit_empty: true, CORRELATION}
cameras:
  - {name: shapes, source: $DIR/film.mp4, pace: realtime, loop: true, tag: barcode, max_picture: 640x360, fps: FPS}
models:
MODELS
sinks:
  - jsonl: {path: $DIR/out.jsonl, max_size: 100MB, keep: 1}
`

func ownCaptureConfig(correlation, fps string, models ...string) string {
	return strings.NewReplacer("CORRELATION", correlation, "FPS", fps, "MODELS", "  - "+strings.Join(models, "\n  - ")).Replace(ownCapture)
}

// foreignModel is an entry for one that sends no frame ids.
func foreignModel(name, more string) string {
	return fmt.Sprintf("{name: %s, command: attach, cameras: [shapes]%s}", name, more)
}

// matchedFrame is a fused frame as far as matching goes.
type matchedFrame struct {
	at     map[string]int64 // by model: its capture time as received
	models []string         // in order of arrival
	reason string
	taken  int64
	closed int64
}

func readMatched(t *testing.T, path string) (all []matchedFrame) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var f struct {
			Models     []string
			Timestamps map[string]string
			Reason     string
			Capture    int64 `json:"capture_ns"`
			Closed     int64 `json:"closed_mono_ns"`
		}
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		one := matchedFrame{at: map[string]int64{}, models: f.Models, reason: f.Reason, taken: f.Capture, closed: f.Closed}
		for model, text := range f.Timestamps {
			if one.at[model], err = strconv.ParseInt(text, 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, one)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// pairs counts what became of the pictures of which two models both have told, the second by a
// clock that is ahead: joined, split over two frames, or joined with another picture.
func pairs(all []matchedFrame, first, second string, aheadNS int64) (joined, split, mixed int) {
	alone := map[int64]int{}
	for _, f := range all {
		a, hasA := f.at[first]
		b, hasB := f.at[second]
		switch {
		case hasA && hasB && b-a == aheadNS:
			joined++
			continue
		case hasA && hasB:
			mixed++
		}
		if hasA {
			alone[a]++
		}
		if hasB {
			alone[b-aheadNS]++
		}
	}
	for _, n := range alone {
		if n == 2 {
			split++
		}
	}
	return joined, split, mixed
}

// verifyMatched replays a run that was recorded from its first message on, which must give the
// appliance's own frames, of a window with its anchor: the first message's capture time less its
// model's offset.
func verifyMatched(t *testing.T, b *box, all []matchedFrame, offsetNS map[string]int64) {
	t.Helper()
	var want []string
	for _, f := range all {
		anchor, models := f.at[f.models[0]]-offsetNS[f.models[0]], slices.Sorted(slices.Values(f.models))
		want = append(want, fmt.Sprintf("test/shapes w:%dns %s %s at %d", anchor, models, f.reason, f.closed))
	}
	got, said := replayed(t, "--verify", b.path("trace.jsonl"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("frames differ (-appliance +replay):\n%s", diff)
	}
	if !strings.Contains(said, "counters are the appliance's") || strings.Count(said, "\n") != 1 {
		t.Errorf("replay said: %s", said)
	}
}

// Two detectors decode by themselves, and their capture times of one picture differ by 10 ms.
// Buckets of 25 ms split near to 10/25 of the pictures, or mix two; a window of 12 ms neither.
func TestWindowJoinsWhatBucketsSplit(t *testing.T) {
	const ahead = int64(10 * time.Millisecond)
	for _, tc := range []struct{ name, correlation, setting, can string }{
		{"bucket", "match: bucket, quantum: 25ms", "bucket of 25ms, a picture every 33.33ms", "above 8.33ms of capture skew two pictures can be mixed"},
		{"window", "match: window, window: 12ms", "window of 12ms, a picture every 33.33ms", "splits above it, can mix from 21.33ms on"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBox(t, ownCaptureConfig(tc.correlation, "30", foreignModel("one", ""), foreignModel("two", "")))
			b.args = []string{"--record", b.path("trace.jsonl"), "--log-format", "json"}
			b.start()
			b.until("it runs", 30*time.Second, func(d *status.Document) bool { return camera(d, "shapes").Frames > 0 })
			startForeign(t, b, "detector", 0, "FOREIGN_MODEL=one", "FOREIGN_SHIFT=0s").until(1, "attached 1")
			startForeign(t, b, "detector", 0, "FOREIGN_MODEL=two", "FOREIGN_SHIFT=10ms").until(1, "attached 1")
			d := b.until("both have told much", 60*time.Second, func(d *status.Document) bool {
				return min(model(d, "one").Messages, model(d, "two").Messages) > 240
			})
			b.stop()
			all := readMatched(t, b.path("out.jsonl"))
			joined, split, mixed := pairs(all, "one", "two", ahead)
			t.Logf("%d joined, %d split, %d mixed frames", joined, split, mixed)
			if got := camera(d, "shapes").Match; got != tc.name {
				t.Errorf("status says it is matched by %q", got)
			}
			if tc.name == "bucket" {
				if both := joined + split; 5*split < both || joined < 20 {
					t.Errorf("of %d pictures %d are split, want about 10/25", both, split)
				}
			} else {
				if split != 0 || mixed != 0 || joined < 120 {
					t.Errorf("want 120 joined or more, and none split or mixed")
				}
				verifyMatched(t, b, all, nil)
			}
			namedAtStart(t, b, tc.setting, tc.can)
		})
	}
}

// namedAtStart wants the log, all of it JSON, to say what a camera's setting can do.
func namedAtStart(t *testing.T, b *box, setting, can string) {
	t.Helper()
	said := false
	for line := range strings.Lines(b.stderr.String()) {
		var l struct{ Msg, Key, Camera, By, Which, Cure string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Errorf("a line of the log is no JSON: %s", line)
		}
		named := l.Msg == "camera is matched" && l.Camera == "shapes" && l.By == setting
		if named && strings.Contains(l.Which, can) || strings.HasPrefix(l.Msg, "config: ") && l.Key == "cameras[0]" && strings.Contains(l.Msg, can) && l.Cure != "" {
			said = true
		}
	}
	if !said {
		t.Errorf("the log does not say %q of the setting", can)
	}
}

// A detector whose clock is 40 ms ahead meets nobody, and with its offset everybody; the one
// behind it too. Progress by such a clock settles what it is past, and a run with all that replays exactly.
func TestOffsetBringsClocksIntoLine(t *testing.T) {
	const ms = int64(time.Millisecond)
	const window = "match: window, window: 10ms, timeout: 3s, max_age: 6s"
	managed := "{name: ring, manifest: $MODELS/proposals.yaml, cameras: [shapes]%s}"
	for _, tc := range []struct {
		name   string
		ahead  string // what its clock really is
		models []string
		joins  bool
		offset map[string]int64
	}{
		{"without", "40ms", []string{fmt.Sprintf(managed, ""), foreignModel("ahead", ""), foreignModel("behind", "")}, false, nil},
		{"with", "40ms", []string{fmt.Sprintf(managed, ""), foreignModel("ahead", ", offset: 40ms"), foreignModel("behind", ", offset: {shapes: -15ms}")}, true,
			map[string]int64{"ahead": 40 * ms, "behind": -15 * ms}},
		// To a line of time 40 ms ahead of the appliance's, whose own models are moved too. One is
		// so far ahead that its progress, taken as it comes, would be past its next pictures.
		{"to another line", "210ms", []string{fmt.Sprintf(managed, ", offset: -40ms"), foreignModel("ahead", ", offset: 170ms"), foreignModel("behind", ", offset: -55ms")}, true,
			map[string]int64{"ring": -40 * ms, "ahead": 170 * ms, "behind": -55 * ms}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBox(t, ownCaptureConfig(window, "15", tc.models...))
			b.args = []string{"--record", b.path("trace.jsonl")}
			b.start()
			b.until("its own detector works", 60*time.Second, func(d *status.Document) bool { return model(d, "ring").Messages > 0 })
			startForeign(t, b, "detector", 0, "FOREIGN_MODEL=ahead", "FOREIGN_SHIFT="+tc.ahead, "FOREIGN_SKIPS=1").until(1, "attached 1")
			startForeign(t, b, "detector", 0, "FOREIGN_MODEL=behind", "FOREIGN_SHIFT=-15ms").until(1, "attached 1")
			b.until("all have told much", 60*time.Second, func(d *status.Document) bool {
				return min(model(d, "ring").Messages, 2*model(d, "ahead").Messages, model(d, "behind").Messages) > 70
			})
			b.stop()
			all := readMatched(t, b.path("out.jsonl"))
			verifyMatched(t, b, all, tc.offset)
			met, settled := 0, 0
			for _, f := range all {
				if len(f.models) > 1 {
					met++
				}
				if f.reason == "settled" && len(f.models) == 2 {
					settled++
				}
				base, hasRing := f.at["ring"]
				if at, has := f.at["ahead"]; has && hasRing && at-tc.offset["ahead"] != base-tc.offset["ring"] {
					t.Errorf("joined with a picture %d ns away", at-tc.offset["ahead"]-base+tc.offset["ring"])
				}
				if hasRing && f.taken != base-tc.offset["ring"] && tc.joins {
					t.Errorf("the frame was taken at %d, and is said to be at %d", base-tc.offset["ring"], f.taken)
				}
			}
			t.Logf("%d frames, %d of several models, %d settled without one", len(all), met, settled)
			if tc.joins && (met < 45 || settled < 15) || !tc.joins && met != 0 {
				t.Errorf("%d of %d frames have more than one model", met, len(all))
			}
			advisable(t, b, met)
		})
	}
}

// advisable wants advise to see each camera's pictures through the offsets.
func advisable(t *testing.T, b *box, met int) {
	t.Helper()
	out, err := exec.Command(program(t), "advise", "--json", b.path("trace.jsonl")).Output()
	var advice advise.Report
	if err == nil {
		err = json.Unmarshal(out, &advice)
	}
	if err != nil || len(advice.Quantum.Cameras) != 1 {
		t.Fatalf("advise: %v, %s", err, out)
	}
	c := advice.Quantum.Cameras[0]
	if c.Match != "window" || c.Spread == nil {
		t.Fatalf("advise says %+v", c)
	}
	if aligned := c.Spread.Max == 0; aligned != (met > 0) {
		t.Errorf("capture times spread up to %s, and %d frames have several models", c.Spread.Max, met)
	}
}

// fps thins out a film of 30 pictures a second to 20, so that two of them still follow each other
// within 33 ms: the window that fps alone seemed to prove is named as soon as that is measured.
func TestWindowIsHeldToTheMeasuredInterval(t *testing.T) {
	b := newBox(t, ownCaptureConfig("match: window, window: 20ms", "20", foreignModel("one", ""), foreignModel("two", "")))
	b.start()
	b.until("it runs", 30*time.Second, func(d *status.Document) bool { return camera(d, "shapes").Frames > 0 })
	startForeign(t, b, "detector", 0, "FOREIGN_MODEL=one", "FOREIGN_SHIFT=0s").until(1, "attached 1")
	d := b.until("the window is named", 60*time.Second, func(d *status.Document) bool {
		return hasFinding(d, status.CodeWindowUnproven, "shapes")
	})
	if c := camera(d, "shapes"); c.Match != "window" || c.IntervalMS == nil || *c.IntervalMS > 40 || *c.IntervalConfigMS != 50 {
		t.Errorf("the interval is measured as %v and configured as %v", c.IntervalMS, c.IntervalConfigMS)
	}
	b.stop()
}
