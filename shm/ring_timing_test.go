package shm

import (
	"fmt"
	"testing"
)

func BenchmarkPublish(b *testing.B) {
	for _, size := range []int{0, 64, 256, 1024, 4096} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			w, _, _ := testRing(b, RingConfig{Slots: 1024, PayloadBytes: 4096})
			body := make([]byte, size)
			h := SlotHeader{Kind: KindBoxes, CaptureNS: 1, FrameID: 2}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if err := w.Publish(&h, body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
