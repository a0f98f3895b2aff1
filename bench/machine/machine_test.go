package machine

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestParseUsage(t *testing.T) {
	u, err := parseUsage("cpu  100 20 30 4000 50 6 7 8 9 10\ncpu0 1 2 3\n")
	if err != nil {
		t.Fatal(err)
	}
	// user, nice, system, irq, softirq; neither idle nor iowait, and guest is in user.
	if want := int64(100+20+30+6+7) * tickNS; u.busyNS != want || u.stealNS != 8*tickNS {
		t.Errorf("want busy %d steal %d, got %+v", want, 8*tickNS, u)
	}
	for _, bad := range []string{"", "cpu 1 2 3", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3 4 5 6 7 x", "cpu 1 2 3 4 5 6 7 99999999999999999999"} {
		if _, err := parseUsage(bad); err == nil {
			t.Errorf("%q: want an error", bad)
		}
	}
}

func TestLoadFromTwoReadings(t *testing.T) {
	at := time.Now()
	before := Usage{at: at, busyNS: 5e9, stealNS: 1e9, ownNS: 2e9}
	after := Usage{at: at.Add(2 * time.Second), busyNS: 8e9, stealNS: 1.1e9, ownNS: 4e9}
	got := after.Since(before)
	if want := (Load{Others: 0.5, Steal: 0.05, Own: 1}); got != want {
		t.Errorf("want %+v, got %+v", want, got)
	}
	if got.Quiet() {
		t.Error("half a core to others is not quiet")
	}
	tests := []struct {
		name string
		load Load
		want bool
	}{
		{"nobody", Load{Own: 2}, true},
		{"at the limit", Load{Others: 0.1, Steal: 0.1}, true},
		{"others", Load{Others: 0.11}, false},
		{"hypervisor", Load{Steal: 0.11}, false},
	}
	for _, test := range tests {
		if got := test.load.Quiet(); got != test.want {
			t.Errorf("%s: want quiet %v, got %v", test.name, test.want, got)
		}
	}
	if got, want := (Load{0.1, 0.5, 1}).Worst(Load{0.2, 0.4, 2}), (Load{0.2, 0.5, 2}); got != want {
		t.Errorf("worst: want %+v, got %+v", want, got)
	}
	if got := before.Since(before); got != (Load{}) {
		t.Errorf("no time between: want nothing, got %+v", got)
	}
}

// TestSeesOthers has a stranger burn a processor: one whose time is not ours until it is
// waited for.
func TestSeesOthers(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "while :; do :; done")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	before, err := ReadUsage()
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	after, err := ReadUsage()
	if err != nil {
		t.Fatal(err)
	}
	// Even on a full machine somebody else gets this much: the stranger or his rivals.
	if got := after.Since(before); got.Others < 0.3 || got.Quiet() {
		t.Errorf("a busy stranger was not seen: %+v", got)
	}
	began := time.Now()
	quiet, err := WaitQuiet(context.Background(), 10*time.Millisecond)
	if err != nil || quiet {
		t.Errorf("WaitQuiet beside a busy stranger: %v, %v", quiet, err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("WaitQuiet took %v with a patience of 10 ms", took)
	}
}

func TestWaitQuietEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if quiet, err := WaitQuiet(ctx, time.Hour); quiet || err != nil {
		t.Errorf("want false, nil; got %v, %v", quiet, err)
	}
}

func TestGapsAreCountedByLength(t *testing.T) {
	var g Gaps
	for _, ns := range []int64{20, 10_000, 10_001, 99_000, 100_001, 1_000_000, 1_000_001, 5_000_000} {
		g.add(ns)
	}
	if want := (Gaps{Over10us: 6, Over100us: 4, Over1ms: 2, LongestNS: 5_000_000}); g != want {
		t.Errorf("want %+v, got %+v", want, g)
	}
}

func TestEnvironmentRecord(t *testing.T) {
	cpus, err := Allowed()
	if err != nil {
		t.Fatal(err)
	}
	e, err := ReadEnvironment("", cpus)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Noise) != len(cpus) {
		t.Fatalf("noise floor of %d processors, want %d", len(e.Noise), len(cpus))
	}
	for i, g := range e.Noise {
		if g.CPU != cpus[i] || g.SpunNS < int64(noiseTime) || g.LongestNS <= 0 || g.Over1ms > g.Over100us || g.Over100us > g.Over10us {
			t.Errorf("noise floor makes no sense: %+v", g)
		}
	}
	if !strings.HasPrefix(e.Kernel, "Linux ") || e.CPU == "" || e.Online < 1 || e.LoadAverage == "" || !strings.HasPrefix(e.Go, "go") || e.Time.IsZero() {
		t.Errorf("record has holes: %+v", e)
	}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"kernel", "cpu", "cpus", "cpus_online", "governor", "load_average", "steal_cores", "thp", "go", "commit", "noise",
		"over_10us", "over_100us", "over_1ms", "longest_ns",
	} {
		if !strings.Contains(string(text), `"`+key+`":`) {
			t.Errorf("record lacks %q: %s", key, text)
		}
	}
}

func TestChosenWord(t *testing.T) {
	for text, want := range map[string]string{"always [madvise] never": "madvise", "": "", "never": "never", "a [b": "a [b"} {
		if got := chosen(text); got != want {
			t.Errorf("chosen(%q): want %q, got %q", text, want, got)
		}
	}
}
