package advise

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"strings"
	"testing"
)

func lags(w *Waits, n int, from, to int64) {
	for i := range n {
		w.Add(Answered, from+(to-from)*int64(i)/int64(n))
	}
}

func millis(m *Millis) string {
	if m == nil {
		return "none"
	}
	return m.String()
}

func TestTimeoutAdvice(t *testing.T) {
	never := func(w *Waits, n int) {
		for range n {
			w.Add(Nothing, 0)
		}
	}
	maxAge := Millis(2000 * ms)
	for _, tc := range []struct {
		name    string
		now     int64
		fill    func(in *Input)
		advised string
		want    []string
	}{
		{"nothing to wait for", 300 * ms, func(*Input) {}, "none", []string{"no frame waits"}},
		{"never complete", 300 * ms, func(in *Input) {
			never(&in.Cameras[0].Waits, 400)
			in.Models[1].Missing = 400
		}, "none", []string{"never complete", "400 of 400 frames (100.0 %)", "b was missing most, in 400"}},
		{"too little", 300 * ms, func(in *Input) { lags(&in.Cameras[0].Waits, 299, 0, 40*ms) }, "none", []string{"too little to say", "there are 299"}},
		{"keep, nothing saved", 300 * ms, func(in *Input) { lags(&in.Cameras[0].Waits, 400, 0, 40*ms) }, "300 ms", []string{"too little saved"}},
		{"lower", 300 * ms, func(in *Input) {
			lags(&in.Cameras[0].Waits, 900, 0, 40*ms)
			never(&in.Cameras[0].Waits, 100)
		}, "50.0 ms", []string{"99 % of the complete frames were so within 39.6 ms", "It completes 90.00 % of all frames", "100 of 1000 frames"}},
		{"raise", 20 * ms, func(in *Input) { lags(&in.Cameras[0].Waits, 900, 0, 40*ms) }, "50.0 ms", []string{"20.0 ms does 50.00 %"}},
		{"as it is", 50 * ms, func(in *Input) {
			lags(&in.Cameras[0].Waits, 900, 0, 40*ms)
			never(&in.Cameras[0].Waits, 100)
		}, "50.0 ms", []string{"the one in force"}},
		{"too little won", 41 * ms, func(in *Input) { lags(&in.Cameras[0].Waits, 900, 0, 40*ms) }, "41.0 ms", []string{"too little won"}},
		{"max age", 300 * ms, func(in *Input) { lags(&in.Cameras[0].Waits, 400, 0, 1800*ms) }, "none", []string{"stay below max_age, 2000 ms"}},
		{"short recording", 300 * ms, func(in *Input) {
			in.HorizonNS = 300 * ms
			lags(&in.Cameras[0].Waits, 400, 0, 290*ms)
		}, "none", []string{"watched each frame for 300 ms only"}},
		{"the slow camera counts", 300 * ms, func(in *Input) {
			lags(&in.Cameras[0].Waits, 5000, 0, 10*ms)
			lags(&in.Cameras[1].Waits, 400, 0, 80*ms)
			never(&in.Cameras[0].Waits, 500)
		}, "100 ms", []string{"frames of u/2 were so within 79.0 ms"}},
		{"deaths are no lags", 300 * ms, func(in *Input) {
			lags(&in.Cameras[0].Waits, 400, 0, 40*ms)
			for range 100 {
				in.Cameras[0].Waits.Add(GivenUp, 250*ms)
			}
		}, "50.0 ms", []string{"within 39.5 ms"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := &Input{
				Settings: Settings{Timeout: Millis(tc.now), Quantum: Millis(25 * ms), MaxAge: &maxAge}, HorizonNS: 10_000 * ms,
				Cameras: []Camera{{Name: "u/1", Match: "frame_id"}, {Name: "u/2", Match: "frame_id"}}, Models: []Model{{Name: "a"}, {Name: "b"}},
			}
			tc.fill(in)
			if in.Cameras[1].Waits.Frames() == 0 {
				in.Cameras = in.Cameras[:1]
			}
			r := Advise(in)
			a := r.Timeout.Advice
			text := a.Reason + "; " + strings.Join(a.Notes, "; ")
			for _, want := range tc.want {
				if !strings.Contains(text, want) {
					t.Errorf("reason lacks %q: %s", want, text)
				}
			}
			if got := millis(a.Advised); got != tc.advised {
				t.Errorf("advised %s, want %s: %s", got, tc.advised, text)
			}
			if strings.Contains(text, "!") { // a verb and its value do not fit
				t.Errorf("reason: %s", text)
			}
		})
	}
}

