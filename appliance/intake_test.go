package appliance

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/shm"
)

const intakeConfig = `
unit: box
state_dir: state
cameras: [{name: gate, source: none.mp4, max_picture: 64x64}]
models:
  - {name: a, command: attach, frame_ids: true, cameras: [gate]}
  - {name: b, command: attach, frame_ids: true, cameras: [gate]}
`

func newIntake(t *testing.T, text string) (*Intake, error) {
	t.Helper()
	dir := t.TempDir()
	models, err := filepath.Abs("../testdata/models")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"skewgate.yaml": text, "m.yaml": "model: " + models + "/shapes_yolo.onnx\nlayout: yolov8\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, problems := config.Load(filepath.Join(dir, "skewgate.yaml"), config.Options{})
	if cfg == nil {
		t.Fatal(problems)
	}
	return NewIntake(cfg, Options{Log: slog.New(slog.DiscardHandler), RunDir: filepath.Join(dir, "run"), Self: "/bin/true", Detect: "/bin/true"}, false)
}

// What the bench measures is what the path does: read, join, close; malformed is refused.
func TestIntakeIsThePath(t *testing.T) {
	in, err := newIntake(t, intakeConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	now := in.a.started + 1e9
	for m, body := range []string{`{"boxes":[0,0,1,1,0.5,"x"]}`, `{"boxes":[]}`} {
		w, err := shm.NewWriter(in.Ring(m), 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		stream, err := w.RegisterStream("box", "gate", 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range []string{body, `{"boxes":[1]}`} {
			h := shm.SlotHeader{Kind: shm.KindJSON, Stream: stream, StreamEpoch: 1, FrameID: 7, CaptureNS: 1, PublishNS: int64(now)}
			if err := w.Publish(&h, []byte(body)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := in.Turn(now); n != 4 {
		t.Errorf("read %d messages, want 4", n)
	}
	if c := in.Counters(); c.Accepted != 2 || c.Refused != 2 || c.FlushedQuorum != 1 || in.Closed() != 1 {
		t.Errorf("want 2 accepted, 2 refused, 1 closed, got %+v, %d", c, in.Closed())
	}
	if got := in.a.path.replicas[0].lastFrame.Load(); got != 7 {
		t.Errorf("last frame %d, want 7", got)
	}
}

func TestIntakeWantsModelsThatAttach(t *testing.T) {
	_, err := newIntake(t, strings.Replace(intakeConfig, "command: attach, frame_ids: true", "manifest: m.yaml", 1))
	if err == nil || !strings.Contains(err.Error(), "command: attach") {
		t.Errorf("want an error that says what to do, got %v", err)
	}
}
