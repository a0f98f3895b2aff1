package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skewgate/skewgate/appliance/config"
)

func inspectFile(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(program, append([]string{"inspect"}, args...)...)
	cmd.Env = append(os.Environ(), "SKEWGATE_ONNXRUNTIME="+needLibrary(t))
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	if ee, ok := errors.AsType[*exec.ExitError](err); ok {
		return out.String(), errOut.String(), ee.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), errOut.String(), 0
}

func TestInspect(t *testing.T) {
	manifest := func(text string) string {
		path := filepath.Join(t.TempDir(), "m.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	encoder, err := filepath.Abs(models + "encoder.onnx")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, path string
		code       int
		out, err   []string
	}{
		{"Model", models + "shapes_yolo.onnx", 0, []string{`"images" float32 (1,3,320,320)`, `"circle" "square"`, "runs: 3 warm-up runs", "layout: yolov8"}, nil},
		{"Manifest", models + "people.yaml", 0, []string{"fits: threshold 0.4", `"person"`}, nil},
		{"NoDetector", models + "encoder.onnx", exitFindings, []string{`"embedding" float32 (?,32)`, "does not run here"}, []string{`task is "embed"`}},
		{"ManifestOfNoDetector", manifest("model: " + encoder + "\nlayout: yolov8\n"), exitFindings, []string{"does not run here"}, []string{`task is "embed"`}},
		{"NoModel", models + "README.md", exitFailed, nil, []string{"no whole ONNX model"}},
		{"Missing", "gone.onnx", exitFailed, nil, []string{"no such file"}},
		{"BadManifest", manifest("model: x.onnx\nlayuot: yolov8\n"), exitConfig, nil, []string{"m.yaml:2:1", "layuot"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, stderr, code := inspectFile(t, tt.path)
			if code != tt.code {
				t.Errorf("want exit %d, got %d: %s", tt.code, code, stderr)
			}
			for _, want := range tt.out {
				if !strings.Contains(out, want) {
					t.Errorf("want %q in:\n%s", want, out)
				}
			}
			for _, want := range tt.err {
				if !strings.Contains(stderr, want) {
					t.Errorf("want %q in: %s", want, stderr)
				}
			}
		})
	}
}

func TestInspectWithoutLibrary(t *testing.T) {
	_, stderr, code := inspectFile(t, "--library", "/nonexistent/lib.so", models+"proposals.onnx")
	if code != exitFailed || !strings.Contains(stderr, "/nonexistent/lib.so") || !strings.Contains(stderr, "scripts/fetch-onnxruntime.sh") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// The manifest that inspect prints is one that config reads.
func TestInspectProposesAManifestThatLoads(t *testing.T) {
	out, stderr, code := inspectFile(t, models+"proposals.onnx")
	_, proposal, ok := strings.Cut(out, "\n\n")
	if code != 0 || !ok {
		t.Fatalf("exit %d: %s%s", code, out, stderr)
	}
	dir := t.TempDir()
	network, err := os.ReadFile(models + "proposals.onnx")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"proposals.onnx": network, "proposals.yaml": []byte(proposal)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, problems := config.LoadManifest(filepath.Join(dir, "proposals.yaml"), config.Options{}); len(problems) > 0 {
		t.Errorf("%v in\n%s", problems, proposal)
	}
}

func TestInspectJSON(t *testing.T) {
	out, stderr, code := inspectFile(t, "--json", models+"people.yaml")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var in inspected
	if err := json.Unmarshal([]byte(out), &in); err != nil {
		t.Fatal(err)
	}
	if in.Schema != 1 || !in.FromManifest || in.Proposal == nil || in.Proposal.Threshold != .4 || in.RunMS <= 0 || in.Inputs[0].Dims[2] != 384 {
		t.Errorf("got %+v", in)
	}
}
