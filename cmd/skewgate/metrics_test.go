package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	prom "github.com/prometheus/common/model"
	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/status"
	"github.com/skewgate/skewgate/appliance/web"
)

// scrape is one page of metrics: the values of our samples by name and labels.
type scrape struct{ counters, gauges map[string]float64 }

func readScrape(t *testing.T, r io.Reader) scrape {
	t.Helper()
	parser := expfmt.NewTextParser(prom.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		t.Fatal(err)
	}
	s := scrape{map[string]float64{}, map[string]float64{}}
	for name, f := range families {
		if !strings.HasPrefix(name, "skewgate_") {
			continue
		}
		for _, m := range f.Metric {
			sample := name
			for _, l := range m.Label {
				sample += fmt.Sprintf(" %s=%q", l.GetName(), l.GetValue())
			}
			if m.Counter != nil {
				s.counters[sample] = m.Counter.GetValue()
			} else {
				s.gauges[sample] = m.Gauge.GetValue()
			}
		}
	}
	return s
}

// scrape asks the running appliance.
func (b *box) scrape() scrape {
	b.t.Helper()
	r, err := askAppliance(context.Background(), b.path("run"), "/metrics", 10*time.Second)
	if err != nil {
		b.t.Fatal(err)
	}
	defer r.Body.Close()
	return readScrape(b.t, r.Body)
}

// document is a source that has nothing but a status document.
type document struct{ doc *status.Document }

func (d document) Status() *status.Document { return d.doc }
func (d document) Alive() error             { return nil }
func (d document) Explain(context.Context, web.Question) (any, error) {
	return nil, errors.New("not asked for here")
}

