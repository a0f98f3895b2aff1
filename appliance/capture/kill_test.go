package capture

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/skewgate/skewgate/shm"
)

// childEnv makes this test binary run a capture of the film it names.
const childEnv = "CAPTURE_TEST_FILM"

func TestMain(m *testing.M) {
	if film := os.Getenv(childEnv); film != "" {
		if err := captureForEver(film); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func captureForEver(film string) error {
	cfg := shm.FrameRingConfig{Slots: 2, PixelBytes: 640 * 360 * 3 / 2, Unit: "u", Camera: "gate"}
	ring := make([]byte, cfg.Bytes())
	if err := shm.FormatFrameRing(ring, cfg); err != nil {
		return err
	}
	writer, err := shm.NewFrameWriter(ring, 1, nil)
	if err != nil {
		return err
	}
	fmt.Println("running")
	return Run(&boss{done: make(chan struct{})}, Job{Camera: "gate", Source: film, Loop: true}, writer, nil, os.Stderr)
}

// However a capture ends, its ffmpeg ends with it, and it sits in its process group.
func TestKilledCaptureLeavesNoFFmpeg(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+shapesFilm)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "running\n" {
		t.Fatalf("want the child running, got %q %v", line, err)
	}
	var pids []int
	for end := time.Now().Add(5 * time.Second); len(pids) == 0 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		pids = decoders(cmd.Process.Pid)
	}
	if len(pids) != 1 {
		t.Fatalf("want one ffmpeg, got %v", pids)
	}
	time.Sleep(300 * time.Millisecond) // amid decoding
	if pgid, err := syscall.Getpgid(pids[0]); err != nil || pgid != cmd.Process.Pid {
		t.Errorf("want ffmpeg in group %d, got %d %v", cmd.Process.Pid, pgid, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(2 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if err := syscall.Kill(pids[0], 0); err == syscall.ESRCH || zombie(pids[0]) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("ffmpeg %d lives 2 s after its capture was killed", pids[0])
		}
	}
}

// zombie says whether a process is dead and only waits to be reaped by init.
func zombie(pid int) bool {
	var state byte
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	var n int
	_, _ = fmt.Sscanf(string(b), "%d (ffmpeg) %c", &n, &state)
	return state == 'Z'
}

// An orderly end leaves none either, in whatever the capture is caught.
func TestDrainedCaptureLeavesNoFFmpeg(t *testing.T) {
	for _, tc := range []struct {
		name string
		job  Job
	}{
		{"playing", Job{Source: shapesFilm, Loop: true}},
		{"waiting to be allowed on", Job{Source: shapesFilm, Pace: PaceFast}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := start(t, tc.job, 4, quick)
			r.await(StateStreaming, "", 5*time.Second)
			asked := time.Now()
			if err := r.stop(); err != nil {
				t.Errorf("want an orderly end, got %v", err)
			}
			if took := time.Since(asked); took > 2*time.Second {
				t.Errorf("want an end soon after the request to drain, took %v", took)
			}
			if pids := decoders(os.Getpid()); len(pids) != 0 {
				t.Errorf("want no ffmpeg left, got %v", pids)
			}
		})
	}
}
