package advise

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Yield and wait against their definition, frame by frame.
func TestWaitsAgainstTheirDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w Waits
		type frame struct {
			by  Closing
			lag int64
		}
		var frames []frame
		for range rapid.IntRange(0, 40).Draw(t, "frames") {
			f := frame{Closing(rapid.IntRange(0, 2).Draw(t, "by")), rapid.Int64Range(0, 30).Draw(t, "lag")}
			frames = append(frames, f)
			w.Add(f.by, f.lag)
			if rapid.Bool().Draw(t, "look in between") {
				w.At(5)
			}
		}
		x := rapid.Int64Range(0, 40).Draw(t, "timeout")
		want := Outcome{Frames: len(frames)}
		var answered []int64
		for _, f := range frames {
			if f.by != Nothing && f.lag < x {
				want.Complete++
				want.WaitNS += f.lag
			} else {
				want.WaitNS += x
			}
			if f.by == Answered {
				answered = append(answered, f.lag)
			}
		}
		if got := w.At(x); got != want {
			t.Fatalf("timeout %d: want %+v, got %+v", x, want, got)
		}
		if w.Answered() != len(answered) {
			t.Fatalf("%d answered, want %d", w.Answered(), len(answered))
		}
		if len(answered) > 0 {
			slices.Sort(answered)
			for _, thousandths := range []int{500, 990, 1000} {
				got := w.Rank(thousandths)
				below := 0
				for _, lag := range answered {
					if lag <= got {
						below++
					}
				}
				if 1000*below < thousandths*len(answered) || !slices.Contains(answered, got) {
					t.Fatalf("rank %d of %v: got %d", thousandths, answered, got)
				}
			}
		}
	})
}

func TestMillis(t *testing.T) {
	for _, tc := range []struct {
		ns         Millis
		json, text string
	}{
		{0, "0", "0.000 ms"}, {1, "0.000001", "0.000 ms"}, {1_234_567, "1.234567", "1.23 ms"},
		{25_000_000, "25", "25.0 ms"}, {300_500_000, "300.5", "300 ms"}, {-1_500_000, "-1.5", "-1.50 ms"},
	} {
		b, err := tc.ns.MarshalJSON()
		if err != nil || string(b) != tc.json || tc.ns.String() != tc.text {
			t.Errorf("%d: got %s and %q, want %s and %q (%v)", tc.ns, b, tc.ns.String(), tc.json, tc.text, err)
		}
		var back Millis
		if err := back.UnmarshalJSON(b); err != nil || back != tc.ns {
			t.Errorf("%s came back as %d, %v", b, back, err)
		}
	}
	for x, want := range map[int64]int64{1: ms, 12*ms + 1: 13 * ms, 21 * ms: 25 * ms, 200 * ms: 200 * ms, 201 * ms: 210 * ms, 1001 * ms: 1050 * ms} {
		if got := roundUp(x); got != want {
			t.Errorf("%d rounded up: want %d, got %d", x, want, got)
		}
	}
	if got := roundDown(26*ms + 5); got != 25*ms {
		t.Errorf("rounded down: got %d", got)
	}
}
