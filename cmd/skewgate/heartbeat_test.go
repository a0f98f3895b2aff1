package main

import (
	"strings"
	"testing"
	"time"

	"github.com/skewgate/skewgate/appliance/status"
	"github.com/skewgate/skewgate/shm/client"
)

// A detector that stamps its heartbeats with times to come has no age, and is named.
func TestHeartbeatFromTheFuture(t *testing.T) {
	b := newBox(t, strings.Replace(onlyForeign, "WAIT", "adaptive", 1))
	b.start()
	b.until("it runs", 30*time.Second, func(d *status.Document) bool { return camera(d, "shapes").Frames > 0 })
	w, err := client.AttachWriter(client.Options{Socket: b.path("run/attach.sock"), Client: "prophet/1"}, "mine", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if r := b.ringRow("mine/0"); r.HeartbeatAgeMS != nil || r.HeartbeatNote != "" {
		t.Errorf("before its first heartbeat: %+v", r)
	}
	for name, tc := range map[string]struct {
		at   int64
		note string
	}{
		"an hour ahead": {monotonic() + int64(time.Hour), status.HeartbeatFuture},
		"below zero":    {-5, status.HeartbeatNegative},
	} {
		if err := w.Poll(tc.at); err != nil {
			t.Fatal(err)
		}
		if r := b.ringRow("mine/0"); r.HeartbeatAgeMS != nil || r.HeartbeatNote != tc.note {
			t.Errorf("%s: ring list: %+v", name, r)
		}
		text, err := b.ringVerb("list")
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range strings.Split(text, "\n") {
			if strings.HasPrefix(l, "mine/0") && !strings.Contains(l, " "+tc.note+" ") || strings.Contains(l, "-1h") {
				t.Errorf("%s: %s", name, l)
			}
		}
		d := b.until("the status has it", 5*time.Second, func(d *status.Document) bool { return model(d, "mine").HeartbeatNote == tc.note })
		if m := model(d, "mine"); m.HeartbeatAgeMS != nil || !hasFinding(d, status.CodeModelDown, "mine/0") {
			t.Errorf("%s: status: %+v, findings %+v", name, m, d.Health)
		}
	}
	if err := w.Poll(monotonic()); err != nil {
		t.Fatal(err)
	}
	if r := b.ringRow("mine/0"); r.HeartbeatAgeMS == nil || *r.HeartbeatAgeMS < 0 || r.HeartbeatNote != "" {
		t.Errorf("an honest one: %+v", r)
	}
	b.stop()
}
