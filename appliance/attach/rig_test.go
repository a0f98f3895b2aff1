package attach

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/shm"
)

// rig is a server on a real socket with real segments.
type rig struct {
	*Server
	t       testing.TB
	path    string
	changes chan struct{}
	ring    *shm.Segment
	frames  *shm.FrameWriter
	stop    func() // called at the test's end; earlier if segments were made since
}

func segment(t testing.TB, name string, size int, format func([]byte) error) (*shm.Segment, *os.File) {
	t.Helper()
	s, err := shm.CreateSegment(name, size)
	if err == nil {
		err = format(s.Bytes())
	}
	if err != nil {
		t.Fatal(err)
	}
	ro, err := s.OpenReadOnly()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ro.Close(); s.Close() })
	return s, ro
}

func detectionRing(t testing.TB, model string) (*shm.Segment, Ring) {
	t.Helper()
	c := shm.RingConfig{Slots: 16, PayloadBytes: 4096, Model: model}
	s, ro := segment(t, "ring:"+model, c.Bytes(), func(b []byte) error { return shm.FormatRing(b, c) })
	info, err := shm.NewReader(s.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return s, Ring{Writer: s.File(), Reader: ro, Epoch: func() uint32 { return info.Info().RingEpoch }}
}

// newRig serves desks mine/0 (for uid 1001) and other/0 (for nobody else), camera gate
// and, if output says so, an output ring that uid 1002 may read.
func newRig(t testing.TB, output bool) *rig {
	t.Helper()
	r := &rig{t: t, path: filepath.Join(t.TempDir(), "attach.sock"), changes: make(chan struct{}, 64)}
	var goroutines sync.WaitGroup
	o := Options{
		Unit: "box", UID: os.Geteuid(), Readers: []int{1002}, Log: slog.New(slog.DiscardHandler),
		Changed: func() { r.changes <- struct{}{} },
		GoFunc:  func(_ string, f func()) { goroutines.Go(f) },
	}
	fc := shm.FrameRingConfig{Slots: 2, PixelBytes: 96, Unit: "box", Camera: "gate"}
	frames, framesRO := segment(t, "frames:gate", fc.Bytes(), func(b []byte) error { return shm.FormatFrameRing(b, fc) })
	var err error
	if r.frames, err = shm.NewFrameWriter(frames.Bytes(), 1, nil); err != nil {
		t.Fatal(err)
	}
	o.Cameras = []Camera{{"gate", framesRO}}
	bell, _ := segment(t, "doorbell", shm.DoorbellBytes(), shm.FormatDoorbell)
	o.Bell = bell.File()
	var mine, other Ring
	r.ring, mine = detectionRing(t, "mine")
	_, other = detectionRing(t, "other")
	o.Desks = []DeskConfig{
		{Model: "mine", UIDs: []int{1001}, Cameras: []int{0}, Ring: mine},
		{Model: "other", Cameras: []int{0}, Ring: other},
	}
	if output {
		c := shm.RingConfig{Slots: 128, PayloadBytes: 4096, Model: "fused"}
		_, o.Output = segment(t, "output", c.Bytes(), func(b []byte) error { return shm.FormatOutputRing(b, c) })
	}
	r.Server = New(o)
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: r.path, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	goroutines.Go(func() { r.Serve(l) })
	r.stop = func() {
		r.Close()
		l.Close()
		goroutines.Wait()
	}
	t.Cleanup(r.stop)
	return r
}

// connect opens a connection that has said nothing yet.
func (r *rig) connect() *net.UnixConn {
	r.t.Helper()
	c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: r.path, Net: "unixpacket"})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	return c
}

// heard is anything that the server says.
type heard struct {
	OK    bool `json:"ok"`
	Code  Code
	Error string
	event
	answer
	files int
}

// hear returns the next packet; false at the end of the connection.
func hear(t testing.TB, c *net.UnixConn) (h heard, ok bool) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	b, rights := make([]byte, maxPacketBytes), make([]byte, 4096)
	n, rightsN, _, _, err := c.ReadMsgUnix(b, rights)
	if n == 0 || err != nil {
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			t.Fatal("nothing is said and the connection does not end")
		}
		return h, false
	}
	if err := json.Unmarshal(b[:n], &h); err != nil {
		t.Fatalf("%v in %s", err, b[:n])
	}
	var flat struct {
		OK    bool `json:"ok"`
		Code  Code
		Error string
	}
	_ = json.Unmarshal(b[:n], &flat)
	h.OK, h.Code, h.Error = flat.OK, flat.Code, flat.Error
	messages, err := unix.ParseSocketControlMessage(rights[:rightsN])
	if err != nil {
		t.Fatal(err)
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range fds {
			h.files++
			unix.Close(fd)
		}
	}
	return h, true
}

// ask says hello and returns the answer.
func (r *rig) ask(hello string) (*net.UnixConn, heard) {
	r.t.Helper()
	c := r.connect()
	if _, err := c.Write([]byte(hello)); err != nil {
		r.t.Fatal(err)
	}
	h, ok := hear(r.t, c)
	if !ok {
		r.t.Fatalf("no answer to %.200s", hello)
	}
	return c, h
}

func (r *rig) changed() {
	r.t.Helper()
	select {
	case <-r.changes:
	case <-time.After(10 * time.Second):
		r.t.Fatal("no change is reported")
	}
}

func errorIs(err, target error) bool { return errors.Is(err, target) }
