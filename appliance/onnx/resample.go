package onnx

import "math"

// Weights are fixed point with weightBits fraction bits, so that a blend of four bytes is exact in
// 32 bits: 255 · 2^11 · 2^11 < 2^31.
const (
	weightBits = 11
	weightOne  = 1 << weightBits
	blendOne   = weightOne * weightOne
)

const pad = float32(114) / 255 // the letterbox's grey

// BT.601 limited range to RGB 0…1, for samples scaled by blendOne.
const (
	kY  = 1.164383562 / 255 / blendOne
	kRV = 1.596026786 / 255 / blendOne
	kGU = -0.391762290 / 255 / blendOne
	kGV = -0.812967647 / 255 / blendOne
	kBU = 2.017232143 / 255 / blendOne
	// The offsets of 16 and 128 taken out of the loop.
	offR = (-16*1.164383562 - 128*1.596026786) / 255
	offG = (-16*1.164383562 + 128*(0.391762290+0.812967647)) / 255
	offB = (-16*1.164383562 - 128*2.017232143) / 255
)

// tap says which two samples of a line make one output sample: a·(1−w) + b·w.
type tap struct{ a, b, w int32 }

// column holds the taps of one output column.
type column struct{ y, c tap }

// plan is everything a picture size needs, computed once a size: the letterbox and the taps of
// every output column and row.
type plan struct {
	box  letterbox
	cols []column
	rows []column
}

func newPlan(srcW, srcH, dstW, dstH int) (*plan, error) {
	b, err := newLetterbox(srcW, srcH, dstW, dstH)
	if err != nil {
		return nil, err
	}
	p := &plan{box: b, cols: make([]column, b.newW), rows: make([]column, b.newH)}
	for i := range p.cols {
		s := source(i, b.newW, srcW)
		// H.264's chroma lies on the even luma columns …
		p.cols[i] = column{newTap(s, srcW), newTap(s/2, (srcW+1)/2)}
	}
	for i := range p.rows {
		s := source(i, b.newH, srcH)
		// … and halfway between two luma rows (ITU-T H.264, chroma_sample_loc_type 0).
		p.rows[i] = column{newTap(s, srcH), newTap(s/2-0.25, (srcH+1)/2)}
	}
	return p, nil
}

// source is where output sample i of n lies among src samples: pixels are areas, so their middles
// map to each other ("half-pixel", as OpenCV's INTER_LINEAR).
func source(i, n, src int) float64 { return (float64(i)+0.5)*float64(src)/float64(n) - 0.5 }

// newTap blends the two samples beside position s of a line of n; beyond the ends the end repeats.
func newTap(s float64, n int) tap {
	s = min(max(s, 0), float64(n-1))
	a := math.Floor(s)
	w := int32(math.Round((s - a) * weightOne))
	return tap{a: int32(a), b: int32(min(int(a)+1, n-1)), w: w}
}

// fillPad makes the whole input grey; the picture's part is overwritten by every fill.
func fillPad(dst []float32) {
	for i := range dst {
		dst[i] = pad
	}
}

// fill resamples the planes into dst, planar R, G, B of box.dstW × box.dstH floats each, and
// converts on the way: each source byte is read where it is needed and no picture lies in between.
func (p *plan) fill(dst []float32, y, u, v []byte) {
	b := &p.box
	cols, size := p.cols, b.dstW*b.dstH
	srcW, chromaW := b.srcW, (b.srcW+1)/2
	line := func(plane []byte, row int32, w int) []byte { return plane[int(row)*w : int(row)*w+w] }
	for i, row := range p.rows {
		at := (b.top+i)*b.dstW + b.left
		// The same length for all three lets the compiler drop their bounds checks.
		red := dst[at:][:len(cols)]
		green := dst[size+at:][:len(cols)]
		blue := dst[2*size+at:][:len(cols)]
		y0, y1 := line(y, row.y.a, srcW), line(y, row.y.b, srcW)
		u0, u1 := line(u, row.c.a, chromaW), line(u, row.c.b, chromaW)
		v0, v1 := line(v, row.c.a, chromaW), line(v, row.c.b, chromaW)
		for x := range cols {
			t := &cols[x]
			yy := float32(blend(y0, y1, &t.y, row.y.w))
			uu := float32(blend(u0, u1, &t.c, row.c.w))
			vv := float32(blend(v0, v1, &t.c, row.c.w))
			red[x] = unit(kY*yy + kRV*vv + offR)
			green[x] = unit(kY*yy + kGU*uu + kGV*vv + offG)
			blue[x] = unit(kY*yy + kBU*uu + offB)
		}
	}
}

// blend is the bilinear mean of four samples of two lines, scaled by blendOne.
func blend(l0, l1 []byte, t *tap, w int32) int32 {
	a0, b0 := int32(l0[t.a]), int32(l0[t.b])
	a1, b1 := int32(l1[t.a]), int32(l1[t.b])
	m0 := a0<<weightBits + (b0-a0)*t.w
	m1 := a1<<weightBits + (b1-a1)*t.w
	return m0<<weightBits + (m1-m0)*w
}

func unit(v float32) float32 {
	if v < 0 {
		return 0
	}
	if v > 1 {
		return 1
	}
	return v
}
