package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// diagnose runs the real program and returns its facts by name.
func diagnose(t *testing.T, env []string, args ...string) (code int, facts map[string]fact) {
	t.Helper()
	dir := t.TempDir()
	got := say(t, dir, env, append([]string{"doctor", "--json", "--run-dir", filepath.Join(dir, "run")}, args...)...)
	var d diagnosis
	if err := json.Unmarshal([]byte(got.stdout), &d); err != nil {
		t.Fatalf("code %d, %v:\n%s%s", got.code, err, got.stdout, got.stderr)
	}
	facts = map[string]fact{}
	findings := 0
	for _, f := range d.Facts {
		facts[f.Name] = f
		if !f.OK {
			findings++
		}
		if f.Text == "" || f.OK != (f.Cure == "") {
			t.Errorf("%+v: want a text, and a cure for a finding alone", f)
		}
	}
	if d.Schema != 1 || d.OK != (findings == 0) || d.Findings != findings || (got.code == 3) != (findings > 0) {
		t.Errorf("code %d with %+v", got.code, d)
	}
	return got.code, facts
}

// On a machine that runs the demo all is fine, and the models of a config are run.
func TestDoctorFindsNothingHere(t *testing.T) {
	dir := checkFolder(t, "c.yaml", strings.Replace(checkConfig, "state_dir: state", "state_dir: ${STATE}", 1))
	env := []string{"SKEWGATE_ONNXRUNTIME=" + library(t), "CAM_PASS=x", "STATE=" + dir + "/sesame"}
	code, facts := diagnose(t, env, "-c", filepath.Join(dir, "c.yaml"))
	if text := facts["config's memory"].Text; !strings.Contains(text, "MiB of shared memory: frame rings ") || !strings.Contains(text, "MiB of the path's own to tell what became of frames") {
		t.Errorf("the config's memory: %q", text)
	}
	for _, name := range []string{"config", "kernel", "cores", "memory", "shared memory", "ffmpeg", "skewgate-detect", "ONNX Runtime", "model people", "state folder", "socket folder"} {
		if f := facts[name]; !f.OK && name != "cores" && name != "memory" { // a small machine has findings of its own
			t.Errorf("%s: %+v", name, f)
		}
	}
	if facts["cores"].OK && facts["memory"].OK && code != 0 {
		t.Errorf("code %d, want 0", code)
	}
	if text := facts["ONNX Runtime"].Text; !strings.Contains(text, "loads, version 1.") {
		t.Errorf("ONNX Runtime: %s", text)
	}
	if text := facts["model people"].Text; !strings.Contains(text, "loads and runs") {
		t.Errorf("model: %s", text)
	}
	for _, f := range facts {
		if strings.Contains(f.Text+f.Cure, "sesame") {
			t.Errorf("%+v shows what came from the environment", f)
		}
	}
}

// What is missing is named, each with its cure.
func TestDoctorNamesWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	notALibrary := put("lib.so", "words", 0o600)
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	put("bin/ffmpeg", "#!/bin/sh\necho ffmpeg version 4.3.9-0+deb11u1 Copyright\n", 0o700)
	broken := checkFolder(t, "c.yaml", strings.Replace(checkConfig, "$MODELS/people.yaml", "broken.yaml", 1)+"state_dir: again\n")

	_, facts := diagnose(t, []string{"SKEWGATE_ONNXRUNTIME=" + notALibrary, "PATH=" + bin}, "-c", filepath.Join(broken, "c.yaml"))
	for name, want := range map[string]string{
		"config": "has 3 errors", "ffmpeg": "is version 4.3.9", "ONNX Runtime": "does not load",
	} {
		if f := facts[name]; f.OK || !strings.Contains(f.Text, want) {
			t.Errorf("%s: got %+v, want a finding with %q", name, f, want)
		}
	}
	other := put("other", "#!/bin/sh\necho skewgate-detect version v0.0.1\n", 0o700)
	elder := checkFolder(t, "c.yaml", checkConfig+"runtime: {detect: "+other+"}\n")
	_, facts = diagnose(t, []string{"PATH=/usr/bin:/bin", "CAM_PASS=x"}, "-c", filepath.Join(elder, "c.yaml"))
	if f := facts["skewgate-detect"]; f.OK || !strings.Contains(f.Text, "v0.0.1") {
		t.Errorf("skewgate-detect: got %+v, want a finding with its version", f)
	}

	_, facts = diagnose(t, []string{"PATH=/nowhere", "SKEWGATE_ONNXRUNTIME=/nowhere/lib.so"})
	for name, want := range map[string]string{"ffmpeg": "not found", "ONNX Runtime": "not at /nowhere/lib.so"} {
		if f := facts[name]; f.OK || !strings.Contains(f.Text, want) {
			t.Errorf("%s: got %+v, want a finding with %q", name, f, want)
		}
	}
}

