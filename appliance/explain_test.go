package appliance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/story"
	"github.com/skewgate/skewgate/appliance/supervise"
	"github.com/skewgate/skewgate/appliance/web"
	"github.com/skewgate/skewgate/shm"
)

// explain asks as the API does, while the path turns.
func (r *rig) explain(q web.Question) (*story.Document, error) {
	r.t.Helper()
	type answer struct {
		doc any
		err error
	}
	done := make(chan answer, 1)
	go func() {
		doc, err := r.Explain(context.Background(), q)
		done <- answer{doc, err}
	}()
	for begun := time.Now(); time.Since(begun) < 10*time.Second; time.Sleep(time.Millisecond) {
		select {
		case a := <-done:
			if a.err != nil {
				return nil, a.err
			}
			// As a client gets it.
			text, err := json.Marshal(a.doc)
			var d story.Document
			if err == nil {
				err = json.Unmarshal(text, &d)
			}
			if err != nil {
				r.t.Fatal(err)
			}
			return &d, nil
		default:
			r.turn(1) // the rig's clock stands all but still
		}
	}
	r.t.Fatal("the path does not answer")
	return nil, nil
}

// frame is the one frame that an answer must have.
func (r *rig) frame(q web.Question) *story.Frame {
	r.t.Helper()
	q.Camera = "gate"
	d, err := r.explain(q)
	if err != nil {
		r.t.Fatal(err)
	}
	if len(d.Frames) != 1 {
		r.t.Fatalf("%+v: want one frame, got %+v", q, d.Frames)
	}
	return &d.Frames[0]
}

// told is a story in short.
func told(f *story.Frame) string {
	reason := "-"
	if f.Reason != nil {
		reason = *f.Reason
	}
	parts := []string{f.Key, f.State, reason}
	for _, m := range f.Messages {
		boxes := "?"
		if m.Boxes != nil {
			boxes = fmt.Sprint(*m.Boxes)
		}
		parts = append(parts, fmt.Sprintf("%s:%s:%s", m.Model, m.Verdict, boxes))
	}
	for _, m := range f.Missing {
		parts = append(parts, fmt.Sprintf("-%s:%s", m.Model, m.Why))
	}
	return strings.Join(parts, " ")
}

func wantTold(t *testing.T, want string, f *story.Frame) {
	t.Helper()
	if diff := cmp.Diff(want, told(f)); diff != "" {
		t.Errorf("story (-want +got):\n%s", diff)
	}
}

// emitting is the rig's config with frames published that hold nothing.
var emitting = strings.Replace(rigConfig, "cameras:\n  - {name: gate", "correlation: {emit_empty: true}\ncameras:\n  - {name: gate", 1)

// Who came, who came late, who came twice; the newest, the incomplete one, one by its id, its seq
// and its key; one that is open.
func TestExplainTellsTheStory(t *testing.T) {
	r := newRig(t, emitting)
	r.turn(1000)
	r.publish(0, 1, r.now, aBox, aBox)
	r.turn(2e6)
	r.publish(1, 1, r.now)
	r.turn(1000)
	r.publish(1, 2, r.now, aBox)
	r.turn(310e6) // its timeout
	r.publish(0, 2, r.now+12e6, aBox)
	r.turn(15e6)
	r.publish(1, 1, r.now)
	r.turn(1000)
	r.publish(0, 3, r.now)
	r.turn(1000)

	one := "id:1 published quorum a:accepted:2 b:accepted:0 b:dup_resend:0"
	two := "id:2 published timeout b:accepted:1 a:late:1 -a:late"
	wantTold(t, two, r.frame(web.Question{}))
	wantTold(t, two, r.frame(web.Question{Incomplete: true}))
	wantTold(t, one, r.frame(web.Question{Frame: "1"}))
	wantTold(t, one, r.frame(web.Question{Frame: "seq:1"}))
	wantTold(t, one, r.frame(web.Question{Frame: "id:1"}))
	wantTold(t, "id:3 open - a:accepted:0 -b:absent", r.frame(web.Question{Frame: "3"}))
	r.publish(0, 3, r.now)
	r.turn(1000)
	wantTold(t, "id:3 open - a:accepted:0 a:dup_resend:0 -b:absent", r.frame(web.Question{Frame: "3"}))

	f := r.frame(web.Question{Frame: "2"})
	if late := f.Missing[0].LateNS; late == nil || f.Messages[1].AfterCloseNS == nil || *late != *f.Messages[1].AfterCloseNS ||
		*late != f.Messages[1].AtNS-f.WaitNS || f.WaitNS < 300e6 || *late <= 0 {
		t.Errorf("late by: %+v, %+v", f.Missing[0], f.Messages[1])
	}
	if !strings.Contains(f.Verdict, "1 of 2 expected models; a came late") || !strings.Contains(f.Next, "a timeout above 3") {
		t.Errorf("%s\n%s", f.Verdict, f.Next)
	}
	d, err := r.explain(web.Question{Camera: "gate", Last: 5})
	if err != nil || len(d.Frames) != 2 || told(&d.Frames[0]) != one || told(&d.Frames[1]) != two {
		t.Errorf("the last: %+v, %v", d, err)
	}
	for _, q := range []web.Question{
		{Camera: "gate", Frame: "77"}, {Camera: "gate", Frame: "seq:9"}, {Camera: "gate", Frame: "q25:1"}, {Camera: "door\x1b[2J"},
	} {
		_, err := r.explain(q)
		if err == nil || strings.Contains(err.Error(), "\x1b") || !strings.Contains(err.Error(), "gate") {
			t.Errorf("%+v: %v", q, err)
		}
	}
	if _, err := r.explain(web.Question{Camera: "gate", Frame: "x"}); err == nil || !strings.Contains(err.Error(), "neither") {
		t.Errorf("a frame that is none: %v", err)
	}
}

