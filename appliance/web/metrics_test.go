package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/skewgate/skewgate/appliance/status"
)

// notTold are the numbers of the document that no metric has, and why.
var notTold = map[string]string{
	"Schema":               "of the JSON form",
	"PID":                  "a name of the process, and process_start_time_seconds says when it is another one",
	"Models.Peer.PID":      "a name; one that attaches again would make a new series",
	"Models.Peer.UID":      "a name, likewise",
	"Tasks.PID":            "a name, likewise",
	"Tasks.Start":          "skewgate_process_restarts_total and 1",
	"Tasks.LastExit.Start": "a name of the process that ended",
	"Tasks.LastExit.PID":   "a name, likewise",
}

// Every number of the status document is told, in seconds where the document has milliseconds,
// or there is a reason why not.
func TestMetricsTellEveryNumber(t *testing.T) {
	f := fill(t)
	all := gather(t, &source{doc: f.doc})
	told := map[float64]bool{}
	for _, value := range samples(all) {
		told[value] = true
	}
	for _, value := range labelValues(all) { // the replica is a label, and how a process ended
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			told[n] = true
		}
	}
	if len(f.numbers) < 100 {
		t.Fatalf("the document has %d numbers; it is not walked through", len(f.numbers))
	}
	for name, n := range f.numbers {
		reason, silent := notTold[name]
		switch {
		case silent && told[n.told]:
			t.Errorf("%s is told, though it is listed as not told: %s", name, reason)
		case !silent && !told[n.told] && told[n.value]:
			t.Errorf("%s is told in milliseconds", name)
		case !silent && !told[n.told]:
			t.Errorf("%s is told by no metric; tell it, or list it in notTold with the reason", name)
		}
	}
	for name := range notTold {
		if _, there := f.numbers[name]; !there {
			t.Errorf("notTold lists %s, which the document does not have", name)
		}
	}
}

