package capture

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skewgate/skewgate/appliance/capture/barcode"
	"github.com/skewgate/skewgate/shm"
)

// checkFilm compares the pictures of one pass with a film's steps: ids from 1, one
// epoch, capture times step by step, the film's clock.
func checkFilm(t *testing.T, got []picture, width, height uint32, epoch uint32, stepNS int64) {
	t.Helper()
	for i, p := range got {
		m := p.meta
		if m.FrameID != uint64(i+1) || m.StreamEpoch != epoch || m.ClockSource != shm.ClockFile ||
			m.Width != width || m.Height != height || m.Format != shm.FormatI420 {
			t.Errorf("picture %d: got %+v", i, m)
		}
		// Floor of exact ticks: at most one nanosecond over n whole steps a picture.
		off := m.CaptureNS - got[0].meta.CaptureNS - int64(i)*stepNS
		if off < 0 || off > int64(i) {
			t.Errorf("picture %d: capture time is %d ns off its PTS", i, off)
		}
	}
}

// R000-4: the barcode in the pixels proves that frame id n is the film's picture n−1.
func TestShapesFilmFastWithASlowConsumer(t *testing.T) {
	before := time.Now().UnixNano()
	r := start(t, Job{Source: shapesFilm, Pace: PaceFast, Tag: TagBarcode}, 2, quick)
	read := 0
	got := r.take(300, func(m shm.FrameMeta, pixels []byte) {
		if rand.IntN(10) == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		code, ok := barcode.Read(pixels, int(m.Width), int(m.Width), int(m.Height))
		if ok && code == m.FrameID-1 && m.Tag == code {
			read++
		}
	})
	if read != 300 {
		t.Errorf("want 300 barcodes equal to tag and frame_id − 1, got %d", read)
	}
	checkFilm(t, got, 640, 360, 1, 33333333)
	if c := got[0].meta.CaptureNS; c < before || c > time.Now().UnixNano() {
		t.Errorf("want the first picture anchored to wall time, got %d", c)
	}
	n := r.await(StateEnded, "", 5*time.Second)
	if c := n.report.Counters; c.Decoded != 300 || c.Published != 300 || c.Passes != 1 || c.Repeats+c.Leaps+c.Slips+c.DroppedFPS != 0 {
		t.Errorf("want 300 pictures decoded and published in one pass, got %+v", c)
	}
	want := []string{StateOpening, StateStreaming, StateEnded}
	for i, n := range r.boss.told() {
		if i >= len(want) || n.state != want[i] {
			t.Errorf("want states %v, got %v", want, r.boss.told())
			break
		}
	}
	if r.frames.Head() != 300 {
		t.Errorf("want 300 pictures in the ring's life, got %d", r.frames.Head())
	}
	if err := r.stop(); err != nil {
		t.Errorf("want an orderly end, got %v", err)
	}
	if state := r.frames.Info().State; state != shm.StateDraining {
		t.Errorf("want ring state draining, got %v", state)
	}
}

func TestPeopleFilm(t *testing.T) {
	r := start(t, Job{Source: peopleFilm, Pace: PaceFast, Tag: TagBarcode}, 4, quick)
	got := r.take(239, nil)
	checkFilm(t, got, 768, 576, 1, 100_000_000)
	want := sums(t, peopleFilm, 768*576*3/2)
	for i, p := range got {
		if p.sum != want[i] {
			t.Fatalf("picture %d: pixels differ from ffmpeg's raw video", i)
		}
		if p.meta.Tag != NoTag {
			t.Errorf("picture %d: want no tag on real footage, got %d", i, p.meta.Tag)
		}
	}
	r.await(StateEnded, "", 5*time.Second)
}

