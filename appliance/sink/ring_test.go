package sink

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/shm"
)

// outputRing lays an output ring out and returns its sink, and a reader from its start on.
func outputRing(t testing.TB, slots, payload int) (*Ring, *shm.Reader) {
	t.Helper()
	c := shm.RingConfig{Slots: slots, PayloadBytes: payload, Model: "fused"}
	b := make([]byte, c.Bytes())
	if err := shm.FormatOutputRing(b, c); err != nil {
		t.Fatal(err)
	}
	r, err := shm.NewReader(b)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewRing(b, 7, "u1", []string{"gate", "hall"}, []string{"a", "b", "c"}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return s, r
}

// follower reads a ring as a consumer does.
type follower struct {
	t    testing.TB
	r    *shm.Reader
	d    Decoder
	body []byte
}

// next returns the next frame; nil at the end of the ring.
func (f *follower) next() (*Frame, error) {
	f.t.Helper()
	if f.body == nil {
		f.body = make([]byte, f.r.PayloadBytes())
	}
	var h shm.SlotHeader
	for {
		n, ok, err := f.r.Next(&h, f.body)
		if err != nil {
			f.t.Fatal(err)
		}
		if !ok {
			return nil, nil
		}
		if h.Kind == shm.KindJSON {
			if err := f.d.Names(&h, f.body[:n]); err != nil {
				f.t.Fatal(err)
			}
			continue
		}
		s, _ := f.r.Stream(h.Stream)
		return f.d.Frame(&h, s.Unit, s.Camera, f.body[:n])
	}
}

// carried is a frame as the ring can carry it: no generation, no raw text, words it knows.
func carried() *Frame {
	f := full()
	f.Generation, f.Models[1].Raw = "", nil
	f.Missing = []Missing{{"c", "dead"}, {"d", "other"}}
	return f
}

// The JSON line of what comes out of the ring is that of what went in.
func TestRingCarriesTheJSONLine(t *testing.T) {
	s, r := outputRing(t, 128, 4096)
	f := follower{t: t, r: r}
	one := &Frame{Seq: 2, Unit: "u1", Camera: "hall", CaptureNS: detect.RawInstant, Reason: "eviction", Models: []Answer{{Model: "z", CaptureNS: detect.RawInstant}}}
	for _, want := range []*Frame{carried(), one} {
		s.Offer(want)
		got, err := f.next()
		if err != nil || got == nil {
			t.Fatalf("frame %d: got %v, %v", want.Seq, got, err)
		}
		wantLine, _ := want.AppendJSON(nil)
		gotLine, err := got.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(wantLine), string(gotLine)); diff != "" {
			t.Errorf("JSON line of frame %d (-want +got):\n%s", want.Seq, diff)
		}
	}
	if st := s.Stats(); st.Offered != 2 || st.Written != 2 {
		t.Errorf("stats: %+v", st)
	}
}

// The bytes are a contract with readers in other languages: pin them.
func TestRecordIsExactlyTheABI(t *testing.T) {
	names := newTables([]string{"a", "b"})
	f := &Frame{
		Seq: 7, FirstArrival: 0x0102, LastArrival: 0x0105, Closed: 0x0110, Reason: "settled", Degraded: true,
		Models:  []Answer{{Model: "b", CaptureNS: 0x55}, {Model: "a", CaptureNS: detect.RawInstant}},
		Missing: []Missing{{"c", "passed"}, {"c", "late"}, {"c", "other_bucket"}, {"c", "wrong_generation"}, {"c", "absent"}, {"c", "dead"}, {"c", "?"}},
		Boxes: []Box{
			{0.25, 0.5, 0.75, 1, 0.5, "dog", []Vote{{"b", 0.5}}},
			{0, 0, 1, 1, 0.25, "cat", []Vote{{"a", 1}, {"b", 0.25}}},
		},
	}
	if err := names.learn(f, 1000); err != nil {
		t.Fatal(err)
	}
	var h shm.SlotHeader
	got, err := appendRecord(nil, &h, f, names)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"0700000000000000", "0201000000000000", "1001000000000000", "0300000000000000", "0000000000000000",
		"02", "02", "07", "01", "03000000",
		"0100000000000000", "5500000000000000", "0000000000000000", "0000000000000080",
		"02000300", "02000400", "02000500", "02000600", "02000100", "02000200", "02000000", "00000000",
		"0000803e", "0000003f", "0000403f", "0000803f", "0000003f", "00000000", "00000000", "01000000",
		"00000000", "00000000", "0000803f", "0000803f", "0000803e", "01000000", "01000000", "02000000",
		"01000000", "0000003f", "00000000", "0000803f", "01000000", "0000803e",
	}, "")
	if diff := cmp.Diff(want, hex.EncodeToString(got)); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	parts, err := names.telling("u1", 4096)
	if err != nil || len(parts) != 1 {
		t.Fatalf("telling: %d parts, %v", len(parts), err)
	}
	if want := `{"schema":1,"unit":"u1","tables":6,"models":["a","b","c"],"first_class":0,"classes":["dog","cat"]}`; want != string(parts[0]) {
		t.Errorf("names: want %s, got %s", want, parts[0])
	}
}