// film is n pictures of two models, interval ms apart, which the second takes up to spread later.
func film(n int, interval, spread int64, ids bool) (all []Message) {
	for i := range int64(n) {
		for model := range int32(2) {
			m := Message{Model: model, CaptureNS: i * interval}
			if ids {
				m.Picture = i + 1
			}
			if model == 1 {
				m.CaptureNS += spread * (i % 11) / 10
			}
			all = append(all, m)
		}
	}
	return all
}

func TestQuantumAdvice(t *testing.T) {
	camera := func(match string, messages []Message) Camera {
		c := Camera{Name: "u/" + match, Match: match, Messages: messages}
		if match == "bucket" {
			c.Bucketed = len(messages)
		}
		return c
	}
	var sparse []Message // each model skips every third picture, so a wide bucket mixes
	for i, m := range film(900, 33*ms, 3*ms, true) {
		if (i/2+int(m.Model))%3 != 0 {
			sparse = append(sparse, m)
		}
	}
	oneModel := film(400, 33*ms, 0, true)
	for i := range oneModel {
		oneModel[i].Model = 7
	}
	for _, tc := range []struct {
		name    string
		now     int64
		cameras []Camera
		advised string
		want    []string
	}{
		{"by frame id", 25 * ms, []Camera{camera("frame_id", film(400, 33*ms, 0, true))}, "none", []string{"no message is joined by a bucket"}},
		{"one model", 25 * ms, []Camera{camera("bucket", oneModel)}, "none", []string{"no picture was seen by two models"}},
		{"too little", 25 * ms, []Camera{camera("bucket", film(299, 33*ms, 3*ms, true))}, "none", []string{"too little to say", "there are 299"}},
		{"wider", 10 * ms, []Camera{camera("bucket", film(400, 33*ms, 3*ms, true))}, "30.0 ms", []string{
			"u/bucket: pictures are 33.0 ms apart and their capture times spread up to 3.00 ms", "Up to 30.0 ms no bucket", "30.0 ms splits", "10.0 ms, in force",
			"match: frame_id splits nothing"}},
		{"narrower", 40 * ms, []Camera{camera("bucket", sparse)}, "30.0 ms", []string{"can join two pictures: it did in"}},
		{"as it is", 30 * ms, []Camera{camera("bucket", film(400, 33*ms, 3*ms, true))}, "30.0 ms", []string{"the one in force"}},
		{"no spread", 25 * ms, []Camera{camera("bucket", film(400, 33*ms, 0, true))}, "25.0 ms", []string{"too little won, keep it"}},
		{"estimated", 10 * ms, []Camera{camera("bucket", film(400, 33*ms, 3*ms, false))}, "30.0 ms", []string{"match: window with 3.00 ms"}},
		{"instants in force", 0, []Camera{camera("bucket", film(400, 33*ms, 3*ms, true))}, "30.0 ms", []string{"0.000 ms, in force"}},
		{"splits explain frames", 10 * ms, []Camera{camera("bucket", film(400, 33*ms, 3*ms, true))}, "30.0 ms", nil},
		{"two pictures at once", 25 * ms, []Camera{camera("bucket", film(400, 2*ms, 40*ms, true))}, "none", []string{"no quantum keeps them apart"}},
		{"the narrowest camera counts", 10 * ms, []Camera{camera("frame_id", film(400, 5*ms, 0, true)), camera("bucket", film(400, 40*ms, 2*ms, true))}, "35.0 ms", []string{"u/bucket: pictures are 40.0 ms apart"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := Advise(&Input{Settings: Settings{Timeout: Millis(300 * ms), Quantum: Millis(tc.now)}, HorizonNS: 10_000 * ms, Cameras: tc.cameras})
			a := r.Quantum.Advice
			text := a.Reason + "; " + strings.Join(a.Notes, "; ")
			for _, want := range tc.want {
				if !strings.Contains(text, want) {
					t.Errorf("reason lacks %q: %s", want, text)
				}
			}
			if got := millis(a.Advised); got != tc.advised {
				t.Errorf("advised %s, want %s: %s", got, tc.advised, text)
			}
			if notes := strings.Join(r.Timeout.Advice.Notes, "; "); tc.name == "splits explain frames" && !strings.Contains(notes, "splits 9.8 %") {
				t.Errorf("notes of the timeout: %s", notes)
			}
			for _, c := range r.Quantum.Cameras {
				for _, p := range c.Points {
					if c.Safe != nil && p.Quantum <= *c.Safe && p.Mix != 0 {
						t.Errorf("%s: %s is safe and mixes %v", c.Camera, p.Quantum, p.Mix)
					}
				}
			}
		})
	}
}

