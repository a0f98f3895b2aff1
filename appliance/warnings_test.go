package appliance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/shm"
)

// logged collects lines as a log would have them.
type logged struct{ b bytes.Buffer }

func (l *logged) log() *slog.Logger { return slog.New(slog.NewJSONHandler(&l.b, nil)) }

// take returns "code subject n" of each line since the last call, and the lines.
func (l *logged) take(t *testing.T) (short []string, lines []map[string]any) {
	t.Helper()
	for d := json.NewDecoder(&l.b); d.More(); {
		var m map[string]any
		if err := d.Decode(&m); err != nil {
			t.Fatal(err)
		}
		if m["next"] == "" || m["next"] == nil || m["level"] != "WARN" {
			t.Errorf("%v has no next step, or is no warning", m)
		}
		short = append(short, strings.TrimSpace(fmt.Sprint(m["code"], " ", m["subject"], " ", m["n"])))
		lines = append(lines, m)
	}
	l.b.Reset()
	return short, lines
}

func expectLines(t *testing.T, l *logged, want ...string) []map[string]any {
	t.Helper()
	got, lines := l.take(t)
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("lines %q, want %q", got, want)
	}
	return lines
}

// R000-21: the first at once, then one line in 30 s for each kind and subject, with the count.
func TestWarningsAreAggregated(t *testing.T) {
	l := &logged{}
	w := newWarnings(l.log())
	at := func(d time.Duration) clock.Mono { return clock.Mono(d) }
	w.count(warnLate, "b", 0)
	w.tell(at(0))
	expectLines(t, l)
	w.count(warnLate, "b", 1)
	w.tell(at(time.Second))
	expectLines(t, l, "late b 1")
	for i := range 140 { // 29.8 s at five passes a second
		w.count(warnLate, "b", uint64(2+i))
		w.tell(at(time.Second + time.Duration(i)*200*time.Millisecond))
	}
	expectLines(t, l)
	w.count(warnLate, "c", 7) // another subject does not wait for it
	w.count(warnUnparsed, "b", 3)
	w.tell(at(30 * time.Second))
	expectLines(t, l, "late c 7", "unparsed b 3")
	w.count(warnLate, "b", 150)
	w.tell(at(31*time.Second) - 1)
	expectLines(t, l)
	w.tell(at(31 * time.Second))
	if lines := expectLines(t, l, "late b 149"); len(lines) == 1 && (lines[0]["total"] != 150.0 || lines[0]["since"] != float64(30*time.Second)) {
		t.Errorf("%v", lines[0])
	}
	w.tell(at(time.Hour)) // nothing new: nothing to say
	expectLines(t, l)
}

// A flood of names ends in one line for the rest, and a pass writes a bounded number of lines.
func TestWarningsAreBounded(t *testing.T) {
	l := &logged{}
	w := newWarnings(l.log())
	lines, rest := 0, 0
	for pass := range 100 {
		for i := range 2000 {
			w.count(warnUnexpected, fmt.Sprint("stranger", i), 2)
		}
		w.tell(clock.Mono(pass) * clock.Mono(200*time.Millisecond))
		short, _ := l.take(t)
		if len(short) > warnedPerPass {
			t.Fatalf("%d lines in one pass", len(short))
		}
		for _, s := range short {
			if s == fmt.Sprintf("unexpected %s %d", others, 2*(2000-maxWarned)) {
				rest++
			}
		}
		lines += len(short)
	}
	if lines != maxWarned+1 || rest != 1 || len(w.known) != maxWarned+1 {
		t.Errorf("%d lines, %d for the rest, %d known", lines, rest, len(w.known))
	}
}

// What a correlator counts is told by model, with the hint at a new name.
func TestWarningsOfACorrelator(t *testing.T) {
	cfg := correlate.DefaultConfig()
	cfg.Camera.Expected = []string{"people", "cars"}
	c, err := correlate.New(cfg, func(*correlate.Group) {})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := c.Stream("box", "gate", 1)
	people, _ := c.Model("people")
	persons, _ := c.Model("persons")
	send := func(at time.Duration, m correlate.ModelID, ns int64) {
		c.Step(clock.Mono(at), &correlate.Message{Stream: s, Model: m, CaptureNS: ns})
	}
	send(0, people, 0)
	send(1, people, 0)            // sent twice
	send(2, people, 1e6)          // another picture
	send(3, persons, 0)           // a new name
	send(time.Second, persons, 0) // and late, its second time: a duplicate by then
	l := &logged{}
	w := newWarnings(l.log())
	w.look(c, nil)
	w.tell(0)
	lines := expectLines(t, l, "dup_collision people 1", "dup_resend people 1", "dup_resend persons 1", "unexpected persons 2")
	if hint := fmt.Sprint(lines[3]["hint"]); !strings.Contains(hint, `"cars"`) || strings.Contains(hint, `"people"`) {
		t.Errorf("hint %q", hint)
	}
}

// On the path: what a detector does wrong is in the log at the next view, and not in each.
func TestPathWarns(t *testing.T) {
	l := &logged{}
	r := newRig(t, bucketConfig)
	r.path.warnings = newWarnings(l.log())
	r.publish(0, 1, r.now, aBox)
	r.publish(0, 1, r.now, aBox)
	r.send(1, shm.SlotHeader{CaptureNS: 33e6, PublishNS: int64(r.now), FrameID: 1, StreamEpoch: 1})
	r.turn(1000)
	bad := shm.SlotHeader{Stream: r.streams[1], StreamEpoch: 1, Kind: shm.KindBoxes, Count: 9, PublishNS: int64(r.now)}
	if err := r.writers[1].Publish(&bad, nil); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		r.turn(clock.Mono(200 * time.Millisecond))
	}
	expectLines(t, l, "dup_resend a 1", "refused detect/b/0 1")
}
