package shm

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// ErrNoRoom is matched by every *RoomError: segments would not fit into memory.
var ErrNoRoom = errors.New("not enough memory")

// RoomError says by how much segments do not fit.
type RoomError struct {
	NeededBytes, AvailableBytes int64
	Limit                       string // what bounds it, as in Room
}

func (e *RoomError) Error() string {
	return fmt.Sprintf("not enough memory: needed %d bytes, available %d by %s", e.NeededBytes, e.AvailableBytes, e.Limit)
}

// Is makes errors.Is(err, ErrNoRoom) true.
func (e *RoomError) Is(target error) bool { return target == ErrNoRoom }

// Room is the memory that this process may still take.
type Room struct {
	AvailableBytes int64
	Limit          string // what bounds it most: "MemAvailable", or "cgroup /a memory.max"
}

// MeasureRoom reads MemAvailable and the limits of every cgroup over this process, of
// either version, from root, which is that of the file system: os.DirFS("/"). The tightest
// counts. Segments belong to memory that cannot be given back without swap, so of what a
// cgroup uses only its file pages count as free. It is a measurement: others may take
// their share a moment later.
func MeasureRoom(root fs.FS) (Room, error) {
	available, err := memAvailable(root)
	if err != nil {
		return Room{}, fmt.Errorf("measure free memory: %w", err)
	}
	r := Room{available, "MemAvailable"}
	for _, g := range memoryCgroups(root) {
		for dir := g.dir; ; dir = path.Dir(dir) {
			g.tighten(root, dir, &r)
			if dir == "/" {
				break
			}
		}
	}
	return r, nil
}

// Check returns a *RoomError if neededBytes more are too many.
func (r Room) Check(neededBytes int64) error {
	if neededBytes > r.AvailableBytes {
		return &RoomError{neededBytes, r.AvailableBytes, r.Limit}
	}
	return nil
}

// memAvailable is the kernel's guess of what can be had without swapping, in bytes.
func memAvailable(root fs.FS) (int64, error) {
	text, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) == 3 && words[0] == "MemAvailable:" && words[2] == "kB" {
			kib, err := strconv.ParseInt(words[1], 10, 53)
			if err != nil {
				return 0, fmt.Errorf("MemAvailable in /proc/meminfo: %w", err)
			}
			return kib << 10, nil
		}
	}
	return 0, errors.New("no MemAvailable in /proc/meminfo")
}

// memoryCgroup is where this process is in one hierarchy that limits memory.
type memoryCgroup struct {
	mount, dir string
	used       string   // file: bytes used
	limits     []string // files: bytes allowed
	reclaim    []string // of memory.stat: what is given back before anybody is killed
}

// memoryCgroups reads /proc/self/cgroup: hierarchy:controllers:path, where version 2 has
// hierarchy 0 and no controllers. Beside version 1, version 2 may be mounted at unified.
func memoryCgroups(root fs.FS) []memoryCgroup {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return nil // a kernel without cgroups
	}
	var all []memoryCgroup
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		dir := path.Clean("/" + parts[2])
		switch {
		case parts[0] == "0" && parts[1] == "":
			for _, mount := range []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"} {
				// Above memory.high the kernel does not kill, but slows down to a standstill.
				all = append(all, memoryCgroup{mount, dir, "memory.current", []string{"memory.max", "memory.high"},
					[]string{"inactive_file", "active_file"}})
			}
		case slices.Contains(strings.Split(parts[1], ","), "memory"):
			all = append(all, memoryCgroup{"sys/fs/cgroup/memory", dir, "memory.usage_in_bytes", []string{"memory.limit_in_bytes"},
				[]string{"total_inactive_file", "total_active_file"}})
		}
	}
	return all
}

// tighten lowers r to what cgroup dir leaves. In a container dir may be the host's name
// for it; the files are then found further up, at the mount itself.
func (g *memoryCgroup) tighten(root fs.FS, dir string, r *Room) {
	at := path.Join(g.mount, dir)
	used, err := readNumber(root, path.Join(at, g.used))
	if err != nil {
		return // no such cgroup here, or the root, which has no limits
	}
	used = max(0, used-reclaimable(root, path.Join(at, "memory.stat"), g.reclaim))
	for _, file := range g.limits {
		limit, err := readNumber(root, path.Join(at, file))
		if err != nil || limit > math.MaxInt64/2 {
			continue // "max", and version 1 writes a huge number for none
		}
		if left := max(0, limit-used); left < r.AvailableBytes {
			*r = Room{left, "cgroup " + dir + " " + file}
		}
	}
}

func reclaimable(root fs.FS, file string, keys []string) (sum int64) {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) == 2 && slices.Contains(keys, words[0]) {
			if n, err := strconv.ParseInt(words[1], 10, 62); err == nil && n > 0 {
				sum = min(sum+n, math.MaxInt64/2)
			}
		}
	}
	return sum
}

// readNumber reads a file that holds one number.
func readNumber(root fs.FS, name string) (int64, error) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}
