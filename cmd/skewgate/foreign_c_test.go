package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/status"
	"github.com/skewgate/skewgate/shm"
	"github.com/skewgate/skewgate/shm/client"
)

// buildC makes the C library and its examples as its README says, into dir.
func buildC(t *testing.T, source, dir string) {
	t.Helper()
	if out, err := exec.Command("make", "-s", "-C", source, "OUT="+dir).CombinedOutput(); err != nil {
		t.Fatalf("build the C library: %v\n%s", err, out)
	}
	openTree(t, dir)
}

// buildOldC makes the same library as another release of it would be: of ABI version 2.
func buildOldC(t *testing.T, dir string) {
	t.Helper()
	source := filepath.Join(dir, "source")
	if err := os.CopyFS(source, os.DirFS("../../shm/c")); err != nil {
		t.Fatal(err)
	}
	header := filepath.Join(source, "skewgate_shm.h")
	text, err := os.ReadFile(header)
	if err != nil {
		t.Fatal(err)
	}
	old, other := []byte("#define SG_ABI_VERSION 1\n"), []byte("#define SG_ABI_VERSION 2\n")
	if bytes.Count(text, old) != 1 {
		t.Fatalf("%s has no %q", header, old)
	}
	if err := os.WriteFile(header, bytes.Replace(text, old, other, 1), 0o644); err != nil {
		t.Fatal(err)
	}
	buildC(t, source, dir)
}

// The C library's example, as its README has a user build and start it.
func TestForeignDetectorInC(t *testing.T) {
	b := newBox(t, brought())
	b.reachable()
	s := exampleC(t, b)
	buildOldC(t, b.path("old"))
	s.old = func(model string) []string { return []string{b.path("old/example_detector"), model} }
	s.live(t, b)
}

func exampleC(t *testing.T, b *box) *script {
	t.Helper()
	buildC(t, "../../shm/c", b.path("c"))
	return &script{argv: func(model string) []string { return []string{b.path("c/example_detector"), model} }}
}

// A C detector with a source of its own: JSON by capture time, no frame ring. Every second
// answer is empty, and counts as an answer.
func TestForeignJSONFromC(t *testing.T) {
	b := newBox(t, byTime)
	buildC(t, "../../shm/c", b.path("c"))
	b.start()
	b.until("frames come without it", 60*time.Second, func(d *status.Document) bool { return camera(d, "shapes").Fused > 10 })

	cmd, in, said := startC(t, b)
	found := make(map[int64]bool) // by capture time: did it find something?
	n := -1                       // the first only introduces it: nobody had waited for its answer
	pictureTimes(t, b, 101, func(captureNS int64) {
		line := fmt.Sprintln(captureNS)
		if n++; n%2 == 0 {
			line = fmt.Sprintf("%d 0.9 0.9 0.99 0.99 0.75 thing\n", captureNS)
		}
		if n > 0 {
			found[captureNS] = n%2 == 0
		}
		if _, err := in.Write([]byte(line)); err != nil {
			t.Fatalf("%v: %s", err, said.String())
		}
	})
	b.until("all are read", 10*time.Second, func(d *status.Document) bool {
		return model(d, "mine").Messages >= 100 && model(d, "mine").Peer.State == "ready"
	})
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || said.Len() != 0 {
		t.Errorf("at the end of its input: %v, %s", err, said.String())
	}
	b.until("its end is seen", 5*time.Second, func(d *status.Document) bool {
		return model(d, "mine").State == "absent" && model(d, "mine").Refused == 0
	})
	b.stop()
	compareTimes(t, b, found)
}

// byTime is a camera that is matched by capture time, for a detector without frame ids.
const byTime = `
unit: test
state_dir: $DIR/state
runtime: {library: $LIB}
correlation: {emit_empty: true, timeout: 2s, max_age: 4s}
cameras:
  - {name: shapes, source: $DIR/film.mp4, pace: realtime, loop: true, tag: barcode, max_picture: 640x360, fps: 15}
models:
  - {name: proposals, manifest: $MODELS/proposals.yaml, cameras: [shapes]}
  - {name: mine, command: attach, cameras: [shapes]}
sinks:
  - jsonl: {path: $DIR/out.jsonl, max_size: 100MB, keep: 1}
`

// pictureTimes gives the capture times of the next n pictures of camera shapes, each as
// soon as it is there.
func pictureTimes(t *testing.T, b *box, n int, each func(captureNS int64)) {
	t.Helper()
	o, err := client.AttachObserver(client.Options{Socket: b.path("run/attach.sock"), Client: "test/1"})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	var r *shm.FrameReader
	for i := range o.Frames() {
		if f := &o.Frames()[i]; f.Camera == "shapes" {
			if r, err = f.Reader(); err != nil {
				t.Fatal(err)
			}
		}
	}
	end := clock.Now().Add(60 * time.Second)
	for seq := r.Head(); n > 0; time.Sleep(time.Millisecond) {
		if clock.Now() > end {
			t.Fatalf("%d pictures have not come", n)
		}
		for n > 0 && seq < r.Head() {
			seq++
			if m, ok := r.Meta(seq); ok { // else it was overwritten before this test got a core
				each(m.CaptureNS)
				n--
			}
		}
	}
}

// compareTimes wants a frame with this model's answer for each picture told of, with the box
// that was found in it or without, and most of them made by both models.
func compareTimes(t *testing.T, b *box, found map[int64]bool) {
	t.Helper()
	with, without, both := 0, 0, 0
	for _, f := range readFrames(t, b.path("out.jsonl")) {
		want, ours := found[f.CaptureNS]
		if !ours {
			continue
		}
		// On a busy machine the other detector passes pictures over; this one's answer is in.
		if !slices.Contains(f.Models, "mine") || (len(f.Models) == 2) != (f.Reason == "quorum") {
			t.Errorf("frame at %d: models %v, missing %v, reason %s", f.CaptureNS, f.Models, f.Missing, f.Reason)
		}
		if len(f.Models) == 2 {
			both++
		}
		has := false
		for _, box := range f.Boxes {
			has = has || box.Label == "thing"
		}
		switch {
		case has != want:
			t.Errorf("frame at %d: its box is there: %v, want %v", f.CaptureNS, has, want)
		case has:
			with++
		default:
			without++
		}
	}
	if with+without != len(found) || with < 40 || without < 40 || both < len(found)/2 {
		t.Errorf("%d frames with its box and %d without, %d made by both, of %d pictures", with, without, both, len(found))
	}
}

// startC starts the C detector that reads what to say from its input, and waits until it is
// attached. What it prints lands in said.
func startC(t *testing.T, b *box) (cmd *exec.Cmd, in io.WriteCloser, said *bytes.Buffer) {
	t.Helper()
	said = new(bytes.Buffer)
	cmd = exec.Command(b.path("c/example_json"), "mine", "shapes")
	cmd.Env = append(os.Environ(), "SKEWGATE_ATTACH="+b.path("run/attach.sock"))
	cmd.Stdout, cmd.Stderr = said, said
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	b.until("it is attached", 10*time.Second, func(d *status.Document) bool { return model(d, "mine").State == "attached" })
	return cmd, in, said
}
