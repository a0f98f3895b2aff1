package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skewgate/skewgate/appliance/status"
)

// python is the system's, with what lies in the checkout and a C library built for it.
func python(t *testing.T, b *box) (path string, env func(library string) []string) {
	t.Helper()
	binding, err := filepath.Abs("../../shm/python")
	if err != nil {
		t.Fatal(err)
	}
	if path, err = exec.LookPath("/usr/bin/python3"); err != nil {
		t.Fatalf("the Python detector's test needs Python: %v", err)
	}
	// A copy, which another user can read wherever the checkout lies.
	if out, err := exec.Command("cp", "-r", binding, b.path("python")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	openTree(t, b.path("python"))
	return path, func(library string) []string {
		return []string{"PYTHONPATH=" + b.path("python"), "SKEWGATE_SHM_LIB=" + library, "PYTHONDONTWRITEBYTECODE=1"}
	}
}

// The Python example as its user starts it.
func TestForeignDetectorInPython(t *testing.T) {
	b := newBox(t, brought())
	b.reachable()
	s := examplePython(t, b)
	buildOldC(t, b.path("old"))
	s.old = func(model string) []string {
		return append([]string{"env", "SKEWGATE_SHM_LIB=" + b.path("old/libskewgate_shm.so")}, s.argv(model)...)
	}
	s.live(t, b)
}

func examplePython(t *testing.T, b *box) *script {
	t.Helper()
	buildC(t, "../../shm/c", b.path("c"))
	path, env := python(t, b)
	return &script{
		argv: func(model string) []string {
			return []string{path, b.path("python/examples/detector.py"), model, "shapes"}
		},
		env: env(b.path("c/libskewgate_shm.so")),
	}
}

// jsonInPython answers every second picture with JSON and the others with no boxes at all,
// and says at the end what the output ring made of them, read through the same binding.
const jsonInPython = `
import sys, time
from skewgate_shm import Reader, State, Writer

with Writer.attach("mine") as writer, Reader.attach() as reader:
    writer.state = State.READY
    told = {}
    for frame in writer.frames("shapes"):
        if len(told) == 100:
            break
        found = len(told) % 2
        if found:
            writer.publish_json(frame, {"detections": [{"box": [0.9, 0.9, 0.99, 0.99], "score": 0.75, "label": "thing"}]})
        else:
            writer.publish(frame, [])
        told[frame.capture_ns] = found
    seen, end = {}, time.monotonic() + 20
    while not told.keys() <= seen.keys() and time.monotonic() < end:
        if (fused := reader.next()) is not None:
            seen[fused.capture_ns] = any(box.label == "thing" for box in fused.boxes)
    for capture_ns, found in told.items():
        print("told", capture_ns, found, seen.get(capture_ns), flush=True)
    print("done", reader.lost, flush=True)
`

// A Python detector that publishes JSON and empty answers, and reads the output ring too.
func TestForeignJSONFromPython(t *testing.T) {
	// A busy machine may answer late, which is not what this is about.
	b := newBox(t, strings.Replace(withForeign, "{emit_empty: true}", "{emit_empty: true, timeout: 3s, max_age: 6s}", 1))
	buildC(t, "../../shm/c", b.path("c"))
	path, env := python(t, b)
	b.start()
	b.until("frames come without it", 60*time.Second, func(d *status.Document) bool { return camera(d, "shapes").Fused > 10 })
	s := &script{env: env(b.path("c/libskewgate_shm.so"))}
	p := s.start(t, b, []string{path, "-W", "error", "-c", jsonInPython}, 0)
	code, said := p.ends(60 * time.Second)
	if code != 0 || !strings.HasSuffix(said, "done 0") {
		t.Fatalf("exit %d: %s", code, said)
	}
	d, err := b.status()
	if err != nil {
		t.Fatal(err)
	}
	if m := model(d, "mine"); m.Refused != 0 || m.Written != m.Read+m.Lost {
		t.Errorf("its account: %+v", m)
	}
	b.stop()

	found := make(map[int64]bool)
	for i, l := range p.said() {
		var captureNS int64
		var was int
		var ring string
		if n, _ := fmt.Sscanf(l, "told %d %d %s", &captureNS, &was, &ring); n != 3 || i == 0 {
			continue // the first only introduces it: nobody had waited for its answer
		}
		found[captureNS] = was == 1
		if want := map[bool]string{true: "True", false: "False"}[was == 1]; ring != want {
			t.Errorf("frame at %d: its box is in the output ring: %s, want %s", captureNS, ring, want)
		}
	}
	compareTimes(t, b, found)
}
