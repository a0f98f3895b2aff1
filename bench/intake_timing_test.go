package bench

import (
	"runtime"
	"testing"
)

// BenchmarkIntake is the correlate scenario's side of ours, to be profiled.
func BenchmarkIntake(b *testing.B) {
	h := tinyHarness(b)
	bodies, err := h.newBodies()
	if err != nil {
		b.Fatal(err)
	}
	for _, body := range []string{bodyPacked, bodyJSON, bodyFastjson} {
		b.Run(body, func(b *testing.B) {
			runtime.LockOSThread() // its processor time is taken
			defer runtime.UnlockOSThread()
			r, err := intakeRole(&job{Body: body, Bodies: bodies, Messages: uint64(b.N)})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(r.LastNS)/float64(r.Messages), "ns/msg")
			b.ReportMetric(float64(r.CPUNS)/float64(r.Messages), "cpu-ns/msg")
		})
	}
}
