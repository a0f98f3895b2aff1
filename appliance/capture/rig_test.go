package capture

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/shm"
)

const (
	shapesFilm = "../../testdata/models/shapes_video.mp4"
	peopleFilm = "../../testdata/models/people/people.mp4"
)

// note is one thing a capture told its parent.
type note struct {
	state  string
	report Report
}

// boss is the parent's end: it keeps what it is told.
type boss struct {
	done chan struct{}
	once sync.Once

	mu    sync.Mutex
	ready bool
	notes []note
}

func (b *boss) Ready(any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ready = true
	return nil
}

func (b *boss) State(name string, v any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes = append(b.notes, note{name, v.(Report)})
	return nil
}

func (b *boss) Done() <-chan struct{} { return b.done }

func (b *boss) drain() { b.once.Do(func() { close(b.done) }) }

func (b *boss) told() []note {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]note(nil), b.notes...)
}

// rig runs a capture on real shared memory; the test is its appliance.
type rig struct {
	t       testing.TB
	boss    *boss
	frames  *shm.FrameReader
	pace    *shm.DispatchWriter
	log     *bytes.Buffer // read it only after stop
	ended   chan error
	stopped bool
	seen    uint64
}

// quick makes a test's failures fast. Silence stays at a second: ffmpeg takes some
// time to start on a busy machine.
var quick = limits{first: 5 * time.Second, between: time.Second, backoff: 50 * time.Millisecond, boot: clock.ReadBootOffset}

// start runs job on a ring of so many slots for pictures of 768x576.
func start(t testing.TB, job Job, slots int, l limits) *rig {
	t.Helper()
	return startOn(t, job, shm.FrameRingConfig{Slots: slots, PixelBytes: 768 * 576 * 3 / 2, Unit: "u", Camera: "gate"}, l)
}

func startOn(t testing.TB, job Job, cfg shm.FrameRingConfig, l limits) *rig {
	t.Helper()
	if job.Camera == "" {
		job.Unit, job.Camera = "u", "gate"
	}
	segment := func(name string, size int, format func([]byte) error) []byte {
		s, err := shm.CreateSegment(name, size)
		if err != nil {
			t.Fatal(err)
		}
		if err := format(s.Bytes()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s.Bytes()
	}
	ring := segment("frames", cfg.Bytes(), func(b []byte) error { return shm.FormatFrameRing(b, cfg) })
	work := segment("pace", shm.DispatchBytes(2), func(b []byte) error { return shm.FormatDispatch(b, 2) })
	r := &rig{t: t, boss: &boss{done: make(chan struct{})}, log: new(bytes.Buffer), ended: make(chan error, 1)}
	writer, err := shm.NewFrameWriter(ring, uint32(os.Getpid()), nil)
	if err != nil {
		t.Fatal(err)
	}
	allowed, err := shm.NewDispatchReader(work)
	if err != nil {
		t.Fatal(err)
	}
	if r.frames, err = shm.NewFrameReader(ring); err != nil {
		t.Fatal(err)
	}
	if r.pace, err = shm.NewDispatchWriter(work); err != nil {
		t.Fatal(err)
	}
	r.pace.SetPeer(r.frames.Peer())
	go func() { r.ended <- run(r.boss, job, writer, allowed, r.log, l) }()
	t.Cleanup(func() { r.stop() })
	return r
}

// stop drains the capture and returns what it ended with, in bounded time.
func (r *rig) stop() error {
	if r.stopped {
		return nil
	}
	r.stopped = true
	r.boss.drain()
	select {
	case err := <-r.ended:
		return err
	case <-time.After(4 * time.Second):
		r.t.Fatal("the capture did not end within 4 s of the request to drain")
		return nil
	}
}

// next waits for the next picture the ring still holds.
func (r *rig) next(patience time.Duration) (shm.FrameMeta, []byte, bool) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if r.frames.Head() <= r.seen {
			continue
		}
		r.seen = max(r.seen+1, r.frames.Oldest())
		if m, pixels, ok := r.frames.View(r.seen); ok {
			return m, pixels, true
		}
	}
	return shm.FrameMeta{}, nil, false
}

// picture is what a test keeps of a picture.
type picture struct {
	meta shm.FrameMeta
	sum  [sha256.Size]byte
}

// take reads n pictures and fails when one is missing or overwritten under its hands.
// Each is allowed only when its predecessor has been dealt with, which paces fast.
func (r *rig) take(n int, deal func(shm.FrameMeta, []byte)) (got []picture) {
	r.t.Helper()
	for i := range n {
		r.pace.SetAllowed(r.seen + 1)
		m, pixels, ok := r.next(10 * time.Second)
		if !ok {
			r.t.Fatalf("picture %d of %d did not come; told %v", i+1, n, r.boss.told())
		}
		p := picture{m, sha256.Sum256(pixels)}
		if deal != nil {
			deal(m, pixels)
		}
		if !r.frames.Valid(m.Seq) {
			r.t.Fatalf("picture %d was overwritten while it was read", m.Seq)
		}
		got = append(got, p)
	}
	return got
}

// await waits for a state whose reason holds text.
func (r *rig) await(state, text string, patience time.Duration) note {
	r.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for _, n := range r.boss.told() {
			if n.state == state && strings.Contains(n.report.Reason, text) {
				return n
			}
		}
	}
	r.t.Fatalf("want state %s with %q within %v, got %v", state, text, patience, r.boss.told())
	return note{}
}

// ffmpeg runs the real one and fails the test with its words.
func ffmpeg(t testing.TB, args string) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command("ffmpeg", strings.Fields("-v error -nostdin "+args)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run ffmpeg %s (Debian: apt install ffmpeg): %v: %s", args, err, stderr.Bytes())
	}
	return out
}

// film makes one of n pictures of the shapes film, unchanged.
func film(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "film.mp4")
	ffmpeg(t, fmt.Sprintf("-i %s -frames:v %d -c copy %s", shapesFilm, n, path))
	return path
}

// sums are the pictures of a film as ffmpeg's raw video gives them.
func sums(t *testing.T, path string, size int) (all [][sha256.Size]byte) {
	t.Helper()
	raw := ffmpeg(t, "-i "+path+" -map 0:V:0 -fps_mode passthrough -pix_fmt yuv420p -f rawvideo pipe:1")
	if len(raw)%size != 0 {
		t.Fatalf("%d bytes of raw video are no multiple of %d", len(raw), size)
	}
	for ; len(raw) > 0; raw = raw[size:] {
		all = append(all, sha256.Sum256(raw[:size]))
	}
	return all
}

// decoders lists the ffmpeg processes whose parent is pid.
func decoders(pid int) (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		// pid (comm) state ppid …
		head, rest, _ := strings.Cut(string(b), " (")
		comm, rest, _ := strings.Cut(rest, ") ")
		fields := strings.Fields(rest)
		if len(fields) > 1 && comm == "ffmpeg" && fields[0] != "Z" && fields[1] == strconv.Itoa(pid) {
			if pid, err := strconv.Atoi(head); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
