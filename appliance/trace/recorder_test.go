package trace

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/valyala/fastjson"

	"github.com/skewgate/skewgate/appliance/clock"
)

var plainSettings = Settings{
	QuantumNS: 25e6, TimeoutNS: 300e6, MaxAgeNS: 2e9, ClosedTTLNS: -1, SkewWindowNS: 60e9, MaxPending: 64,
	Camera: CameraSettings{Match: "bucket", Expected: []string{"a", "b"}},
}

func newTestRecorder(t *testing.T, o Options) *Recorder {
	t.Helper()
	o.Header.ID = "id"
	if o.Settings.TimeoutNS == 0 {
		o.Settings = plainSettings
	}
	r, err := NewRecorder(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func msg(now clock.Mono, model string, captureNS int64) *Event {
	return &Event{Kind: Message, NowNS: now, Unit: "u", Camera: "c", Model: model, CaptureNS: captureNS, Epoch: 1}
}

// drained returns the lines without the first.
func drained(r *Recorder) []string {
	var all []byte
	for {
		n := len(all)
		if all = r.Drain(all); len(all) == n {
			break
		}
	}
	return strings.Split(strings.TrimSuffix(string(all), "\n"), "\n")[1:]
}

func TestLines(t *testing.T) {
	who := Event{Kind: Message, NowNS: 1_500_000, Unit: "u", Camera: `c"1`, Model: "m"}
	with := func(f func(*Event)) Event {
		e := who
		f(&e)
		return e
	}
	const names = `"unit":"u","camera":"c\"1","model":"m"`
	for _, tc := range []struct {
		name  string
		event Event
		want  string
	}{
		{"bare message", who, `{"now_ms":1.5,"msg":{` + names + `,"timestamp":0}}`},
		{"all of a message", with(func(e *Event) {
			e.CaptureNS, e.Epoch, e.FrameID, e.Generation, e.Empty = -5, 3, math.MaxUint64, math.MaxUint64, true
		}), `{"now_ms":1.5,"msg":{` + names + `,"timestamp":-5,"epoch":3,"frame_id":"18446744073709551615","generation":18446744073709551615,"boxes":[]}}`},
		{"smallest instant", with(func(e *Event) { e.CaptureNS = math.MinInt64 }), `{"now_ms":1.5,"msg":{` + names + `,"timestamp":-9223372036854775808}}`},
		{"unreadable", with(func(e *Event) { e.Unreadable, e.Raw = true, []byte("no\x01é") }), `{"now_ms":1.5,"msg":{` + names + `,"timestamp":"no\u0001é"}}`},
		{"unreadable and empty", with(func(e *Event) { e.Unreadable = true }), `{"now_ms":1.5,"msg":{` + names + `,"timestamp":""}}`},
		{"unreadable there, a number here", with(func(e *Event) { e.Unreadable, e.Raw = true, []byte("99999999999999999") }), `{"now_ms":1.5,"msg":{` + names + `,"raw_hex":"3939393939393939393939393939393939"}}`},
		{"unreadable and no UTF-8", with(func(e *Event) { e.Unreadable, e.Raw = true, []byte{0xff, 0} }), `{"now_ms":1.5,"msg":{` + names + `,"raw_hex":"ff00"}}`},
		{"progress", with(func(e *Event) { e.Kind, e.CaptureNS, e.Epoch = Progress, 1_000_000_000, 2 }), `{"now_ms":1.5,"watermark":{` + names + `,"ts_ms":999.000001,"epoch":2}}`},
		{"progress to the end", with(func(e *Event) { e.Kind, e.CaptureNS = Progress, math.MaxInt64 }), `{"now_ms":1.5,"watermark":{` + names + `,"ts_ms":9223372036853.775808}}`},
		{"tick", Event{Kind: Tick, NowNS: 7}, `{"now_ms":0.000007,"tick":true}`},
		{"down everywhere", Event{Kind: ModelDown, Model: "m"}, `{"now_ms":0,"model_down":"m"}`},
		{"down at a camera", Event{Kind: ModelDown, Unit: "u", Camera: "c", Model: "m"}, `{"now_ms":0,"model_down":{"model":"m","unit":"u","camera":"c"}}`},
		{"expected", Event{Kind: Expected, Names: []string{"a", "b"}}, `{"now_ms":0,"set_expected":["a","b"]}`},
		{"nobody expected at a camera", Event{Kind: Expected, Unit: "u", Camera: "c"}, `{"now_ms":0,"set_expected":{"unit":"u","camera":"c","models":[]}}`},
		{"slept", Event{Kind: Slept, NowNS: 1}, `{"now_ms":0.000001,"slept":true}`},
		{"refused", Event{Kind: Refused, Text: `w"hy`}, `{"now_ms":0,"refused":"w\"hy"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newTestRecorder(t, Options{})
			r.Put(&tc.event)
			got := drained(r)
			if len(got) != 1 || got[0] != tc.want {
				t.Errorf("want %s\ngot  %s", tc.want, got)
			}
			if err := fastjson.Validate(got[0]); err != nil {
				t.Error(err)
			}
		})
	}
}

// A tick is written when it closes something, or when something older comes after it.
func TestTicksThatMatter(t *testing.T) {
	r := newTestRecorder(t, Options{})
	r.Tick(1e6, false)
	r.Tick(2e6, false)
	r.Put(msg(3e6, "a", 1)) // newer than the ticks: they did nothing
	r.Tick(5e6, false)
	r.Put(msg(4e6, "b", 1)) // older than the last: the clock had moved on
	r.Tick(6e6, true)
	r.Tick(7e6, false)
	r.Put(&Event{Kind: Refused, Text: "x"}) // has no instant, so the tick is still owed
	r.Put(msg(6.5e6, "a", 2))
	r.Tick(9e6, false)
	r.End([]Counter{{"received", 3}})
	var got []string
	for _, line := range drained(r) {
		got = append(got, line[:min(len(line), strings.IndexByte(line, ':')+30)])
	}
	want := []string{
		`{"now_ms":3,"msg":{"unit":"u","camera":`, `{"now_ms":5,"tick":true}`, `{"now_ms":4,"msg":{"unit":"u","camera":`, `{"now_ms":6,"tick":true}`,
		`{"now_ms":7,"refused":"x"}`, `{"now_ms":7,"tick":true}`, `{"now_ms":6.5,"msg":{"unit":"u","camer`, `{"now_ms":9,"tick":true,"trace":{"end":{`,
	}
	for i := range want {
		if i >= len(got) || !strings.HasPrefix(got[i], want[i][:min(len(want[i]), len(got[i]))]) || len(got) != len(want) {
			t.Fatalf("want %d lines:\n%s\ngot %d:\n%s", len(want), strings.Join(want, "\n"), len(got), strings.Join(got, "\n"))
		}
	}
}

// What finds no room is counted, said where it is missing, and said again at the end.
func TestFullQueue(t *testing.T) {
	r := newTestRecorder(t, Options{})
	for i := range clock.Mono(QueueEvents + 10) {
		r.Put(msg(i, "a", 1))
	}
	r.Drain(nil)
	long := msg(QueueEvents+11, "a", 1)
	long.Unreadable, long.Raw = true, make([]byte, RawMax+1)
	r.Put(long)
	r.Put(msg(QueueEvents+12, "a", 1))
	low := msg(QueueEvents+13, "a", math.MinInt64)
	low.Kind = Progress // no number says it
	r.Put(low)
	r.Put(msg(QueueEvents+14, "a", 1))
	r.End(nil)
	lines := drained(r)
	last, first, second := lines[len(lines)-1], lines[len(lines)-3], lines[len(lines)-2]
	if !strings.HasSuffix(first, `},"trace":{"lost":11}}`) || !strings.HasSuffix(second, `},"trace":{"lost":1}}`) {
		t.Errorf("want 11 and then 1 said to be missing, got\n%s\n%s", first, second)
	}
	var p fastjson.Parser
	v, err := p.Parse(last)
	if err != nil {
		t.Fatal(err)
	}
	m, err := ReadMark(v.Get("trace"))
	if err != nil || m.End == nil || m.End.Lost != 12 || m.End.Events != QueueEvents+2 {
		t.Errorf("last line %s: want %d events and 12 lost (%v)", last, QueueEvents+2, err)
	}
	if !r.Finished() || len(r.Drain(nil)) != 0 {
		t.Error("there is something after the end")
	}
}

// Each part begins with the settings and with what events before it have changed for good.
func TestParts(t *testing.T) {
	r := newTestRecorder(t, Options{PartBytes: MinPartBytes, Header: Header{State: State{
		Open: 3, Down: []Place{{"", "", "gone"}, {"u", "c", "half"}},
	}}})
	r.Put(&Event{Kind: ModelDown, Model: "b"})
	r.Put(&Event{Kind: ModelDown, Unit: "u", Camera: "c", Model: "a"})
	r.Put(&Event{Kind: Expected, Names: []string{"a"}})
	r.Put(&Event{Kind: Expected, Unit: "u", Camera: "c", Names: []string{"a", "b"}})
	r.Put(msg(1, "half", 1)) // lives again
	for i := range clock.Mono(2000) {
		r.Put(msg(i, "x", int64(i)))
	}
	r.Put(msg(3000, "a", 1))
	for i := range clock.Mono(2000) {
		r.Put(msg(3000+i, "x", int64(i)))
	}
	var all []byte
	for n := -1; len(all) != n; {
		n = len(all)
		all = r.Drain(all)
	}
	var headers []*Header
	size, messages := 0, 0
	var p fastjson.Parser
	for line := range bytes.Lines(all) {
		if !IsHeader(line) {
			size += len(line)
			messages += bytes.Count(line, []byte(`"msg"`))
		} else {
			size = len(line)
			v, err := p.ParseBytes(line)
			if err != nil {
				t.Fatal(err)
			}
			h, err := ReadHeader(v.Get("trace"))
			if err != nil {
				t.Fatal(err)
			}
			headers = append(headers, h)
		}
		if size > MinPartBytes {
			t.Fatalf("a part has %d bytes, at most %d", size, MinPartBytes)
		}
	}
	if messages != 4002 {
		t.Errorf("%d messages in all parts, want 4002", messages)
	}
	if n := len(headers); n < 5 || headers[n-1].Part != uint64(n) {
		t.Fatalf("%d parts", n)
	}
	both := []Place{{"", "", "b"}, {"", "", "gone"}, {"u", "c", "a"}}
	for i, want := range []State{
		{Open: 3, Down: []Place{{"", "", "gone"}, {"u", "c", "half"}}},
		{Down: both, Changed: true, Expected: []string{"a"}, OnCameras: []Change{{"u", "c", []string{"a", "b"}}}},
	} {
		if diff := cmp.Diff(want, headers[i].State); diff != "" {
			t.Errorf("state of part %d (-want +got):\n%s", i+1, diff)
		}
	}
	if diff := cmp.Diff(both[:2], headers[len(headers)-1].State.Down); diff != "" {
		t.Errorf("dead at the beginning of the last part (-want +got):\n%s", diff)
	}
}

func TestSettingsTooLong(t *testing.T) {
	s := plainSettings
	s.Cameras = make(map[string]CameraSettings)
	for i := range 300 {
		s.Cameras[fmt.Sprintf("u/%0200d", i)] = s.Camera
	}
	for _, part := range []int64{MinPartBytes, 1 << 17} {
		if _, err := NewRecorder(Options{Header: Header{ID: "x"}, Settings: s, PartBytes: part}); !errors.Is(err, ErrHeader) {
			t.Errorf("parts of %d: want ErrHeader, got %v", part, err)
		}
	}
	if _, err := NewRecorder(Options{Header: Header{ID: "x"}, Settings: s}); err != nil {
		t.Errorf("in one piece: %v", err)
	}
	if _, err := NewRecorder(Options{PartBytes: MinPartBytes - 1}); err == nil {
		t.Error("parts that are too small are taken")
	}
}

// One goroutine puts while another drains: every event comes out once and in order, or is
// counted. Run with -race.
func TestPutWhileDraining(t *testing.T) {
	const events = 200_000
	r := newTestRecorder(t, Options{PartBytes: 1 << 20})
	var wg sync.WaitGroup
	wg.Go(func() {
		raw := []byte("text 0")
		for i := range clock.Mono(events) {
			e := msg(i, "a", int64(i))
			if i%3 == 0 {
				raw[5] = byte('a' + i%16)
				e.Unreadable, e.Raw = true, raw
			}
			r.Put(e)
		}
		r.End(nil)
	})
	var seen, lost uint64
	last := int64(-1)
	var p fastjson.Parser
	for !r.Finished() {
		for line := range bytes.Lines(r.Drain(nil)) {
			v, err := p.ParseBytes(line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if IsHeader(line) {
				continue
			}
			if mark := v.Get("trace"); mark != nil {
				m, err := ReadMark(mark)
				if err != nil {
					t.Fatal(err)
				}
				if lost += m.Lost; m.End != nil && (m.End.Events != seen || m.End.Lost < lost) {
					t.Fatalf("the end says %+v, seen %d and %d lost", m.End, seen, lost)
				}
			}
			if !v.Exists("msg") {
				continue
			}
			seen++
			now := int64(math.Round(v.GetFloat64("now_ms") * 1e6))
			want := last + 1
			if mark := v.Get("trace"); mark != nil {
				want += int64(mark.GetUint64("lost"))
			}
			if now != want {
				t.Fatalf("event %d follows %d, want %d", now, last, want)
			}
			if last = now; now%3 == 0 {
				if got, want := string(v.GetStringBytes("msg", "timestamp")), fmt.Sprintf("text %c", 'a'+now%16); got != want {
					t.Fatalf("event %d: raw text %q, want %q", now, got, want)
				}
			}
		}
	}
	wg.Wait()
	if _, missing := r.Stats(); seen+missing != events {
		t.Errorf("%d seen and %d lost, want %d", seen, missing, events)
	}
}

func TestPutAndDrainAllocateNothing(t *testing.T) {
	r := newTestRecorder(t, Options{})
	buf := r.Drain(make([]byte, 0, 1<<17))
	raw := msg(1, "b", 0)
	raw.Unreadable, raw.Raw = true, []byte{0xff}
	plain := msg(1, "a", 1)
	turn := func() {
		for range 8 {
			r.Tick(0, false)
			r.Put(plain)
			r.Put(raw)
		}
		buf = r.Drain(buf[:0])
	}
	for range QueueEvents {
		turn() // every slot has room for its text
	}
	if n := testing.AllocsPerRun(100, turn); n != 0 {
		t.Errorf("%v allocations for 16 events, want 0", n)
	}
}
