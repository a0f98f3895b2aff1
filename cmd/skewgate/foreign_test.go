package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/status"
	"github.com/skewgate/skewgate/shm/client"
)

// withForeign is a camera, a detector of the appliance's own and one that attaches.
const withForeign = `
unit: test
state_dir: $DIR/state
runtime: {library: $LIB}
correlation: {emit_empty: true}
cameras:
  - {name: shapes, source: $DIR/film.mp4, pace: realtime, loop: true, tag: barcode, max_picture: 640x360, fps: 30}
models:
  - {name: proposals, manifest: $MODELS/proposals.yaml, cameras: [shapes]}
  - {name: mine, command: attach, cameras: [shapes], frame_ids: true, allow: {uid: 12345}, classes: {"3": thing}}
sinks:
  - jsonl: {path: $DIR/out.jsonl, max_size: 100MB, keep: 1}
  - shm: {allow: {uid: 12347}}
`

// onlyForeign needs neither ONNX Runtime nor skewgate-detect.
const onlyForeign = `
unit: test
state_dir: $DIR/state
correlation: {emit_empty: true}
path: {wait: WAIT}
cameras:
  - {name: shapes, source: $DIR/film.mp4, pace: realtime, loop: true, tag: barcode, max_picture: 640x360}
models:
  - {name: mine, command: attach, cameras: [shapes], frame_ids: true}
sinks:
  - jsonl: {path: $DIR/out.jsonl, max_size: 100MB, keep: 1}
`

// otherUser is a user that is nobody else's here; 0, the test's own, without the right to
// become one.
func otherUser(uid int) int {
	if os.Geteuid() != 0 {
		return 0
	}
	return uid
}

