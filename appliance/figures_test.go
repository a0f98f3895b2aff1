package appliance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/appliance/status"
	"github.com/skewgate/skewgate/shm"
)

// bucketConfig matches by capture time although the pictures carry ids.
var bucketConfig = strings.Replace(rigConfig, "max_picture: 64x64", "max_picture: 64x64, match: bucket", 1)

// film lets both detectors answer so many pictures, 33 ms apart; b's clock is ahead and it
// answers later. It returns the document at the end.
func (r *rig) film(pictures int, ahead, later time.Duration) *status.Document {
	r.t.Helper()
	const interval = 33 * time.Millisecond
	var waiting []shm.SlotHeader
	start := r.now
	for i := range pictures {
		id := uint64(i + 1)
		for len(waiting) > 0 && waiting[0].PublishNS <= int64(r.now) {
			r.send(1, waiting[0])
			waiting = waiting[1:]
		}
		r.publish(0, id, r.now, aBox)
		waiting = append(waiting, shm.SlotHeader{CaptureNS: int64(id)*33e6 + int64(ahead), FrameID: id, PublishNS: int64(r.now) + int64(later)})
		r.turn(clock.Mono(interval / 2))
		r.now = start + clock.Mono(i+1)*clock.Mono(interval)
		r.turn(0)
	}
	r.path.figures = nil
	r.path.takeView(r.now)
	return r.Status()
}

// send publishes for model m what the header says, with a box.
func (r *rig) send(m int, h shm.SlotHeader) {
	r.t.Helper()
	h.Stream, h.StreamEpoch, h.Kind, h.Count = r.streams[m], 1, shm.KindBoxes, 1
	if err := r.writers[m].Publish(&h, detect.AppendPacked(nil, []detect.Box{aBox})); err != nil {
		r.t.Fatal(err)
	}
}

func finding(d *status.Document, code string) *status.Finding {
	i := slices.IndexFunc(d.Health, func(f status.Finding) bool { return f.Code == code })
	if i < 0 {
		return nil
	}
	return &d.Health[i]
}

// CORRELATION.md §8: the running appliance estimates the interval and the spread, and says which
// of the two its setting does.
func TestStatusSaysWhatTheQuantumDoes(t *testing.T) {
	r := newRig(t, bucketConfig)
	d := r.film(400, 4*time.Millisecond, time.Millisecond)
	c := d.Cameras[0]
	if c.IntervalMS == nil || *c.IntervalMS != 33 || c.CaptureSkewMS == nil || c.CaptureSkewMS.P99 != 4 || *c.QuantumMS != 25 {
		t.Fatalf("interval %v, skew %+v, quantum %v", c.IntervalMS, c.CaptureSkewMS, c.QuantumMS)
	}
	if p := c.PairOffsets; len(p) != 1 || p[0].A != "a" || p[0].B != "b" || p[0].MedianMS != 4 || p[0].DistanceP99MS != 4 {
		t.Errorf("pairs %+v", p)
	}
	if *c.SplitShare < 0.159 || *c.SplitShare > 0.161 || c.PicturesSplit == 0 || c.FusedMixed != 0 || c.FusedJudged == 0 {
		t.Errorf("%+v", c.Matching)
	}
	if f := finding(d, status.CodeSplitRisk); f == nil || !strings.Contains(f.Text, "16.0 %") {
		t.Errorf("findings %+v", d.Health)
	}
	if finding(d, status.CodeMixRisk) != nil || finding(d, status.CodeNeverFused) != nil {
		t.Errorf("findings %+v", d.Health)
	}
	if *c.LongestRunUnfused == 0 {
		t.Error("no run without fusion, though pictures were split")
	}

	wide := newRig(t, bucketConfig+"correlation: {quantum: 40ms}\n")
	d = wide.film(400, 0, time.Millisecond)
	f := finding(d, status.CodeMixRisk)
	if f == nil || f.Severity != status.SeverityWarning || !strings.Contains(f.Next, "at most 33 ms") {
		t.Errorf("findings %+v", d.Health)
	}
	if d.Cameras[0].Collisions == 0 || d.Correlation.Counters["dup_collision"] != d.Cameras[0].Collisions {
		t.Errorf("%d collisions", d.Cameras[0].Collisions)
	}
}

// By frame id a spread of capture times is shown and harms nobody.
func TestStatusByFrameIDSplitsNothing(t *testing.T) {
	d := newRig(t, rigConfig).film(200, 20*time.Millisecond, time.Millisecond)
	c := d.Cameras[0]
	if c.QuantumMS != nil || c.WindowMS != nil || c.SplitShare != nil || c.PicturesSplit != 0 || c.PairOffsets[0].MedianMS != 20 {
		t.Errorf("%+v", c.Matching)
	}
	for _, code := range []string{status.CodeMixRisk, status.CodeSplitRisk, status.CodeWindowUnproven} {
		if f := finding(d, code); f != nil {
			t.Errorf("%+v", f)
		}
	}
}

// R000-3: a detector that never fuses is named, with the reason and its figure.
func TestStatusNamesWhoNeverFuses(t *testing.T) {
	d := newRig(t, bucketConfig).film(400, 0, 500*time.Millisecond)
	b := d.Models[1]
	if len(b.Alone) != 1 || b.Alone[0].Reason != "late" || b.Alone[0].ByMS == nil || *b.Alone[0].ByMS < 490 || *b.Alone[0].ByMS > 530 {
		t.Fatalf("%+v", b.Alone)
	}
	if f := finding(d, status.CodeNeverFused); f == nil || f.Subject != "b/0" || !strings.Contains(f.Text, "behind the first arrival") {
		t.Errorf("findings %+v", d.Health)
	}
	if a := d.Models[0].Alone; len(a) != 1 || a[0].Reason != "others_late" {
		t.Errorf("the punctual one: %+v", a)
	}
	if n := slices.DeleteFunc(d.Health, func(f status.Finding) bool { return f.Code != status.CodeNeverFused }); len(n) != 1 {
		t.Errorf("%d findings, the punctual one is not to blame", len(n))
	}
	if d.Correlation.Final.HorizonMS != 10_000 || d.Correlation.Final.SkewMS == nil || d.Correlation.Final.SkewMS.P50 < 490 {
		t.Errorf("final skew %+v, want what the timeout of 300 ms hides", d.Correlation.Final)
	}

	d = newRig(t, bucketConfig).film(400, time.Hour, time.Millisecond)
	// Whose clock is wrong nobody can tell: both are named.
	for i, want := range []string{"-3.6e+06 ms", "+3.6e+06 ms"} {
		if f := d.Health[i]; f.Code != status.CodeNeverFused || f.Subject != d.Models[i].Name+"/0" || !strings.Contains(f.Text, want) {
			t.Errorf("finding %+v, want %s", f, want)
		}
	}
}
