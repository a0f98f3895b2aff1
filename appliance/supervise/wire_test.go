package supervise

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestDecodeReport(t *testing.T) {
	for _, tt := range []struct {
		name, in, wantErr string
	}{
		{"ready", `{"type":"ready","start":3,"detail":{"a":1}}`, ""},
		{"state", `{"type":"state","start":3,"name":"warming"}`, ""},
		{"empty", ``, "unexpected end"},
		{"not JSON", `ready`, "invalid character"},
		{"two documents", `{"type":"ready"} {"type":"ready"}`, "after top-level"},
		{"no type", `{"start":3}`, "neither ready nor a state"},
		{"state without name", `{"type":"state","start":3}`, "neither ready nor a state"},
		{"name with a newline", `{"type":"state","start":3,"name":"a\nb"}`, "neither ready nor a state"},
		{"negative start", `{"type":"ready","start":-1}`, "cannot unmarshal"},
		{"deep", `{"type":"ready","detail":` + strings.Repeat("[", 30000) + `}`, "max depth"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := decodeReport([]byte(tt.in))
			if tt.wantErr == "" && err != nil || tt.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tt.wantErr)) {
				t.Errorf("error %v, want %q", err, tt.wantErr)
			}
		})
	}
}

func TestDecodeHello(t *testing.T) {
	for _, tt := range []struct {
		name, in, wantErr string
	}{
		{"good", `{"skewgate":1,"type":"hello","task":"t","start":1,"files":["a"],"job":{}}`, ""},
		{"other release", `{"skewgate":2,"type":"hello"}`, "use both from one release"},
		{"not a hello", `{"skewgate":1,"type":"drain"}`, "first packet"},
		{"files without end", `{"skewgate":1,"type":"hello","files":[` + strings.Repeat(`"a",`, 256) + `"a"]}`, "at most 256"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := decodeHello([]byte(tt.in))
			if tt.wantErr == "" && err != nil || tt.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tt.wantErr)) {
				t.Errorf("error %v, want %q", err, tt.wantErr)
			}
		})
	}
}

func TestDecodeStrictNamesUnknownField(t *testing.T) {
	var job struct {
		Model string `json:"model"`
	}
	if err := decodeStrict([]byte(`{"model":"x","modle":"y"}`), &job); err == nil || !strings.Contains(err.Error(), "modle") {
		t.Errorf("error %v, want one naming modle", err)
	}
	if err := decodeStrict([]byte(`{"model":"x"} {}`), &job); err == nil {
		t.Error("a second document is taken for none")
	}
}

// FuzzDecodeReport: what is accepted is bounded, named by the rules and still JSON.
func FuzzDecodeReport(f *testing.F) {
	f.Add([]byte(`{"type":"ready","start":3,"detail":{"a":[1,2,null]}}`))
	f.Add([]byte(`{"type":"state","start":18446744073709551615,"name":"camera_lost"}`))
	f.Add([]byte(`{"type":"ready","type":"state","name":"\u0000"}`))
	f.Fuzz(func(t *testing.T, packet []byte) {
		r, err := decodeReport(packet)
		if err != nil {
			return
		}
		if r.Type == "state" && !reportName.MatchString(r.Name) {
			t.Errorf("accepted name %q", r.Name)
		}
		if len(r.Detail) > len(packet) || len(r.Detail) > 0 && !json.Valid(r.Detail) {
			t.Errorf("detail %q is not JSON of the packet", r.Detail)
		}
		if _, err := json.Marshal(TaskStatus{Detail: r.Detail, Note: r.Name}); err != nil {
			t.Errorf("status cannot be written: %v", err)
		}
	})
}

// FuzzDecodeHello: a child takes nothing but a whole hello of its release.
func FuzzDecodeHello(f *testing.F) {
	f.Add([]byte(`{"skewgate":1,"type":"hello","task":"t","start":1,"files":["a"],"job":{"x":1}}`))
	f.Add([]byte(`{"type":"drain"}`))
	f.Fuzz(func(t *testing.T, packet []byte) {
		o, err := decodeHello(packet)
		if err != nil {
			return
		}
		if o.Version != protocolVersion || o.Type != "hello" || len(o.Files) > maxFiles {
			t.Errorf("accepted %+v", o)
		}
		var job struct{ X int }
		_ = decodeStrict(o.Job, &job)
	})
}
