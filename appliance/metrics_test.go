package appliance

import (
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	prom "github.com/prometheus/common/model"

	"github.com/skewgate/skewgate/appliance/web"
)

// metric is the value of the one sample of a family that has all these label values; NaN if there
// is none.
func (r *rig) metric(name string, labels ...string) float64 {
	r.t.Helper()
	w := httptest.NewRecorder()
	web.Handler(r.Appliance).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	parser := expfmt.NewTextParser(prom.UTF8Validation)
	page, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	value := math.NaN()
	for _, m := range page[name].GetMetric() {
		missing := len(labels)
		for _, l := range m.Label {
			for _, want := range labels {
				if l.GetValue() == want {
					missing--
				}
			}
		}
		if missing == 0 {
			value = m.GetGauge().GetValue() + m.GetCounter().GetValue() // one of them is set
		}
	}
	return value
}

func (r *rig) wantMetrics(rows []wantedMetric) {
	r.t.Helper()
	for _, w := range rows {
		got := r.metric(w.name, w.labels...)
		if math.IsNaN(w.least) != math.IsNaN(got) || got < w.least || got > w.most {
			r.t.Errorf("%s%q: want %v to %v, got %v", w.name, w.labels, w.least, w.most, got)
		}
	}
}

// wantedMetric bounds a sample; NaN wants none.
type wantedMetric struct {
	name        string
	labels      []string
	least, most float64
}

// CORRELATION.md §8: the estimates of T and D, and what they make of the setting, are on the page of
// an appliance as it runs; so is arrival skew, which the timeout of 300 ms does not cut off.
func TestMetricsSayWhatTheSettingDoes(t *testing.T) {
	none := math.NaN()
	r := newRig(t, bucketConfig)
	r.film(400, 4*time.Millisecond, time.Millisecond)
	r.wantMetrics([]wantedMetric{
		{"skewgate_camera_interval_seconds", []string{"gate"}, 0.033, 0.033},
		{"skewgate_camera_capture_skew_seconds", []string{"gate", "p99"}, 0.004, 0.004},
		{"skewgate_camera_mix_room_seconds", []string{"gate"}, 0.029, 0.029},
		{"skewgate_camera_quantum_seconds", []string{"gate"}, 0.025, 0.025},
		{"skewgate_camera_window_seconds", []string{"gate"}, none, none},
		{"skewgate_camera_split_ratio", []string{"gate"}, 0.159, 0.161},
		{"skewgate_camera_pictures_split_total", []string{"gate"}, 1, 400},
		{"skewgate_camera_pair_offset_seconds", []string{"gate", "a", "b"}, 0.004, 0.004},
		{"skewgate_camera_longest_run_unfused_frames", []string{"gate"}, 1, 400},
		{"skewgate_findings", []string{"split_risk", "warning", "gate"}, 1, 1},
		{"skewgate_findings", []string{"mix_risk"}, none, none},
		{"skewgate_model_alone_info", []string{"b"}, none, none},
	})

	wide := newRig(t, bucketConfig+"correlation: {quantum: 40ms}\n")
	wide.film(400, 0, time.Millisecond)
	wide.wantMetrics([]wantedMetric{
		{"skewgate_camera_mix_room_seconds", []string{"gate"}, 0.033, 0.033},
		{"skewgate_camera_quantum_seconds", []string{"gate"}, 0.04, 0.04},
		{"skewgate_camera_collisions_total", []string{"gate"}, 1, 800},
		{"skewgate_findings", []string{"mix_risk", "gate"}, 1, 1},
	})

	late := newRig(t, bucketConfig)
	late.film(400, 0, 500*time.Millisecond)
	late.wantMetrics([]wantedMetric{
		{"skewgate_timeout_seconds", nil, 0.3, 0.3},
		{"skewgate_arrival_skew_seconds", []string{"max"}, 0.49, 0.53},
		{"skewgate_arrival_skew_final_seconds", []string{"p50"}, 0.49, 0.53},
		{"skewgate_arrival_horizon_seconds", nil, 10, 10},
		{"skewgate_model_lag_seconds", []string{"b", "p50"}, 0.49, 0.53},
		{"skewgate_model_alone_info", []string{"b", "gate", "late"}, 1, 1},
		{"skewgate_model_alone_seconds", []string{"b", "gate"}, 0.49, 0.53},
		{"skewgate_groups_closed_total", []string{"timeout"}, 1, 400},
	})
}
