package story

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/detect"
)

var update = flag.Bool("update", false, "write the golden files")

const ms = int64(1e6)

// watched returns a correlator of two or more models, and its book.
func watched(t testing.TB, change func(*correlate.Config, *Options)) (*Book, *correlate.Correlator) {
	t.Helper()
	cfg := correlate.DefaultConfig()
	cfg.QuantumNS, cfg.TimeoutNS, cfg.MaxAgeNS = 25*ms, 300*ms, 2000*ms
	cfg.Camera = correlate.CameraConfig{Match: correlate.MatchBucket, Expected: []string{"a", "b", "c"}}
	o := Options{Cameras: 4, Frames: 64, Messages: MessagesFor(3)}
	if change != nil {
		change(&cfg, &o)
	}
	book := NewBook(&cfg, o)
	cfg.Watch = book
	c, err := correlate.New(cfg, func(*correlate.Group) {})
	if err != nil {
		t.Fatal(err)
	}
	return book, c
}

// say lets a model of a camera answer.
func say(t testing.TB, c *correlate.Correlator, at int64, camera, model string, m correlate.Message) correlate.Verdict {
	t.Helper()
	var err error
	if m.Stream, err = c.Stream("u", camera, 1); err == nil {
		m.Model, err = c.Model(model)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c.Step(clock.Mono(at), &m)
}

func ask(t testing.TB, b *Book, c *correlate.Correlator, a Ask) (*Document, error) {
	t.Helper()
	q, err := Parse(a)
	if err != nil {
		t.Fatal(err)
	}
	p := b.NewPage()
	p.NowNS, p.WallNS = clock.Mono(5000*ms), 1_700_000_000_000*ms
	if err := b.Copy(p, c, "", "gate", q); err != nil {
		return nil, err
	}
	return p.Document(), nil
}

// The whole form of an answer, with each kind of message and of reason in it.
func TestDocumentGolden(t *testing.T) {
	b, c := watched(t, func(cfg *correlate.Config, o *Options) {
		cfg.Camera.Expected = []string{"a", "b", "c", "d", "e"}
		cfg.Camera.OffsetNS = map[string]int64{"b": 2 * ms}
		o.Messages = MessagesFor(5)
	})
	boxes := []detect.Box{{Score: .5}}
	wall := 1_700_000_000_000 * ms
	if err := c.ModelDown(clock.Mono(900*ms), "d"); err != nil {
		t.Fatal(err)
	}
	say(t, c, 1000*ms, "gate", "a", correlate.Message{CaptureNS: wall + ms, FrameID: 7, Generation: 4, HasBoxes: true, Boxes: boxes})
	say(t, c, 1003*ms, "gate", "a", correlate.Message{CaptureNS: wall + 24*ms, FrameID: 8, HasBoxes: true})
	say(t, c, 1004*ms, "gate", "b", correlate.Message{CaptureNS: wall + 4*ms, Generation: 9})
	say(t, c, 1005*ms, "gate", "b", correlate.Message{CaptureNS: wall + 4*ms, HasBoxes: true})
	say(t, c, 1006*ms, "gate", "\x1b[1mA", correlate.Message{CaptureNS: wall, Generation: 4})
	say(t, c, 1007*ms, "gate", "e", correlate.Message{CaptureNS: wall - ms}) // the bucket before
	say(t, c, 1010*ms, "gate", "f", correlate.Message{Raw: []byte("noon \xff")})
	c.Tick(clock.Mono(1320 * ms))
	say(t, c, 1325*ms, "gate", "c", correlate.Message{CaptureNS: wall, HasBoxes: true, Boxes: boxes})
	d, err := ask(t, b, c, Ask{Last: 3})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/document.json", append(got, '\n'))
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", name, diff)
	}
}

