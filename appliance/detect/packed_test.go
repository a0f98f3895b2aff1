package detect

import (
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The byte form is a contract with writers in other languages: pin it.
func TestPackedLayout(t *testing.T) {
	boxes := []Box{{X1: 0.25, Y1: 0.5, X2: 0.75, Y2: 1, Score: 0.5, Label: 7}}
	got := hex.EncodeToString(AppendPacked(nil, boxes))
	want := "0000803e" + "0000003f" + "0000403f" + "0000803f" + "0000003f" + "07000000"
	if want != got {
		t.Errorf("packed box: want %s, got %s", want, got)
	}
}

func TestPackedRoundTrip(t *testing.T) {
	nan := float32(math.NaN())
	for name, boxes := range map[string][]Box{
		"none": nil,
		"two":  {{X1: 0.1, Y1: 0.2, X2: 0.3, Y2: 0.4, Score: 0.9, Label: 1}, {Label: math.MaxUint32}},
		"odd":  {{X1: float32(math.Inf(1)), Y1: -3, X2: 2, Score: 1e30}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := AppendUnpacked(nil, AppendPacked(nil, boxes), len(boxes))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(boxes, got); diff != "" {
				t.Errorf("round trip (-want +got):\n%s", diff)
			}
		})
	}
	got, err := AppendUnpacked(nil, AppendPacked(nil, []Box{{Score: nan}}), 1)
	if err != nil || !math.IsNaN(float64(got[0].Score)) {
		t.Errorf("NaN score: want it kept for the gate, got %v, %v", got, err)
	}
}

func TestUnpackRefusesWrongLength(t *testing.T) {
	for _, c := range []struct{ bytes, count int }{{0, 1}, {23, 1}, {25, 1}, {24, 2}, {24, 0}, {24, -1}} {
		if got, err := AppendUnpacked(nil, make([]byte, c.bytes), c.count); !errors.Is(err, ErrPacked) || len(got) != 0 {
			t.Errorf("%d bytes for %d boxes: want ErrPacked and nothing, got %v, %v", c.bytes, c.count, got, err)
		}
	}
}

// Both ways of unpacking give the same, and keep what is there.
func TestUnpackByField(t *testing.T) {
	body := AppendPacked(nil, []Box{{X1: 0.1, Y1: 0.2, X2: 0.3, Y2: 0.4, Score: 0.9, Label: 1}, {Score: 1, Label: math.MaxUint32}})
	before := []Box{{Label: 5}}
	here := sameAsPacked
	defer func() { sameAsPacked = here }()
	sameAsPacked = false
	byField, err := AppendUnpacked(before, body, 2)
	if err != nil {
		t.Fatal(err)
	}
	if sameAsPacked = here; !here {
		return // there is no other way on this processor
	}
	atOnce, err := AppendUnpacked(before, body, 2)
	if diff := cmp.Diff(byField, atOnce); diff != "" || err != nil || len(atOnce) != 3 {
		t.Errorf("at once (+) and by field (-) differ, error %v:\n%s", err, diff)
	}
}

// Boxes read in place are those that are unpacked, and the body's own memory; a body that cannot
// be read there is left to AppendUnpacked.
func TestInPlace(t *testing.T) {
	want := []Box{{1, 2, 3, 4, 0.5, 6}, {X1: -1, Label: math.MaxUint32}}
	body := AppendPacked(make([]byte, 0, 64), want)
	boxes, ok := InPlace(body, 2)
	if !ok || !slices.Equal(boxes, want) {
		t.Fatalf("%v (%t), want %v", boxes, ok, want)
	}
	body[0] ^= 1
	if boxes[0].X1 == want[0].X1 {
		t.Error("the boxes are a copy")
	}
	odd := append([]byte{0}, body...)[1:]
	for _, c := range []struct {
		body  []byte
		count int
	}{{body, 1}, {body, 3}, {body, -2}, {body[1:], 2}, {odd, 2}, {nil, 0}, {body[:0], 0}, {body, 0}, {body, math.MaxInt}} {
		if boxes, ok := InPlace(c.body, c.count); ok {
			t.Errorf("%d boxes of %d bytes are read as %v", c.count, len(c.body), boxes)
		}
	}
}
