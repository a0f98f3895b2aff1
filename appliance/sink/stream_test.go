package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// readFrom opens a FIFO for reading; it waits for no writer.
func readFrom(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// A reader that stalls costs what does not fit into pipe and queue, and Offer never
// waits; when it reads again, all that was queued comes, whole.
func TestReaderThatStalls(t *testing.T) {
	path := fifo(t)
	reader := readFrom(t, path)
	s, stop := running(t, Options{Path: path, MaxSize: 1 << 20, Keep: 1})
	offered := uint64(0)
	longest := time.Duration(0)
	for range 5000 { // 1.5 MB: the pipe holds 64 KiB, the queue 1,024 lines
		offered++
		begun := time.Now()
		s.Offer(frame(offered))
		longest = max(longest, time.Since(begun))
	}
	st := await(t, s, "a stall", func(st Stats) bool { return st.State == StateStalled })
	if longest > time.Second { // a wait for the reader would last for ever
		t.Errorf("one Offer took %s", longest)
	}
	if st.Lost[LostQueueFull] == 0 || st.Lost[LostWriteError] != 0 || st.Queued == 0 {
		t.Errorf("got %+v, want lines queued and the rest lost to a full queue", st)
	}
	identity(t, st, offered)

	want := st.Written + st.Queued
	var text bytes.Buffer
	buf := make([]byte, 32<<10)
	// The last bytes come before they are counted: a read that finds nothing looks again.
	for end := time.Now().Add(10 * time.Second); s.Stats().Written < want || s.Stats().Queued > 0; {
		reader.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		n, err := reader.Read(buf)
		if err != nil && (!errors.Is(err, os.ErrDeadlineExceeded) || time.Now().After(end)) {
			t.Fatalf("after %d bytes: %v, %+v", text.Len(), err, s.Stats())
		}
		text.Write(buf[:n])
	}
	reader.SetReadDeadline(time.Now().Add(10 * time.Second))
	await(t, s, "recovery", func(st Stats) bool { return st.State == StateOK })
	stop()
	rest, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	text.Write(rest)
	got := seqsOf(t, text.Bytes())
	if uint64(len(got)) != want {
		t.Errorf("%d lines came, want %d", len(got), want)
	}
	for i := 1; i < len(got); i++ {
		if got[i] <= got[i-1] {
			t.Fatalf("line %d follows line %d", got[i], got[i-1])
		}
	}
	identity(t, s.Stats(), offered)
}

// The end is bounded when the reader stays stalled.
func TestReaderThatStallsAtTheEnd(t *testing.T) {
	path := fifo(t)
	readFrom(t, path)
	s, stop := running(t, Options{Path: path, MaxSize: 1 << 20, Keep: 1})
	for i := range uint64(1000) {
		s.Offer(frame(i))
	}
	await(t, s, "a stall", func(st Stats) bool { return st.State == StateStalled })
	begun := time.Now()
	stop()
	if took := time.Since(begun); took > FlushLimit+3*time.Second {
		t.Errorf("the end took %s, want about %s", took, FlushLimit)
	}
	st := s.Stats()
	identity(t, st, 1000)
	if st.Lost[LostShutdown] == 0 || st.Queued != 0 {
		t.Errorf("got %+v, want the rest lost to the end", st)
	}
}

// A FIFO without a reader, a reader that leaves and another that comes.
func TestReaderThatLeaves(t *testing.T) {
	path := fifo(t)
	s, _ := running(t, Options{Path: path, MaxSize: 1 << 20, Keep: 1})
	s.Offer(frame(1))
	st := await(t, s, "naming the missing reader", func(st Stats) bool { return st.State == StateFailing })
	if !strings.Contains(st.Error, path) {
		t.Errorf("it says %q, want the path in it", st.Error)
	}
	read := func(f *os.File, want uint64) {
		t.Helper()
		await(t, s, fmt.Sprintf("line %d", want), func(st Stats) bool { return st.Written == want })
		buf := make([]byte, 4096)
		n, err := f.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(numbers(want, want), seqsOf(t, buf[:n])); diff != "" {
			t.Error(diff)
		}
	}
	first := readFrom(t, path)
	read(first, 1)
	first.Close()
	s.Offer(frame(2))
	await(t, s, "a closed pipe", func(st Stats) bool {
		return strings.Contains(st.Error, "broken pipe") || strings.Contains(st.Error, "no such device")
	})
	read(readFrom(t, path), 2)
	identity(t, s.Stats(), 2)
}

// A plain file that takes a FIFO's place is appended to, not written over.
func TestFileInPlaceOfAFIFO(t *testing.T) {
	path := fifo(t)
	s, stop := running(t, Options{Path: path, MaxSize: 1 << 20, Keep: 1})
	s.Offer(frame(1))
	await(t, s, "naming the missing reader", func(st Stats) bool { return st.State == StateFailing })
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("words\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file, path); err != nil {
		t.Fatal(err)
	}
	await(t, s, "recovery", func(st Stats) bool { return st.Written == 1 })
	stop()
	if got, err := os.ReadFile(path); !strings.HasPrefix(string(got), "words\n{") {
		t.Errorf("the file holds %q (%v), want its words kept", got, err)
	}
}

const childEnv = "SKEWGATE_TEST_STDOUT"

// TestStandardOutput is run again as a child whose standard output is what each case
// makes of it; the child tells its Stats on standard error.
func TestStandardOutput(t *testing.T) {
	if os.Getenv(childEnv) != "" {
		stdoutChild()
	}
	start := func(t *testing.T, stdout *os.File) (*exec.Cmd, *bytes.Buffer, io.WriteCloser) {
		t.Helper()
		cmd := exec.Command(os.Args[0], "-test.run=^TestStandardOutput$")
		cmd.Env = append(os.Environ(), childEnv+"=1")
		var told bytes.Buffer
		cmd.Stdout, cmd.Stderr = stdout, &told
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, &told, stdin
	}
	end := func(t *testing.T, cmd *exec.Cmd, told *bytes.Buffer, want string) {
		t.Helper()
		if err := cmd.Wait(); err != nil {
			t.Fatalf("the child ended with %v: %s", err, told)
		}
		if !strings.Contains(told.String(), want) {
			t.Errorf("the child says %q, want %q in it", told, want)
		}
	}

	t.Run("pipe", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd, told, stdin := start(t, w)
		w.Close()
		text := make(chan []byte)
		go func() { b, _ := io.ReadAll(r); text <- b }()
		stdin.Close()
		got := seqsOf(t, <-text)
		end(t, cmd, told, "written=100 write_error=0 shutdown=0 queued=0 state=closed")
		if diff := cmp.Diff(numbers(1, 100), got); diff != "" {
			t.Error(diff)
		}
	})
	// SIGPIPE would end the process, and with it the appliance.
	t.Run("closed pipe", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		cmd, told, stdin := start(t, w)
		w.Close()
		stdin.Close()
		end(t, cmd, told, "written=0 write_error=100 shutdown=0 queued=0 state=closed error=write standard output: broken pipe")
	})
	t.Run("file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "out")
		w, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.WriteString("words\n"); err != nil {
			t.Fatal(err)
		}
		cmd, told, stdin := start(t, w)
		stdin.Close()
		end(t, cmd, told, "written=100")
		w.Close()
		if text, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(text), "words\n{") {
			t.Errorf("the file begins with %q (%v)", tail(text[:min(20, len(text))]), err)
		}
		if diff := cmp.Diff(numbers(1, 100), seqs(t, path)); diff != "" {
			t.Error(diff)
		}
	})
	// The end is bounded while a reader is there and reads nothing.
	t.Run("stalled pipe", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
			t.Fatal(err)
		}
		cmd, told, stdin := start(t, w)
		w.Close()
		stdin.Close()
		end(t, cmd, told, "queued=0 state=closed error=the reader takes nothing")
	})
}

func stdoutChild() {
	s, err := New(Options{Path: "-"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); s.Run(ctx) }()
	for i := range uint64(100) {
		s.Offer(frame(i + 1))
	}
	_, _ = io.ReadAll(os.Stdin) // until the parent is ready
	time.Sleep(300 * time.Millisecond)
	cancel()
	<-ended
	st := s.Stats()
	fmt.Fprintf(os.Stderr, "written=%d write_error=%d shutdown=%d queued=%d state=%s error=%s\n",
		st.Written, st.Lost[LostWriteError], st.Lost[LostShutdown], st.Queued, st.State, st.Error)
	os.Exit(0)
}
