package capture

import (
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/skewgate/skewgate/shm"
)

// What a 1080p picture costs this process: system calls that copy it out of the pipe,
// and all else. ffmpeg's own time is not in cpu-ns/op; it is in the time.
func BenchmarkPicture1080p(b *testing.B) {
	path := filepath.Join(b.TempDir(), "film.mp4")
	ffmpeg(b, "-f lavfi -i testsrc2=s=1920x1080:r=30 -frames:v 90 -c:v libx264 -preset ultrafast "+path)
	cfg := shm.FrameRingConfig{Slots: 4, PixelBytes: 1920 * 1080 * 3 / 2, Unit: "u", Camera: "gate"}
	r := startOn(b, Job{Source: path, Pace: PaceFast, Loop: true}, cfg, quick)
	r.pace.SetAllowed(1 << 40)
	for r.frames.Head() < 10 {
		runtime.Gosched()
	}
	b.SetBytes(int64(cfg.PixelBytes))
	b.ResetTimer()
	from, before := r.frames.Head(), cpu()
	for r.frames.Head() < from+uint64(b.N) {
		time.Sleep(time.Millisecond)
	}
	b.StopTimer()
	b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
}

// cpu is the processor time of this process in nanoseconds.
func cpu() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}
