package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/status"
)

// script is a detector in another language: a program as its user starts it.
type script struct {
	argv   func(model string) []string // the detector, for a model
	old    func(model string) []string // the same, of a release that speaks ABI version 2
	env    []string                    // of both
	client string                      // what its library calls itself begins with this; "" = the C library
}

// start runs argv as user uid (0: the test's own) against the box. Its output and its errors
// both are what it says.
func (s *script) start(t *testing.T, b *box, argv []string, uid int) *foreignProcess {
	t.Helper()
	p := &foreignProcess{t: t, done: make(chan struct{}), cmd: exec.Command(argv[0], argv[1:]...)}
	p.cmd.Env = append(append(os.Environ(), s.env...), "SKEWGATE_ATTACH="+b.path("run/attach.sock"))
	if uid != 0 {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr = in, in
	err = p.cmd.Start()
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		defer out.Close()
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, lines.Text())
			p.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		_ = p.cmd.Wait()
		if t.Failed() {
			t.Logf("%v said:\n%s", argv, strings.Join(p.said(), "\n"))
		}
	})
	return p
}

// ends waits for a process to end by itself and returns its exit code and all it said.
func (p *foreignProcess) ends(d time.Duration) (int, string) {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(d):
		p.t.Fatalf("%v has not ended within %v", p.cmd.Args, d)
	}
	var exit *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode(), strings.Join(p.said(), "\n")
}

// ringRow is what `ring list` says of one ring.
func (b *box) ringRow(name string) ringRow {
	b.t.Helper()
	out, err := b.ringVerb("list", "--json")
	if err != nil {
		b.t.Fatal(err)
	}
	var list struct{ Rings []ringRow }
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		b.t.Fatal(err)
	}
	for _, r := range list.Rings {
		if r.Ring == name {
			return r
		}
	}
	b.t.Fatalf("ring list has no %s: %s", name, out)
	return ringRow{}
}

// live runs the whole life of an example detector beside one of the appliance's own:
// refused where it must be, fused, killed, succeeded, left alone by a dying appliance,
// found again by itself, drained. F21, F24.
func (s *script) live(t *testing.T, b *box) {
	b.start()
	b.until("frames come without it", 60*time.Second, func(d *status.Document) bool { return camera(d, "shapes").Fused > 10 })
	uid := otherUser(12345)
	first := s.start(t, b, s.argv("mine"), uid)
	before := b.until("it fuses", 30*time.Second, func(d *status.Document) bool { return camera(d, "shapes").FusedMulti > 30 })
	m := model(before, "mine")
	if m.State != "attached" || m.RingEpoch != 1 || m.Peer == nil || m.Peer.PID != first.cmd.Process.Pid || m.Peer.UID != uid ||
		!strings.HasPrefix(m.Peer.Client, cmp.Or(s.client, "c/")) || m.Peer.State != "ready" {
		t.Errorf("status: %+v, peer %+v", m, m.Peer)
	}
	s.seen(t, b, first, 1)
	s.refused(t, b, first)

	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	gone := b.until("its end is seen", 3*time.Second, func(d *status.Document) bool { return model(d, "mine").State == "absent" })
	b.until("frames go on", 10*time.Second, func(d *status.Document) bool {
		return camera(d, "shapes").Fused > camera(gone, "shapes").Fused+15
	})
	second := s.start(t, b, s.argv("mine"), uid)
	d := b.until("its successor fuses", 30*time.Second, func(d *status.Document) bool {
		return model(d, "mine").RingEpoch == 2 && camera(d, "shapes").FusedMulti > camera(gone, "shapes").FusedMulti+30
	})
	s.seen(t, b, second, 2)
	if m := model(d, "mine"); m.Written != m.Read+m.Lost || m.Lost != 0 || m.Refused != 0 || d.Correlation.IdentityFault != "" {
		t.Errorf("accounts: %+v, %s", m, d.Correlation.IdentityFault)
	}

	// What the appliance leaves behind is an orphan: nobody reads it, nobody may write it.
	orphan := observe(t, b.path("run/attach.sock"), "ring/mine/0")
	if err := b.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-b.done
	time.Sleep(200 * time.Millisecond) // it looks at its socket each millisecond; here it may not get a core at once
	last := orphan.Info()
	b.start()
	b.until("it has come back by itself and fuses", 60*time.Second, func(d *status.Document) bool {
		m := model(d, "mine")
		return m.Peer != nil && m.Peer.PID == second.cmd.Process.Pid && m.RingEpoch == 1 && camera(d, "shapes").FusedMulti > 30
	})
	if now := orphan.Info(); now.Head != last.Head || now.HeartbeatNS != last.HeartbeatNS || now.State != last.State || last.Head == 0 {
		t.Errorf("the orphan was %+v, and is %+v", last, now)
	}
	b.stop()
	s.frames(t, b)
}

