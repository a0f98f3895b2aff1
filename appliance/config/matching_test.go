package config

import (
	"testing"
	"time"
)

// The verdict on each setting, with and without what pulls capture times apart.
func TestVerdicts(t *testing.T) {
	const ms = time.Millisecond
	own, pulled := []string{"mine"}, [2]string{"a", "b"}
	for _, row := range []struct {
		name          string
		m             Matching
		setting, want string
		mix, split    time.Duration // -1 = none or not known
	}{
		{"ids", Matching{Match: MatchFrameID}, "frame_id", "mixes no two pictures, splits none", -1, -1},
		{"ring", Matching{Match: MatchBucket, Quantum: 25 * ms, Interval: 40 * ms}, "bucket of 25ms, a picture every 40ms", "mixes no two pictures; splits none", 15 * ms, 0},
		{"just as wide", Matching{Match: MatchBucket, Quantum: 40 * ms, Interval: 40 * ms}, "bucket of 40ms, a picture every 40ms", "mixes no two pictures; splits none", 0, 0},
		{"wide", Matching{Match: MatchBucket, Quantum: 40*ms + 1, Interval: 40 * ms}, "bucket of 40.000001ms, a picture every 40ms", "mixes two pictures; splits none", -1 * time.Nanosecond, 0},
		{"no interval", Matching{Match: MatchBucket, Quantum: 25 * ms}, "bucket of 25ms", "mixes two pictures that come less than 25ms apart, and fps does not say whether they do; splits none", -1, 0},
		{"own", Matching{Match: MatchBucket, Quantum: 25 * ms, Interval: 33333333, OwnCapture: own}, "bucket of 25ms, a picture every 33.33ms",
			"mixes two pictures above 8.33ms of capture skew; a capture skew of s ms, which only a run shows for mine, splits s/25 of the pictures", 8333333, 0},
		{"pulled", Matching{Match: MatchBucket, Quantum: 25 * ms, Interval: 40 * ms, Shift: 5 * ms, Shifted: pulled}, "bucket of 25ms, a picture every 40ms", "mixes no two pictures; splits 20 % of the pictures of a and b", 15 * ms, 0},
		{"pulled far", Matching{Match: MatchBucket, Quantum: 25 * ms, Interval: 40 * ms, Shift: 30 * ms, Shifted: pulled}, "bucket of 25ms, a picture every 40ms", "mixes two pictures; splits 100 % of the pictures of a and b", 15 * ms, 0},
		{"exact", Matching{Match: MatchBucket}, "exact instants", "mixes no two pictures; splits none", -1, 0},
		{"exact own", Matching{Match: MatchBucket, OwnCapture: own}, "exact instants", "mixes no two pictures; splits every picture for which mine does not give the others' capture time to the nanosecond", -1, 0},
		{"window", Matching{Match: MatchWindow, Window: 12 * ms, Interval: 40 * ms, OwnCapture: own}, "window of 12ms, a picture every 40ms",
			"mixes no two pictures and splits none up to 12ms of capture skew; splits above it, can mix from 28ms on", 28 * ms, 12 * ms},
		{"window pulled", Matching{Match: MatchWindow, Window: 12 * ms, Interval: 40 * ms, Shift: 13 * ms, Shifted: pulled}, "window of 12ms, a picture every 40ms",
			"splits every picture of a and b: their offsets differ by 13ms", 28 * ms, 12 * ms},
	} {
		if got := row.m.Setting(); got != row.setting {
			t.Errorf("%s: setting %q, want %q", row.name, got, row.setting)
		}
		if got := row.m.Verdict(); got != row.want {
			t.Errorf("%s: verdict\n%q, want\n%q", row.name, got, row.want)
		}
		mix, mixes := row.m.MixAbove()
		if want := row.mix != -1 || row.name == "wide"; mixes != want || want && mix != row.mix {
			t.Errorf("%s: mixes above %s (%t), want %s", row.name, mix, mixes, row.mix)
		}
		split, splits := row.m.SplitAbove()
		if want := row.split >= 0; splits != want || want && split != row.split {
			t.Errorf("%s: splits above %s (%t), want %s", row.name, split, splits, row.split)
		}
	}
}

const matched = `unit: box
correlation: {quantum: 30ms, window: 9ms}
cameras:
  - {name: gate, source: film.mp4, fps: 25, match: window}
  - {name: hall, source: film.mp4, fps: 29.97, match: window, window: 16.6ms, expected: [own, one]}
  - {name: yard, source: film.mp4, expected: [one]}
  - {name: road, source: film.mp4, fps: 20}
models:
  - {name: one, manifest: net.yaml, cameras: [gate, hall, yard, road], offset: -2ms}
  - {name: ring, command: attach, frame_ids: true, cameras: [gate, hall, yard, road], offset: {hall: 3ms, gate: 0s}}
  - {name: own, command: attach, cameras: [hall, yard, road], offset: 1h}
sinks:
  - jsonl: {path: out.jsonl}
`

func TestMatchingOfEachCamera(t *testing.T) {
	cfg, problems := Load(write(t, workshop(t), "c.yaml", matched), testOptions(t))
	if cfg == nil {
		t.Fatal(problems)
	}
	for i, want := range []struct {
		match           Match
		quantum, window time.Duration
		interval, shift time.Duration
		expected        []string
	}{
		{MatchWindow, 0, 9 * time.Millisecond, 40 * time.Millisecond, 2 * time.Millisecond, []string{"one", "ring"}},
		{MatchWindow, 0, 16600 * time.Microsecond, 33366700, 5 * time.Millisecond, []string{"own", "one"}},
		{MatchFrameID, 0, 0, 0, 2 * time.Millisecond, []string{"one"}}, // auto goes by who is expected
		{MatchBucket, 30 * time.Millisecond, 0, 50 * time.Millisecond, 2 * time.Millisecond, []string{"one", "ring", "own"}},
	} {
		cam := &cfg.Cameras[i]
		m := cfg.Matching(cam)
		if m.Match != want.match || m.Quantum != want.quantum || m.Window != want.window || m.Interval != want.interval || m.Shift != want.shift {
			t.Errorf("%s: %+v, want %+v", cam.Name, m, want)
		}
		if got := cfg.Expected(cam.Name); len(got) != len(want.expected) || got[0] != want.expected[0] || got[len(got)-1] != want.expected[len(got)-1] {
			t.Errorf("%s: expects %v, want %v", cam.Name, got, want.expected)
		}
	}
	for _, row := range []struct {
		model  int
		camera string
		want   time.Duration
	}{{0, "gate", -2 * time.Millisecond}, {0, "yard", -2 * time.Millisecond}, {1, "hall", 3 * time.Millisecond}, {1, "road", 0}, {2, "yard", time.Hour}} {
		if got := cfg.Models[row.model].OffsetOn(row.camera); got != row.want {
			t.Errorf("offset of %s on %s is %s, want %s", cfg.Models[row.model].Name, row.camera, got, row.want)
		}
	}
}

// The proof is exact to the nanosecond: at half the interval two pictures are as near as one.
func TestWindowHolds(t *testing.T) {
	for _, row := range []struct {
		window, interval time.Duration
		want             bool
	}{{19999999, 40000000, true}, {20000000, 40000000, false}, {16666666, 33333333, true}, {16666667, 33333333, false}} {
		if got := WindowHolds(row.window, row.interval); got != row.want {
			t.Errorf("window %d of interval %d holds: %t, want %t", row.window, row.interval, got, row.want)
		}
	}
}
