package config

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/google/go-cmp/cmp"
)

// leafKeys returns every key path of a struct, with [] for a list's entries.
func leafKeys(t reflect.Type, prefix string) (keys []string) {
	for i, name := range yamlNames(t) {
		if name == "" {
			continue
		}
		path, ft := join(prefix, name), t.Field(i).Type
		keys = append(keys, path)
		for ft.Kind() == reflect.Pointer || ft.Kind() == reflect.Slice {
			if ft.Kind() == reflect.Slice {
				path += "[]"
			}
			ft = ft.Elem()
		}
		if ft.Kind() == reflect.Struct && !isScalar(reflect.New(ft).Elem()) {
			keys = append(keys, leafKeys(ft, path)...)
		}
	}
	return keys
}

// writtenKeys returns every key path that a YAML file has, in the same form.
func writtenKeys(n ast.Node, prefix string, found map[string]int) {
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, kv := range n.Values {
			path := join(prefix, kv.Key.GetToken().Value)
			if strings.HasPrefix(path, "models[].classes.") || strings.HasPrefix(path, "models[].offset.") {
				continue // free keys
			}
			found[path] = kv.Key.GetToken().Position.Line
			writtenKeys(kv.Value, path, found)
		}
	case *ast.SequenceNode:
		for _, item := range n.Values {
			writtenKeys(item, prefix+"[]", found)
		}
	}
}

var examples = map[string]reflect.Type{
	"../../docs/config.example.yaml":   reflect.TypeFor[Config](),
	"../../docs/manifest.example.yaml": reflect.TypeFor[Manifest](),
}

// Documented key ↔ existing key, both ways, and each with words on its line.
func TestExampleHasEveryKey(t *testing.T) {
	for path, typ := range examples {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseBytes(text, 0)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]int{}
		writtenKeys(file.Docs[0].Body, "", found)
		want := leafKeys(typ, "")
		got := make([]string, 0, len(found))
		lines := strings.Split(string(text), "\n")
		for key, line := range found {
			got = append(got, key)
			// The key may be told at its first place alone.
			told := slices.ContainsFunc(lines[:line], func(l string) bool {
				name := key[strings.LastIndexAny(key, ".]")+1:]
				return regexp.MustCompile(`^[ -]*` + name + `:.* # .{8,}`).MatchString(l)
			})
			if !told {
				t.Errorf("%s:%d: no comment says what %s means", path, line, key)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("keys of %s (-the code's +the file's):\n%s", path, diff)
		}
	}
}

// A default that a comment names is the one an absent key gets.
func TestExampleStatesTheDefaults(t *testing.T) {
	defaults := map[string]string{}
	for _, section := range []struct {
		prefix string
		value  defaulter
	}{
		{"", new(Config)}, {"cameras[]", new(Camera)}, {"models[]", new(Model)},
		{"sinks[].jsonl", new(JSONL)}, {"sinks[].shm", new(SHM)}, {"manifest:", new(Manifest)},
	} {
		section.value.setDefaults()
		collectDefaults(reflect.ValueOf(section.value).Elem(), section.prefix, defaults)
	}
	stated := regexp.MustCompile(`\(default ([^)]+)\)`)
	count := 0
	for path := range examples {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseBytes(text, 0)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]int{}
		writtenKeys(file.Docs[0].Body, "", found)
		lines := strings.Split(string(text), "\n")
		for key, line := range found {
			m := stated.FindStringSubmatch(lines[line-1])
			if m == nil {
				continue
			}
			count++
			if strings.Contains(path, "manifest") {
				key = "manifest:." + key
			}
			if want := defaults[key]; want != m[1] {
				t.Errorf("%s:%d: %s is said to default to %q, the code has %q", path, line, key, m[1], want)
			}
		}
	}
	if count < 30 {
		t.Errorf("the examples state %d defaults, want all of about 35", count)
	}
}

func collectDefaults(v reflect.Value, prefix string, out map[string]string) {
	for i, name := range yamlNames(v.Type()) {
		f, path := v.Field(i), join(prefix, name)
		switch {
		case name == "" || f.Kind() == reflect.Slice || f.Kind() == reflect.Map || f.Kind() == reflect.Pointer:
		case f.Kind() == reflect.Struct && !isScalar(f):
			collectDefaults(f, path, out)
		default:
			out[path] = plain(f.Interface())
		}
	}
}

// The example loads as it stands, given the files it names.
func TestExampleLoads(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"models", "lib", "bin"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	shop := workshop(t)
	for from, to := range map[string]string{
		"../../docs/config.example.yaml": "c.yaml", "../../docs/manifest.example.yaml": "models/general.yaml",
		filepath.Join(shop, "net.onnx"): "models/general.onnx", filepath.Join(shop, "film.mp4"): "hall.mp4",
	} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, to, string(text))
	}
	write(t, dir, "lib/libonnxruntime.so.1", "")
	if err := os.WriteFile(filepath.Join(dir, "bin/skewgate-detect"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	opts := testOptions(t)
	opts.LookupEnv = func(name string) (string, bool) {
		v, ok := map[string]string{"GATE_USER": "admin", "GATE_PASS": "sesame"}[name]
		return v, ok
	}
	cfg, problems := Load(filepath.Join(dir, "c.yaml"), opts)
	if len(problems) != 0 {
		t.Fatalf("problems of the example: %v", problems)
	}
	if want, got := "rtsp://admin:sesame@10.0.0.5/stream1", cfg.Cameras[0].Source.Reveal(); want != got {
		t.Errorf("source is %q, want %q", got, want)
	}
	if want, got := filepath.Join(dir, "models/general.onnx"), cfg.Models[1].Network.Model; want != got {
		t.Errorf("network is %q, want %q", got, want)
	}
	if diff := cmp.Diff([]string{"general", "second", "mine"}, cfg.Expected("gate")); diff != "" {
		t.Errorf("models expected on gate (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"general"}, cfg.Expected("hall")); diff != "" {
		t.Errorf("models expected on hall (-want +got):\n%s", diff)
	}
	if want, got := MatchFrameID, cfg.ResolvedMatch(&cfg.Cameras[0]); want != got {
		t.Errorf("match resolves to %q, want %q", got, want)
	}
	cfg.Models[2].FrameIDs = false
	if want, got := MatchBucket, cfg.ResolvedMatch(&cfg.Cameras[0]); want != got {
		t.Errorf("match with a model that sends no ids resolves to %q, want %q", got, want)
	}
	if m := cfg.Matching(&cfg.Cameras[2]); m.Match != MatchWindow || m.Window != 12*time.Millisecond || cfg.Models[3].OffsetOn("yard") != 40*time.Millisecond {
		t.Errorf("yard is matched by %+v", m)
	}
	if diff := cmp.Diff(UIDs{1001}, cfg.Models[2].Allow.UID); diff != "" {
		t.Errorf("users who may attach (-want +got):\n%s", diff)
	}
}
