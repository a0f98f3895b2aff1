// Command publisher publishes flat out into a ring that nobody reads and says how long it
// took. The bench builds it twice to learn what one line of shm costs; so it knows shm and
// nothing else.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/shm"
)

// limit ends a publisher whose caller is gone.
const limit = 2 * time.Minute

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "publisher:", err)
		os.Exit(1)
	}
}

// run takes processor, messages and bytes of a message; the ring is descriptor 3.
func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("want CPU MESSAGES BYTES, called by the bench itself")
	}
	var numbers [3]int
	for i, arg := range args {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 0 {
			return fmt.Errorf("argument %q: want a number", arg)
		}
		numbers[i] = n
	}
	time.AfterFunc(limit, func() { os.Exit(1) })
	debug.SetGCPercent(-1)
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(numbers[0])
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pin to processor %d: %w", numbers[0], err)
	}
	s, err := shm.MapSegment(os.NewFile(3, "ring"), true)
	if err != nil {
		return err
	}
	w, err := shm.NewWriter(s.Bytes(), uint32(os.Getpid()), nil)
	if err != nil {
		return err
	}
	if _, err := w.RegisterStream("bench", "camera", 1); err != nil {
		return err
	}
	tookNS, err := publish(w, numbers[1], make([]byte, numbers[2]))
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"messages": numbers[1], "first_ns": 0, "last_ns": tookNS})
}

// publish takes the time of n messages, after a lap to warm up.
func publish(w *shm.Writer, n int, body []byte) (int64, error) {
	h := shm.SlotHeader{Kind: shm.KindBoxes, CaptureNS: 1, FrameID: 2}
	const warmup = 4096
	var began time.Time
	for i := range n + warmup {
		if i == warmup {
			began = time.Now()
		}
		if err := w.Publish(&h, body); err != nil {
			return 0, err
		}
	}
	return int64(time.Since(began)), nil
}
