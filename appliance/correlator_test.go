package appliance

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/correlate"
)

const matchingConfig = `unit: u
state_dir: state
correlation: {quantum: 30ms, window: 9ms, timeout: 200ms, max_age: 1s, max_pending: 77, emit_empty: true}
cameras:
  - {name: gate, source: film.mp4, fps: 25, match: window}
  - {name: hall, source: film.mp4, fps: 30, match: window, window: 16ms, expected: [own]}
  - {name: yard, source: film.mp4, fps: 25}
  - {name: ids, source: film.mp4, match: frame_id}
models:
  - {name: ring, command: attach, frame_ids: true, cameras: [gate, hall, yard, ids]}
  - {name: own, command: attach, cameras: [gate, hall, yard], offset: {gate: 40ms, hall: -1h}}
`

func loadConfig(t testing.TB, text string) (*config.Config, []config.Problem) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yaml")
	for path, content := range map[string]string{file: text, filepath.Join(dir, "film.mp4"): "a film"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return config.Load(file, config.Options{})
}

// What the config says of matching is what the correlator is given, and what a trace says.
func TestCorrelatorTakesTheConfig(t *testing.T) {
	c, problems := loadConfig(t, matchingConfig)
	if c == nil {
		t.Fatal(problems)
	}
	got := correlatorConfig(c)
	want := correlate.DefaultConfig()
	want.QuantumNS, want.TimeoutNS, want.MaxAgeNS, want.MaxPending, want.EmitEmpty = 30e6, 200e6, 1e9, 77, true
	both := []string{"ring", "own"}
	want.Cameras = map[string]correlate.CameraConfig{
		"u/gate": {Match: correlate.MatchWindow, WindowNS: 9e6, FrameIntervalNS: 40e6, OffsetNS: map[string]int64{"own": 40e6}, Expected: both},
		"u/hall": {Match: correlate.MatchWindow, WindowNS: 16e6, FrameIntervalNS: 33333333, OffsetNS: map[string]int64{"own": -3600e9}, Expected: []string{"own"}},
		"u/yard": {Match: correlate.MatchBucket, OffsetNS: map[string]int64{}, Expected: both},
		"u/ids":  {Match: correlate.MatchFrameID, OffsetNS: map[string]int64{}, Expected: []string{"ring"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the correlator's config (-want +got):\n%s", diff)
	}
	if err := got.Check(); err != nil {
		t.Error(err)
	}
	s := settingsOf(&got)
	if cam := s.Cameras["u/gate"]; cam.Match != "window" || cam.WindowNS != 9e6 || cam.FrameIntervalNS != 40e6 || cam.OffsetNS["own"] != 40e6 {
		t.Errorf("a trace says %+v", cam)
	}
}

// What `check` lets through the correlator takes, and what the proof forbids `check` refuses:
// both reckon with the same nanoseconds.
func TestCheckAndCorrelatorAgreeOnWindows(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yaml")
	if err := os.WriteFile(filepath.Join(dir, "film.mp4"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		fps := rapid.OneOf(rapid.Float64Range(0.001, 240), rapid.SampledFrom([]float64{15, 25, 29.97, 30, 60})).Draw(rt, "fps")
		half := int64(float64(time.Second) / fps / 2)
		window := time.Duration(max(half+rapid.Int64Range(-2, 2).Draw(rt, "from half"), 1000))
		text := "unit: u\nstate_dir: s\ncameras:\n  - {name: c, source: film.mp4, match: window, fps: " + strconv.FormatFloat(fps, 'f', -1, 64) + ", window: " + window.String() +
			"}\nmodels:\n  - {name: m, command: attach, cameras: [c]}\nsinks:\n  - jsonl: {path: \"-\"}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			rt.Fatal(err)
		}
		c, problems := config.Load(file, config.Options{})
		if window > time.Minute { // beyond what a window may be
			if c != nil {
				rt.Fatalf("window %s is let through", window)
			}
			return
		}
		direct := correlate.DefaultConfig()
		direct.Camera = correlate.CameraConfig{Match: correlate.MatchWindow, WindowNS: int64(window), FrameIntervalNS: int64(float64(time.Second) / fps)}
		if err := direct.Check(); (err == nil) != (c != nil) {
			rt.Fatalf("window %d ns at %v/s: the correlator says %v, check %v", window, fps, err, problems)
		}
		if c != nil {
			if cfg := correlatorConfig(c); cfg.Check() != nil {
				rt.Fatal(cfg.Check())
			}
		}
	})
}
