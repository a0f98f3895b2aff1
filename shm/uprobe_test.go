package shm

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// probedStreams are the streams that probedRole publishes for, by index.
var probedStreams = []string{"gate", "road"}

// probedMessage is message i of probedRole, from 1: each kind, with and without frame id,
// with and without a time that is a number, epochs that change.
func probedMessage(i uint64) SlotHeader {
	h := SlotHeader{
		CaptureNS: -7 * int64(i), FrameID: i << 33, Stream: uint32(i % 2), StreamEpoch: uint32(i / 10),
		Kind: Kind(1 + i%4), Count: 9, Flags: 255, Tag: 1,
	}
	if i%3 == 0 {
		h.FrameID = 0
	}
	if i%5 == 0 {
		h.CaptureNS = RawCapture
	}
	return h
}

// probedRegisters is what an observer of message i must see.
func probedRegisters(i uint64, replica uint32) [4]uint64 {
	h := probedMessage(i)
	hash := fnv(fnvOffset, "u\x00"+probedStreams[h.Stream]+"\x00"+string(le.AppendUint32(nil, h.StreamEpoch)))
	model := fnv(fnvOffset, "people")&0xffffffff | uint64(uint16(replica))<<32 | uint64(h.Kind)<<48
	frame := h.FrameID
	if frame == 0 {
		model, frame = model|1<<56, i
	}
	return [4]uint64{hash, model, uint64(h.CaptureNS), frame}
}

// probedRole publishes args[0] messages from one thread, whose number it gives as its
// pid, once descriptor 4 says so.
func probedRole(args []string) error {
	runtime.LockOSThread()
	n, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil {
		return err
	}
	b, err := mapFD(3, true)
	if err != nil {
		return err
	}
	w, err := NewWriter(b, uint32(unix.Gettid()), nil)
	if err != nil {
		return err
	}
	for _, camera := range probedStreams {
		if _, err := w.RegisterStream("u", camera, 1); err != nil {
			return err
		}
	}
	start := os.NewFile(4, "start")
	w.SetState(StateReady)
	if _, err := start.Read(make([]byte, 1)); err != nil {
		return err
	}
	for i := uint64(1); i <= n; i++ {
		h := probedMessage(i)
		if err := w.Publish(&h, nil); err != nil {
			return err
		}
	}
	w.SetState(StateDraining)
	_, err = start.Read(make([]byte, 1)) // stay to be looked at
	return err
}

// A real uprobe at the site counts exactly what is published, with the registers' values,
// and the kernel raises the semaphore for as long as it is there.
func TestUprobe(t *testing.T) {
	const n, replica = 2000, 70_001
	kind, err := os.ReadFile("/sys/bus/event_source/devices/uprobe/type")
	if err != nil {
		t.Skipf("skip[uprobe]: this kernel has no uprobe events (CONFIG_UPROBE_EVENTS): %v", err)
	}
	if _, err := os.Stat("/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset"); errors.Is(err, fs.ErrNotExist) {
		t.Skip("skip[uprobe]: this kernel's uprobes have no reference counter (requires >= 4.20)")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	site, semaphore := findSite(t, f)
	siteOff, _ := fileOffset(f, site, elf.PF_R|elf.PF_X)
	semaphoreOff, _ := fileOffset(f, semaphore, elf.PF_R|elf.PF_W)

	c := RingConfig{Slots: 8, PayloadBytes: 64, Model: "people", Replica: replica}
	ring := newSegment(t, c.Bytes(), func(b []byte) error { return FormatRing(b, c) })
	r, err := NewReader(readOnly(t, ring))
	if err != nil {
		t.Fatal(err)
	}
	started, start, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer started.Close()
	defer start.Close()
	cmd := spawn(t, "probed", []*os.File{ring.File(), started}, strconv.Itoa(n))
	eventually(t, "the writer", func() bool { return r.Info().State == StateReady })

	kindNumber, err := strconv.ParseUint(strings.TrimSpace(string(kind)), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	registers := map[string]uint64{"amd64": 1<<5 | 1<<4 | 1<<3 | 1<<2, "arm64": 0xf}[runtime.GOARCH]
	fd, err := perfUprobe(uint32(kindNumber), self, siteOff, semaphoreOff, int(r.Info().PID), registers)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
		t.Skipf("skip[uprobe]: perf_event_open: %v (needs CAP_SYS_ADMIN and no emulator)", err)
	}
	if err != nil {
		t.Fatalf("perf_event_open: %v", err)
	}
	events := os.NewFile(uintptr(fd), "uprobe")
	defer events.Close()
	samples, err := unix.Mmap(fd, 0, (1+64)*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	counter := func() uint16 {
		var b [2]byte
		if _, err := mem.ReadAt(b[:], int64(semaphore+loadedAt(t, f, cmd.Process.Pid, self))); err != nil {
			t.Fatal(err)
		}
		return le.Uint16(b[:])
	}
	if got := counter(); got != 1 {
		t.Fatalf("want the kernel to raise the semaphore to 1, got %d", got)
	}
	if _, err := start.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all messages", func() bool { return r.Info().State == StateDraining })

	var hits [8]byte
	if _, err := events.Read(hits[:]); err != nil {
		t.Fatal(err)
	}
	if got := le.Uint64(hits[:]); got != n {
		t.Errorf("want %d hits, got %d", n, got)
	}
	got := perfRegisters(t, samples)
	if len(got) != n {
		t.Fatalf("want %d samples, got %d", n, len(got))
	}
	for i, have := range got {
		if runtime.GOARCH == "amd64" { // the kernel gives CX, DX, SI, DI
			have = [4]uint64{have[3], have[2], have[1], have[0]}
		}
		if want := probedRegisters(uint64(i+1), replica); have != want {
			t.Fatalf("message %d: want %#x, got %#x", i+1, want, have)
		}
	}
	if err := unix.Munmap(samples); err != nil {
		t.Fatal(err)
	}
	if err := events.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the semaphore to fall", func() bool { return counter() == 0 })
	if _, err := start.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// perfRegisters takes apart the samples of a perf mapping: struct perf_event_mmap_page,
// then records of which each has four registers. From linux/perf_event.h.
func perfRegisters(t *testing.T, b []byte) [][4]uint64 {
	t.Helper()
	const dataHead, recordLost, recordSample = 1024, 2, 9
	head := word64(b, dataHead).Load()
	data := b[os.Getpagesize():]
	if head > uint64(len(data)) {
		t.Fatalf("%d bytes of samples in %d", head, len(data))
	}
	var all [][4]uint64
	for data = data[:head]; len(data) > 0; {
		kind, size := le.Uint32(data), int(le.Uint16(data[6:]))
		switch {
		case kind == recordLost:
			t.Fatal("the kernel lost samples")
		case kind == recordSample && size == 8+8+4*8: // header, ABI of the registers, registers
			var regs [4]uint64
			for i := range regs {
				regs[i] = le.Uint64(data[16+8*i:])
			}
			all = append(all, regs)
		}
		data = data[size:]
	}
	return all
}
