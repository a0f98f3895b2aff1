package shm

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// F21: a C writer in full flight is killed at a random instant, again and again, and a Go
// reader finds nothing torn, nothing in its way, and every message accounted for.
func testCKilled(t *testing.T, c *cBuild) {
	kills := count(t, "SHM_TEST_KILLS", 100)
	if c.name != "gcc" {
		kills = min(kills, 30)
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 3))
	s, reader := crashRing(t, 16)
	openSlots := 0
	for i := range kills {
		cmd := c.start(t, "peer", []*os.File{s.File()}, "flood")
		before := reader.Written()
		drain := func(limit int) bool {
			empty, err := reader.drain(limit)
			if err != nil {
				t.Fatalf("kill %d: %v", i, err)
			}
			return empty
		}
		eventually(t, "the successor's first message", func() bool { drain(100); return reader.Written() > before })
		for until := time.Now().Add(time.Duration(random.IntN(2000)) * time.Microsecond); time.Now().Before(until); {
			drain(10)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait()
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
			t.Fatalf("kill %d: writer ended otherwise: %v", i, err)
		}
		if !drain(100) {
			t.Fatalf("kill %d: the ring of a dead writer does not run empty", i)
		}
		if err := reader.balance(); err != nil {
			t.Fatalf("kill %d: %v", i, err)
		}
		if got := reader.Info().RingEpoch; got != uint32(i+1) {
			t.Fatalf("kill %d: want ring_epoch %d, got %d", i, i+1, got)
		}
		if word64(reader.b, int((reader.Written()+1)&reader.mask)*reader.stride).Load() == 0 {
			openSlots++
		}
	}
	t.Logf("seed %d: %d kills, %d inside publish: %d written, %d read, %d lost, 0 torn",
		seed, kills, openSlots, reader.Written(), reader.Read(), reader.Lost())
	if kills >= 100 && openSlots == 0 {
		t.Error("no kill hit a publish: this test has shown nothing")
	}
}

// A C reader accounts for every message of a Go process that publishes at full speed.
func testCFollows(t *testing.T, c *cBuild) {
	n := count(t, "SHM_TEST_MESSAGES", 200_000)
	s, _ := crashRing(t, 64)
	ro, err := s.OpenReadOnly()
	if err != nil {
		t.Fatal(err)
	}
	defer ro.Close()
	cmd := c.command("peer", []*os.File{ro}, "follow", strconv.Itoa(n))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	startC(t, cmd)
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("follower said %q", lines.Text())
	}
	flood := spawn(t, "flood", []*os.File{s.File()}, strconv.Itoa(n))
	lines.Scan()
	var read, lost int
	if _, err := fmt.Sscan(lines.Text(), &read, &lost); err != nil || read+lost != n {
		t.Errorf("%d published; follower said %q", n, lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("follower: %v", err)
	}
	if err := flood.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("%d published, %d read, %d lost", n, read, lost)
}

// F25, F28: a process that writes nonsense all over the real segments, while a C process
// reads and writes them. Now and then they are laid out anew, or none would get past attach.
func testCHostileProcess(t *testing.T, c *cBuild) {
	lasts := count(t, "SHM_TEST_HOSTILE_MS", 1000)
	rc := RingConfig{Slots: 8, PayloadBytes: 256, Model: "m"}
	fc := FrameRingConfig{Slots: 4, PixelBytes: 96, Unit: "u", Camera: "c"}
	ring := newSegment(t, rc.Bytes(), func(b []byte) error { return FormatRing(b, rc) })
	frames := newSegment(t, fc.Bytes(), func(b []byte) error { return FormatFrameRing(b, fc) })
	door := newSegment(t, DoorbellBytes(), FormatDoorbell)
	framesRO, err := frames.OpenReadOnly()
	if err != nil {
		t.Fatal(err)
	}
	defer framesRO.Close()
	cmd := c.command("peer", []*os.File{ring.File(), framesRO, door.File()}, "hostile", "fds", strconv.Itoa(lasts))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	startC(t, cmd)
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("said %q", lines.Text())
	}
	wild := spawn(t, "scribble", []*os.File{ring.File(), frames.File(), door.File()}, strconv.FormatInt(time.Now().UnixNano(), 10))
	ended := make(chan string)
	go func() {
		lines.Scan()
		ended <- lines.Text()
	}()
	for {
		select {
		case said := <-ended:
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v, said %q", err, said)
			}
			if strings.HasPrefix(said, "0 ") || strings.Contains(said, " 0 refused") {
				t.Errorf("%s: this test has shown nothing", said)
			}
			t.Log(said)
			_ = wild.Process.Kill()
			_ = wild.Wait()
			return
		case <-time.After(200 * time.Microsecond):
			if err := FormatRing(ring.Bytes(), rc); err != nil {
				t.Fatal(err)
			}
			if err := FormatFrameRing(frames.Bytes(), fc); err != nil {
				t.Fatal(err)
			}
			if w, err := NewFrameWriter(frames.Bytes(), 1, nil); err == nil {
				if _, err := w.Begin(96); err != nil {
					t.Fatal(err)
				}
				if _, err := w.Publish(&FrameMeta{Width: 32, Height: 1, Format: FormatRGB24}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