// A network that is no detector is found by running it, not by guessing.
func TestDoctorRunsTheModels(t *testing.T) {
	dir := checkFolder(t, "c.yaml", strings.Replace(checkConfig, "$MODELS/people.yaml", "identity.yaml", 1))
	for name, text := range map[string]string{"identity.onnx": string(identityONNX()), "identity.yaml": "model: identity.onnx\nlayout: yolov8\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, facts := diagnose(t, []string{"SKEWGATE_ONNXRUNTIME=" + library(t), "CAM_PASS=x"}, "-c", filepath.Join(dir, "c.yaml"))
	if f := facts["config"]; !f.OK {
		t.Errorf("config: %+v, want it right: the file is a whole network", f)
	}
	if f := facts["model people"]; f.OK {
		t.Errorf("model: %+v, want a finding", f)
	}
}

// The pins of the doctor are those of the script that fetches.
func TestKnownLibrariesAreThePinnedOnes(t *testing.T) {
	script, err := os.ReadFile("../../scripts/fetch-onnxruntime.sh")
	if err != nil {
		t.Fatal(err)
	}
	for sum, release := range knownLibraries {
		if !strings.Contains(string(script), sum) {
			t.Errorf("the script does not pin %s as %s", sum, release)
		}
	}
	if n := strings.Count(string(script), "pin="); n != len(knownLibraries) {
		t.Errorf("the script pins %d builds, the doctor knows %d", n, len(knownLibraries))
	}
}

func files(pairs ...string) fstest.MapFS {
	root := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		root[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return root
}

// Machines that are not this one.
func TestDoctorOnOtherMachines(t *testing.T) {
	const gib = "MemTotal: 8000000 kB\nMemAvailable:    1048576 kB\n"
	for _, row := range []struct {
		name    string
		files   fstest.MapFS
		finding string // name of the fact, "" = none
		want    string
	}{
		{"good", files("proc/sys/kernel/osrelease", "6.1.0-13-amd64\n", "proc/meminfo", gib), "", "1024 MiB available"},
		{"old kernel", files("proc/sys/kernel/osrelease", "4.19.0-5\n", "proc/meminfo", gib), "kernel", "Linux 4.19.0-5"},
		{"just old", files("proc/sys/kernel/osrelease", "5.9.16\n", "proc/meminfo", gib), "kernel", "5.9.16"},
		{"just new", files("proc/sys/kernel/osrelease", "5.10.0\n", "proc/meminfo", gib), "", "5.10.0"},
		{"no proc", files(), "kernel", "cannot be read"},
		{"little memory", files("proc/sys/kernel/osrelease", "6.1\n", "proc/meminfo", "MemAvailable: 1000 kB\n"), "memory", "0 MiB available"},
		{"no such line", files("proc/sys/kernel/osrelease", "6.1\n", "proc/meminfo", "words\n"), "memory", "no MemAvailable"},
		{"tight cgroup", files("proc/sys/kernel/osrelease", "6.1\n", "proc/meminfo", gib, "proc/self/cgroup", "0::/c\n",
			"sys/fs/cgroup/c/memory.max", "104857600", "sys/fs/cgroup/c/memory.current", "0"), "memory", "100 MiB available, bounded by cgroup /c memory.max"},
	} {
		d := doctor{root: row.files, redact: func(s string) string { return s }}
		d.kernel()
		d.memory()
		said := false
		for _, f := range d.out.Facts {
			if !f.OK && row.finding == "" || !f.OK && row.name != "no proc" && f.Name != row.finding {
				t.Errorf("%s: finding %+v, want none", row.name, f)
			}
			said = said || strings.Contains(f.Text, row.want) && f.OK == (f.Name != row.finding)
		}
		if !said {
			t.Errorf("%s: got %+v, want %q", row.name, d.out.Facts, row.want)
		}
	}
}

func TestDoctorFolders(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		dir  string
		ok   bool
		want string
	}{
		{dir, true, "can be written to"},
		{filepath.Join(dir, "new/deep"), true, "will be made"},
		{file, false, "is not a folder"},
		{filepath.Join(file, "below"), false, "cannot be made"},
		{"/proc/self/nothing", false, "cannot be made"}, // also for root
		{"", false, "not known where"},
	} {
		d := doctor{redact: func(s string) string { return s }}
		d.folder("state folder", row.dir, "state_dir")
		if f := d.out.Facts[0]; f.OK != row.ok || !strings.Contains(f.Text, row.want) {
			t.Errorf("%q: got %+v, want ok %t with %q", row.dir, f, row.ok, row.want)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".doctor*")); err != nil || len(left) != 0 {
		t.Errorf("it left %v behind (%v)", left, err)
	}
}
