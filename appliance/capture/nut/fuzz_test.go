package nut

import (
	"bytes"
	"testing"
)

// FuzzReader feeds any bytes. Whatever they are, the reader ends, stays within its
// bounds and returns either pictures or an error. It runs twice: with checksums,
// and without, since mutated headers hardly ever carry the right one. The committed
// seeds are ffmpeg's own output for tiny pictures.
func FuzzReader(f *testing.F) {
	f.Add(headers(3, 40).raw(codeSmall).raw([]byte("abcd")...).b)
	f.Add(headers(4, 40).raw(codeFull).v(flagSizeMSB|flagSideData).v(6).v(1).text("a").s(5).v(0).raw('o', 'k').b)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, trusting := range []bool{false, true} {
			r := NewReader(bytes.NewReader(data))
			r.trusting = trusting
			s, err := r.Stream()
			if err != nil {
				continue
			}
			if s.Width < 1 || s.Height < 1 || s.Width > sizeAxisMax || s.Height > sizeAxisMax || s.TickNum == 0 || s.TickDen == 0 {
				t.Fatalf("stream out of bounds: %v", s)
			}
			frames, read := 0, 0
			for {
				h, err := r.Next()
				if err != nil {
					break
				}
				if h.PTS < 0 || h.PTS > ptsMax || h.Size < 0 || h.Size > sizeMax {
					t.Fatalf("frame out of bounds: %+v", h)
				}
				frames++
				if h.Size > len(data)+elisionTotalMax || h.Size%2 != 0 {
					continue // Next passes over it
				}
				if err := r.ReadPayload(make([]byte, h.Size)); err != nil {
					break
				}
				read += h.Size
			}
			// Each frame takes at least its code from the stream; payloads come from
			// it but for what an elision header stands for.
			if frames > len(data) || read > len(data)+frames*255 {
				t.Fatalf("%d frames and %d payload bytes out of %d", frames, read, len(data))
			}
		}
	})
}
