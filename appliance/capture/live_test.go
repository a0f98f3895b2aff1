package capture

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skewgate/skewgate/shm"
)

// camera is a live source on a TCP port: connection n is served by the nth of serve,
// later ones by the last.
func camera(t *testing.T, serve ...func(net.Conn)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serve[min(n, len(serve)-1)](conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "tcp://" + l.Addr().String()
}

// stream plays a film for ever in real time, as a transport stream.
func stream(film string, w io.Writer) {
	args := "-v error -nostdin -re -stream_loop -1 -i " + film + " -c copy -flush_packets 1 -f mpegts pipe:1"
	cmd := exec.Command("ffmpeg", strings.Fields(args)...)
	cmd.Stdout = w
	_ = cmd.Run() // ends when the other side has gone
}

// some passes on so many bytes and then fails, which ends the stream. ffmpeg looks at
// 64 KiB before it decodes, a second of this film, so less than that gives no picture.
type some struct {
	w    io.Writer
	left int
}

func (s *some) Write(p []byte) (int, error) {
	if s.left -= len(p); s.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return s.w.Write(p)
}

// epochs reads pictures until epoch n has delivered a few, and checks what must hold
// of a live source: arrival clock, rising capture times near the wall's, ids from 1.
func (r *rig) epochs(n uint32) {
	r.t.Helper()
	var last shm.FrameMeta
	end := time.Now().Add(30 * time.Second)
	for few := 0; few < 5; {
		m, _, ok := r.next(time.Until(end))
		if !ok || m.StreamEpoch > n {
			r.t.Fatalf("no picture of epoch %d; told %v", n, r.boss.told())
		}
		if m.ClockSource != shm.ClockArrival {
			r.t.Errorf("want the arrival clock, got %v", m.ClockSource)
		}
		if off := time.Since(time.Unix(0, m.CaptureNS)); off < -100*time.Millisecond || off > 2*time.Second {
			r.t.Errorf("want a capture time of just now, it is %v ago", off)
		}
		switch {
		case m.StreamEpoch == last.StreamEpoch && (m.FrameID != last.FrameID+1 || m.CaptureNS <= last.CaptureNS):
			r.t.Errorf("after %+v came %+v", last, m)
		case m.StreamEpoch != last.StreamEpoch && last.StreamEpoch != 0 && m.FrameID != 1:
			r.t.Errorf("want epoch %d to begin with frame 1, got %d", m.StreamEpoch, m.FrameID)
		}
		if m.StreamEpoch == n {
			few++
		}
		last = m
	}
}

// A camera that goes away, falls silent, trickles and sends garbage, and comes back
// each time.
func TestLiveSourceFailsInEveryWay(t *testing.T) {
	url := camera(t,
		func(c net.Conn) { stream(shapesFilm, &some{c, 100_000}) },
		func(c net.Conn) {
			stream(shapesFilm, &some{c, 100_000})
			// The connection stays and says nothing until the other side gives it up.
			_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
			_, _ = io.Copy(io.Discard, c)
		},
		func(c net.Conn) {
			junk := make([]byte, 188*7)
			for i := range junk {
				junk[i] = byte(i * 37)
			}
			for range 100 {
				if _, err := c.Write(junk); err != nil {
					return
				}
			}
		},
		func(c net.Conn) { stream(shapesFilm, c) },
	)
	l := quick
	l.first = 8 * time.Second
	r := start(t, Job{Source: url}, 16, l)
	t.Cleanup(func() { r.stop() }) // before the camera's end, which waits for its client
	r.epochs(1)
	r.epochs(2)
	r.await(StateRetrying, "ended its stream", time.Second)
	r.epochs(3)
	r.await(StateRetrying, "silent: no picture for 1s", time.Second)
	r.await(StateRetrying, "Invalid data found", time.Second)
	if n := len(decoders(os.Getpid())); n == 0 {
		t.Error("want ffmpeg running")
	}
	if err := r.stop(); err != nil {
		t.Errorf("want an orderly end, got %v", err)
	}
}

// A camera switched to another size is opened anew, so detectors get its pictures
// as they are, never scaled to what went before.
func TestLiveSourceChangesItsSize(t *testing.T) {
	dir := t.TempDir()
	small, large := filepath.Join(dir, "small.h264"), filepath.Join(dir, "large.h264")
	ffmpeg(t, "-f lavfi -i testsrc2=s=320x180:r=25 -frames:v 25 -c:v libx264 -bf 0 "+small)
	ffmpeg(t, "-f lavfi -i testsrc2=s=640x360:r=25 -frames:v 25 -c:v libx264 -bf 0 "+large)
	send := func(files ...string) func(net.Conn) {
		return func(c net.Conn) {
			for _, name := range files {
				b, err := os.ReadFile(name)
				if err != nil {
					t.Error(err)
				}
				if _, err := c.Write(b); err != nil {
					return
				}
			}
		}
	}
	r := start(t, Job{Source: camera(t, send(small, large), send(large))}, 64, quick)
	r.await(StateRetrying, "changed its size", 8*time.Second)
	for {
		m, _, ok := r.next(8 * time.Second)
		if !ok {
			t.Fatalf("no picture of the new size; told %v", r.boss.told())
		}
		if want := map[uint32]uint32{1: 320, 2: 640}[m.StreamEpoch]; m.Width != want {
			t.Fatalf("epoch %d: want width %d, got %d", m.StreamEpoch, want, m.Width)
		}
		if m.StreamEpoch == 2 {
			return
		}
	}
}
