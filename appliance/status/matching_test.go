package status

import (
	"strings"
	"testing"
)

func num(v float64) *float64 { return &v }

// Each rule at its edge: what is a finding, and what is one step away from being one.
func TestExamineMatching(t *testing.T) {
	skew := func(p99 float64) *Quantiles { return &Quantiles{Count: 200, P50: p99, P99: p99, Max: p99} }
	for _, tc := range []struct {
		name string
		c    Camera
		want string // codes
		text string // in the first finding
	}{
		{"nothing known", Camera{Matching: Matching{QuantumMS: num(25)}}, "", ""},
		{"just wide enough", Camera{Matching: Matching{QuantumMS: num(25), IntervalMS: num(40), CaptureSkewMS: skew(15), SplitShare: num(0.009), Pictures: 100}}, "", ""},
		{"too wide", Camera{Matching: Matching{QuantumMS: num(25), IntervalMS: num(40), CaptureSkewMS: skew(15.1), SplitShare: num(0.009), Pictures: 100}}, "mix_risk", "warning"},
		{"too few pictures", Camera{Matching: Matching{QuantumMS: num(25), IntervalMS: num(40), CaptureSkewMS: skew(15.1), SplitShare: num(1), Pictures: 99}}, "", ""},
		{"splits", Camera{Matching: Matching{QuantumMS: num(25), IntervalMS: num(40), CaptureSkewMS: skew(5), SplitShare: num(0.2), Pictures: 100}}, "split_risk", "20.0 %"},
		{"does both", Camera{Matching: Matching{QuantumMS: num(25), IntervalMS: num(26), CaptureSkewMS: skew(5), SplitShare: num(0.2), Pictures: 100}}, "mix_risk split_risk", "at most 21 ms"},
		{"no quantum helps", Camera{Match: "bucket", Matching: Matching{QuantumMS: num(1), IntervalMS: num(10), CaptureSkewMS: skew(10), Pictures: 100}}, "mix_risk", "larger than it looks"},
		{"it happened", Camera{Matching: Matching{QuantumMS: num(5), FusedMixed: 3, FusedJudged: 9, MixedSpreadMS: skew(20)}}, "mix_risk", "error"},
		{"it happened long ago", Camera{Matching: Matching{QuantumMS: num(5), FusedMixed: 3, FusedJudged: 9}}, "", ""},
		{"window", Camera{Matching: Matching{WindowMS: num(19), IntervalMS: num(40)}}, "", ""},
		{"window of half an interval", Camera{Matching: Matching{WindowMS: num(20), IntervalMS: num(40)}}, "window_unproven", "below 20 ms"},
		{"frame ids", Camera{Match: "frame_id", Matching: Matching{IntervalMS: num(40), CaptureSkewMS: skew(39), Pictures: 1000}}, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var codes []string
			all := examineMatching(nil, &tc.c)
			for _, f := range all {
				codes = append(codes, f.Code)
				if f.Next == "" {
					t.Errorf("%s without a next step", f.Code)
				}
			}
			if got := strings.Join(codes, " "); got != tc.want {
				t.Fatalf("findings %q, want %q", got, tc.want)
			}
			if len(all) > 0 && !strings.Contains(string(all[0].Severity)+" "+all[0].Text+" "+all[0].Next, tc.text) {
				t.Errorf("%+v does not say %q", all[0], tc.text)
			}
		})
	}
}

// A model that met nobody is named when it is to blame and nothing else has named it.
func TestExamineAlone(t *testing.T) {
	for _, tc := range []struct {
		name  string
		alone Alone
		state string
		want  string
	}{
		{"late", Alone{Reason: "late", ByMS: num(512), Messages: 10, Count: 9}, "ready", "9 of its 10 messages came after their frame was closed; half of them 512 ms"},
		{"late, window empty", Alone{Reason: "late", Messages: 10, Count: 9}, "ready", "came after their frame was closed"},
		{"other bucket", Alone{Reason: "other_bucket", ByMS: num(-18), Messages: 10, Count: 10}, "attached", "-18 ms (median)"},
		{"unreadable", Alone{Reason: "unreadable_time", Messages: 10, Count: 10}, "ready", "could not be read"},
		{"wrong generation", Alone{Reason: "wrong_generation", Messages: 10, Count: 10}, "ready", "another generation"},
		{"absent", Alone{Reason: "absent"}, "ready", "sent nothing"},
		{"absent and down", Alone{Reason: "absent"}, "backoff", ""},
		{"nobody attached", Alone{Reason: "absent"}, "absent", ""},
		{"dead", Alone{Reason: "dead"}, "exited", ""},
		{"hung", Alone{Reason: "hung"}, "ready", ""},
		{"alone in the world", Alone{Reason: "others_absent"}, "ready", ""},
		{"the others", Alone{Reason: "others_late"}, "ready", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.alone.Camera = "gate"
			d := &Document{Cameras: []Camera{{Name: "gate", Matching: Matching{GroupsClosed: enoughFrames}}}}
			m := Model{Name: "a", State: tc.state, Alone: []Alone{tc.alone}}
			got := examineAlone(nil, &m, d, "a/0")
			switch {
			case tc.want == "" && len(got) != 0:
				t.Errorf("%+v", got)
			case tc.want != "" && (len(got) != 1 || got[0].Code != CodeNeverFused || !strings.Contains(got[0].Text, tc.want) || got[0].Next == ""):
				t.Errorf("%+v, want %q", got, tc.want)
			}
			d.Cameras[0].GroupsClosed--
			if got := examineAlone(nil, &m, d, "a/0"); len(got) != 0 {
				t.Errorf("after few frames: %+v", got)
			}
		})
	}
}