// Nobody outside can make series: of all texts of the document only these are label values. The
// rest is what children, peers and cameras say.
func TestMetricsLabelsAreOurWords(t *testing.T) {
	f := fill(t)
	want := []string{
		"Cameras.ClockSource", "Cameras.Match", "Cameras.Name", "Cameras.PairOffsets.A", "Cameras.PairOffsets.B",
		"Health.Code", "Health.Severity", "Health.Subject",
		"Models.Alone.Camera", "Models.Alone.Reason", "Models.Cameras", "Models.Name",
		"Sinks.Name", "Tasks.LastExit.Cause", "Tasks.Name", "Unit", "Version",
	}
	var got []string
	for _, value := range labelValues(gather(t, &source{doc: f.doc})) {
		if value != "" && value[0] >= 'A' && value[0] <= 'Z' {
			got = append(got, value)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields that make labels (-want +got):\n%s", diff)
	}
}

func TestMetricsLint(t *testing.T) {
	f := fill(t)
	problems, err := testutil.GatherAndLint(registry(&source{doc: f.doc}))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if n := len(gather(t, &source{doc: f.doc})); n != len(families)+1 {
		t.Errorf("%d families of %d have a sample", n, len(families)+1)
	}
}

// What is not known gives no sample. A 0 would be a figure, and a good one at that.
func TestMetricsOfNothingKnown(t *testing.T) {
	empty := &status.Quantiles{}
	src := &source{doc: status.Document{
		Cameras:     []status.Camera{{Name: "gate", Matching: status.Matching{CaptureSkewMS: empty, PairOffsets: []status.PairOffset{{A: "a", B: "b"}}}}},
		Models:      []status.Model{{Name: "a"}, {Name: "b", Foreign: true, LagMS: empty}},
		Correlation: status.Correlation{SkewMS: empty, Final: status.FinalSkew{SkewMS: empty}},
		Tasks:       []status.Task{{Name: "detect/a/0"}},
	}}
	got := samples(gather(t, src))
	for _, name := range []string{
		`skewgate_arrival_skew_samples`, `skewgate_arrival_skew_final_samples`, `skewgate_publish_to_fused_samples`,
		`skewgate_camera_capture_skew_samples{camera="gate"}`, `skewgate_model_lag_samples{model="a"}`, `skewgate_model_lag_samples{model="b"}`,
	} {
		if n, told := got[name]; !told || n != 0 {
			t.Errorf("%s: want 0, got %v (told: %t)", name, n, told)
		}
	}
	known := []string{ // the numbers that are always known, in seconds
		"skewgate_uptime_seconds", "skewgate_timeout_seconds", "skewgate_arrival_horizon_seconds",
	}
	for name := range got {
		family, _, _ := strings.Cut(name, "{")
		if strings.HasSuffix(family, "_seconds") && !slices.Contains(known, family) {
			t.Errorf("%s is told, though nothing of it is known", name)
		}
		for _, absent := range []string{"_ratio", "_unfused_", "_pair_", "_alone_", "_last_exit_", "_findings", "_verdict", "_groups_closed_total", "messages_received"} {
			if strings.Contains(family, absent) && family != "skewgate_camera_groups_closed_total" {
				t.Errorf("%s is told, though nothing of it is known", name)
			}
		}
		if strings.HasPrefix(family, "skewgate_dispatch_") && strings.Contains(name, `model="b"`) {
			t.Errorf("%s is told of a detector that takes no orders", name)
		}
	}
}

// What is so or not so is 1 or 0.
func TestMetricsFlags(t *testing.T) {
	src := &source{doc: status.Document{
		State:       "running",
		Cameras:     []status.Camera{{Name: "gate", State: "streaming"}, {Name: "yard", State: "retrying"}},
		Correlation: status.Correlation{IdentityFault: "received = …"},
		Models: []status.Model{
			{Name: "a", State: "ready", Cameras: []string{"gate", "yard"}, HangsOn: []string{"yard"}, HeartbeatNote: status.HeartbeatFuture},
			{Name: "b", State: "attached", Foreign: true, Peer: &status.Peer{AttachedMS: 1500}, Alone: []status.Alone{{Camera: "gate", Reason: "late"}}},
			{Name: "c", State: "backoff", Quarantine: "head ran back"},
			{Name: "b", Replica: 1, State: "absent", Foreign: true, Alone: []status.Alone{{Camera: "gate", Reason: "late"}}},
		},
		Sinks:  []status.Sink{{Name: "shm", State: "ok"}, {Name: "jsonl:out", State: "stalled"}},
		Health: []status.Finding{{Code: "mix_risk", Severity: status.SeverityError, Subject: "gate"}, {Code: "model_hung", Subject: "a/0"}, {Code: "model_hung", Subject: "a/0"}},
	}}
	check := func(want map[string]float64) {
		t.Helper()
		got := samples(gather(t, src))
		for name, value := range want {
			if n, told := got[name]; !told || n != value {
				t.Errorf("%s: want %v, got %v (told: %t)", name, value, n, told)
			}
		}
	}
	check(map[string]float64{
		`skewgate_running`: 1, `skewgate_path_turning`: 1, `skewgate_identity_broken`: 1,
		`skewgate_camera_streaming{camera="gate"}`: 1, `skewgate_camera_streaming{camera="yard"}`: 0,
		`skewgate_detector_up{model="a",replica="0"}`: 1, `skewgate_detector_up{model="b",replica="0"}`: 1,
		`skewgate_detector_up{model="c",replica="0"}`: 0, `skewgate_detector_up{model="b",replica="1"}`: 0,
		`skewgate_detector_hung{camera="gate",model="a",replica="0"}`: 0, `skewgate_detector_hung{camera="yard",model="a",replica="0"}`: 1,
		`skewgate_detector_heartbeat_nonsense{model="a",replica="0"}`: 1, `skewgate_detector_heartbeat_nonsense{model="b",replica="0"}`: 0,
		`skewgate_detector_attached_seconds{model="b",replica="0"}`: 1.5,
		`skewgate_ring_quarantined{model="a",replica="0"}`:          0, `skewgate_ring_quarantined{model="c",replica="0"}`: 1,
		`skewgate_model_alone_info{camera="gate",model="b",reason="late"}`: 1,
		`skewgate_sink_up{sink="shm"}`:                                     1, `skewgate_sink_up{sink="jsonl:out"}`: 0,
		`skewgate_findings{code="mix_risk",severity="error",subject="gate"}`: 1, `skewgate_findings{code="model_hung",severity="",subject="a/0"}`: 2,
	})
	src.doc.State, src.doc.Correlation.IdentityFault, src.alive = "draining", "", errors.New("the path has not turned for 3 s")
	check(map[string]float64{`skewgate_running`: 0, `skewgate_path_turning`: 0, `skewgate_identity_broken`: 0})
}

// The estimate beside mix_risk: T − p99 of D.
func TestMetricsMixRoom(t *testing.T) {
	interval := 33.0
	src := &source{doc: status.Document{Cameras: []status.Camera{{Name: "gate", Matching: status.Matching{
		IntervalMS: &interval, CaptureSkewMS: &status.Quantiles{Count: 9, P50: 1, P99: 41, Max: 50},
	}}}}}
	if got := samples(gather(t, src))[`skewgate_camera_mix_room_seconds{camera="gate"}`]; got != -0.008 {
		t.Errorf("want -8 ms, got %v s", got)
	}
}

// Over HTTP, with names as a config may have them: the page is what a scraper can read.
func TestMetricsPage(t *testing.T) {
	const nasty = "g\"a\\t\ne\xff"
	src := &source{doc: status.Document{Unit: "box", Cameras: []status.Camera{{Name: nasty, Frames: 7}}}}
	c, _ := serve(t, src)
	r, err := c.Get("http://skewgate/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if kind := r.Header.Get("Content-Type"); r.StatusCode != 200 || !strings.HasPrefix(kind, "text/plain; version=0.0.4") {
		t.Errorf("got %d, %s", r.StatusCode, kind)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	page, err := parser.TextToMetricFamilies(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"skewgate_unit_info", "skewgate_path_turning", "go_goroutines", "process_resident_memory_bytes", "process_cpu_seconds_total"} {
		if page[name] == nil {
			t.Errorf("the page has no %s", name)
		}
	}
	m := page["skewgate_camera_pictures_total"].Metric
	if len(m) != 1 || m[0].GetCounter().GetValue() != 7 || m[0].Label[0].GetValue() != "g\"a\\t\ne\uFFFD" {
		t.Errorf("got %v", m)
	}
	if r, err := c.Post("http://skewgate/metrics", "text/plain", nil); err != nil || r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %v %v", r, err)
	}
}

// waiting is a source that answers when it is let.
type waiting struct {
	source
	asked  chan struct{}
	answer chan struct{}
}

func (s *waiting) Status() *status.Document {
	s.asked <- struct{}{}
	<-s.answer
	return s.source.Status()
}

// However many scrapers there are, a bounded number of documents is made at a time.
func TestMetricsScrapesAreBounded(t *testing.T) {
	src := &waiting{asked: make(chan struct{}), answer: make(chan struct{})}
	c, _ := serve(t, src)
	codes := make(chan int, maxScrapes)
	scrape := func() int {
		r, err := c.Get("http://skewgate/metrics")
		if err != nil {
			t.Error(err)
			return 0
		}
		defer r.Body.Close()
		_, _ = io.Copy(io.Discard, r.Body)
		return r.StatusCode
	}
	for range maxScrapes {
		go func() { codes <- scrape() }()
	}
	for range maxScrapes {
		<-src.asked
	}
	if code := scrape(); code != http.StatusServiceUnavailable {
		t.Errorf("one scrape too many: want 503, got %d", code)
	}
	close(src.answer)
	for range maxScrapes {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("a scrape that had to wait: want 200, got %d", code)
		}
	}
}

