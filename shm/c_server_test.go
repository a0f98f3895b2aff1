package shm

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cAppliance stands in for a running appliance at the socket: the protocol of ABI.md with
// real descriptors, but with answers that a test may choose, wrong ones too.
type cAppliance struct {
	t     *testing.T
	path  string
	conns chan *net.UnixConn // each after its answer

	mu       sync.Mutex
	answer   func(request map[string]any) (doc string, files []*os.File)
	requests []map[string]any
	listener *net.UnixListener
	open     []*net.UnixConn
	served   sync.WaitGroup
}

func newCAppliance(t *testing.T, answer func(map[string]any) (string, []*os.File)) *cAppliance {
	t.Helper()
	a := &cAppliance{t: t, path: filepath.Join(t.TempDir(), "attach.sock"), answer: answer, conns: make(chan *net.UnixConn, 64)}
	a.start()
	t.Cleanup(a.stop)
	return a
}

func (a *cAppliance) start() {
	a.t.Helper()
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: a.path, Net: "unixpacket"})
	if err != nil {
		a.t.Fatal(err)
	}
	a.listener = l
	a.served.Go(func() {
		for {
			conn, err := l.AcceptUnix()
			if err != nil {
				return // stopped
			}
			a.serve(conn)
		}
	})
}

func (a *cAppliance) serve(conn *net.UnixConn) {
	packet := make([]byte, 1<<16)
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	n, err := conn.Read(packet)
	if err != nil {
		_ = conn.Close()
		return
	}
	var request map[string]any
	if err := json.Unmarshal(packet[:n], &request); err != nil {
		a.t.Errorf("request %q: %v", packet[:n], err)
	}
	a.mu.Lock()
	a.requests = append(a.requests, request)
	doc, files := a.answer(request)
	a.open = append(a.open, conn)
	a.mu.Unlock()
	if doc != "" {
		a.say(conn, doc, files...)
	}
	select {
	case a.conns <- conn:
	default:
		a.t.Error("nobody looks after the connections")
	}
}

// say sends one packet; a client that has left meanwhile is no matter.
func (a *cAppliance) say(conn *net.UnixConn, doc string, files ...*os.File) {
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	_, _, _ = conn.WriteMsgUnix([]byte(doc), rights, nil)
}

// stop is the appliance's death: nobody listens, all connections end.
func (a *cAppliance) stop() {
	_ = a.listener.Close()
	a.served.Wait()
	for _, conn := range a.open {
		_ = conn.Close()
	}
	a.open = nil
}

func (a *cAppliance) asked() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.requests)
}

func (a *cAppliance) next() *net.UnixConn {
	a.t.Helper()
	select {
	case conn := <-a.conns:
		return conn
	case <-time.After(30 * time.Second):
		a.t.Fatal("nobody attached within 30 s")
		return nil
	}
}

// cGrant is what an appliance has for one writer: a ring, the doorbell, its cameras.
type cGrant struct {
	ring, bell *Segment
	reader     *Reader
	cameras    []string
	films      map[string]*cFilm
	epochs     map[string]uint32
	without    []string // cameras that have no frame ring here
}

func newCGrant(t *testing.T, model string, replica uint32, cameras ...string) *cGrant {
	t.Helper()
	c := RingConfig{Slots: 16, PayloadBytes: 512, Model: model, Replica: replica}
	g := &cGrant{cameras: cameras, films: map[string]*cFilm{}, epochs: map[string]uint32{}}
	g.ring = newSegment(t, c.Bytes(), func(b []byte) error { return FormatRing(b, c) })
	g.bell = newSegment(t, DoorbellBytes(), FormatDoorbell)
	for i, camera := range cameras {
		g.films[camera] = newCFilm(t, camera)
		g.epochs[camera] = uint32(i + 4)
	}
	var err error
	if g.reader, err = NewReader(readOnly(t, g.ring)); err != nil {
		t.Fatal(err)
	}
	return g
}

// answer is the reply to a writer of that model.
func (g *cGrant) answer(request map[string]any) (string, []*os.File) {
	info := g.reader.Info()
	names, files := []string{"ring", "doorbell"}, []*os.File{g.ring.File(), g.bell.File()}
	cameras := []map[string]any{}
	for _, camera := range g.cameras {
		cameras = append(cameras, map[string]any{"name": camera, "stream_epoch": g.epochs[camera]})
		if slices.Contains(g.without, camera) {
			continue
		}
		f, err := g.films[camera].s.OpenReadOnly()
		if err != nil {
			return "", nil
		}
		names, files = append(names, "frames/"+camera), append(files, f)
	}
	doc, _ := json.Marshal(map[string]any{"ok": true, "abi": Version, "unit": "box-7", "model": info.Model, "replica": info.Replica,
		"ring_epoch": info.RingEpoch + 1, "cameras": cameras, "files": names, "a key of later": []any{1, nil, map[string]any{"x": "}"}}})
	return string(doc), files
}

// wantMessage reads the next message, which must be of this camera and this header, but
// for the times and numbers that the ring gives.
func (g *cGrant) wantMessage(t *testing.T, camera string, want SlotHeader, wantBody string) SlotHeader {
	t.Helper()
	var h SlotHeader
	body := make([]byte, 512)
	n, ok, err := g.reader.Next(&h, body)
	if err != nil || !ok {
		t.Fatalf("next message: ok=%v err=%v", ok, err)
	}
	s, ok := g.reader.Stream(h.Stream)
	if !ok || s.Unit != "box-7" || s.Camera != camera {
		t.Fatalf("want a message of camera %s, got stream %+v", camera, s)
	}
	got := h
	got.Sequence, got.Stream, got.PublishNS, got.Length = 0, 0, 0, 0
	if got != want || string(body[:n]) != wantBody {
		t.Fatalf("want %+v %q, got %+v %q", want, wantBody, got, body[:n])
	}
	return h
}

func (g *cGrant) wantNothing(t *testing.T) {
	t.Helper()
	if _, ok, err := g.reader.Next(&SlotHeader{}, nil); ok || err != nil {
		t.Fatalf("want no message, got ok=%v err=%v", ok, err)
	}
}