// Whoever begins 127 messages back knows every name, whatever has changed meanwhile.
func TestNamesAreToldAgain(t *testing.T) {
	s, r := outputRing(t, 1024, 2048)
	for i := range 500 {
		f := carried()
		f.Seq = uint64(i + 1)
		f.Boxes[0].Label = fmt.Sprintf("class %d, %s", i/10, strings.Repeat("long ", 20))
		s.Offer(f)
	}
	if len(s.telling) < 2 || s.Stats().Written != 500 {
		t.Fatalf("want all frames, and tables of more than one message; got %d parts, %+v", len(s.telling), s.Stats())
	}
	body := make([]byte, r.PayloadBytes())
	var bodies [][]byte
	var headers []shm.SlotHeader
	for {
		var h shm.SlotHeader
		n, ok, err := r.Next(&h, body)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		bodies, headers = append(bodies, append([]byte(nil), body[:n]...)), append(headers, h)
	}
	for end := 128; end < len(bodies); end++ {
		var d Decoder
		var err error
		for i := end - 127; i <= end; i++ {
			if headers[i].Kind == shm.KindJSON {
				if e := d.Names(&headers[i], bodies[i]); e != nil {
					t.Fatal(e)
				}
			} else if _, err = d.Frame(&headers[i], "u1", "gate", bodies[i]); err != nil && !errors.Is(err, ErrNames) {
				t.Fatal(err)
			}
		}
		if err != nil {
			t.Fatalf("message %d, read from 127 back: %v", end, err)
		}
	}
}

// What has no room is counted, and the ring goes on.
func TestRingCountsWhatItCannotCarry(t *testing.T) {
	s, r := outputRing(t, 128, 1024)
	big := carried()
	for range 100 {
		big.Boxes = append(big.Boxes, big.Boxes[0])
	}
	s.Offer(big)
	bad := carried()
	bad.Boxes[0].X1 = math.NaN()
	s.Offer(bad)
	many := carried()
	for range 256 {
		many.Models = append(many.Models, many.Models[0])
	}
	s.Offer(many)
	for i := range 1000 { // more names than maxTableParts messages hold
		f := carried()
		f.Boxes[0].Label = fmt.Sprintf("%d%s", i, strings.Repeat("x", 50))
		s.Offer(f)
	}
	s.Offer(carried())
	st := s.Stats()
	full := st.Lost[LostTooLarge] - 1
	if st.Lost[LostInvalid] != 2 || full == 0 || full > 990 || st.Written != 1001-full || st.Offered != 1004 {
		t.Errorf("stats: %+v", st)
	}
	if r.Pending(); r.Err() != nil {
		t.Error(r.Err())
	}
}

// Encoding allocates nothing once names and buffers have their size.
func TestRingAllocatesNothing(t *testing.T) {
	s, _ := outputRing(t, 128, 4096)
	f := carried()
	s.Offer(f)
	if n := testing.AllocsPerRun(1000, func() { s.Offer(f) }); n != 0 {
		t.Errorf("allocations a frame: want 0, got %v", n)
	}
	if st := s.Stats(); st.Written != st.Offered {
		t.Errorf("stats: %+v", st)
	}
}

