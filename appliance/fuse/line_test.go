package fuse

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestLineErrors(t *testing.T) {
	const in = `"inputs":[{"boxes":[[0,0,0.5,0.5]],"scores":[0.5],"labels":[0]}]`
	for name, c := range map[string]struct{ line, says string }{
		"not JSON":          {`{"algorithm":`, "not JSON: "},
		"two values":        {`{} {}`, "not JSON: "},
		"not an object":     {`[1]`, "a line must be an object, not array"},
		"no algorithm":      {`{}`, "algorithm: missing or not a string: must be one of wbf, nmw, nms, soft_nms, batched_nms, supervision_nms, supervision_nmm"},
		"algorithm unknown": {`{"algorithm":"WBF"}`, `algorithm "WBF": must be one of`},
		"algorithm long":    {`{"algorithm":"` + strings.Repeat("x", 500) + `"}`, `x…": must be one of`},
		"params":            {`{"algorithm":"wbf","params":3,` + in + `}`, "params: must be an object, not number"},
		"param unknown":     {`{"algorithm":"wbf","params":{"iou":0.5},` + in + `}`, "params.iou: unknown: must be one of weights, iou_thr"},
		"iou":               {`{"algorithm":"wbf","params":{"iou_thr":2},` + in + `}`, "params.iou_thr: 2: must be within 0…1"},
		"iou NaN":           {`{"algorithm":"wbf","params":{"iou_thr":"NaN"},` + in + `}`, "params.iou_thr: NaN: must be finite"},
		"iou text":          {`{"algorithm":"wbf","params":{"iou_thr":"high"},` + in + `}`, `params.iou_thr: "high": must be a number, or one of the strings`},
		"skip":              {`{"algorithm":"wbf","params":{"skip_box_thr":[]},` + in + `}`, "params.skip_box_thr: must be a number, not array"},
		"sigma":             {`{"algorithm":"soft_nms","params":{"sigma":0},` + in + `}`, "params.sigma: 0: must be above 0"},
		"thresh":            {`{"algorithm":"soft_nms","params":{"thresh":true},` + in + `}`, "params.thresh: must be a number, not true or false"},
		"method of soft":    {`{"algorithm":"soft_nms","params":{"method":3},` + in + `}`, "params.method: 3: soft_nms takes 1 (linear) or 2 (gaussian)"},
		"method of nms":     {`{"algorithm":"nms","params":{"method":1},` + in + `}`, "params.method: 1: nms takes 3"},
		"overflow":          {`{"algorithm":"wbf","params":{"allows_overflow":1},` + in + `}`, "params.allows_overflow: must be true or false, not number"},
		"conf_type":         {`{"algorithm":"wbf","params":{"conf_type":"mean"},` + in + `}`, "params.conf_type: must be one of avg, max"},
		"metric":            {`{"algorithm":"supervision_nmm","params":{"metric":"GIOU"},` + in + `}`, `params.metric: metric "GIOU": must be one of IOU, IOS`},
		"dtype":             {`{"algorithm":"batched_nms","params":{"dtype":"int8"},` + in + `}`, "params.dtype: must be float64 or float32"},
		"weights of nmm":    {`{"algorithm":"supervision_nmm","params":{"weights":[1]},` + in + `}`, "params.weights: supervision_nmm has no weights: leave them out"},
		"weight text":       {`{"algorithm":"wbf","params":{"weights":[1,"2"]},` + in + `}`, `params.weights[1]: "2": must be a number`},
		"weight infinite":   {`{"algorithm":"wbf","params":{"weights":["Infinity"]},` + in + `}`, "params.weights[0]: +Inf: must be within 1e-06…1e+06"},
		"no inputs":         {`{"algorithm":"wbf"}`, "inputs: missing: must be an array"},
		"inputs null":       {`{"algorithm":"wbf","inputs":null}`, "inputs: must be an array, not null"},
		"too many models":   {`{"algorithm":"wbf","inputs":[` + strings.Repeat("0,", 64) + `0]}`, "inputs: 65 models: at most 64"},
		"model no object":   {`{"algorithm":"wbf","inputs":[[]]}`, "inputs[0]: must be an object, not array"},
		"no boxes":          {`{"algorithm":"wbf","inputs":[{}]}`, "inputs[0].boxes: missing: must be an array"},
		"three corners":     {`{"algorithm":"wbf","inputs":[{"boxes":[[0,0,1]],"scores":[1],"labels":[0]}]}`, "inputs[0].boxes[0]: 3 numbers: must be 4, x1 y1 x2 y2"},
		"corner null":       {`{"algorithm":"wbf","inputs":[{"boxes":[[0,0,1,null]],"scores":[1],"labels":[0]}]}`, "inputs[0].boxes[0][3]: must be a number, not null"},
		"corner too great":  {`{"algorithm":"wbf","inputs":[{"boxes":[[0,0,1,1e999]],"scores":[1],"labels":[0]}]}`, `inputs[0].boxes[0][3]: "1e999" is no number that a float64 can hold`},
		"corner no number":  {`{"algorithm":"wbf","inputs":[{"boxes":[[0,0,1,1-1]],"scores":[1],"labels":[0]}]}`, `"1-1" is no number`},
		"scores short":      {`{"algorithm":"wbf","inputs":[{"boxes":[[0,0,1,1]],"scores":[],"labels":[0]}]}`, "inputs[0]: 1 boxes, 0 scores, 1 labels: must be as many of each"},
		"label text":        {`{"algorithm":"wbf","inputs":[{"boxes":[[0,0,1,1]],"scores":[1],"labels":["cat"]}]}`, `inputs[0].labels[0]: "cat": must be a number`},
		"label NaN":         {`{"algorithm":"wbf","inputs":[{"boxes":[[0,0,1,1]],"scores":[1],"labels":["NaN"]}]}`, "inputs[0].labels[0]: NaN: must be a number within ±2^53"},
		"too many boxes": {
			`{"algorithm":"wbf","inputs":[{"boxes":[` + strings.Repeat("[0,0,1,1],", MaxFrameBoxes) + `[0,0,1,1]],"scores":[` + strings.Repeat("1,", MaxFrameBoxes) + `1],"labels":[` + strings.Repeat("1,", MaxFrameBoxes) + `1]}]}`,
			"inputs[0]: more than 16384 boxes in all",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var l Lines
			out, notes := l.Answer(nil, []byte(c.line))
			var doc map[string]string
			if err := json.Unmarshal(out, &doc); err != nil || len(doc) != 1 || len(notes) != 0 {
				t.Fatalf("got %.300s (%v), notes %q", out, err, notes)
			}
			if !strings.Contains(doc["error"], c.says) || len(doc["error"]) > 400 {
				t.Errorf("got %q, want …%s…", doc["error"], c.says)
			}
			// The next line is none the worse for it.
			if next, _ := l.Answer(nil, []byte(`{"algorithm":"wbf",`+in+`}`)); string(next) != `{"boxes":[[0,0,0.5,0.5]],"scores":[0.5],"labels":[0]}` {
				t.Errorf("next line: %s", next)
			}
		})
	}
}