// counting is a source that counts the documents it was asked for.
type counting struct {
	source
	documents int
}

func (s *counting) Status() *status.Document {
	s.documents++
	return s.source.Status()
}

// All of a scrape is of one document, or sums would not hold within it.
func TestMetricsAreOfOneDocument(t *testing.T) {
	src := &counting{}
	gather(t, src)
	if src.documents != 1 {
		t.Errorf("a scrape takes %d documents, want one", src.documents)
	}
}

// docs/metrics.md has a row for each family, word for word what the page says of it.
func TestMetricsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| `skewgate_") {
			rows[strings.TrimSpace(line)] = true
		}
	}
	for _, f := range append(slices.Clone(families), gauge(turningName, turningHelp, nil, nil)) {
		row := documented(f)
		if !rows[row] {
			t.Errorf("docs/metrics.md lacks this row:\n%s", row)
		}
		delete(rows, row)
	}
	for row := range rows {
		t.Errorf("docs/metrics.md has a row that is not of a family as it is:\n%s", row)
	}
}

// documented is the row of a family.
func documented(f family) string {
	kind, labels := "counter", "–"
	if f.kind == prometheus.GaugeValue {
		kind = "gauge"
	}
	if len(f.labels) > 0 {
		labels = strings.Join(f.labels, ", ")
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |", f.name, kind, labels, f.help)
}
