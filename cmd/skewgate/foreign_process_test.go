package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/capture/barcode"
	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/shm/client"
)

// A foreign process is this test's own program again, told by the environment what to be:
// a real process with a real user, attached through the real socket.
const foreignEnv = "SKEWGATE_TEST_FOREIGN"

func init() {
	roles := map[string]func() error{"detector": foreignDetector, "reader": foreignReader, "prober": foreignProber, "flooder": foreignFlooder}
	if role := roles[os.Getenv(foreignEnv)]; role != nil {
		if err := role(); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

func monotonic() int64 { return int64(clock.Now()) }

// foreignDetector looks at the newest picture of each camera, in place, and says what its
// barcode is. On SIGUSR1 it wrecks its ring's head. With FOREIGN_SHIFT, a duration, it speaks as
// one that decodes the stream by itself: without frame ids, and by a clock that is ahead by that.
// With FOREIGN_SKIPS it says of every other picture only that it is past it.
func foreignDetector() error {
	wreck := make(chan os.Signal, 1)
	signal.Notify(wreck, syscall.SIGUSR1)
	w, err := client.AttachWriter(client.Options{Client: "test/1"}, os.Getenv("FOREIGN_MODEL"), 0)
	if err != nil {
		return err
	}
	fmt.Println("attached", w.RingEpoch())
	seen := make([]uint64, len(w.Cameras()))
	away, wild := false, false
	for !w.Draining() {
		select {
		case <-wreck:
			if err := wreckHead(); err != nil {
				return err
			}
			wild = true // the next message would mend it
		default:
		}
		err := w.Poll(monotonic())
		for i := 0; i < len(seen) && err == nil && !wild; i++ {
			err = look(w, i, &seen[i])
		}
		switch {
		case errors.Is(err, client.ErrReattached):
			away, wild = false, false
			clear(seen)
			fmt.Println("attached", w.RingEpoch())
		case errors.Is(err, client.ErrDetached):
			if !away {
				fmt.Println(err)
			}
			away = true
		case err != nil:
			return err
		}
		time.Sleep(time.Millisecond)
	}
	fmt.Println("draining")
	return w.Close()
}

func look(w *client.Writer, stream int, seen *uint64) error {
	f, ok, err := w.Newest(stream, monotonic())
	if err != nil || !ok || f.Seq == *seen {
		return err
	}
	*seen = f.Seq
	code, readable := barcode.Read(f.Pixels, int(f.Width), int(f.Width), int(f.Height))
	if !w.Valid(stream, f.Seq) || !readable {
		return nil
	}
	m := client.MessageOf(stream, &f, monotonic())
	m.Tag = code
	if text, own := os.LookupEnv("FOREIGN_SHIFT"); own {
		shift, err := time.ParseDuration(text)
		if err != nil {
			return err
		}
		m.CaptureNS, m.FrameID = m.CaptureNS+int64(shift), 0
	}
	if os.Getenv("FOREIGN_SKIPS") != "" && f.Seq%2 == 1 {
		return w.Progress(stream, m.CaptureNS, m.NowNS)
	}
	return w.Boxes(m, []detect.Box{{X1: .1, Y1: .1, X2: .4, Y2: .4, Score: .5, Label: 3}})
}

// wreckHead sets the head word of this process's ring to all ones.
func wreckHead() error {
	fd, err := ownRing()
	if err != nil {
		return err
	}
	header := make([]byte, 64)
	if _, err := unix.Pread(fd, header, 0); err != nil {
		return err
	}
	hotAt := int64(header[40]) | int64(header[41])<<8
	_, err = unix.Pwrite(fd, []byte{255, 255, 255, 255, 255, 255, 255, 255}, hotAt)
	return err
}

// ownRing finds the descriptor of this process's ring.
func ownRing() (int, error) {
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		return -1, err
	}
	for _, l := range links {
		target, err := os.Readlink(l)
		if err != nil || !strings.Contains(target, "memfd:skewgate:ring:") {
			continue
		}
		var fd int
		_, err = fmt.Sscan(filepath.Base(l), &fd)
		return fd, err
	}
	return -1, errors.New("no ring among the descriptors")
}

// foreignReader prints the JSON line of each frame of the output ring until the end.
func foreignReader() error {
	r, err := client.AttachReader(client.Options{Client: "tail/1"})
	if err != nil {
		return err
	}
	fmt.Println("attached", r.Cameras())
	for {
		f, err := r.Next(monotonic())
		switch {
		case errors.Is(err, client.ErrDetached):
			fmt.Println("end: read", r.Read(), "lost", r.Lost(), "skipped", r.Skipped())
			return nil
		case err != nil:
			return err
		case f == nil:
			time.Sleep(time.Millisecond)
		default:
			line, err := f.AppendJSON(nil)
			if err != nil {
				return err
			}
			fmt.Println(string(line))
		}
	}
}

// foreignProber attaches and then tries to get more than it was given.
func foreignProber() error {
	w, err := client.AttachWriter(client.Options{Client: "probe/1"}, os.Getenv("FOREIGN_MODEL"), 0)
	if err != nil {
		return err
	}
	defer w.Close()
	try := func(what, path string) {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err == nil {
			f.Close()
		}
		fmt.Println(what, "read-write:", err)
	}
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		return err
	}
	for _, l := range links {
		target, err := os.Readlink(l)
		if err != nil || !strings.Contains(target, "memfd:skewgate:") {
			continue
		}
		name := strings.TrimSuffix(target[strings.LastIndex(target, "skewgate:"):], " (deleted)")
		try("reopen "+name, l)
		if !strings.Contains(name, "frames:") {
			continue
		}
		var fd int
		if _, err := fmt.Sscan(filepath.Base(l), &fd); err != nil {
			return err
		}
		_, err = unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		fmt.Println("map "+name, "read-write:", err)
		fmt.Println("truncate "+name, ":", unix.Ftruncate(fd, 0))
	}
	for fd := range 64 {
		try("the appliance's descriptors", fmt.Sprintf("/proc/%s/fd/%d", os.Getenv("FOREIGN_VICTIM"), fd))
	}
	fmt.Println("probed")
	return nil
}

