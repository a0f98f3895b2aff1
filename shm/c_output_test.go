package shm

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// cFused is a fused frame; its body is written here once more from ABI.md, so that C is
// tried against the page and not against another reading of it.
type cFused struct {
	seq, generation            uint64
	first, closed, skew        int64
	reason, flags              byte
	models, missing            [][2]int64 // model, capture; model, why
	boxes                      []cFusedBox
	votesOff, votesTrue, extra uint32 // what an honest writer leaves at 0
}

type cFusedBox struct {
	at    [5]float32
	class uint32
	votes []struct {
		model uint16
		score float32
	}
}

func (f *cFused) body() []byte {
	votes := f.votesOff
	for _, b := range f.boxes {
		votes += uint32(len(b.votes))
	}
	b := le.AppendUint64(nil, f.seq)
	for _, v := range []int64{f.first, f.closed, f.skew, int64(f.generation)} {
		b = le.AppendUint64(b, uint64(v))
	}
	b = append(b, f.reason, byte(len(f.models)), byte(len(f.missing)), f.flags)
	b = le.AppendUint32(b, votes)
	for _, m := range f.models {
		b = le.AppendUint64(b, uint64(m[0]))
		b = le.AppendUint64(b, uint64(m[1]))
	}
	for _, m := range f.missing {
		b = append(le.AppendUint16(b, uint16(m[0])), byte(m[1]), 0)
	}
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	first := f.extra
	for _, box := range f.boxes {
		for _, v := range box.at {
			b = le.AppendUint32(b, math.Float32bits(v))
		}
		b = le.AppendUint32(b, box.class)
		b = le.AppendUint32(b, first)
		b = le.AppendUint32(b, uint32(len(box.votes))+f.votesTrue)
		first += uint32(len(box.votes))
	}
	for _, box := range f.boxes {
		for _, v := range box.votes {
			b = le.AppendUint32(b, uint32(v.model))
			b = le.AppendUint32(b, math.Float32bits(v.score))
		}
	}
	return b
}

func oneFused() *cFused {
	type vote = struct {
		model uint16
		score float32
	}
	return &cFused{seq: 7, generation: 9, first: 100, closed: 300, skew: 150, reason: 2, flags: 1,
		models: [][2]int64{{0, 1000}, {2, math.MinInt64}}, missing: [][2]int64{{1, 2}},
		boxes: []cFusedBox{{[5]float32{0, 0.25, 0.5, 1, 0.75}, 1, []vote{{0, 0.5}, {2, 1}}}, {[5]float32{0, 0, 1, 1, 0.5}, 0, []vote{{2, 0.5}}}}}
}

func testCFused(t *testing.T, c *cBuild) {
	d := c.drive(t)
	f := oneFused()
	whole := "1 7 100 300 150 9 2 1 stream -/- capture 0 epoch 0 model 0 1000 model 2 -9223372036854775808 missing 1 2" +
		" box 0 0.25 0.5 1 0.75 ? by ? 0.5 by ? 1 box 0 0 1 1 0.5 ? by ? 0.5"
	d.want(whole, "fused 2 %s", hexOf(f.body()))
	empty := cFused{seq: 1, skew: -1, reason: 1}
	d.want("1 1 0 0 -1 0 1 0 stream -/- capture 0 epoch 0", "fused 0 %s", hexOf(empty.body()))
	body := f.body()
	for n := range body { // of any other length it is malformed
		d.wantError(-11, "-", "fused frame of", "fused 2 %s", hexOf(body[:n]))
	}
	d.wantError(-11, "-", "fused frame of", "fused 2 %s", hexOf(append(body, 0)))
	d.wantError(-11, "-", "fused frame of", "fused 3 %s", hexOf(body))
	for name, spoil := range map[string]func(f *cFused){
		"more votes than there are":      func(f *cFused) { f.votesTrue = 1 },
		"votes begin behind the last":    func(f *cFused) { f.extra = 4 },
		"votes overflow":                 func(f *cFused) { f.extra, f.votesTrue = math.MaxUint32, math.MaxUint32-1 },
		"more votes in the head":         func(f *cFused) { f.votesOff = 1 },
		"votes in the head overflow":     func(f *cFused) { f.votesOff = math.MaxUint32 - 2 },
		"as many as would wrap a length": func(f *cFused) { f.votesOff = 1 << 29 },
	} {
		f := oneFused()
		spoil(f)
		if got := d.ask("fused 2 %s", hexOf(f.body())); !strings.HasPrefix(got, "error -11 ") {
			t.Errorf("%s: got %s", name, got)
		}
	}
	d.end()
}