// Any frame that JSON can carry comes out of the ring as it went in.
func TestRecordRoundTrip(t *testing.T) {
	label := rapid.StringMatching(`[a-zé"\\ ]{0,12}`)
	number := rapid.Float32Range(-1, 2)
	rapid.Check(t, func(t *rapid.T) {
		models := []string{"a", "b", "ü", "d"}
		f := &Frame{
			Seq: rapid.Uint64().Draw(t, "seq"), Unit: "u", Camera: "c", StreamEpoch: rapid.Uint32().Draw(t, "epoch"),
			FrameID: rapid.Uint64().Draw(t, "id"), CaptureNS: rapid.Int64().Draw(t, "capture"),
			Reason: rapid.SampledFrom(reasonWords[1:]).Draw(t, "reason"), Degraded: rapid.Bool().Draw(t, "degraded"),
		}
		for _, m := range models[:rapid.IntRange(0, 4).Draw(t, "answers")] {
			f.Models = append(f.Models, Answer{Model: m, CaptureNS: rapid.Int64().Draw(t, "ns")})
		}
		for _, m := range models[:rapid.IntRange(0, 3).Draw(t, "missing")] {
			f.Missing = append(f.Missing, Missing{m, rapid.SampledFrom(whyWords[:]).Draw(t, "why")})
		}
		if len(f.Models) > 1 {
			f.FirstArrival, f.LastArrival = 5, 5+1e9
		}
		for range rapid.IntRange(0, 5).Draw(t, "boxes") {
			b := Box{Label: label.Draw(t, "label")}
			for _, v := range []*float64{&b.X1, &b.Y1, &b.X2, &b.Y2, &b.Score} {
				*v = float64(number.Draw(t, "number"))
			}
			for _, m := range models[:rapid.IntRange(0, 3).Draw(t, "votes")] {
				b.By = append(b.By, Vote{m, float64(number.Draw(t, "score"))})
			}
			f.Boxes = append(f.Boxes, b)
		}
		names := newTables(nil)
		if err := names.learn(f, 1<<20); err != nil {
			t.Fatal(err)
		}
		var h shm.SlotHeader
		body, err := appendRecord(nil, &h, f, names)
		if err != nil {
			t.Fatal(err)
		}
		var d Decoder
		parts, err := names.telling("u", 4096)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range parts {
			if err := d.Names(&shm.SlotHeader{Kind: shm.KindJSON}, p); err != nil {
				t.Fatal(err)
			}
		}
		got, err := d.Frame(&h, "u", "c", body)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := f.AppendJSON(nil)
		line, _ := got.AppendJSON(nil)
		if diff := cmp.Diff(string(want), string(line)); diff != "" {
			t.Fatalf("JSON line (-want +got):\n%s", diff)
		}
	})
}

// A record from nowhere neither crashes the decoder nor gets past it with nonsense.
func FuzzRecord(f *testing.F) {
	names := newTables([]string{"a", "b"})
	good := carried()
	if err := names.learn(good, 1000); err != nil {
		f.Fatal(err)
	}
	var h shm.SlotHeader
	body, err := appendRecord(nil, &h, good, names)
	if err != nil {
		f.Fatal(err)
	}
	telling, err := names.telling("u", 4096)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body, telling[0], uint16(len(good.Boxes)))
	f.Add(body[:48], []byte(`{"schema":1,"first_class":4294967295,"classes":["x"]}`), uint16(0))
	f.Fuzz(func(t *testing.T, body, told []byte, count uint16) {
		var d Decoder
		if err := d.Names(&shm.SlotHeader{Kind: shm.KindJSON}, told); err != nil && !errors.Is(err, ErrRecord) {
			t.Fatal(err)
		}
		got, err := d.Frame(&shm.SlotHeader{Kind: shm.KindFused, Count: count}, "u", "c", body)
		if err != nil {
			if !errors.Is(err, ErrRecord) && !errors.Is(err, ErrNames) {
				t.Fatal(err)
			}
			return
		}
		votes := 0
		for _, b := range got.Boxes {
			votes += len(b.By)
		}
		if want := got.Boxes; len(want) != int(count) || len(body) < 48+32*int(count)+8*votes {
			t.Fatalf("%d boxes and %d votes of a record with %d boxes and %d bytes", len(want), votes, count, len(body))
		}
	})
}

func BenchmarkRingOffer(b *testing.B) {
	s, _ := outputRing(b, 1024, 16384)
	f := carried()
	for len(f.Boxes) < 20 {
		f.Boxes = append(f.Boxes, f.Boxes[0])
	}
	b.ReportAllocs()
	for b.Loop() {
		s.Offer(f)
	}
}
