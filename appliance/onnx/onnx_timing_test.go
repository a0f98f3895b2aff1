package onnx

import (
	"testing"
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