// Sizes, codings and containers that are handled differently inside ffmpeg.
func TestPixelsAndOrder(t *testing.T) {
	const odd = "-f lavfi -i testsrc2=s=322x182:r=25,format=rgb24,crop=321:181:exact=1 -frames:v 40 "
	const plain = "-f lavfi -i testsrc2=s=320x180:r=30000/1001 -frames:v 60 "
	for _, tc := range []struct {
		name, args, file string
		width, height    uint32
		n                int
		stepNS           int64
	}{
		{"B-frames", plain + "-c:v libx264 -bf 3 -b_strategy 0", "a.mp4", 320, 180, 60, 33366666},
		{"B-frames in a transport stream", plain + "-c:v libx264 -bf 3 -b_strategy 0", "a.ts", 320, 180, 60, 33366666},
		{"odd size", odd + "-c:v libx264 -pix_fmt yuv444p", "a.mkv", 321, 181, 40, 40_000_000},
		{"odd size, 4:2:0", odd + "-c:v ffv1 -pix_fmt yuv420p", "a.mkv", 321, 181, 40, 40_000_000},
		{"MJPEG in AVI", odd + "-c:v mjpeg -pix_fmt yuvj420p", "a.avi", 321, 181, 40, 40_000_000},
		{"with sound", "-f lavfi -i sine=d=2 " + plain + "-c:v libx264 -c:a aac", "a.mp4", 320, 180, 60, 33366666},
		{"a colon in its name", plain + "-c:v libx264", "concat:a.mp4", 320, 180, 60, 33366666},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), tc.file)
			ffmpeg(t, tc.args+" file:"+path)
			size, _ := shm.FrameBytes(shm.FormatI420, tc.width, tc.height)
			want := sums(t, "file:"+path, size)
			if len(want) != tc.n {
				t.Fatalf("the film has %d pictures, want %d", len(want), tc.n)
			}
			r := start(t, Job{Source: path, Pace: PaceFast}, 4, quick)
			got := r.take(tc.n, nil)
			checkFilm(t, got, tc.width, tc.height, 1, tc.stepNS)
			for i, p := range got {
				if p.sum != want[i] {
					t.Fatalf("picture %d: pixels differ from ffmpeg's raw video", i)
				}
			}
			r.await(StateEnded, "", 5*time.Second)
		})
	}
}

// A busy machine may spoil one playing; three in a row are a fault of ours.
func TestRealtimePace(t *testing.T) {
	const n, stepNS, tries = 60, 33333333, 3
	want := time.Duration((n - 1) * stepNS)
	var took time.Duration
	for range tries {
		r := start(t, Job{Source: film(t, n)}, 8, quick)
		got := r.take(n, nil)
		checkFilm(t, got, 640, 360, 1, stepNS)
		first := got[0].meta
		for i, p := range got {
			// Never early; how late is a matter of the machine.
			if off := p.meta.PublishNS - first.PublishNS - (p.meta.CaptureNS - first.CaptureNS); off < -20_000_000 {
				t.Errorf("picture %d was published %d ns early", i, -off)
			}
		}
		took = time.Duration(got[n-1].meta.PublishNS - first.PublishNS)
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		if took <= want*5/4 {
			return
		}
	}
	t.Errorf("want %d pictures in %v (−20 ms/+25 %%), took %v in the last of %d tries", n, want, took, tries)
}

func TestLoopRaisesStreamEpoch(t *testing.T) {
	const n = 7
	for _, pace := range []string{PaceFast, PaceRealtime} {
		t.Run(pace, func(t *testing.T) {
			r := start(t, Job{Source: film(t, n), Pace: pace, Loop: true, Tag: TagBarcode}, 8, quick)
			for epoch := uint32(1); epoch <= 3; epoch++ {
				got := r.take(n, nil)
				checkFilm(t, got, 640, 360, epoch, 33333333)
				for _, p := range got {
					if p.meta.Tag != p.meta.FrameID-1 {
						t.Errorf("epoch %d: want tag %d, got %d", epoch, p.meta.FrameID-1, p.meta.Tag)
					}
				}
			}
			for _, n := range r.boss.told() {
				if n.state != StateOpening && n.state != StateStreaming {
					t.Errorf("want no state but opening and streaming, got %v", n)
				}
			}
		})
	}
}

func TestRateCapKeepsFrameIDs(t *testing.T) {
	for _, tc := range []struct {
		fps  float64
		want []uint64
	}{
		{10, []uint64{1, 4, 7, 10, 13}},
		{15, []uint64{1, 3, 5, 7, 9}},
		{20, []uint64{1, 3, 4, 6, 7, 9, 10}},
		{60, []uint64{1, 2, 3, 4, 5}},
	} {
		t.Run(fmt.Sprint(tc.fps), func(t *testing.T) {
			r := start(t, Job{Source: film(t, 15), Pace: PaceFast, FPS: tc.fps, Tag: TagBarcode}, 2, quick)
			for i, p := range r.take(len(tc.want), nil) {
				if p.meta.FrameID != tc.want[i] || p.meta.Tag != tc.want[i]-1 {
					t.Errorf("picture %d: want id %d, got %d with tag %d", i, tc.want[i], p.meta.FrameID, p.meta.Tag)
				}
			}
		})
	}
}

