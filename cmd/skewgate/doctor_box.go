package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/shm"
)

// The oldest kernel this was built for has close_range (5.9) and sealed memfds.
const minKernelMajor, minKernelMinor = 5, 10

// kernel is read from /proc rather than uname, which a test cannot replace.
func (d *doctor) kernel() {
	text, err := fs.ReadFile(d.root, "proc/sys/kernel/osrelease")
	release := strings.TrimSpace(string(text))
	if err != nil {
		d.finding("kernel", fmt.Sprintf("its version cannot be read: %v", err), "mount /proc")
		return
	}
	major, minor := leadingVersion(release)
	if major < minKernelMajor || major == minKernelMajor && minor < minKernelMinor {
		d.finding("kernel", fmt.Sprintf("Linux %s on %s", release, runtime.GOARCH), fmt.Sprintf("take Linux %d.%d or newer", minKernelMajor, minKernelMinor))
		return
	}
	d.fine("kernel", "Linux %s on %s", release, runtime.GOARCH)
}

// leadingVersion reads major.minor off the front of a text, 0 for what is not there.
func leadingVersion(text string) (major, minor int) {
	parts := strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if len(parts) > 0 {
		major, _ = strconv.Atoi(parts[0])
	}
	if len(parts) > 1 {
		minor, _ = strconv.Atoi(parts[1])
	}
	return major, minor
}

func (d *doctor) cores() {
	n := runtime.NumCPU() // those this process may run on
	isolated, _ := fs.ReadFile(d.root, "sys/devices/system/cpu/isolated")
	text := fmt.Sprintf("%s usable", count(n, "core"))
	if s := strings.TrimSpace(string(isolated)); s != "" {
		text += ", isolated: " + s
	}
	if n < 2 {
		d.finding("cores", text, "give it two or more: path, ffmpeg and detectors share this one")
		return
	}
	d.fine("cores", "%s", text)
}

// minMemory is what two small cameras with a detector each need.
const minMemory = 512 << 20

// memory counts what a limit leaves, too: in a container MemAvailable is the whole box's.
func (d *doctor) memory() {
	room, err := shm.MeasureRoom(d.root)
	if err != nil {
		d.finding("memory", err.Error(), "mount /proc")
		return
	}
	text := fmt.Sprintf("%d MiB available, bounded by %s", room.AvailableBytes>>20, room.Limit)
	if room.AvailableBytes < minMemory {
		d.finding("memory", text, fmt.Sprintf("free some or raise the limit: %d MiB is little for frame rings and detectors", room.AvailableBytes>>20))
		return
	}
	d.fine("memory", "%s", text)
}

// needs compares what a config asks for with what there is.
func (d *doctor) needs(cfg *config.Config) {
	m := appliance.MemoryOf(cfg)
	if err := appliance.CheckRoom(cfg, d.root); errors.Is(err, shm.ErrNoRoom) {
		d.finding("config's memory", err.Error(), "free some or raise the limit, or make the rings smaller; `skewgate check` shows them")
		return
	}
	d.fine("config's memory", "%s", m.String())
}

// sharedMemory makes a segment as the appliance does, tries to break its seals, and
// sleeps on its doorbell.
func (d *doctor) sharedMemory() {
	const cure = "run on Linux without a sandbox that forbids memfd_create, seals, futex or /proc"
	s, err := shm.CreateSegment("doctor", shm.DoorbellBytes())
	if err != nil {
		d.finding("shared memory", err.Error(), cure)
		return
	}
	defer s.Close()
	if err := unix.Ftruncate(int(s.File().Fd()), 0); err == nil {
		d.finding("shared memory", "a sealed segment could be truncated", cure)
		return
	}
	f, err := s.OpenReadOnly()
	if err != nil {
		d.finding("shared memory", err.Error(), cure)
		return
	}
	_ = f.Close()
	if err := futexSleeps(s); err != nil {
		d.finding("shared memory", err.Error(), cure)
		return
	}
	d.fine("shared memory", "memfd, seals, read-only reopening and futex work")
}

// futexSleeps waits once on a doorbell, through the same code as the path.
func futexSleeps(s *shm.Segment) error {
	if err := shm.FormatDoorbell(s.Bytes()); err != nil {
		return err
	}
	bell, err := shm.NewDoorbell(s.Bytes())
	if err != nil {
		return err
	}
	const nap = time.Millisecond
	begun := time.Now()
	if err := bell.Sleep(func() bool { return false }, int64(nap)); err != nil {
		return err
	}
	if took := time.Since(begun); took < nap/2 || took > time.Second {
		return fmt.Errorf("a futex wait of %s took %s", nap, took)
	}
	return nil
}

// folder says whether a folder can be written to, or made.
func (d *doctor) folder(name, dir, key string) {
	if dir == "" {
		d.finding(name, "it is not known where", "name one with "+key)
		return
	}
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		d.finding(name, dir+" is not a folder", "move it away, or name another with "+key)
	case err == nil:
		f, err := os.CreateTemp(dir, ".doctor-*")
		if err != nil {
			d.finding(name, fmt.Sprintf("write to %s: %v", dir, bareError(err)), "chown it to the appliance's user, free space, or name another with "+key)
			return
		}
		_ = f.Close()
		_ = os.Remove(f.Name())
		d.fine(name, "%s can be written to", dir)
	default:
		parent := filepath.Dir(dir)
		for parent != "/" && parent != "." {
			if _, err := os.Stat(parent); err == nil {
				break
			}
			parent = filepath.Dir(parent)
		}
		probe, err := os.MkdirTemp(parent, ".doctor-*")
		if err != nil {
			d.finding(name, fmt.Sprintf("%s is not there, and in %s it cannot be made: %v", dir, parent, bareError(err)), fmt.Sprintf("make it for the appliance's user, or name another with %s", key))
			return
		}
		_ = os.Remove(probe)
		d.fine(name, "%s will be made", dir)
	}
}

// bareError is the cause without the path of a probe.
func bareError(err error) error {
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