// A detector that was killed: since when, how it ended, and what became of the picture that it
// had.
func TestExplainTellsADeath(t *testing.T) {
	r := newRig(t, rigConfig)
	r.turn(1000)
	if _, err := r.frames.Begin(64 * 64 * 3 / 2); err != nil {
		t.Fatal(err)
	}
	picture := shm.FrameMeta{FrameID: 5, StreamEpoch: 1, CaptureNS: 5 * 33e6, Width: 64, Height: 64, Format: shm.FormatI420, PublishNS: int64(r.now)}
	if _, err := r.frames.Publish(&picture); err != nil {
		t.Fatal(err)
	}
	r.turn(1000)
	died := r.now
	r.mail.bell.Ring()
	r.mail.put(supervise.Event{Task: r.path.replicas[0].task, Start: 1, State: supervise.StateReady})
	r.turn(1000)
	r.mail.put(supervise.Event{Task: r.path.replicas[0].task, Start: 1, State: supervise.StateExited, Exit: &supervise.ExitRecord{
		Signal: 9, SignalName: "SIGKILL", UpTimeNS: 1500e6,
	}})
	r.mail.put(supervise.Event{Task: r.path.replicas[0].task, Start: 1, State: supervise.StateBackoff})
	r.mail.put(supervise.Event{Task: r.path.replicas[0].task, Start: 2, State: supervise.StateStarting}) // before the path looks
	r.turn(1000)
	r.publish(1, 5, r.now+3200e6, aBox)
	r.turn(3200e6)
	f := r.frame(web.Question{Frame: "5"})
	wantTold(t, "id:5 published quorum b:accepted:1 -a:dead", f)
	m := f.Missing[0]
	if m.Cause != "its process: killed by SIGKILL (9) after 1.5s" || m.DownForNS == nil || *m.DownForNS < 3199e6 || *m.DownForNS > int64(r.now-died) {
		t.Errorf("dead: %+v", m)
	}
	if m.Dispatch == nil || m.Dispatch.Fate != "died" || m.Dispatch.AtNS == nil {
		t.Errorf("dispatch: %+v", m.Dispatch)
	}
	if f.Expected[0].Live || !f.Expected[1].Live {
		t.Errorf("expected: %+v", f.Expected)
	}
}

// A foreign detector: nobody there, hanging, with a time that cannot be read, and with one that
// puts its message into the bucket beside.
func TestExplainTellsOfForeignDetectors(t *testing.T) {
	r := newForeignRig(t, "bucket")
	say := func(id uint64, captureNS int64, raw string) {
		var body []byte
		if raw != "" {
			var err error
			if body, err = shm.AppendRaw(nil, raw, nil); err != nil {
				t.Fatal(err)
			}
		}
		r.go1(shm.SlotHeader{FrameID: id, CaptureNS: captureNS, Kind: shm.KindBoxes}, body)
		r.turn(1000)
	}
	see := func(id uint64) {
		r.publish(0, id, r.now, aBox)
		r.turn(1000)
	}
	see(1)
	f := r.frame(web.Question{})
	wantTold(t, "q25:1 published quorum a:accepted:1 -mine:dead", f)
	if f.Missing[0].Cause != "nobody is attached as it" || f.Missing[0].Dispatch != nil {
		t.Errorf("%+v", f.Missing[0])
	}
	r.come()
	say(0, 2*33e6, "")
	see(2) // 66 ms: both in q25:2
	wantTold(t, "q25:2 published quorum mine:accepted:0 a:accepted:1", r.frame(web.Question{}))

	// 132 ms is in q25:5, its message of 124 ms in q25:4.
	see(4)
	say(0, 124e6, "")
	r.turn(310e6)
	f = r.frame(web.Question{Frame: "4"})
	wantTold(t, "q25:5 published timeout a:accepted:1 -mine:other_bucket", f)
	if n := f.Missing[0].Nearest; n == nil || n.Key != "q25:4" || n.ByNS != -8e6 || n.Seq == nil {
		t.Errorf("nearest: %+v", n)
	}
	if !strings.Contains(f.Next, "split in two") {
		t.Errorf("next: %s", f.Next)
	}
	see(6)
	say(0, shm.RawCapture, "soon \x1b[31m")
	r.turn(310e6)
	f = r.frame(web.Question{Frame: "6"})
	wantTold(t, "q25:7 published timeout a:accepted:1 -mine:unreadable_time", f)
	if f.Missing[0].RawNearby == nil || *f.Missing[0].RawNearby != "soon \x1b[31m" {
		t.Errorf("%+v", f.Missing[0])
	}
	wantTold(t, "raw:soon \x1b[31m published timeout mine:accepted:0 -a:absent", r.frame(web.Question{Frame: "raw:soon \x1b[31m"}))

	// It hangs: others answer for longer than hung_after.
	see(8)
	r.turn(310e6)
	r.turn(6e9)
	see(9)
	f = r.frame(web.Question{Frame: "9"})
	wantTold(t, "q25:11 published quorum a:accepted:1 -mine:hung", f)
	if m := f.Missing[0]; !strings.HasPrefix(m.Cause, "silent on gate since ") {
		t.Errorf("%+v", m)
	}
	// It goes.
	r.socket.Close()
	r.until("the end is heard", func() bool { return r.mine.foreign.heard.Peer == nil })
}