// Keys are printed as the correlator prints them.
func TestNotesAreTheCorrelators(t *testing.T) {
	for _, match := range []correlate.Match{correlate.MatchFrameID, correlate.MatchBucket, correlate.MatchWindow} {
		for _, quantum := range []int64{0, 25 * ms, 33_333_333} {
			var want []string
			var c *correlate.Correlator
			cfg := correlate.DefaultConfig()
			cfg.QuantumNS = quantum
			cfg.Camera = correlate.CameraConfig{Match: match, WindowNS: 5 * ms, FrameIntervalNS: 30 * ms, Expected: []string{"a"}}
			b := NewBook(&cfg, Options{Cameras: 1, Frames: 16, Messages: 4})
			cfg.Watch = b
			c, err := correlate.New(cfg, func(g *correlate.Group) { want = append(want, string(c.AppendNote(nil, g.Key))) })
			if err != nil {
				t.Fatal(err)
			}
			for i, m := range []correlate.Message{
				{CaptureNS: -1}, {CaptureNS: 1<<63 - 1}, {CaptureNS: 70 * ms, FrameID: 1<<64 - 1}, {Raw: []byte("x")}, {Raw: []byte(strings.Repeat("long ", 99))}, {Raw: []byte{}},
			} {
				say(t, c, int64(i), "gate", "a", m)
			}
			d, err := ask(t, b, c, Ask{Last: 64})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range d.Frames {
				got = append(got, f.Key)
				again, err := ask(t, b, c, Ask{Frame: f.Key})
				if err != nil || !slices.ContainsFunc(again.Frames, func(o Frame) bool { return o.Key == f.Key }) {
					t.Errorf("%s asked for by its key: %v", f.Key, err)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, quantum %d (-correlator +book):\n%s", match, quantum, diff)
			}
		}
	}
}

// One picture in two frames: each is told as the other's half; a model that answered only the
// next picture is not.
func TestOtherHalf(t *testing.T) {
	b, c := watched(t, func(cfg *correlate.Config, _ *Options) { cfg.Camera.Expected = []string{"a", "b"} })
	at := int64(0)
	answer := func(model string, captureMS int64, id uint64) {
		at += ms
		say(t, c, at, "gate", model, correlate.Message{CaptureNS: captureMS * ms, FrameID: id})
	}
	answer("a", 24, 1) // q25:0
	answer("b", 26, 1) // q25:1
	answer("a", 60, 2) // q25:2, b has nothing to say of it
	answer("a", 76, 3) // q25:3, both do, and it lies within a quantum of the one before
	answer("b", 76, 3)
	c.Tick(clock.Mono(400 * ms))
	d, err := ask(t, b, c, Ask{Frame: "1"})
	if err != nil || len(d.Frames) != 2 {
		t.Fatalf("both halves go by their frame id: %v, %+v", err, d)
	}
	for i, want := range []Nearest{
		{Key: "q25:1", ByNS: 2 * ms, AtNS: ms, Verdict: "accepted", OtherHalf: true},
		{Key: "q25:0", ByNS: -2 * ms, AtNS: -ms, Verdict: "accepted", OtherHalf: true},
	} {
		m := d.Frames[i].Missing[0]
		got := *m.Nearest
		got.Seq = nil
		if m.Why != "other_bucket" || got != want {
			t.Errorf("frame %s: %s, want %+v, got %+v", d.Frames[i].Key, m.Why, want, got)
		}
	}
	d, err = ask(t, b, c, Ask{Frame: "2"})
	if err != nil {
		t.Fatal(err)
	}
	if m := d.Frames[0].Missing[0]; m.Why != "absent" || m.Nearest == nil || m.Nearest.OtherHalf || m.Nearest.ByNS != 16*ms {
		t.Errorf("a model that answered the next picture: %+v, %+v", m, m.Nearest)
	}
}

// Two frame ids are two pictures, however near, and who came late for a frame has answered that
// picture: neither makes another half of it.
func TestOtherHalfIsOfThisPicture(t *testing.T) {
	b, c := watched(t, func(cfg *correlate.Config, _ *Options) {
		cfg.Camera = correlate.CameraConfig{Match: correlate.MatchFrameID, Expected: []string{"a", "b"}}
	})
	say(t, c, ms, "gate", "a", correlate.Message{CaptureNS: 20 * ms, FrameID: 1})
	say(t, c, 2*ms, "gate", "b", correlate.Message{CaptureNS: 24 * ms, FrameID: 2})
	c.Tick(clock.Mono(400 * ms))
	d, err := ask(t, b, c, Ask{Frame: "1"})
	if err != nil || d.Frames[0].Missing[0].Why != "absent" {
		t.Errorf("another frame id: %+v, %v", d, err)
	}
	b, c = watched(t, func(cfg *correlate.Config, _ *Options) { cfg.Camera.Expected = []string{"a", "b"} })
	say(t, c, ms, "gate", "b", correlate.Message{CaptureNS: 26 * ms})
	say(t, c, 2*ms, "gate", "a", correlate.Message{CaptureNS: 24 * ms})
	c.Tick(clock.Mono(400 * ms))
	say(t, c, 401*ms, "gate", "a", correlate.Message{CaptureNS: 27 * ms})
	if d, err = ask(t, b, c, Ask{Frame: "q25:0"}); err != nil || d.Frames[0].Missing[0].Nearest.OtherHalf {
		t.Errorf("a's own answer is in q25:1: %+v, %v", d.Frames[0].Missing[0].Nearest, err)
	}
}

// A frame's capture time is the one that it is published with: less the models' offsets.
func TestCaptureTimeIsTheFrames(t *testing.T) {
	for _, want := range []struct{ b, earliest int64 }{{100 * ms, 60 * ms}, {math.MinInt64 + 1, math.MinInt64 + 1}} {
		published := int64(0)
		b, c := watched(t, func(cfg *correlate.Config, o *Options) {
			cfg.Camera = correlate.CameraConfig{Match: correlate.MatchFrameID, Expected: []string{"a", "b"}, OffsetNS: map[string]int64{"b": 40 * ms}}
		})
		say(t, c, ms, "gate", "a", correlate.Message{CaptureNS: 90 * ms, FrameID: 1})
		c.EachOpen("u", "gate", func(g *correlate.Group, _ uint64) { published = g.CaptureNS })
		if published != 90*ms {
			t.Errorf("of a alone: %d", published)
		}
		say(t, c, 2*ms, "gate", "b", correlate.Message{CaptureNS: want.b, FrameID: 1})
		d, err := ask(t, b, c, Ask{Frame: "1"})
		if err != nil {
			t.Fatal(err)
		}
		if got := *d.Frames[0].CaptureNS; got != want.earliest {
			t.Errorf("captured at %d by b: want %d, got %d", want.b, want.earliest, got)
		}
	}
}

// A flood of cameras, names and frames takes the room that there is and no more.
func TestBounds(t *testing.T) {
	b, c := watched(t, nil)
	for i := range 20_000 {
		camera := fmt.Sprintf("camera-%d", i%1000)
		if i%2 == 0 {
			camera = "gate"
		}
		say(t, c, int64(i)*ms, camera, fmt.Sprintf("stranger-%d", i%900), correlate.Message{CaptureNS: int64(i/50) * 25 * ms})
	}
	for i, s := range b.shelves {
		if s != nil && (cap(s.frames) != 64 || cap(s.entries) != 64*MessagesFor(3) || len(s.raws) > 64) {
			t.Errorf("shelf %d of %s: room for %d frames and %d entries", i, s.camera, cap(s.frames), cap(s.entries))
		}
	}
	var kept uintptr
	for _, s := range b.shelves {
		if s != nil {
			kept += uintptr(cap(s.frames))*reflect.TypeFor[frame]().Size() + uintptr(cap(s.entries))*reflect.TypeFor[entry]().Size() +
				uintptr(cap(s.raws))*reflect.TypeFor[raw]().Size()
		}
	}
	if o := b.o; int(kept) > o.Bytes() || int(kept) < o.Bytes()/2 {
		t.Errorf("the book has room of %d bytes, foretold %d", kept, o.Bytes())
	}
	if b.n != 4 {
		t.Errorf("%d shelves, at most 4", b.n)
	}
	d, err := ask(t, b, c, Ask{Last: 64})
	if err != nil || len(d.Frames) == 0 {
		t.Fatal(err, d)
	}
	for _, f := range d.Frames {
		if len(f.Messages)+len(f.Missing) > MessagesFor(3) || f.LeftOut == 0 {
			t.Errorf("%s: %d messages, %d missing, %d left out", f.Key, len(f.Messages), len(f.Missing), f.LeftOut)
		}
	}
	q, _ := Parse(Ask{})
	err = b.Copy(b.NewPage(), c, "", "door", q)
	if !errors.Is(err, ErrNoCamera) || !strings.Contains(err.Error(), "gate") {
		t.Errorf("a camera that is not known: %v", err)
	}
}

// Whatever happens and whatever is asked, a page stays within its room, tells each model that
// was waited for once, and its figures are those of the correlator.
func TestStoriesHoldTogether(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 7))
		b, c := watched(t, func(cfg *correlate.Config, _ *Options) {
			cfg.TimeoutNS, cfg.MaxPending = 60*ms, 8
			cfg.Camera.Match = []correlate.Match{correlate.MatchBucket, correlate.MatchFrameID}[seed%2]
		})
		now := int64(0)
		for range 3000 {
			now += r.Int64N(12 * ms)
			frame := now/(25*ms) - r.Int64N(4)*r.Int64N(2)
			m := correlate.Message{CaptureNS: frame*25*ms + r.Int64N(30*ms), FrameID: uint64(frame + 10), Generation: uint64(r.IntN(20) / 19), HasBoxes: true}
			switch r.IntN(30) {
			case 0:
				m.Raw = []byte{byte(r.IntN(4))}
			case 1:
				_ = c.ModelDown(clock.Mono(now), "b")
			case 2:
				m.Generation = 5
			}
			say(t, c, now, "gate", string(rune('a'+r.IntN(4))), m)
		}
		for _, a := range []Ask{{Last: 64}, {Incomplete: true}, {}, {Frame: fmt.Sprint(now/(25*ms) + 9)}} {
			d, err := ask(t, b, c, a)
			if errors.Is(err, ErrNoFrame) && a.Frame != "" {
				continue
			} else if err != nil {
				t.Fatalf("seed %d, %+v: %v", seed, a, err)
			}
			for i := range d.Frames {
				if err := sound(&d.Frames[i]); err != nil {
					t.Errorf("seed %d, %+v, %s: %v", seed, a, d.Frames[i].Key, err)
				}
			}
		}
	}
}