// survives restarts the appliance in order under one example detector: it lives on, writes
// nothing into the memory that nobody reads, and is back by itself.
func (s *script) survives(t *testing.T, b *box) {
	b.start()
	b.until("it runs", 30*time.Second, func(d *status.Document) bool { return camera(d, "shapes").Frames > 0 })
	p := s.start(t, b, s.argv("mine"), 0)
	for restart := range 3 {
		b.until(fmt.Sprintf("it fuses after %d restarts", restart), 60*time.Second, func(d *status.Document) bool {
			m := model(d, "mine")
			return m.Peer != nil && m.Peer.PID == p.cmd.Process.Pid && m.RingEpoch == 1 && m.Messages > 10 && d.Correlation.Counters["flushed_quorum"] > 10
		})
		orphan := observe(t, b.path("run/attach.sock"), "ring/mine/0")
		b.stop()
		time.Sleep(100 * time.Millisecond) // it looks at its socket each millisecond; here it may not get a core at once
		last := orphan.Info()
		time.Sleep(300 * time.Millisecond)
		if now := orphan.Info(); now.Head != last.Head || now.HeartbeatNS != last.HeartbeatNS || last.Head == 0 {
			t.Errorf("the orphan was %+v, and is %+v", last, now)
		}
		select {
		case <-p.done:
			t.Fatalf("it ended with the appliance: %s", strings.Join(p.said(), "\n"))
		default:
		}
		b.start()
	}
	d := b.until("it fuses at last", 60*time.Second, func(d *status.Document) bool { return model(d, "mine").Messages > 10 })
	if m := model(d, "mine"); m.Refused != 0 || m.Quarantines != 0 || d.Correlation.IdentityFault != "" {
		t.Errorf("accounts: %+v, %s", m, d.Correlation.IdentityFault)
	}
	b.stop()
	both := 0
	for _, f := range readFrames(t, b.path("out.jsonl")) {
		if slices.Contains(f.Models, "mine") {
			both++
		}
	}
	if both < 40 {
		t.Errorf("%d frames of four appliances have its answer, want 40 and more", both)
	}
}

// What whoever has a detector of their own begins with, in each language.
func TestExamplesSurviveARestart(t *testing.T) {
	for _, lang := range []struct {
		name   string
		script func(t *testing.T, b *box) *script
	}{
		{"C", exampleC}, {"Go", exampleGo}, {"Python", examplePython},
	} {
		t.Run(lang.name, func(t *testing.T) {
			b := newBox(t, strings.Replace(onlyForeign, "WAIT", "adaptive", 1))
			lang.script(t, b).survives(t, b)
		})
	}
}

// seen holds `ring list` against the process that writes.
func (s *script) seen(t *testing.T, b *box, p *foreignProcess, epoch uint32) {
	t.Helper()
	r := b.ringRow("mine/0")
	if int(r.PID) != p.cmd.Process.Pid || r.RingEpoch != epoch || r.State != "ready" || r.Written < 30 || r.Lost == nil || *r.Lost != 0 || r.Fault != "" ||
		r.HeartbeatAgeMS == nil || *r.HeartbeatAgeMS > status.HeartbeatStaleMS {
		t.Errorf("ring list: want pid %d in ring_epoch %d, got %+v", p.cmd.Process.Pid, epoch, r)
	}
}

// refused tries what an appliance must refuse; the user reads the reasons of both sides.
func (s *script) refused(t *testing.T, b *box, writer *foreignProcess) {
	t.Helper()
	for name, tc := range map[string]struct {
		argv []string
		want []string
	}{
		"second writer":   {s.argv("mine"), []string{"writer_present", "mine/0", strconv.Itoa(writer.cmd.Process.Pid)}},
		"unknown model":   {s.argv("nosuch"), []string{"unknown_model", "nosuch", "mine/0"}},
		"managed model":   {s.argv("proposals"), []string{"unknown_model", "proposals", "mine/0"}},
		"not a name":      {s.argv("a\nb"), []string{"model", "control character"}},
		"other release":   {s.old("mine"), []string{"abi_version", "ABI version 2", "appliance 1"}},
		"nobody's socket": {append([]string{"env", "SKEWGATE_ATTACH=" + b.path("none.sock")}, s.argv("mine")...), []string{b.path("none.sock"), "skewgate run"}},
	} {
		code, said := s.start(t, b, tc.argv, 0).ends(20 * time.Second)
		if code == 0 {
			t.Errorf("%s: it ended with 0", name)
		}
		for _, w := range tc.want {
			if !strings.Contains(said, w) {
				t.Errorf("%s: want %q in what it said: %s", name, w, said)
			}
		}
	}
	if uid := otherUser(12346); uid != 0 {
		code, said := s.start(t, b, s.argv("mine"), uid).ends(20 * time.Second)
		if code == 0 || !strings.Contains(said, "not_allowed") || !strings.Contains(said, "uid 12346") {
			t.Errorf("another user: exit %d, %s", code, said)
		}
	}
}

// frames looks at the output of both appliances.
func (s *script) frames(t *testing.T, b *box) {
	t.Helper()
	dead, both := 0, 0
	for _, f := range readFrames(t, b.path("out.jsonl")) {
		switch {
		case f.Missing["mine"] == "dead" && f.Reason == "quorum":
			dead++
		case len(f.Models) == 2 && f.Reason == "quorum":
			for _, box := range f.Boxes {
				if box.Label == "bright" {
					both++
					break
				}
			}
		}
	}
	if dead < 20 || both < 60 {
		t.Errorf("%d frames say that it was dead and did not wait, %d were made by both and have its box; want 20 and 60", dead, both)
	}
}

// brought is withForeign with a name for what the examples find.
func brought() string { return strings.Replace(withForeign, `"3": thing`, `"0": bright`, 1) }

// openTree lets another user run what lies in a folder of the test.
func openTree(t *testing.T, dir string) {
	t.Helper()
	if out, err := exec.Command("chmod", "-R", "a+rX", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := unix.Access(dir, unix.R_OK); err != nil {
		t.Fatal(err)
	}
}
