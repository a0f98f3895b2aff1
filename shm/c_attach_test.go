package shm

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// monotonicNS is the clock of the rings, for what a C process said of the time.
func monotonicNS(t *testing.T) int64 {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		t.Fatal(err)
	}
	return ts.Nano()
}

const ms = int64(time.Millisecond)

func testCAttach(t *testing.T, c *cBuild) {
	g := newCGrant(t, "mine", 1, "gate", "yard")
	g.without = []string{"yard"}
	app := newCAppliance(t, g.answer)
	d := c.drive(t)
	before := monotonicNS(t)
	d.want("0", "attach-writer %s mine 1", app.path)
	conn := app.next()
	if r := app.requests[0]; r["skewgate_attach"] != 1.0 || r["abi"] != 1.0 || r["role"] != "writer" || r["model"] != "mine" || r["replica"] != 1.0 || r["client"] != "c/1.0" {
		t.Errorf("request %v", r)
	}
	d.want("box-7 1 0 gate 4 yard 5", "client")
	d.want("1", "stream-of yard")
	d.wantError(-3, "-", "name it under this model's cameras", "stream-of moon")
	if i := g.reader.Info(); i.PID != uint32(d.cmd.Process.Pid) || i.RingEpoch != 1 || i.Streams != 2 || i.State != StateStarting {
		t.Errorf("ring after attach: %+v", i)
	}

	d.want("0", "newest 0")
	d.want(g.films["gate"].show(FormatI420, 3), "newest 0")
	d.wantError(-3, "-", "has no frame ring", "newest 1")
	d.wantError(-3, "-", "stream 2 of 2", "newest 2")

	box := make([]byte, 24)
	box[0] = 1
	d.want("0", "boxes 0 0 -5 7 9 %s", hexOf(box))
	h := g.wantMessage(t, "gate", SlotHeader{Kind: KindBoxes, CaptureNS: -5, FrameID: 7, Tag: 9, StreamEpoch: 4, Count: 1}, string(box))
	if after := monotonicNS(t); h.PublishNS < before || h.PublishNS > after {
		t.Errorf("published at %d, between %d and %d", h.PublishNS, before, after)
	}
	d.want("0", "boxes 1 3 5 7 0 -") // looked, found nothing, in a picture of an older epoch
	g.wantMessage(t, "yard", SlotHeader{Kind: KindBoxes, CaptureNS: 5, FrameID: 7, StreamEpoch: 3}, "")
	d.want("0", "json 1 0 6 0 0 %s", hexOf([]byte(`{"detections":[]}`)))
	g.wantMessage(t, "yard", SlotHeader{Kind: KindJSON, CaptureNS: 6, StreamEpoch: 5}, `{"detections":[]}`)
	d.want("0", "progress 0 1234")
	g.wantMessage(t, "gate", SlotHeader{Kind: KindProgress, CaptureNS: 1234, StreamEpoch: 4}, "")
	d.want("0", "text 0 0 %s %s", hexOf([]byte("noon")), hexOf([]byte("{}")))
	g.wantMessage(t, "gate", SlotHeader{Kind: KindJSON, CaptureNS: RawCapture, StreamEpoch: 4}, "\x04\x00noon{}")
	d.wantError(-2, "-", "slots of 512", "json 0 0 0 0 0 %s", strings.Repeat("20", 513))
	d.wantError(-3, "-", "stream 7 of 2", "boxes 7 0 0 0 0 -")
	d.wantError(-1, "-", "sg_attach_reader", "output")

	d.want("0", "set-state 3")
	now := monotonicNS(t) + 3600*1000*ms
	d.want("0", "poll %d", now)
	if i := g.reader.Info(); i.State != StateReady || i.HeartbeatNS != now {
		t.Errorf("after poll: %+v", i)
	}

	// The appliance's later words are heard at the next look: not within the millisecond,
	// but after it. Descriptors nobody asked for are closed.
	app.say(conn, `{"event":"stream_epoch","camera":"gate","stream_epoch":6}`, g.bell.File(), g.bell.File())
	app.say(conn, `{"event":"of a later release","camera":{"x":[1]},"stream_epoch":-1,"`+strings.Repeat("long", 99)+`":0}`)
	d.want("0", "at 0 %d", now+ms/2)
	g.wantMessage(t, "gate", SlotHeader{Kind: KindBoxes, StreamEpoch: 4}, "")
	d.want("0", "at 0 %d", now+ms)
	g.wantMessage(t, "gate", SlotHeader{Kind: KindBoxes, StreamEpoch: 6}, "")
	d.want("box-7 1 0 gate 6 yard 5", "client")
	if s, _ := g.reader.Stream(0); s.Epoch != 6 {
		t.Errorf("stream table has epoch %d, want 6", s.Epoch)
	}
	app.say(conn, `{"event":"drain"}`)
	d.want("0", "poll %d", now+ms)
	d.want("box-7 1 1 gate 6 yard 5", "client")

	d.want("0", "close")
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the socket did not end with the client")
	}
	d.end()
}