func sound(f *Frame) error {
	if f.LeftOut > 0 {
		return nil
	}
	seen := map[string]int{}
	for _, m := range f.Messages {
		if m.Verdict == "accepted" && m.Expected {
			seen[m.Model]++
		}
		if m.Verdict == "late" && (m.AfterCloseNS == nil || *m.AfterCloseNS < 0) {
			return fmt.Errorf("%s is late and not after the closing", m.Model)
		}
	}
	for _, m := range f.Missing {
		seen[m.Model]++
	}
	for _, name := range []string{"a", "b", "c"} {
		if seen[name] != 1 {
			return fmt.Errorf("%s is told %d times", name, seen[name])
		}
	}
	if len(f.Expected) != 3 || len(seen) != 3 {
		return fmt.Errorf("expected %v, told %v", f.Expected, seen)
	}
	if f.Verdict == "" || f.State == "published" == (f.Seq == nil) || (f.State == "open") != (f.Reason == nil) {
		return fmt.Errorf("state %s, seq %v, reason %v, verdict %q", f.State, f.Seq, f.Reason, f.Verdict)
	}
	return nil
}

// What a frame takes is what the book costs the path.
func TestSizes(t *testing.T) {
	if f, e := reflect.TypeFor[frame]().Size(), reflect.TypeFor[entry]().Size(); f != 96 || e != 32 {
		t.Errorf("a frame has %d bytes, an entry %d; want 96 and 32", f, e)
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"gate": "gate", "": `""`, "a b": `"a b"`, "\x1b[31m": `"\x1b[31m"`, "a\u202eb": `"a\u202eb"`, "tür": "tür", "a\xff": `"a\xff"`, `"`: `"\""`,
	} {
		if got := Printable(in); got != want {
			t.Errorf("%q: want %s, got %s", in, want, got)
		}
	}
}

func TestMillis(t *testing.T) {
	for ns, want := range map[int64]string{0: "0.0 ms", 1: "0.000 ms", -500_000: "-0.500 ms", 12_340_000: "12.3 ms", 9_999_000_000: "9999.0 ms", 63_200_000_000: "63.2 s"} {
		if got := Millis(ns); got != want {
			t.Errorf("%d: want %s, got %s", ns, want, got)
		}
	}
}
