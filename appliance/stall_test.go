package appliance

import (
	"context"
	"testing"
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
)

// CORRELATION §3: the real path, on its own thread, is held up for 50 ms while two detectors
// publish 3 ms apart, each frame in the other order. What it reads then keeps those distances
// and that order: arrival is when a message became visible, not when the path came by.
func TestStallDoesNotHideSkew(t *testing.T) {
	r := newRig(t, rigConfig)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.path.run()
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	const frames, distance, stall = 4, 3 * time.Millisecond, 50 * time.Millisecond
	type instants struct{ first, last clock.Mono }
	var published [frames]instants
	var begun, over clock.Mono
	err := r.path.between(ctx, func() error { // on the path's thread: it reads nothing meanwhile
		begun = clock.Now()
		for i := range published {
			one := i % 2
			published[i].first = clock.Now()
			r.publish(one, uint64(i+1), published[i].first, aBox)
			time.Sleep(distance)
			published[i].last = clock.Now()
			r.publish(1-one, uint64(i+1), published[i].last, aBox)
			time.Sleep(distance)
		}
		time.Sleep(stall - clock.Now().Sub(begun))
		over = clock.Now()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r.path.settle(5 * time.Second)
	r.path.stop()
	<-ended
	if held := over.Sub(begun); held < stall {
		t.Fatalf("the path was held up for %v, want %v", held, stall)
	}
	if len(r.got) != frames {
		t.Fatalf("want %d frames, got %d", frames, len(r.got))
	}
	for i, f := range r.got {
		got := instants{f.Frame.FirstArrival, f.Frame.LastArrival}
		if f.FrameID != uint64(i+1) || got != published[i] || f.Frame.Closed != got.last {
			t.Errorf("frame %d: want it of %+v and closed then, got frame %d of %+v, closed at %d", i+1, published[i], f.FrameID, got, f.Frame.Closed)
		}
	}
	if skew := r.Status().Correlation.SkewMS; skew == nil || skew.Count != frames || skew.P50 < float64(distance.Milliseconds()) {
		t.Errorf("arrival skew: want %d samples of %v at least, got %+v", frames, distance, skew)
	}
}