func testCAttachRefused(t *testing.T, c *cBuild) {
	good := newCGrant(t, "mine", 0, "gate")
	other := newCGrant(t, "other", 0, "gate")
	goodDoc, goodFiles := good.answer(nil)
	plain, err := unix.MemfdCreate("plain", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	unsealed := os.NewFile(uintptr(plain), "plain")
	defer unsealed.Close()
	refusal := func(code string) func(map[string]any) (string, []*os.File) {
		return func(map[string]any) (string, []*os.File) {
			return fmt.Sprintf(`{"ok":false,"code":%q,"error":"pid 7 \u00fcbt%s","abi":1}`, code, strings.Repeat(" und so weiter", 90)), nil
		}
	}
	says := func(doc string, files ...*os.File) func(map[string]any) (string, []*os.File) {
		return func(map[string]any) (string, []*os.File) { return doc, files }
	}
	swap := func(old, new string) string { return strings.Replace(goodDoc, old, new, 1) }
	for _, tc := range []struct {
		name   string
		answer func(map[string]any) (string, []*os.File)
		code   int
		reason string
		text   string
	}{
		{"other version", refusal("abi_version"), -8, "- 2", "pid 7 übt"},
		{"unknown model", refusal("unknown_model"), -8, "- 3", "unknown_model"},
		{"not allowed", refusal("not_allowed"), -8, "- 4", "not_allowed"},
		{"second writer", refusal("writer_present"), -8, "- 5", "writer_present"},
		{"bad request", refusal("bad_request"), -8, "- 6", "bad_request"},
		{"shutting down", refusal("shutting_down"), -8, "- 7", "shutting_down"},
		{"no output", refusal("no_output"), -8, "- 8", "no_output"},
		{"busy", refusal("busy"), -8, "- 9", "busy"},
		{"word of a later release", refusal("tired"), -8, "- 1", "tired"},
		{"no JSON", says("hello"), -7, "-", "is that socket skewgate's?"},
		{"cut JSON", says(goodDoc[:len(goodDoc)-1], goodFiles...), -7, "-", "not as agreed"},
		{"other ABI", says(swap(`"abi":1`, `"abi":2`), goodFiles...), -7, "-", "version 2, this library 1"},
		{"fewer files than names", says(goodDoc, goodFiles[:2]...), -7, "-", "named 3 files and sent 2"},
		{"more files than names", says(goodDoc, append(slices.Clone(goodFiles), goodFiles[0])...), -7, "-", "named 3 files and sent 4"},
		{"no ring", says(swap(`"ring"`, `"rong"`), goodFiles...), -7, "-", "gave no ring"},
		{"bell for a ring", says(goodDoc, goodFiles[1], goodFiles[1], goodFiles[2]), -4, "segment_kind", "detection ring of mine"},
		{"ring of another", says(goodDoc, other.ring.File(), goodFiles[1], goodFiles[2]), -7, "-", "was given that of other/0"},
		{"unsealed ring", says(goodDoc, unsealed, goodFiles[1], goodFiles[2]), -5, "-", "seals"},
		{"frames of another", says(strings.ReplaceAll(goodDoc, "gate", "yard"), goodFiles...), -7, "-", "says that it is camera gate's"},
		{"camera without a name", says(swap(`"name":"gate"`, `"name":""`), goodFiles...), -7, "-", "camera name is empty"},
		{"unit with a control character", says(swap(`box-7`, `box\n7`), goodFiles...), -7, "-", "control character"},
		{"neither yes nor no", says(swap(`"ok":true`, `"okay":true`), goodFiles...), -7, "-", "neither yes nor no"},
		{"null for yes", says(swap(`"ok":true`, `"ok":null`), goodFiles...), -7, "-", "neither yes nor no"},
		{"no ABI", says(swap(`"abi":1`, `"abi":null`), goodFiles...), -7, "-", "version 0, this library 1"},
		{"no unit", says(swap(`"unit":"box-7"`, `"unit":null`), goodFiles...), -7, "-", "unit name is empty"},
		{"cameras without files", says(`{"ok":true,"abi":1,"unit":"box-7","cameras":null,"files":null}`), -7, "-", "gave no ring"},
		{"a camera that is null", says(swap(`"cameras":[`, `"cameras":[null,`), goodFiles...), -7, "-", "not as agreed"},
		{"a file that is null", says(swap(`"files":[`, `"files":[null,`), goodFiles...), -7, "-", "not as agreed"},
		{"a refusal of nulls", says(`{"ok":false,"code":null,"error":null,"abi":1}`), -8, "- 1", "refused"},
		{"nothing at all", func(map[string]any) (string, []*os.File) { return "", nil }, -9, "-", "no answer within 2000 ms"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			app := newCAppliance(t, tc.answer)
			d := c.drive(t)
			d.want("0 0 0 0", "counts")
			files := openFiles(t, d.cmd.Process.Pid)
			d.wantError(tc.code, tc.reason, tc.text, "attach-writer %s mine 0", app.path)
			if n := openFiles(t, d.cmd.Process.Pid); n != files {
				t.Errorf("%d files open after a refusal, %d before", n, files)
			}
			d.end()
		})
	}
	d := c.drive(t)
	d.wantError(-6, "-", "is skewgate running?", "attach-writer %s mine 0", filepath.Join(t.TempDir(), "nobody"))
	d.wantError(-2, "-", "use a shorter one", "attach-writer %s mine 0", "/"+strings.Repeat("x", 120))
	d.wantError(-1, "-", "model name", "attach-writer %s m\x01 0", "/nowhere")
	d.end()
	if v := good.reader.Info(); v.Head != 0 {
		t.Errorf("a refused client wrote: %+v", v)
	}
}

