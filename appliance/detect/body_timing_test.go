package detect

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// spacedBody is what Python's json.dumps makes of it, with the 17 digits of a float64.
var spacedBody = strings.NewReplacer(`":`, `": `, `,`, `, `, "0.1234", "0.12345678901234567").Replace(typicalBody)

// BenchmarkBody gives the processor time of this process beside the wall's, which neighbours on
// a shared machine stretch.
func BenchmarkBody(b *testing.B) {
	for _, text := range []struct{ name, body string }{{"compact", typicalBody}, {"spaced", spacedBody}} {
		for _, way := range []struct {
			name string
			read func(*BodyReader, []Box, []byte) ([]Box, error)
		}{{"read", (*BodyReader).Read}, {"fastjson", (*BodyReader).ReadJudged}} {
			b.Run(text.name+"/"+way.name, func(b *testing.B) {
				r := NewBodyReader(NewLabels([]string{"person", "car"}))
				body, boxes := []byte(text.body), make([]Box, 0, 8)
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				before := processorNS(b)
				for b.Loop() {
					if _, err := way.read(r, boxes, body); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(processorNS(b)-before)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

func processorNS(b *testing.B) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
