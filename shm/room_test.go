package shm

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// machine is a /proc and /sys of files given as name, text, name, text, …
func machineFiles(pairs ...string) fstest.MapFS {
	root := fstest.MapFS{"proc/meminfo": &fstest.MapFile{Data: []byte("MemTotal: 9 kB\nMemAvailable:    1000 kB\n")}}
	for i := 0; i < len(pairs); i += 2 {
		root[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return root
}

func TestMeasureRoom(t *testing.T) {
	const (
		none = "9223372036854771712\n" // what version 1 writes for no limit
		v2   = "sys/fs/cgroup/"
		v1   = "sys/fs/cgroup/memory/"
		free = 1000 << 10
	)
	for _, row := range []struct {
		name  string
		files fstest.MapFS
		want  Room
	}{
		{"no cgroups", machineFiles(), Room{free, "MemAvailable"}},
		{"v2 without a limit", machineFiles("proc/self/cgroup", "0::/a/b\n", v2+"a/b/memory.max", "max\n", v2+"a/b/memory.high", "max\n", v2+"a/b/memory.current", "5\n"), Room{free, "MemAvailable"}},
		{"v2", machineFiles("proc/self/cgroup", "0::/a/b\n", v2+"a/b/memory.max", "100\n", v2+"a/b/memory.current", "30\n"), Room{70, "cgroup /a/b memory.max"}},
		{"v2, high is tighter", machineFiles("proc/self/cgroup", "0::/a\n", v2+"a/memory.max", "100\n", v2+"a/memory.high", "90", v2+"a/memory.current", "30\n"), Room{60, "cgroup /a memory.high"}},
		{"v2, a parent is tighter", machineFiles("proc/self/cgroup", "0::/a/b\n",
			v2+"a/b/memory.max", "100\n", v2+"a/b/memory.current", "30\n",
			v2+"a/memory.max", "120\n", v2+"a/memory.current", "110\n"), Room{10, "cgroup /a memory.max"}},
		{"v2, files in memory are given back", machineFiles("proc/self/cgroup", "0::/a\n", v2+"a/memory.max", "100\n", v2+"a/memory.current", "95\n",
			v2+"a/memory.stat", "anon 20\nshmem 5\ninactive_file 40\nactive_file 10\ninactive_file_x 7\n"), Room{55, "cgroup /a memory.max"}},
		{"v2, nonsense in memory.stat", machineFiles("proc/self/cgroup", "0::/a\n", v2+"a/memory.max", "100\n", v2+"a/memory.current", "95\n",
			v2+"a/memory.stat", "inactive_file -40\nactive_file 99999999999999999999\ninactive_file\n\n"), Room{5, "cgroup /a memory.max"}},
		{"v2, more given back than used", machineFiles("proc/self/cgroup", "0::/a\n", v2+"a/memory.max", "100\n", v2+"a/memory.current", "95\n",
			v2+"a/memory.stat", "inactive_file 2305843009213693951\nactive_file 2305843009213693951\n"), Room{100, "cgroup /a memory.max"}},
		{"v2, above its limit", machineFiles("proc/self/cgroup", "0::/\n", v2+"memory.max", "100\n", v2+"memory.current", "130\n"), Room{0, "cgroup / memory.max"}},
		{"v2 in a container", machineFiles("proc/self/cgroup", "0::/../host/name\n", v2+"memory.max", "100\n", v2+"memory.current", "30\n"), Room{70, "cgroup / memory.max"}},
		{"v2 beside v1", machineFiles("proc/self/cgroup", "0::/u\n", v2+"unified/u/memory.max", "80\n", v2+"unified/u/memory.current", "1\n"), Room{79, "cgroup /u memory.max"}},
		{"v1", machineFiles("proc/self/cgroup", "9:cpu,cpuacct:/x\n4:memory:/d\n0::/\n", v1+"d/memory.limit_in_bytes", "100", v1+"d/memory.usage_in_bytes", "1"), Room{99, "cgroup /d memory.limit_in_bytes"}},
		{"v1, among other controllers", machineFiles("proc/self/cgroup", "4:hugetlb,memory:/d\n", v1+"d/memory.limit_in_bytes", "100", v1+"d/memory.usage_in_bytes", "60",
			v1+"d/memory.stat", "inactive_file 1\ntotal_inactive_file 20\ntotal_active_file 5\n"), Room{65, "cgroup /d memory.limit_in_bytes"}},
		{"v1 without a limit", machineFiles("proc/self/cgroup", "4:memory:/\n", v1+"memory.limit_in_bytes", none, v1+"memory.usage_in_bytes", "1"), Room{free, "MemAvailable"}},
		{"a limit beyond what is free", machineFiles("proc/self/cgroup", "0::/a\n", v2+"a/memory.max", "99999999\n", v2+"a/memory.current", "1\n"), Room{free, "MemAvailable"}},
		{"nonsense", machineFiles("proc/self/cgroup", "x\n::\n0::\n\n", v2+"memory.max", "words", v2+"memory.current", "1"), Room{free, "MemAvailable"}},
	} {
		if got, err := MeasureRoom(row.files); err != nil || got != row.want {
			t.Errorf("%s: want %+v, got %+v, %v", row.name, row.want, got, err)
		}
	}
	for name, files := range map[string]fstest.MapFS{
		"no /proc": {}, "no such line": machineFiles("proc/meminfo", "words\n"), "no number": machineFiles("proc/meminfo", "MemAvailable: many kB\n"),
	} {
		if _, err := MeasureRoom(files); err == nil || !strings.Contains(err.Error(), "measure free memory") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestRoomCheck(t *testing.T) {
	r := Room{100, "cgroup /a memory.max"}
	if err := r.Check(100); err != nil {
		t.Errorf("what just fits: %v", err)
	}
	err := r.Check(101)
	for _, want := range []string{"101", "100", "cgroup /a memory.max"} {
		if err == nil || !errors.Is(err, ErrNoRoom) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s in an ErrNoRoom, got %v", want, err)
		}
	}
}

// This machine's own figures can be read, and are not more than it has.
func TestMeasureRoomHere(t *testing.T) {
	r, err := MeasureRoom(os.DirFS("/"))
	if err != nil || r.AvailableBytes <= 0 || r.Limit == "" {
		t.Fatalf("got %+v, %v", r, err)
	}
	t.Logf("%d MiB by %s", r.AvailableBytes>>20, r.Limit)
}

const tightBytes = 64 << 20

// In a real cgroup of 64 MiB, segments that do not fit are refused before they are made;
// nobody is killed. F24
func TestRoomInACgroup(t *testing.T) {
	procs := tightCgroup(t)
	go1, wait1, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer go1.Close()
	cmd := spawn(t, "tight", []*os.File{go1})
	if err := os.WriteFile(procs, []byte(strconv.Itoa(cmd.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
	if err := wait1.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

// tightRole runs in that cgroup once descriptor 3 is at its end.
func tightRole([]string) error {
	if _, err := os.NewFile(3, "go").Read(make([]byte, 1)); err == nil {
		return errors.New("want the end of descriptor 3")
	}
	measure := func() (Room, error) {
		r, err := MeasureRoom(os.DirFS("/"))
		if err == nil && (r.AvailableBytes > tightBytes || !strings.HasPrefix(r.Limit, "cgroup ")) {
			err = fmt.Errorf("got %+v in a cgroup of %d bytes", r, tightBytes)
		}
		return r, err
	}
	before, err := measure()
	if err != nil {
		return err
	}
	const half = tightBytes / 2
	if err := before.Check(half); err != nil {
		return err
	}
	if err := before.Check(tightBytes + 1); !errors.Is(err, ErrNoRoom) {
		return fmt.Errorf("want more than there is refused, got %v", err)
	}
	s, err := CreateSegment("half", half)
	if err != nil {
		return err
	}
	defer s.Close()
	after, err := measure()
	if err != nil {
		return err
	}
	if taken := before.AvailableBytes - after.AvailableBytes; taken < half*9/10 {
		return fmt.Errorf("a segment of %d bytes took %d of the room", half, taken)
	}
	var e *RoomError
	if err := after.Check(half); !errors.As(err, &e) || e.NeededBytes != half || e.AvailableBytes != after.AvailableBytes {
		return fmt.Errorf("want a second half refused with both figures, got %v", err)
	}
	return nil
}

// tightCgroup makes one below this process's own and returns where a pid enters it.
func tightCgroup(t *testing.T) string {
	t.Helper()
	var reasons []string
	for _, g := range memoryCgroups(os.DirFS("/")) {
		limit := g.limits[0]
		dir := filepath.Join("/", g.mount, g.dir, fmt.Sprintf("skewgate-test-%d", os.Getpid()))
		if _, err := os.Stat(path.Join(path.Dir(dir), g.used)); err != nil {
			reasons = append(reasons, err.Error())
			continue
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			reasons = append(reasons, err.Error())
			continue
		}
		t.Cleanup(func() {
			eventually(t, "the cgroup to be empty", func() bool { return os.Remove(dir) == nil })
		})
		if err := os.WriteFile(filepath.Join(dir, limit), []byte(strconv.Itoa(tightBytes)), 0); err != nil {
			reasons = append(reasons, err.Error())
			continue
		}
		return filepath.Join(dir, "cgroup.procs")
	}
	t.Skipf("skip[cgroup]: no memory cgroup can be made here: %s", strings.Join(reasons, "; "))
	return ""
}
