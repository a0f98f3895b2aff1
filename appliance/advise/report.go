package advise

import (
	"fmt"
	"slices"
)

// Schema is the version of Report's JSON form.
const Schema = 1

// Settings are those in force while it was recorded.
type Settings struct {
	Timeout Millis  `json:"timeout_ms"`
	Quantum Millis  `json:"quantum_ms"`
	MaxAge  *Millis `json:"max_age_ms"` // null = none
}

// Camera is what was recorded of one camera.
type Camera struct {
	Name       string // unit/camera
	Match      string
	Messages   []Message // with a readable time, in order of arrival; Advise takes the slice over
	Bucketed   int       // messages that the settings in force join by bucket
	Unreadable int
	Waits      Waits // frames that wait for more than one model
}

// Model is what was recorded of one model.
type Model struct {
	Name    string
	Lags    []int64 // behind the first arrival of each frame it is in
	Missing int     // frames that it was waited for and never came to
}

// Input is a recording.
type Input struct {
	Settings  Settings
	Cameras   []Camera
	Models    []Model
	SpanNS    int64 // from the first event to the last
	HorizonNS int64 // how long each frame in it was watched
	NotFinal  int   // frames that began too late to be watched that long
	Events    uint64
	LeftOut   int // messages beyond what is looked at
	Notes     []string
}

// ModelLag is one model's part in the waiting.
type ModelLag struct {
	Model   string   `json:"model"`
	Lag     *Summary `json:"lag"`
	Frames  int      `json:"frames"`
	Missing int      `json:"missing"`
}

// Report is the advice and all it rests on.
type Report struct {
	Schema   int           `json:"schema"`
	Settings Settings      `json:"settings"`
	Span     Millis        `json:"span_ms"`
	Events   uint64        `json:"events"`
	LeftOut  int           `json:"messages_left_out"`
	Notes    []string      `json:"notes,omitempty"` // what the recording says of itself
	Timeout  TimeoutReport `json:"timeout"`
	Quantum  QuantumReport `json:"quantum"`

	// For the drawing, which has more points than the tables.
	waits    *Waits
	pictures []*Pictures
}

// TimeoutReport is about the timeout.
type TimeoutReport struct {
	Advice   Advice         `json:"advice"`
	Horizon  Millis         `json:"horizon_ms"`
	NotFinal int            `json:"frames_not_final"` // began less than the horizon before the end
	All      TimeoutCurve   `json:"all"`
	Cameras  []TimeoutCurve `json:"cameras"`
	Models   []ModelLag     `json:"models"`
}

// QuantumReport is about the quantum.
type QuantumReport struct {
	Advice  Advice         `json:"advice"`
	Cameras []QuantumCurve `json:"cameras"`
}

// Advise works the report out.
func Advise(in *Input) *Report {
	r := &Report{Schema: Schema, Settings: in.Settings, Span: Millis(in.SpanNS), Events: in.Events, LeftOut: in.LeftOut, Notes: in.Notes}
	r.Timeout, r.waits = in.timeout()
	r.Quantum, r.pictures = in.quantum()
	if split := in.splitNow(r.pictures); split > 0.01 {
		r.Timeout.Advice.Notes = append(r.Timeout.Advice.Notes, fmt.Sprintf(
			"the quantum in force splits %.1f %% of the pictures: each gives frames that are never complete, which no timeout mends", 100*split))
	}
	if t, q := &r.Timeout.Advice, r.Quantum.Advice; q.Advised != nil && *q.Advised != q.Now {
		t.Notes = append(t.Notes, "with another quantum the frames are other ones: set that first, record, and ask for the timeout again")
	}
	return r
}

func (in *Input) timeout() (TimeoutReport, *Waits) {
	r := TimeoutReport{Horizon: Millis(in.HorizonNS), NotFinal: in.NotFinal, Cameras: []TimeoutCurve{}, Models: []ModelLag{}}
	all := &Waits{}
	basis, who := all, ""
	for i := range in.Cameras {
		w := &in.Cameras[i].Waits
		all.add(w)
		// The slowest camera counts: the others close by themselves and lose nothing to it.
		if w.Answered() >= EnoughFrames && (basis == all || w.Rank(990) > basis.Rank(990)) {
			basis, who = w, " of "+in.Cameras[i].Name
		}
	}
	if len(in.Cameras) == 1 {
		who = ""
	}
	missing, most := "", 0
	for _, m := range in.Models {
		lags := slices.Clone(m.Lags)
		slices.Sort(lags)
		r.Models = append(r.Models, ModelLag{m.Name, summarize(lags), len(lags), m.Missing})
		if m.Missing > most {
			missing, most = fmt.Sprintf("; %s was missing most, in %d", m.Name, m.Missing), m.Missing
		}
	}
	maxAge := int64(-1)
	if in.Settings.MaxAge != nil {
		maxAge = int64(*in.Settings.MaxAge)
	}
	now := int64(in.Settings.Timeout)
	r.Advice = timeoutAdvice(all, basis, who, now, maxAge, in.HorizonNS, missing)
	advised := int64(0)
	if r.Advice.Advised != nil {
		advised = int64(*r.Advice.Advised)
	}
	r.All = timeoutCurve("", all, now, advised, in.HorizonNS)
	for i := range in.Cameras {
		r.Cameras = append(r.Cameras, timeoutCurve(in.Cameras[i].Name, &in.Cameras[i].Waits, now, advised, in.HorizonNS))
	}
	return r, all
}

// splitNow is the share of pictures that the quantum in force splits, of cameras that use it.
func (in *Input) splitNow(pictures []*Pictures) float64 {
	var sum Buckets
	for i, p := range pictures {
		if in.Cameras[i].Bucketed > 0 && p.Method != Unknown {
			sum.add(p.At(int64(in.Settings.Quantum)))
		}
	}
	return share(sum.Split, sum.Pictures)
}

func (in *Input) quantum() (QuantumReport, []*Pictures) {
	var pictures []*Pictures
	for i := range in.Cameras {
		pictures = append(pictures, NewPictures(in.Cameras[i].Messages))
	}
	now := int64(in.Settings.Quantum)
	r := QuantumReport{Advice: quantumAdvice(in.Cameras, pictures, now), Cameras: []QuantumCurve{}}
	advised := int64(0)
	if r.Advice.Advised != nil {
		advised = int64(*r.Advice.Advised)
	}
	for i, p := range pictures {
		r.Cameras = append(r.Cameras, quantumCurve(&in.Cameras[i], p, now, advised))
	}
	return r, pictures
}