// foreignProcess is a running one and what it printed.
type foreignProcess struct {
	t     *testing.T
	cmd   *exec.Cmd
	mu    sync.Mutex
	lines []string
	done  chan struct{} // closed at the end of its output
}

// startForeign starts one as user uid; 0 is the test's own.
func startForeign(t *testing.T, b *box, role string, uid int, env ...string) *foreignProcess {
	t.Helper()
	p := &foreignProcess{t: t, done: make(chan struct{})}
	// Through /proc, for another user may not pass the folder that go test builds in.
	p.cmd = exec.Command("/proc/self/exe")
	p.cmd.Env = append(append(os.Environ(), foreignEnv+"="+role, "SKEWGATE_ATTACH="+b.path("run/attach.sock"), "FOREIGN_MODEL=mine"), env...)
	if uid != 0 {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid), NoSetGroups: false}}
	}
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			p.mu.Lock()
			p.lines = append(p.lines, lines.Text())
			p.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		_ = p.cmd.Wait()
	})
	return p
}

func (p *foreignProcess) said() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.lines...)
}

// until waits for the nth line that begins with prefix, and returns it.
func (p *foreignProcess) until(nth int, prefix string) string {
	p.t.Helper()
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		n := 0
		for _, l := range p.said() {
			if strings.HasPrefix(l, prefix) {
				if n++; n == nth {
					return l
				}
			}
		}
		if time.Since(begun) > 30*time.Second {
			p.t.Fatalf("the foreign process does not say %q %d times, but: %s", prefix, nth, strings.Join(p.said(), "\n"))
		}
	}
}

// reachable lets other users pass to the box's sockets.
func (b *box) reachable() {
	b.t.Helper()
	for _, dir := range []string{b.dir, filepath.Dir(b.dir)} {
		if err := os.Chmod(dir, 0o755); err != nil {
			b.t.Fatal(err)
		}
	}
}