// A foreign detector's whole life beside one of the appliance's own: absent, attached
// under its own user, refused twins, fused, killed, succeeded, gone wild, attached again.
// Nobody else notices any of it.
func TestForeignDetector(t *testing.T) {
	b := newBox(t, withForeign)
	b.reachable()
	b.start()
	d := b.until("frames come without it", 60*time.Second, func(d *status.Document) bool { return camera(d, "shapes").Fused > 10 })
	if m := model(d, "mine"); m.State != "absent" || !hasFinding(d, status.CodeModelAbsent, "mine/0") {
		t.Errorf("before it attaches: %+v, findings %+v", m, d.Health)
	}

	reader := startForeign(t, b, "reader", otherUser(12347))
	reader.until(1, "attached [shapes]")
	detector := startForeign(t, b, "detector", otherUser(12345))
	detector.until(1, "attached 1")
	d = b.until("it fuses", 30*time.Second, func(d *status.Document) bool { return camera(d, "shapes").FusedMulti > 20 })
	m := model(d, "mine")
	if m.State != "attached" || m.Peer == nil || m.Peer.PID != detector.cmd.Process.Pid || m.Peer.UID != otherUser(12345) ||
		m.Peer.Client != "test/1" || m.Peer.State != "ready" || m.RingEpoch != 1 || m.Refused != 0 {
		t.Errorf("status: %+v, peer %+v", m, m.Peer)
	}

	o := client.Options{Socket: b.path("run/attach.sock"), Client: "twin/1"}
	for name, want := range map[string]string{"mine": "writer_present", "proposals": "unknown_model", "nosuch": "unknown_model"} {
		_, err := client.AttachWriter(o, name, 0)
		var no *client.RefusedError
		if !errors.As(err, &no) || no.Code != want {
			t.Errorf("attach as %s: want %s, got %v", name, want, err)
		}
	}
	if uid := otherUser(12346); uid != 0 {
		l := startForeign(t, b, "detector", uid).until(1, "error:")
		if !strings.Contains(l, "not_allowed") || !strings.Contains(l, "uid 12346") {
			t.Errorf("another user: %s", l)
		}
	}

	if err := detector.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	before := b.until("its end is seen", 10*time.Second, func(d *status.Document) bool { return model(d, "mine").State == "absent" })
	if took := time.Since(killed); took > 3*time.Second {
		t.Errorf("its end was seen after %v", took)
	}
	b.until("frames go on", 10*time.Second, func(d *status.Document) bool {
		return camera(d, "shapes").Fused > camera(before, "shapes").Fused+15
	})

	successor := startForeign(t, b, "detector", otherUser(12345))
	successor.until(1, "attached 2")
	before = b.until("its successor fuses", 20*time.Second, func(d *status.Document) bool {
		return model(d, "mine").RingEpoch == 2 && model(d, "mine").Messages > model(before, "mine").Messages+10
	})

	if err := successor.cmd.Process.Signal(unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	l := successor.until(1, "detached")
	if !strings.Contains(l, "head_out_of_range") {
		t.Errorf("the wild one is told %q", l)
	}
	successor.until(1, "attached 1")
	d = b.until("it fuses again, in other memory", 20*time.Second, func(d *status.Document) bool {
		m := model(d, "mine")
		return m.State == "attached" && m.RingEpoch == 1 && m.Messages > model(before, "mine").Messages+10
	})
	m = model(d, "mine")
	if m.Written != m.Read+m.Lost || m.Written < m.Messages {
		t.Errorf("written %d, read %d, lost %d, messages %d", m.Written, m.Read, m.Lost, m.Messages)
	}
	if n := task(d, "detect/proposals/0").Restarts + task(d, "capture/shapes").Restarts; n != 0 || d.PID != b.cmd.Process.Pid {
		t.Errorf("others restarted %d times", n)
	}
	if d.Correlation.IdentityFault != "" {
		t.Error(d.Correlation.IdentityFault)
	}
	b.stop()
	successor.until(1, "draining")
	compareLines(t, b, reader)

	dead, thing := 0, 0
	for _, f := range readFrames(t, b.path("out.jsonl")) {
		if f.Missing["mine"] == "dead" && f.Reason == "quorum" {
			dead++
		}
		for _, box := range f.Boxes {
			if box.Label == "thing" && len(f.Models) == 2 {
				thing++
			}
		}
	}
	if dead < 20 || thing < 20 {
		t.Errorf("%d frames say that it was dead and did not wait, %d have its box; want 20 or more each", dead, thing)
	}
}

func hasFinding(d *status.Document, code, subject string) bool {
	for _, f := range d.Health {
		if f.Code == code && f.Subject == subject {
			return true
		}
	}
	return false
}

// compareLines holds what a process read from the output ring against the JSON lines.
func compareLines(t *testing.T, b *box, reader *foreignProcess) {
	t.Helper()
	end := reader.until(1, "end:")
	var read, lost, skipped uint64
	if _, err := fmt.Sscanf(end, "end: read %d lost %d skipped %d", &read, &lost, &skipped); err != nil || lost != 0 || skipped != 0 {
		t.Errorf("the reader ends with %q, %v", end, err)
	}
	text, err := os.ReadFile(b.path("out.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	var got []string
	for _, l := range reader.said() {
		if strings.HasPrefix(l, "{") {
			got = append(got, l)
		}
	}
	if len(got) < 50 || len(got) > len(lines) {
		t.Fatalf("%d frames from the ring, %d JSON lines", len(got), len(lines))
	}
	want := lines[len(lines)-len(got):] // it came later, and stayed to the end
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("frame %d of the output ring:\n got %s\nwant %s", i, got[i], want[i])
		}
	}
}

// The appliance dies and a new one comes: the detector stops at once, writes nothing into
// the memory that nobody reads, and is back by itself.
func TestForeignDetectorFindsTheNextAppliance(t *testing.T) {
	b := newBox(t, strings.Replace(onlyForeign, "WAIT", "adaptive", 1))
	b.start()
	b.until("it runs", 30*time.Second, func(d *status.Document) bool { return camera(d, "shapes").Frames > 0 })
	detector := startForeign(t, b, "detector", 0)
	detector.until(1, "attached 1")
	b.until("it fuses", 20*time.Second, func(d *status.Document) bool { return model(d, "mine").Messages > 10 })
	orphan := observe(t, b.path("run/attach.sock"), "ring/mine/0")
	if err := b.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	detector.until(1, "detached")
	head := orphan.Info().Head
	<-b.done
	b.start()
	detector.until(2, "attached 1")
	b.until("it fuses with the next", 20*time.Second, func(d *status.Document) bool { return model(d, "mine").Messages > 10 })
	if got := orphan.Info().Head; got != head || head == 0 {
		t.Errorf("the orphan's head was %d when the detector was told, and is %d", head, got)
	}
	b.stop()
	detector.until(1, "draining")
}

// Another user holds what it was given and cannot make more of it: not through its own
// descriptors, not through the appliance's.
func TestForeignUserCannotReopen(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skip[root]: becoming another user needs root")
	}
	b := newBox(t, strings.Replace(strings.Replace(onlyForeign, "WAIT", "interval", 1), "frame_ids: true", "frame_ids: true, allow: {uid: 12345}", 1))
	b.reachable()
	b.start()
	b.until("it runs", 30*time.Second, func(*status.Document) bool { return true })
	p := startForeign(t, b, "prober", 12345, fmt.Sprintf("FOREIGN_VICTIM=%d", b.cmd.Process.Pid))
	p.until(1, "probed")
	tried := map[string]bool{}
	for _, l := range p.said() {
		what, err, ok := strings.Cut(l, ": ")
		if !ok {
			continue
		}
		tried[what] = true
		if !strings.Contains(err, "permission denied") && !strings.Contains(err, "no such file") && !strings.Contains(err, "invalid argument") && !strings.Contains(err, "operation not permitted") {
			t.Errorf("another user's try worked or failed oddly: %s", l)
		}
	}
	for _, want := range []string{
		"reopen skewgate:ring:mine read-write", "reopen skewgate:doorbell read-write", "reopen skewgate:frames:shapes read-write",
		"map skewgate:frames:shapes read-write", "truncate skewgate:frames:shapes ", "the appliance's descriptors read-write",
	} {
		if !tried[want] {
			t.Errorf("not tried: %s; but %v", want, tried)
		}
	}
	b.stop()
}

// path.wait: each way of waiting fuses every message in time; only spin takes a core.
func TestEveryWayOfWaiting(t *testing.T) {
	for _, wait := range []string{"adaptive", "interval", "spin"} {
		t.Run(wait, func(t *testing.T) {
			b := newBox(t, strings.Replace(onlyForeign, "WAIT", wait, 1))
			b.start()
			b.until("it runs", 30*time.Second, func(*status.Document) bool { return true })
			startForeign(t, b, "detector", 0).until(1, "attached 1")
			d := b.until("it fuses", 30*time.Second, func(d *status.Document) bool { return model(d, "mine").Messages > 30 })
			if d.Correlation.Counters["flushed_quorum"] < 30 || model(d, "mine").Lost != 0 {
				t.Errorf("counters %v, model %+v", d.Correlation.Counters, model(d, "mine"))
			}
			cpu, begun := cpuTime(t, b.cmd.Process.Pid), time.Now()
			time.Sleep(500 * time.Millisecond)
			share := float64(cpuTime(t, b.cmd.Process.Pid)-cpu) / float64(time.Since(begun))
			t.Logf("%s: %.1f %% of a core, publish to fused p50 %.3g ms", wait, 100*share, d.Correlation.PathMS.P50)
			if wait != "spin" && share > 0.3 {
				t.Errorf("%s takes %.0f %% of a core", wait, 100*share)
			}
			b.stop()
		})
	}
}
