package shm

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pin keeps the calling goroutine on one processor, so that writer and reader never
// share one.
func pin(cpu int) {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(cpu)
	_ = unix.SchedSetaffinity(0, &set) // fewer processors: slower, not wrong
}

// streamRole publishes n messages of 256 bytes, never beyond what the dispatch segment
// allows: the reader's way of saying how far it has come.
func streamRole(args []string) error {
	pin(1)
	n, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil {
		return err
	}
	b, err := mapFD(3, true)
	if err != nil {
		return err
	}
	w, err := NewWriter(b, uint32(os.Getpid()), nil)
	if err != nil {
		return err
	}
	if _, err := w.RegisterStream("u", "c", 1); err != nil {
		return err
	}
	pace, err := mapFD(4, false)
	if err != nil {
		return err
	}
	in, err := NewDispatchReader(pace)
	if err != nil {
		return err
	}
	h, body := SlotHeader{Kind: KindBoxes}, make([]byte, 256)
	allowed := uint64(0)
	for i := uint64(1); i <= n; i++ {
		for allowed < i {
			allowed = in.Allowed()
		}
		h.FrameID = i
		if err := w.Publish(&h, body); err != nil {
			return err
		}
	}
	return nil
}

// Two processes, 256 bytes, the writer kept from lapping: messages delivered a second.
func BenchmarkDelivered256(b *testing.B) {
	for _, slots := range []uint64{256, 1024, 4096, 65536} {
		b.Run(fmt.Sprintf("%d", slots), func(b *testing.B) { benchmarkDelivered(b, slots) })
	}
}

func benchmarkDelivered(b *testing.B, slots uint64) {
	c := RingConfig{Slots: int(slots), PayloadBytes: 256, Model: "stream"}
	ring := newSegment(b, c.Bytes(), func(b []byte) error { return FormatRing(b, c) })
	pace := newSegment(b, DispatchBytes(1), func(b []byte) error { return FormatDispatch(b, 1) })
	r, err := NewReader(readOnly(b, ring))
	if err != nil {
		b.Fatal(err)
	}
	out, err := NewDispatchWriter(pace.Bytes())
	if err != nil {
		b.Fatal(err)
	}
	out.SetPeer(r.Peer())
	ro, err := pace.OpenReadOnly()
	if err != nil {
		b.Fatal(err)
	}
	defer ro.Close()
	n := uint64(b.N)
	cmd := spawn(b, "stream", []*os.File{ring.File(), ro}, strconv.FormatUint(n, 10))
	for r.Info().RingEpoch == 0 {
		time.Sleep(time.Millisecond)
	}
	pin(0)
	defer runtime.UnlockOSThread()
	var h SlotHeader
	body := make([]byte, 256)
	step := slots / 8
	next := step
	b.SetBytes(256)
	b.ResetTimer()
	began := time.Now()
	out.SetAllowed(slots)
	for r.Read() < n {
		_, ok, err := r.Next(&h, body)
		if err != nil {
			b.Fatal(err)
		}
		if ok && h.Sequence == next {
			next += step
			out.SetAllowed(h.Sequence + slots)
		}
	}
	b.ReportMetric(float64(n)/time.Since(began).Seconds()/1e6, "M/s")
	b.StopTimer()
	if r.Lost() != 0 {
		b.Fatalf("%d lost: the writer was not kept from lapping", r.Lost())
	}
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
}