// openFiles counts a process's descriptors.
func openFiles(t *testing.T, pid int) int {
	t.Helper()
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}

// The appliance goes and comes back. All times are told, so that the back-off is seen
// exactly; nothing is ever written into the ring of the dead one.
func testCAttachAnew(t *testing.T, c *cBuild) {
	first := newCGrant(t, "mine", 0, "gate", "yard")
	app := newCAppliance(t, first.answer)
	d := c.drive(t)
	d.want("0", "attach-writer %s mine 0", app.path)
	app.next()
	d.want("0", "set-state 3")
	now := monotonicNS(t) + 3600*1000*ms
	d.want("0", "at 1 %d", now)
	first.wantMessage(t, "yard", SlotHeader{Kind: KindBoxes, StreamEpoch: 5}, "")
	picture := first.films["gate"].show(FormatI420, 3)
	d.want(picture, "newest 0")
	d.want("1", "hold")
	files := openFiles(t, d.cmd.Process.Pid)
	d.want("0", "poll %d", now)

	app.stop()
	d.want("0", "at 1 %d", now+ms/2) // not looked yet
	first.wantMessage(t, "yard", SlotHeader{Kind: KindBoxes, StreamEpoch: 5}, "")
	orphan := bytes.Clone(first.ring.Bytes())
	now += ms
	d.wantError(-9, "-", "the appliance is gone; tried again in 1", "at 1 %d", now)
	want := int64(100)
	for range 9 {
		asked := app.asked()
		var wait int64
		if _, err := fmt.Sscan(d.ask("retry %d", now), &wait); err != nil || wait < want || wait >= want*5/4 {
			t.Fatalf("next try in %d ms, want %d to %d", wait, want, want*5/4)
		}
		d.wantError(-9, "-", "tried again in", "at 1 %d", now+wait*ms/2)
		if app.asked() != asked {
			t.Error("tried too early")
		}
		now += (wait + 1) * ms
		d.wantError(-9, "-", "is skewgate running?", "at 1 %d", now)
		want = min(2*want, 5000)
	}
	d.want("error -9 - 0 ", "set-state 2")
	if !bytes.Equal(first.ring.Bytes(), orphan) {
		t.Error("something was written into an orphan ring")
	}

	// Another appliance: cameras in another order, one gone, one new, epochs from 1 again.
	second := newCGrant(t, "mine", 0, "new", "gate")
	second.epochs["gate"] = 1
	app.mu.Lock()
	app.answer = second.answer
	app.mu.Unlock()
	app.start()
	now += 7000 * ms
	d.wantError(-10, "-", "take a new one", "at 0 %d", now)
	second.wantNothing(t) // what was made of an old picture is not published
	d.want("0", "at 0 %d", now)
	second.wantMessage(t, "gate", SlotHeader{Kind: KindBoxes, StreamEpoch: 1}, "")
	d.wantError(-3, "-", `camera "yard" is no more given`, "at 1 %d", now)
	d.want("0", "at 2 %d", now)
	second.wantMessage(t, "new", SlotHeader{Kind: KindBoxes, StreamEpoch: 4}, "")
	if i := second.reader.Info(); i.State != StateWarming {
		t.Errorf("state %v was not told to the new ring", i.State)
	}
	if !bytes.Equal(first.ring.Bytes(), orphan) {
		t.Error("something was written into an orphan ring")
	}
	d.want(picture, "look") // held beyond its appliance
	if n := openFiles(t, d.cmd.Process.Pid); n != files {
		t.Errorf("%d files open, %d before", n, files)
	}

	// The last word of an appliance is passed on.
	conn := app.next()
	app.say(conn, `{"event":"closed","reason":"ring held nonsense`+strings.Repeat("\u00fc", 200)+`"}`)
	_ = conn.Close()
	d.wantError(-9, "-", "the appliance closed: ring held nonsense", "poll %d", now)
	d.end()
}