// The machine slept; a frame in which nobody found anything.
func TestExplainTellsOfFramesThatAreNotPublished(t *testing.T) {
	r := newRig(t, rigConfig)
	r.turn(1000)
	r.publish(0, 1, r.now)
	r.publish(1, 1, r.now)
	r.turn(1000)
	f := r.frame(web.Question{})
	wantTold(t, "id:1 suppressed_empty quorum a:accepted:0 b:accepted:0", f)
	if f.Seq != nil || !strings.Contains(f.Verdict, "emit_empty") {
		t.Errorf("%+v", f)
	}
	r.publish(0, 2, r.now, aBox)
	r.turn(1000)
	r.path.corr.Slept(r.now)
	wantTold(t, "id:2 dropped sleep a:accepted:1 -b:absent", r.frame(web.Question{}))
	r.publish(0, 3, r.now, aBox)
	r.turn(1000)
	r.turn(60e9)
	wantTold(t, "id:3 dropped stale a:accepted:1 -b:absent", r.frame(web.Question{}))
}

// A flood of frames and of messages for one frame takes no more room than there is, and pushes
// out neither who came for a frame nor what another camera has.
func TestExplainIsBounded(t *testing.T) {
	r := newRig(t, emitting)
	r.turn(1000)
	r.publish(1, 1, r.now, aBox)
	r.turn(1000)
	for range 500 { // the same again and again, while it is open and afterwards
		r.publish(1, 1, r.now, aBox)
		r.turn(1000)
	}
	r.turn(310e6)
	r.publish(0, 1, r.now, aBox)
	r.turn(1000)
	f := r.frame(web.Question{})
	if got := told(f); !strings.HasPrefix(got, "id:1 published timeout b:accepted:1 b:dup_resend:1") || !strings.HasSuffix(got, " a:late:1 -a:late") ||
		f.LeftOut < 400 || len(f.Messages) > 10 {
		t.Errorf("after the flood: %s, %d left out", got, f.LeftOut)
	}
	for id := uint64(2); id < 5002; id++ {
		r.publish(0, id, r.now)
		r.publish(1, id, r.now)
		r.turn(1000)
	}
	d, err := r.explain(web.Question{Camera: "gate", Last: story.MaxLast})
	if err != nil || len(d.Frames) != story.MaxLast || d.Frames[story.MaxLast-1].Key != "id:5001" {
		t.Fatalf("the last: %v, %+v", err, d)
	}
	if d.Held.Frames != bookFramesMax || d.Held.Bound != bookFramesMax || d.Held.Oldest != fmt.Sprintf("id:%d", 5002-bookFramesMax) {
		t.Errorf("held: %+v", d.Held)
	}
	_, err = r.explain(web.Question{Camera: "gate", Frame: "1"})
	if err == nil || !strings.Contains(err.Error(), "it is older, or has not come; 2048 are held, from "+d.Held.Oldest) {
		t.Errorf("a frame that is held no more: %v", err)
	}
	// What comes late for it now is counted.
	r.publish(0, 1, r.now, aBox)
	r.turn(1000)
	if d, err = r.explain(web.Question{Camera: "gate"}); err != nil || d.Held.Unattached != 1 {
		t.Errorf("unattached: %v, %+v", err, d.Held)
	}
}

// The path that does not turn is said, and does not hold the question up for ever.
func TestExplainWithoutAPath(t *testing.T) {
	r := newRig(t, rigConfig)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Explain(ctx, web.Question{Camera: "gate"}); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the path does not answer") {
		t.Errorf("%v", err)
	}
}

// The newest ends of a detector are remembered, and each is found by its instant.
func TestEndings(t *testing.T) {
	var e endings
	if text, hung := e.at(5); text != "" || hung {
		t.Errorf("no end: %q", text)
	}
	for i := range 40 {
		e.add(clock.Mono(10*i), fmt.Sprint(i), i%2 == 1)
	}
	var got []string
	for _, i := range []int{39, 30, 24, 23} {
		text, hung := e.at(clock.Mono(10*i) + 1)
		got = append(got, fmt.Sprint(text, hung))
	}
	if want := []string{"39true", "30false", "24false", "false"}; !slices.Equal(want, got) {
		t.Errorf("want %q, got %q", want, got)
	}
}
