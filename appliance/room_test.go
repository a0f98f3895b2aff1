package appliance

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skewgate/skewgate/appliance/dispatch"
	"github.com/skewgate/skewgate/shm"
)

// What check and doctor say is what a run allocates.
func TestMemoryIsForetold(t *testing.T) {
	r := newForeignRig(t, "auto")
	want, got := MemoryOf(r.cfg), int64(0)
	if _, got = r.memory.sum(); got != want.SharedMemory.Sum() {
		t.Errorf("foretold %d bytes, allocated %d", want.SharedMemory.Sum(), got)
	}
	// What a picture's way is remembered by is asked for too, where a picture has one: not to a
	// foreign detector.
	before := want.Kept
	for i := range r.cfg.Models {
		m := &r.cfg.Models[i]
		cameras := m.Cameras
		m.Cameras = append(cameras[:len(cameras):len(cameras)], "another")
		grown := 0
		if !m.Foreign() {
			grown = dispatch.RouteBytes()
		}
		again := MemoryOf(r.cfg)
		if again.Kept != before+int64(grown) || again.Sum() != again.SharedMemory.Sum()+again.Kept {
			t.Errorf("%s on one camera more: %+v, want %d bytes more than %d", m.Name, again, grown, before)
		}
		m.Cameras = cameras
	}
	if book := bookOptions(r.cfg); before <= int64(book.Bytes()) || book.Bytes() < bookFramesMin*book.FrameBytes() {
		t.Errorf("%d bytes kept, the stories alone take %d", before, book.Bytes())
	}
	if want.Frames == 0 || want.Detections == 0 || want.Output == 0 {
		t.Errorf("%+v", want)
	}
}

// F24: what does not fit is refused with needed and available, by whatever bounds it.
func TestRoomIsChecked(t *testing.T) {
	r := newForeignRig(t, "auto")
	memory := MemoryOf(r.cfg)
	need := memory.Sum()
	machine := func(availableKiB int64, limit, used int64) fstest.MapFS {
		return fstest.MapFS{
			"proc/meminfo":                     {Data: fmt.Appendf(nil, "MemTotal: 1 kB\nMemAvailable: %d kB\n", availableKiB)},
			"proc/self/cgroup":                 {Data: []byte("0::/box\n")},
			"sys/fs/cgroup/box/memory.max":     {Data: fmt.Appendf(nil, "%d\n", limit)},
			"sys/fs/cgroup/box/memory.current": {Data: fmt.Appendf(nil, "%d\n", used)},
		}
	}
	plenty := int64(1 << 40)
	for _, row := range []struct {
		name      string
		machine   fstest.MapFS
		available int64 // 0 = it fits
		limit     string
	}{
		{"plenty", machine(plenty>>10, plenty, 0), 0, ""},
		{"just enough", machine(need>>10+1, need+5, 5), 0, ""},
		{"little free", machine(need>>10-1, plenty, 0), (need>>10 - 1) << 10, "MemAvailable"},
		{"a tight cgroup", machine(plenty>>10, need+5, 6), need - 1, "cgroup /box memory.max"},
	} {
		err := CheckRoom(r.cfg, row.machine)
		if row.available == 0 {
			if err != nil {
				t.Errorf("%s: %v", row.name, err)
			}
			continue
		}
		var no *shm.RoomError
		if !errors.As(err, &no) || !errors.Is(err, shm.ErrNoRoom) || no.NeededBytes != need || no.AvailableBytes != row.available || no.Limit != row.limit {
			t.Errorf("%s: want %d needed and %d available by %s, got %v", row.name, need, row.available, row.limit, err)
			continue
		}
		for _, want := range []string{fmt.Sprint(need), fmt.Sprint(row.available), row.limit, "max_picture"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q lacks %q", row.name, err, want)
			}
		}
	}
	if err := CheckRoom(r.cfg, fstest.MapFS{}); err == nil || errors.Is(err, shm.ErrNoRoom) {
		t.Errorf("without /proc: want an error that is not about room, got %v", err)
	}
}