// An appliance that talks nonsense costs its client an error, not its life.
func testCHostileAppliance(t *testing.T, c *cBuild) {
	g := newCGrant(t, "mine", 0, "gate")
	doc, files := g.answer(nil)
	app := newCAppliance(t, nil)
	d := c.drive(t)
	d.want("0 0 0 0", "counts")
	open := openFiles(t, d.cmd.Process.Pid)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	attached := 0
	for i := range count(t, "SHM_TEST_C_REPLIES", 300) {
		x := mix(seed + uint64(i))
		bad := []byte(doc)
		for range x % 4 {
			x = mix(x)
			bad[x%uint64(len(bad))] = `{}[]",:\0x`[x>>32%10]
		}
		sent := slices.Clone(files)
		for j := range sent {
			if x = mix(x); x%8 == 0 {
				sent[j] = files[x>>32%uint64(len(files))]
			}
		}
		app.mu.Lock()
		app.answer = func(map[string]any) (string, []*os.File) { return string(bad), sent }
		app.mu.Unlock()
		got := d.ask("attach-writer %s mine 0", app.path)
		conn := app.next()
		switch {
		case got == "0":
			attached++
			now := monotonicNS(t)
			app.say(conn, string(bad[len(bad)/2:]))
			d.ask("at %d %d", x%3, now)
			d.ask("newest 0")
			d.ask("poll %d", now+5*ms)
			d.want("0", "close")
		case !strings.HasPrefix(got, "error -"):
			t.Fatalf("answer %q gives %q", bad, got)
		}
		_ = conn.Close()
	}
	if attached == 0 {
		t.Error("never attached: this test has shown nothing")
	}
	if n := openFiles(t, d.cmd.Process.Pid); n != open {
		t.Errorf("%d files open at the end, %d before", n, open)
	}
	d.end()
}