// A film cut short by a crash is played as far as it goes, and what was wrong is told.
func TestCutFilm(t *testing.T) {
	dir := t.TempDir()
	whole, cut := filepath.Join(dir, "whole.mp4"), filepath.Join(dir, "cut.mp4")
	ffmpeg(t, "-i "+shapesFilm+" -c copy -movflags +faststart "+whole)
	b, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cut, b[:len(b)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, Job{Source: cut, Pace: PaceFast, Tag: TagBarcode}, 2, quick)
	got := r.take(100, nil)
	checkFilm(t, got, 640, 360, 1, 33333333)
	r.pace.SetAllowed(1000)
	n := r.await(StateEnded, "partial file", 5*time.Second)
	if n.report.Decoded < 100 || n.report.Decoded >= 300 {
		t.Errorf("want some of 300 pictures, got %d", n.report.Decoded)
	}
}

// A film that changes its size goes on in its first one: to open it anew would begin
// it again, for ever.
func TestFilmChangesItsSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "both.h264")
	var both []byte
	for _, size := range []string{"320x180", "640x360"} {
		both = append(both, ffmpeg(t, "-f lavfi -i testsrc2=s="+size+":r=25 -frames:v 10 -c:v libx264 -bf 0 -f h264 pipe:1")...)
	}
	if err := os.WriteFile(path, both, 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, Job{Source: path, Pace: PaceFast}, 2, quick)
	for i, p := range r.take(20, nil) {
		if m := p.meta; m.Width != 320 || m.Height != 180 || m.FrameID != uint64(i+1) || m.StreamEpoch != 1 {
			t.Errorf("picture %d: got %+v", i, m)
		}
	}
	r.await(StateEnded, "", 5*time.Second)
}

// The pictures of a pass must not cost memory: children run for months.
func TestPicturesCostNoAllocation(t *testing.T) {
	r := start(t, Job{Source: shapesFilm, Pace: PaceFast, Tag: TagBarcode}, 2, quick)
	r.take(20, nil)
	per := testing.AllocsPerRun(200, func() {
		r.pace.SetAllowed(r.seen + 1)
		for r.frames.Head() <= r.seen {
			time.Sleep(50 * time.Microsecond)
		}
		r.seen++
	})
	if per != 0 {
		t.Errorf("want 0 allocations a picture, got %v", per)
	}
}

func TestHeartbeatGoesOnInEveryWait(t *testing.T) {
	for _, tc := range []struct {
		name  string
		job   Job
		state string
	}{
		{"retrying", Job{Source: "no/such/film.mp4"}, StateRetrying},
		{"ended", Job{Source: film(t, 2)}, StateEnded},
		{"not allowed to go on", Job{Source: film(t, 2), Pace: PaceFast}, StateStreaming},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := quick
			l.backoff = 10 * time.Second
			r := start(t, tc.job, 2, l)
			r.await(tc.state, "", 5*time.Second)
			// Beats come every 250 ms; a contract of 500 ms leaves a busy machine room. One
			// starved stretch is the machine's; three in a row are a fault of ours.
			const tries = 3
			for try := 1; ; try++ {
				longest, changes := r.watchHeartbeat(1500 * time.Millisecond)
				if longest <= 500*time.Millisecond && changes >= 2 {
					break
				}
				if try == tries {
					t.Errorf("want a heartbeat every 500 ms, got %d in 1.5 s with a gap of %v, in the last of %d tries", changes, longest, tries)
					break
				}
			}
			asked := time.Now()
			if err := r.stop(); err != nil {
				t.Errorf("want an orderly end, got %v", err)
			}
			if took := time.Since(asked); took > 2*time.Second {
				t.Errorf("want an end soon after the request to drain, took %v", took)
			}
		})
	}
}

// watchHeartbeat looks at the ring for d: how often it beat, and the longest gap.
func (r *rig) watchHeartbeat(d time.Duration) (longest time.Duration, changes int) {
	last := r.frames.Info().HeartbeatNS
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if beat := r.frames.Info().HeartbeatNS; beat != last {
			longest = max(longest, time.Duration(beat-last))
			last = beat
			changes++
		}
	}
	return longest, changes
}

func TestPictureLargerThanTheRing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big.mp4")
	ffmpeg(t, "-f lavfi -i testsrc2=s=1280x720:r=25 -frames:v 3 -c:v libx264 "+path)
	r := start(t, Job{Source: path}, 2, quick)
	n := r.await(StateRetrying, "1280x720", 5*time.Second)
	for _, want := range []string{"1382400", "663552", "max_picture", "gate"} {
		if !strings.Contains(n.report.Reason, want) {
			t.Errorf("want the reason to name %s, got %q", want, n.report.Reason)
		}
	}
	if epoch := r.frames.Info().StreamEpoch; epoch != 0 {
		t.Errorf("want no stream_epoch for a source without a picture, got %d", epoch)
	}
}
