package appliance

import (
	"fmt"
	"io/fs"

	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/dispatch"
	"github.com/skewgate/skewgate/shm"
)

// Memory is what a config asks for before the first picture comes, in bytes.
type Memory struct {
	SharedMemory `json:"shared_memory"`
	// Kept is what the path keeps to tell what became of frames: of each camera their stories,
	// of each detector and camera what became of the pictures on their way to it.
	Kept int64 `json:"kept_bytes"`
}

// Sum is all of it.
func (m *Memory) Sum() int64 { return m.SharedMemory.Sum() + m.Kept }

func (m *Memory) String() string {
	return fmt.Sprintf("%s; and %s of the path's own to tell what became of frames", m.SharedMemory.String(), mib(m.Kept))
}

// SharedMemory is that of all segments.
type SharedMemory struct {
	Frames     int64 `json:"frame_rings_bytes"`
	Detections int64 `json:"detection_rings_bytes"`
	Output     int64 `json:"output_ring_bytes"`
	Other      int64 `json:"other_bytes"` // dispatch segments and the doorbell
}

// Sum is all segments together.
func (m *SharedMemory) Sum() int64 { return m.Frames + m.Detections + m.Output + m.Other }

func (m *SharedMemory) String() string {
	return fmt.Sprintf("%s of shared memory: frame rings %s, detection rings %s, output ring %s, the rest %s",
		mib(m.Sum()), mib(m.Frames), mib(m.Detections), mib(m.Output), mib(m.Other))
}

// mib rounds up: a sum of rounded figures shall not look smaller than it is.
func mib(bytes int64) string { return fmt.Sprintf("%d MiB", (bytes+1<<20-1)>>20) }

// MemoryOf adds up every segment that a run of the config would allocate, and what it would come
// to keep of frames.
func MemoryOf(c *config.Config) Memory {
	book := bookOptions(c)
	m := Memory{SharedMemory: SharedMemory{Other: int64(shm.DoorbellBytes())}, Kept: int64(book.Bytes())}
	for i := range c.Cameras {
		m.Frames += int64(frameLayout(c.Unit, i, &c.Cameras[i]).Bytes())
		m.Other += int64(shm.DispatchBytes(dispatchSlots))
	}
	for i := range c.Models {
		m.Detections += int64(ringLayout(i, &c.Models[i], 0).Bytes())
		if !c.Models[i].Foreign() {
			m.Other += int64(shm.DispatchBytes(dispatchSlots))
			m.Kept += int64(len(c.Models[i].Cameras) * dispatch.RouteBytes())
		}
	}
	if out := c.Output(); out != nil {
		m.Output = int64(outputLayout(c, out).Bytes())
	}
	return m
}

// CheckRoom refuses a config whose memory this machine has no room for, before any
// of it is allocated: a segment that is there and cannot be touched would be a SIGBUS or
// the memory killer's work later. The error is shm.ErrNoRoom, with what is needed and what
// there is; any other says that it cannot be measured. root is that of the file system.
func CheckRoom(c *config.Config, root fs.FS) error {
	room, err := shm.MeasureRoom(root)
	if err != nil {
		return err
	}
	m := MemoryOf(c)
	if err := room.Check(m.Sum()); err != nil {
		return fmt.Errorf("%w; the config takes %s: lower max_picture of cameras, max_boxes of models or slots of the output ring, or let models look at fewer cameras", err, m.String())
	}
	return nil
}