func TestLineAnswers(t *testing.T) {
	two := func(a, b string) string {
		return `"inputs":[{"boxes":[[0,0,0.5,0.5]],"scores":[0.75],"labels":[` + a + `]},{"boxes":[[0,0,0.5,0.75]],"scores":[0.25],"labels":[` + b + `]}]`
	}
	for name, c := range map[string]struct{ line, want, note string }{
		"defaults":               {`{"algorithm":"wbf",` + two("0", "0") + `}`, `{"boxes":[[0,0,0.5,0.5625]],"scores":[0.5],"labels":[0]}`, ""},
		"params null":            {`{"algorithm":"wbf","params":{"weights":null,"iou_thr":null},"id":7,` + two("3", "3") + `}`, `{"boxes":[[0,0,0.5,0.5625]],"scores":[0.5],"labels":[3]}`, ""},
		"labels cut":             {`{"algorithm":"wbf",` + two("1.7", "1") + `}`, `{"boxes":[[0,0,0.5,0.5625]],"scores":[0.5],"labels":[1]}`, ""},
		"labels cut to zero":     {`{"algorithm":"wbf",` + two("-0.5", "0.5") + `}`, `{"boxes":[[0,0,0.5,0.5625]],"scores":[0.5],"labels":[0]}`, ""},
		"labels not cut":         {`{"algorithm":"nms",` + two("1.5", "-1") + `}`, `{"boxes":[[0,0,0.5,0.75],[0,0,0.5,0.5]],"scores":[0.25,0.75],"labels":[-1,1.5]}`, ""},
		"agnostic, voted":        {`{"algorithm":"wbf","params":{"class_agnostic":true},` + two("8", "9") + `}`, `{"boxes":[[0,0,0.5,0.5625]],"scores":[0.5],"labels":[8]}`, ""},
		"weights miscounted":     {`{"algorithm":"wbf","params":{"weights":[1,2,3]},` + two("0", "0") + `}`, `{"boxes":[[0,0,0.5,0.5625]],"scores":[0.5],"labels":[0]}`, "3 weights for 2 models: all taken as equal"},
		"nms divides by sum":     {`{"algorithm":"nms","params":{"weights":[1,1]},` + two("0", "0") + `}`, `{"boxes":[[0,0,0.5,0.5]],"scores":[0.375],"labels":[0]}`, ""},
		"soft_nms undecayed":     {`{"algorithm":"soft_nms","params":{"method":1},` + two("0", "0") + `}`, `{"boxes":[[0,0,0.5,0.5],[0,0,0.5,0.75]],"scores":[0.75,0.25],"labels":[0,0]}`, ""},
		"infinite corner, cut":   {`{"algorithm":"wbf","inputs":[{"boxes":[[0.5,"-Infinity","Infinity",0.5]],"scores":[0.5],"labels":[0]}]}`, `{"boxes":[[0.5,0,1,0.5]],"scores":[0.5],"labels":[0]}`, ""},
		"infinite corner":        {`{"algorithm":"batched_nms","inputs":[{"boxes":[[0.5,0,"Infinity",0.5]],"scores":[0.5],"labels":[0]}]}`, `{"boxes":[],"scores":[],"labels":[]}`, "model 0 box 0 removed: not_finite"},
		"bare NaN":               {`{"algorithm":"wbf","inputs":[{"boxes":[[0,0,1,1]],"scores":[NaN],"labels":[0]}]}`, `{"boxes":[],"scores":[],"labels":[]}`, "model 0 box 0 removed: not_finite"},
		"soft_nms, equal scores": {`{"algorithm":"soft_nms","inputs":[{"boxes":[[0,0,0.5,0.5],[0.5,0.5,1,1],[0,0.5,0.5,1]],"scores":[0.25,0.5,0.5],"labels":[0,0,0]}]}`, `{"boxes":[[0.5,0.5,1,1],[0,0.5,0.5,1],[0,0,0.5,0.5]],"scores":[0.5,0.5,0.25],"labels":[0,0,0]}`, ""},
		"no area, merged at 0":   {`{"algorithm":"supervision_nmm","params":{"iou_thr":0,"metric":"IOS"},"inputs":[{"boxes":[[0,0,0.5,0.5],[0.25,0.25,0.25,0.75]],"scores":[0.75,0.5],"labels":[0,0]}]}`, `{"boxes":[[0,0,0.5,0.75]],"scores":[0.75],"labels":[0]}`, ""},
		"no area, both":          {`{"algorithm":"supervision_nmm","params":{"iou_thr":0},"inputs":[{"boxes":[[0,0,0,0.5],[0,0,0.5,0]],"scores":[0.75,0.5],"labels":[0,0]}]}`, `{"boxes":[],"scores":[],"labels":[]}`, "model 0 box 0 removed: no_area"},
		"full precision":         {`{"algorithm":"batched_nms","inputs":[{"boxes":[[0.10437500476837158,1e-7,0.12345678901234568,1]],"scores":[0.30000000000000004],"labels":[9007199254740991]}]}`, `{"boxes":[[0.10437500476837158,1e-07,0.12345678901234568,1]],"scores":[0.30000000000000004],"labels":[9007199254740991]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var l Lines
			out, notes := l.Answer(nil, []byte(c.line))
			if string(out) != c.want {
				t.Errorf("got  %s\nwant %s", out, c.want)
			}
			if said := strings.Join(notes, "; "); !strings.Contains(said, c.note) || c.note == "" && said != "" {
				t.Errorf("notes %q, want %q", said, c.note)
			}
		})
	}
}

func TestNotesBounded(t *testing.T) {
	n := 100
	line := `{"algorithm":"wbf","inputs":[{"boxes":[` + strings.TrimSuffix(strings.Repeat("[0,0,0,0],", n), ",") + `],"scores":[` +
		strings.TrimSuffix(strings.Repeat("1,", n), ",") + `],"labels":[` + strings.TrimSuffix(strings.Repeat("1,", n), ",") + `]}]}`
	var l Lines
	_, notes := l.Answer(nil, []byte(line))
	if len(notes) != maxNotes+1 || notes[maxNotes] != "and 80 more" {
		t.Errorf("%d notes, the last %q", len(notes), notes[len(notes)-1])
	}
}
