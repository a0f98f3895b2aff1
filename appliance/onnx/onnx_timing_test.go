package onnx

import (
	"testing"

	"github.com/skewgate/skewgate/appliance/detect"
)

func BenchmarkPrepare(b *testing.B) {
	for _, bb := range []struct {
		name             string
		w, h, dstW, dstH int
	}{
		{"640x360to320", 640, 360, 320, 320}, {"768x576to384", 768, 576, 384, 384}, {"768x576to256", 768, 576, 256, 256},
		{"1920x1080to640", 1920, 1080, 640, 640},
	} {
		b.Run(bb.name, func(b *testing.B) {
			p := warmPicture(bb.w, bb.h)
			y, u, v, err := p.planes()
			if err != nil {
				b.Fatal(err)
			}
			pl, err := newPlan(bb.w, bb.h, bb.dstW, bb.dstH)
			if err != nil {
				b.Fatal(err)
			}
			dst := make([]float32, 3*bb.dstW*bb.dstH)
			b.SetBytes(int64(len(p.Pixels)))
			b.ReportAllocs()
			for b.Loop() {
				pl.fill(dst, y, u, v)
			}
		})
	}
}

// BenchmarkPicture is one picture of a film from bytes in memory to boxes, on one thread.
func BenchmarkPicture(b *testing.B) {
	for _, bb := range []struct {
		model string
		film  film
	}{{"people", filmPeople}, {"people_small", filmPeople}, {"people_motion", filmPeople}, {"shapes_yolo", filmShapes}, {"proposals", filmShapes}} {
		b.Run(bb.model, func(b *testing.B) {
			d := mustLoad(b, shipped(b, bb.model))
			picture := warmPicture(bb.film.width, bb.film.height)
			bb.film.each(b, func(k int, p Picture) {
				if k == 10 {
					copy(picture.Pixels, p.Pixels)
				}
			})
			boxes := make([]detect.Box, 0, MaxBoxes)
			b.ReportAllocs()
			for b.Loop() {
				if err := d.Prepare(picture); err != nil {
					b.Fatal(err)
				}
				if err := d.Run(); err != nil {
					b.Fatal(err)
				}
				var err error
				if boxes, err = d.Boxes(boxes[:0]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
