package main

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/skewgate/skewgate/appliance/status"
)

// ringVerb runs a ring verb against a box and returns its output.
func (b *box) ringVerb(args ...string) (string, error) {
	b.t.Helper()
	cmd := exec.Command(program(b.t), append(append([]string{"ring"}, args...), "--run-dir", b.path("run"))...)
	out, err := cmd.Output()
	return string(out), err
}

// The ring verbs on a live appliance: they see what is written, and nothing changes.
func TestRingVerbs(t *testing.T) {
	b := newBox(t, strings.Replace(realtimeLoop(), "sinks:\n", "sinks:\n  - shm: {slots: 256}\n", 1))
	b.start()
	b.until("both models fuse", 30*time.Second, func(d *status.Document) bool { return camera(d, "shapes").FusedMulti > 30 })

	out, err := b.ringVerb("list", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Schema int       `json:"schema"`
		Rings  []ringRow `json:"rings"`
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	d, err := b.status()
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]ringRow{}
	for _, r := range list.Rings {
		rows[r.Ring] = r
	}
	for _, name := range []string{"shapes_yolo/0", "proposals/0"} {
		r := rows[name]
		if r.Kind != "detection" || int(r.PID) != task(d, "detect/"+name).PID || r.RingEpoch != 1 || r.State != "ready" || r.Written < 30 || r.Fault != "" {
			t.Errorf("%s: got %+v", name, r)
		}
		if r.HeartbeatAgeMS == nil || *r.HeartbeatAgeMS > status.HeartbeatStaleMS || r.Lost == nil || *r.Lost != 0 || r.Fill == nil {
			t.Errorf("%s: heartbeat, lost or fill: got %+v", name, r)
		}
	}
	if r := rows["output"]; r.Kind != "output" || int(r.PID) != d.PID || r.Written < 30 {
		t.Errorf("output: got %+v", r)
	}
	if r := rows["frames/shapes"]; r.Kind != "frames" || r.StreamEpoch != 1 || r.Written < 30 {
		t.Errorf("frames/shapes: got %+v", r)
	}

	// The last messages of a detector, then of the output, in order and explained.
	out, err = b.ringVerb("show", "proposals/0", "--last", "5", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var detail ringDetail
	if err := json.Unmarshal([]byte(out), &detail); err != nil {
		t.Fatal(err)
	}
	if len(detail.Last) != 5 || len(detail.Streams) != 1 || detail.Streams[0].Camera != "shapes" {
		t.Fatalf("show: got %+v", detail)
	}
	for i, m := range detail.Last {
		if m.Kind != "boxes" || m.Tag != m.FrameID-1 || m.Camera != "shapes" || m.Fault != "" || i > 0 && m.Sequence != detail.Last[i-1].Sequence+1 {
			t.Errorf("message %d: got %+v", i, m)
		}
	}

	out, err = b.ringVerb("tail", "output", "--count", "20", "--json")
	if err != nil {
		t.Fatal(err)
	}
	fused := 0
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		var m ringMessage
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if m.Fault != "" {
			t.Errorf("message %d: %s", m.Sequence, m.Fault)
		}
		var f outFrame
		if m.Kind == "fused" {
			if err := json.Unmarshal(m.Frame, &f); err != nil || len(f.Models) != 2 {
				t.Errorf("fused frame: %v, %s", err, m.Frame)
			}
			fused++
		}
	}
	if fused < 15 {
		t.Errorf("fused frames among 20 messages of the output ring: got %d", fused)
	}

	// People see the same.
	for verb, want := range map[string]string{"list": "proposals/0", "show output": "output #"} {
		if out, err := b.ringVerb(strings.Fields(verb)...); err != nil || !strings.Contains(out, want) {
			t.Errorf("ring %s: err %v, want %q in\n%s", verb, err, want, out)
		}
	}
	if _, err := b.ringVerb("show", "nobody/7"); exitCode(err) != exitFailed {
		t.Errorf("a ring that is not there: want exit %d, got %v", exitFailed, err)
	}
	if _, err := b.ringVerb("show", "output", "--last", "-1"); exitCode(err) != exitUsage {
		t.Errorf("--last -1: want exit %d, got %v", exitUsage, err)
	}
	after, err := b.status()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range after.Models {
		if m.Lost != 0 || m.Quarantine != "" {
			t.Errorf("looking changed %s: %+v", m.Name, m)
		}
	}
	b.stop()
	if strings.Contains(b.stderr.String(), "level=ERROR") {
		t.Errorf("errors in the log:\n%s", b.stderr.String())
	}
	if _, err := b.ringVerb("list"); exitCode(err) != exitFailed {
		t.Errorf("without an appliance: want exit %d, got %v", exitFailed, err)
	}
}