func TestDoubtfulEstimate(t *testing.T) {
	r := Advise(&Input{Settings: Settings{Quantum: Millis(25 * ms)}, Cameras: []Camera{{Name: "u/c", Match: "bucket", Messages: film(400, 33*ms, 15*ms, false)}}})
	if text := strings.Join(r.Quantum.Cameras[0].Notes, "; "); !strings.Contains(text, "estimated") || !strings.Contains(text, "doubtful") {
		t.Errorf("notes: %s", text)
	}
}

// A drawing is whole XML whatever is in the recording, and shows what it is about.
func TestSVG(t *testing.T) {
	in := &Input{Settings: Settings{Timeout: Millis(300 * ms), Quantum: Millis(10 * ms)}, HorizonNS: 10_000 * ms,
		Cameras: []Camera{{Name: `u/<"&`, Match: "bucket", Messages: film(400, 33*ms, 3*ms, true), Bucketed: 800}}}
	lags(&in.Cameras[0].Waits, 900, 0, 40*ms)
	for range 100 {
		in.Cameras[0].Waits.Add(Nothing, 0)
	}
	for name, r := range map[string]*Report{"full": Advise(in), "empty": Advise(&Input{}), "zero": Advise(&Input{Cameras: []Camera{{Messages: film(2, 0, 0, true)}}})} {
		var b bytes.Buffer
		if err := WriteSVG(&b, r); err != nil {
			t.Fatal(err)
		}
		lines, text := 0, ""
		for dec := xml.NewDecoder(&b); ; {
			token, err := dec.Token()
			if err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			switch e := token.(type) {
			case xml.StartElement:
				if e.Name.Local == "polyline" {
					lines++
					for _, a := range e.Attr {
						if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
							t.Errorf("%s: %s", name, a.Value)
						}
					}
				}
			case xml.CharData:
				text += string(e)
			}
		}
		if name != "full" {
			continue
		}
		if lines != 6 {
			t.Errorf("%d curves, want 6", lines)
		}
		for _, want := range []string{"1000 frames", "400 pictures", "now 300 ms", "advised 50.0 ms", "now 10.0 ms", "advised 30.0 ms", "mean wait", "collision"} {
			if !strings.Contains(text, want) {
				t.Errorf("the drawing lacks %q", want)
			}
		}
	}
}

// The JSON form is what its schema number promises.
func TestReportJSON(t *testing.T) {
	in := &Input{Settings: Settings{Timeout: Millis(300 * ms), Quantum: Millis(25 * ms)}, SpanNS: 1500000, HorizonNS: 500 * ms,
		Cameras: []Camera{{Name: "u/c", Match: "bucket"}}, Models: []Model{{Name: "a"}}}
	in.Cameras[0].Waits.Add(Answered, 1_000_001)
	got, err := json.Marshal(Advise(in))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"schema":1,"settings":{"timeout_ms":300,"quantum_ms":25,"max_age_ms":null},"span_ms":1.5,"events":0,"messages_left_out":0,"timeout":{"advice":{"now_ms":300,"advised_ms":null,"enough":false,"samples":1,"needed":300,"reason":"`,
		`"horizon_ms":500,"frames_not_final":0,"all":{"frames":1,"answered":1,"given_up":0,"never":0,"lag":{"count":1,"p50_ms":1.000001,"p99_ms":1.000001,"max_ms":1.000001},"points":[{"timeout_ms":1,"yield":0,"complete":0,"mean_wait_ms":1},{"timeout_ms":1.000002,"yield":1,"complete":1,"mean_wait_ms":1.000001,"mark":"p50, p90, p99, max"}`,
		`"models":[{"model":"a","lag":null,"frames":0,"missing":0}]}`,
		`"quantum":{"advice":{`, `"cameras":[{"camera":"u/c","match":"bucket","bucketed_messages":0,"messages":0,"unreadable_messages":0,"pictures_known_by":"unknown","messages_without_id":0,"pictures":0,"interval_ms":null,"spread_ms":null,"safe_ms":null,"points":[]}]}}`,
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
}