// A reader follows the output ring of an appliance, knows the names told before it came,
// and the stream of each frame.
func testCOutput(t *testing.T, c *cBuild) {
	ring := func(model string) (*Segment, *Writer) {
		config := RingConfig{Slots: 256, PayloadBytes: 512, Model: model}
		s := newSegment(t, config.Bytes(), func(b []byte) error { return FormatOutputRing(b, config) })
		w, err := NewWriter(s.Bytes(), 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, camera := range []string{"gate", "yard"} {
			if _, err := w.RegisterStream("box-7", camera, 1); err != nil {
				t.Fatal(err)
			}
		}
		return s, w
	}
	publish := func(w *Writer, kind Kind, count uint16, body []byte) {
		t.Helper()
		h := SlotHeader{Kind: kind, Count: count, CaptureNS: 55, Stream: 1, StreamEpoch: 3}
		if kind == KindJSON {
			h.Stream = 0
		}
		if err := w.Publish(&h, body); err != nil {
			t.Fatal(err)
		}
	}
	s, w := ring("output")
	publish(w, KindJSON, 0, []byte(`{"schema":1,"unit":"box-7","tables":1,"models":["a","b","c"],"first_class":0,"classes":["person"]}`))
	publish(w, KindJSON, 0, []byte(`{"classes":["c\u00e4r"],"tables":1,"models":["a","b","c"],"first_class":1,"later":[{}]}`))
	publish(w, KindFused, 0, (&cFused{seq: 1}).body()) // before anybody came

	film := newCFilm(t, "gate")
	files := func(out *Segment, names ...string) func(map[string]any) (string, []*os.File) {
		return func(map[string]any) (string, []*os.File) {
			ro, err := out.OpenReadOnly()
			if err != nil {
				t.Error(err)
			}
			pictures, err := film.s.OpenReadOnly()
			if err != nil {
				t.Error(err)
			}
			return fmt.Sprintf(`{"ok":true,"abi":1,"unit":"box-7","cameras":[{"name":"gate","stream_epoch":2}],"files":["%s","frames/gate"]}`, names[0]), []*os.File{ro, pictures}
		}
	}
	app := newCAppliance(t, files(s, "output"))
	d := c.drive(t)
	d.want("0", "attach-reader %s", app.path)
	app.next()
	if r := app.requests[0]; r["role"] != "reader" || r["abi"] != 1.0 {
		t.Errorf("request %v", r)
	}
	d.want("0", "output")
	f := oneFused()
	whole := "1 7 100 300 150 9 2 1 stream box-7/yard capture 55 epoch 3 model 0 1000 model 2 -9223372036854775808 missing 1 2" +
		" box 0 0.25 0.5 1 0.75 cär by a 0.5 by c 1 box 0 0 1 1 0.5 person by c 0.5"
	publish(w, KindFused, 2, f.body())
	d.want(whole, "output")
	d.want("0", "output")
	publish(w, KindJSON, 0, []byte(`{"models":["a","b"`))                            // broken: what was known stays
	publish(w, KindJSON, 0, []byte(`{"first_class":9,"classes":["beyond a gap"]}`))  // not the next: not taken
	publish(w, KindJSON, 0, []byte(`{"first_class":99999999999,"classes":["x"]}`))   // nonsense
	publish(w, KindJSON, 0, []byte(`{"models":["a","b","c"],"classes":["person"]}`)) // told again
	publish(w, KindFused, 3, f.body())                                               // malformed
	publish(w, KindFused, 2, f.body())
	d.wantError(-11, "-", "fused frame of", "output")
	d.want(whole, "output")
	for range 300 {
		publish(w, KindFused, 2, f.body())
	}
	for range 256 {
		d.want(whole, "output")
	}
	d.want("0", "output")
	d.want("263 44", "output-counts")
	d.want(film.show(FormatRGB24, 1), "newest 0")
	d.wantError(-1, "-", "sg_attach_writer", "boxes 0 0 0 0 0 -")

	// The appliance ends. What it published last is there, though another call has seen the
	// end of the socket; what it adds later, as one that lives on would, is not.
	publish(w, KindFused, 2, f.body())
	publish(w, KindJSON, 0, []byte(`{"models":["a","b","c"],"classes":["person","mouse"]}`))
	publish(w, KindFused, 2, f.body())
	app.stop()
	noticed := func() bool { return strings.HasPrefix(d.ask("poll %d", monotonicNS(t)), "error -9 ") }
	eventually(t, "the reader to notice", noticed)
	publish(w, KindFused, 2, f.body())
	d.want(whole, "output")
	if !noticed() {
		t.Error("attached again while nobody is there")
	}
	d.want(strings.ReplaceAll(whole, "cär", "mouse"), "output")
	d.wantError(-9, "-", "tried again in", "output")
	d.want("266 44", "output-counts")

	// The appliance is back: other names in a new ring, counts go on.
	renew := func(names string) {
		s, w = ring("output")
		publish(w, KindJSON, 0, []byte(names))
		app.mu.Lock()
		app.answer = files(s, "output")
		app.mu.Unlock()
		app.start()
	}
	renew(`{"models":["x","y","z"],"classes":["dog","cat"]}`)
	eventually(t, "the reader to attach anew", func() bool { return strings.HasPrefix(d.ask("output"), "error -10 ") })
	publish(w, KindFused, 2, f.body())
	d.want(strings.NewReplacer("cär", "cat", "person", "dog", "by a", "by x", "by c", "by z").Replace(whole), "output")
	d.want("267 44", "output-counts")

	// A re-attachment by another call gives up what was not read, and counts it.
	for range 3 {
		publish(w, KindFused, 2, f.body())
	}
	app.stop()
	eventually(t, "the reader to notice again", noticed)
	d.want("267 44", "output-counts")
	renew(`{"models":null,"classes":null,"first_class":null}`) // as if they were not there
	eventually(t, "the reader to attach a third time", func() bool {
		return strings.HasPrefix(d.ask("poll %d", monotonicNS(t)), "error -10 ")
	})
	d.want("267 47", "output-counts")
	publish(w, KindJSON, 0, []byte(`{"models":null,"classes":["ant","bee"]}`))
	publish(w, KindFused, 2, f.body())
	d.want(strings.NewReplacer("cär", "bee", "person", "ant", "by a", "by ?", "by c", "by ?").Replace(whole), "output")
	publish(w, KindJSON, 0, []byte(`{"classes":["wasp",null]}`)) // an element is never null
	publish(w, KindFused, 2, f.body())
	d.want(strings.NewReplacer("cär", "bee", "person", "wasp", "by a", "by ?", "by c", "by ?").Replace(whole), "output")
	d.end()

	app.stop()
	app = newCAppliance(t, files(s, "ring")) // no output ring among the files
	d = c.drive(t)
	d.wantError(-7, "-", "gave no output ring", "attach-reader %s", app.path)
	d.end()
}
