package sink

import (
	"fmt"
	"path/filepath"
	"testing"
)

func BenchmarkAppendJSON(b *testing.B) {
	for _, boxes := range []int{0, 10, 100} {
		b.Run(fmt.Sprintf("boxes=%d", boxes), func(b *testing.B) {
			f := full()
			f.Boxes = nil
			for range boxes {
				f.Boxes = append(f.Boxes, full().Boxes[0])
			}
			var line []byte
			b.ReportAllocs()
			for b.Loop() {
				line, _ = f.AppendJSON(line[:0])
			}
			b.SetBytes(int64(len(line)))
		})
	}
}

func BenchmarkOffer(b *testing.B) {
	s, stop := running(b, Options{Path: filepath.Join(b.TempDir(), "out.jsonl"), MaxSize: 64 << 20, Keep: 1})
	f := full()
	b.ReportAllocs()
	for b.Loop() {
		s.Offer(f)
	}
	stop()
	st := s.Stats()
	b.ReportMetric(float64(st.Written)/float64(st.Offered), "written/offered")
}