// scrapeOf is the page that a status document makes.
func scrapeOf(t *testing.T, d *status.Document) scrape {
	t.Helper()
	w := httptest.NewRecorder()
	web.Handler(document{d}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return readScrape(t, w.Body)
}

// sum adds all samples of a counter that have these labels, given as name="value".
func (s scrape) sum(name string, labels ...string) (total float64) {
next:
	for sample, value := range s.counters {
		words := strings.Split(sample, " ")
		if words[0] != name {
			continue
		}
		for _, l := range labels {
			if !slices.Contains(words, l) {
				continue next
			}
		}
		total += value
	}
	return total
}

// identities are those of CORRELATION.md §4, within one scrape.
func (s scrape) identities(t *testing.T) {
	t.Helper()
	for _, id := range []struct {
		name        string
		left, right float64
	}{
		{"received = sum of verdicts", s.sum("skewgate_messages_received_total"), s.sum("skewgate_messages_total")},
		{"opened = closed + open", s.sum("skewgate_groups_opened_total"), s.sum("skewgate_groups_closed_total") + s.gauges["skewgate_groups_open"]},
		{"published + suppressed = closed but stale", s.sum("skewgate_fused_frames_total") + s.sum("skewgate_groups_suppressed_empty_total"),
			s.sum("skewgate_groups_closed_total") - s.sum("skewgate_groups_stale_total")},
		{"stale = sum of its reasons", s.sum("skewgate_groups_closed_total", `reason="stale"`), s.sum("skewgate_groups_stale_total")},
		{"published = sum over cameras", s.sum("skewgate_fused_frames_total"), s.sum("skewgate_camera_fused_frames_total")},
		{"accepted = sum over detectors", s.sum("skewgate_messages_total", `verdict="accepted"`), s.sum("skewgate_detector_messages_joined_total")},
	} {
		if id.left != id.right {
			t.Errorf("%s does not hold: %v ≠ %v", id.name, id.left, id.right)
		}
	}
	for sample, queued := range s.gauges {
		if label, ok := strings.CutPrefix(sample, "skewgate_sink_frames_queued "); ok {
			held := s.sum("skewgate_sink_frames_written_total", label) + s.sum("skewgate_sink_frames_lost_total", label) + queued
			if offered := s.sum("skewgate_sink_frames_offered_total", label); offered != held {
				t.Errorf("offered = written + lost + queued of %s does not hold: %v ≠ %v", label, offered, held)
			}
		}
	}
	if s.gauges["skewgate_identity_broken"] != 0 {
		t.Error("skewgate_identity_broken is not 0")
	}
}

// rings holds what both models' rings had written against what was read of them.
func (s scrape) rings(t *testing.T, atRest bool) {
	t.Helper()
	for _, model := range []string{`model="shapes_yolo"`, `model="proposals"`} {
		written := s.sum("skewgate_ring_written_total", model)
		got := s.sum("skewgate_ring_read_total", model) + s.sum("skewgate_ring_lost_total", model)
		if got > written || atRest && got != written || written == 0 {
			t.Errorf("ring of %s: written %v, read and lost %v (at rest: %t)", model, written, got, atRest)
		}
	}
}

// A running appliance is scraped while it works and while a detector is killed and comes back.
// No counter goes down, each lies between those of the status document before and after, sums hold
// within every scrape; and once the film is over page and document say the same.
func TestMetricsOfARun(t *testing.T) {
	b := newBox(t, paced("realtime", false))
	b.start()
	before := b.until("both models fuse", 60*time.Second, func(d *status.Document) bool { return camera(d, "shapes").FusedMulti > 10 })
	last := b.scrape()
	for i := range 6 {
		if i == 2 {
			if err := unix.Kill(task(before, "detect/shapes_yolo/0").PID, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		begun, err := b.status()
		if err != nil {
			t.Fatal(err)
		}
		s := b.scrape()
		ended, err := b.status()
		if err != nil {
			t.Fatal(err)
		}
		low, high := scrapeOf(t, begun), scrapeOf(t, ended)
		for sample, value := range s.counters {
			if value < low.counters[sample] || value > high.counters[sample] {
				t.Errorf("%s: %v, but the status said %v before and %v after", sample, value, low.counters[sample], high.counters[sample])
			}
		}
		for sample, value := range last.counters {
			if now, there := s.counters[sample]; !there || now < value {
				t.Errorf("%s went down from %v to %v (told: %t)", sample, value, now, there)
			}
		}
		s.identities(t)
		s.rings(t, false)
		last = s
		time.Sleep(250 * time.Millisecond) // a new view of the path
	}
	b.until("the film is over and all is at rest", 60*time.Second, func(d *status.Document) bool {
		return camera(d, "shapes").State == "ended" && task(d, "detect/shapes_yolo/0").Start == 2 && task(d, "detect/shapes_yolo/0").State == "ready" &&
			d.Correlation.Counters["pending"] == 0 && d.Sinks[0].Written == d.Fusion.Published && model(d, "shapes_yolo").Queue+model(d, "proposals").Queue == 0
	})
	b.agree()
	s := b.scrape()
	s.identities(t)
	s.rings(t, true)
	for _, model := range []string{`model="shapes_yolo"`, `model="proposals"`} {
		assigned, outcomes := s.sum("skewgate_dispatch_assigned_total", model), s.sum("skewgate_dispatch_outcomes_total", model)
		if assigned == 0 || assigned != outcomes {
			t.Errorf("%s: %v pictures assigned, %v with an outcome", model, assigned, outcomes)
		}
	}
	for sample, want := range map[string]float64{
		`skewgate_process_restarts_total task="detect/shapes_yolo/0"`: 1, `skewgate_process_restarts_total task="detect/proposals/0"`: 0,
		`skewgate_process_last_exit_info cause="signal" code="-1" signal="9" task="detect/shapes_yolo/0"`: 1,
		`skewgate_camera_streaming camera="shapes"`:                                                       0, `skewgate_running`: 1, `skewgate_path_turning`: 1, `skewgate_timeout_seconds`: 0.3,
	} {
		if got, there := s.still()[sample]; !there || got != want {
			t.Errorf("%s: want %v, got %v (told: %t)", sample, want, got, there)
		}
	}
	b.stop()
}

// agree wants page and status document of an appliance at rest to say the same. The windows move
// on, so the two may lie on both sides of a step and are asked for again.
func (b *box) agree() {
	b.t.Helper()
	diff := ""
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		d, err := b.status()
		if err != nil {
			b.t.Fatal(err)
		}
		want, got := scrapeOf(b.t, d).still(), b.scrape().still()
		if len(want) < 100 {
			b.t.Fatalf("%d samples, want the whole page", len(want))
		}
		if diff = cmp.Diff(want, got); diff == "" {
			return
		}
	}
	b.t.Errorf("the page is not the status document's (-document +page):\n%s", diff)
}

// growing are the gauges that change while nothing happens.
var growing = []string{
	"skewgate_uptime_seconds", "skewgate_process_uptime_seconds", "skewgate_camera_last_picture_age_seconds", "skewgate_detector_heartbeat_age_seconds",
}

// still are all samples but those of growing.
func (s scrape) still() map[string]float64 {
	all := maps.Clone(s.counters)
	for sample, value := range s.gauges {
		if name, _, _ := strings.Cut(sample, " "); !slices.Contains(growing, name) {
			all[sample] = value
		}
	}
	return all
}
