package onnx

import (
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/skewgate/skewgate/appliance/detect"
)

// Collections while models load and run change no result, not by one bit.
//
// What happens otherwise, seen with this model and a session over heap tensors whose input nobody
// referenced any more: one collection later the sum of the output was 6.0e6 instead of 1.2e6, and
// Run went on returning nil.
func TestCollectorChangesNothing(t *testing.T) {
	picture := warmPicture(filmPeople.width, filmPeople.height)
	filmPeople.each(t, func(k int, p Picture) {
		if k == 10 {
			copy(picture.Pixels, p.Pixels)
		}
	})
	m := manifest(models + "people/people_small.onnx")
	want := find(t, mustLoad(t, m), picture)
	if len(want) < 4 {
		t.Fatalf("only %d people found; the picture proves nothing", len(want))
	}

	stop := make(chan struct{})
	var collector sync.WaitGroup
	collector.Add(1)
	go func() {
		defer collector.Done()
		var garbage [][]float32
		for {
			select {
			case <-stop:
				return
			default:
			}
			// Of a tensor's size and not zero, to land where a lost tensor was.
			g := make([]float32, 3*256*256)
			for i := range g {
				g[i] = 1e6
			}
			garbage = append(garbage, g)
			if len(garbage) == 8 {
				garbage = nil
			}
			runtime.GC()
		}
	}()
	defer collector.Wait()
	defer close(stop)
	for range 3 {
		d := mustLoad(t, m)
		for range 25 {
			if diff := cmp.Diff(want, find(t, d, picture)); diff != "" {
				t.Fatal(diff)
			}
		}
	}
}

// After start a picture costs no allocation: Prepare, Run and Boxes use what is there.
func TestNoAllocations(t *testing.T) {
	d := mustLoad(t, manifest(models+"shapes_yolo.onnx"))
	picture := warmPicture(filmShapes.width, filmShapes.height)
	boxes := make([]detect.Box, 0, MaxBoxes)
	allocs := testing.AllocsPerRun(20, func() {
		if err := d.Prepare(picture); err != nil {
			t.Fatal(err)
		}
		if err := d.Run(); err != nil {
			t.Fatal(err)
		}
		var err error
		if boxes, err = d.Boxes(boxes[:0]); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("want 0 allocations a picture, got %g", allocs)
	}
}
