package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
)

func TestMask(t *testing.T) {
	for _, row := range []struct{ name, in, want string }{
		{"plain path", "/data/hall.mp4", "/data/hall.mp4"},
		{"no user", "rtsp://10.0.0.5/s?channel=1", "rtsp://10.0.0.5/s?channel=1"},
		{"password", "rtsp://admin:pw@10.0.0.5/s", "rtsp://admin:***@10.0.0.5/s"},
		{"lone user may be a token", "rtsp://tok@h/s", "rtsp://***@h/s"},
		{"at in password", "rtsp://a:p@w@h/s", "rtsp://a:***@h/s"},
		{"slash in password", "rtsp://a:p/w@h/s", "rtsp://a:***@h/s"},
		{"space in password", "rtsp://a:p w@h/s", "rtsp://a:***@h/s"},
		{"question mark in password", "rtsp://a:p?w@h/s", "rtsp://a:***@h/s"},
		{"scheme forgotten", "a:pw@h/s", "a:***@h/s"},
		{"parameters", "rtsp://h/s?user=x&password=pw&ch=1;token=t", "rtsp://h/s?user=x&password=***&ch=1;token=***"},
		{"parameter of another case", "rtsp://h/s?PassWord=pw", "rtsp://h/s?PassWord=***"},
		{"variables", "rtsp://${U}:${P}@h", "rtsp://${U}:***@h"},
		{"empty", "", ""},
	} {
		if got := Mask(row.in); row.want != got {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

// No verb, encoder or logger shows what a Source hides. F53
func TestSourceNeverPrintsItsPassword(t *testing.T) {
	cam := Camera{Name: "gate", Source: NewSource("rtsp://admin:sesame@h/s")}
	var printed []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "%t"} {
		printed = append(printed, fmt.Sprintf(verb, cam.Source), fmt.Sprintf(verb, &cam.Source), fmt.Sprintf(verb, cam), fmt.Sprintf(verb, &cam))
	}
	text, err := json.Marshal(cam)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "source", cam.Source, "camera", cam)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "source", cam.Source, "camera", cam)
	for _, p := range append(printed, string(text), log.String()) {
		// 736573616d65 is the password in hex.
		if strings.Contains(p, "sesame") || strings.Contains(strings.ToLower(p), "736573616d65") {
			t.Errorf("a password is shown: %s", p)
		}
	}
	if want, got := `"rtsp://admin:***@h/s"`, fmt.Sprintf("%q", cam.Source.String()); want != got {
		t.Errorf("masked as %s, want %s", got, want)
	}
}

// Whatever key takes its value from the environment, no problem shows the value. F53
func TestProblemsNeverShowTheEnvironment(t *testing.T) {
	values := []string{"sesame", "/no/such/sesame", "rtsp://sesame:sesame@h", "sesame\x01", "-sesame", "sesame.onnx"}
	keys := 0
	for _, root := range []reflect.Type{reflect.TypeFor[Config](), reflect.TypeFor[Manifest]()} {
		for _, key := range leafKeys(root, "") {
			for _, value := range values {
				opts := testOptions(t)
				opts.LookupEnv = func(name string) (string, bool) { return value, name == "S" }
				dir := workshop(t)
				text := nested(key)
				var problems []Problem
				if root == reflect.TypeFor[Config]() {
					_, problems = Load(write(t, dir, "c.yaml", text), opts)
				} else {
					_, problems = LoadManifest(write(t, dir, "m.yaml", text), opts)
				}
				keys++
				for _, p := range problems {
					if strings.Contains(p.String(), "sesame") {
						t.Errorf("%s = %q is shown: %s", key, value, p)
					}
				}
			}
		}
	}
	if keys < 300 {
		t.Errorf("tried %d keys and values, want all of about 350", keys)
	}
}

// nested writes a config with the one key a.b[].c set to "${S}".
func nested(path string) string {
	var out strings.Builder
	indent := ""
	for _, part := range strings.Split(path, ".") {
		name, isList := strings.CutSuffix(part, "[]")
		fmt.Fprintf(&out, "%s:", name)
		if isList {
			indent += "  "
			fmt.Fprintf(&out, "\n%s- ", indent)
			indent += "  "
		} else {
			indent += "  "
			fmt.Fprintf(&out, "\n%s", indent)
		}
	}
	return out.String() + `"${S}"` + "\n"
}

func TestRedactIsOnePass(t *testing.T) {
	r := redactor{}
	r.remember("FOO", "BAR")
	r.remember("BAR", "FOO")
	r.remember("LONG", "FOOBAR")
	r.remember("SHORT", "ab")
	if want, got := "${BAR} ${FOO} ${LONG} ab", r.replacer().Replace("FOO BAR FOOBAR ab"); want != got {
		t.Errorf("got %q, want %q", got, want)
	}
}
