package main

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance/status"
	"github.com/skewgate/skewgate/shm"
	"github.com/skewgate/skewgate/shm/client"
)

// floods are ways to write at full speed, by the name that FOREIGN_FLOOD gives.
var floods = map[string]func(h *shm.SlotHeader){
	// One frame again and again, honestly stamped.
	"repeated": func(h *shm.SlotHeader) { h.PublishNS = monotonic() },
	// Stamped with one time of long ago, so as to come first for ever.
	"frozen": func(h *shm.SlotHeader) { h.PublishNS = 1 },
	// The same, and refused each time: what is refused is no step of the correlator.
	"malformed": func(h *shm.SlotHeader) { h.PublishNS, h.Kind = 1, shm.KindFused },
	// Stamped with a time that never comes.
	"future": func(h *shm.SlotHeader) { h.PublishNS = 1 << 62 },
	// Frames that nobody has taken.
	"made up": func(h *shm.SlotHeader) { h.PublishNS, h.FrameID = monotonic(), h.FrameID+1 },
}

// foreignFlooder publishes about camera other until it is killed: straight into its memory,
// with nothing that a library would do in between.
func foreignFlooder() error {
	w, err := client.AttachWriter(client.Options{Client: "flood/1"}, os.Getenv("FOREIGN_MODEL"), 0)
	if err != nil {
		return err
	}
	defer w.Close()
	fd, err := ownRing()
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	b, err := unix.Mmap(fd, 0, int(st.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	ring, err := shm.NewWriter(b, uint32(os.Getpid()), nil)
	if err != nil {
		return err
	}
	h := shm.SlotHeader{Kind: shm.KindBoxes, CaptureNS: 1, FrameID: 1 << 40, StreamEpoch: 1}
	if h.Stream, err = ring.RegisterStream("test", "other", 1); err != nil {
		return err
	}
	stamp := floods[os.Getenv("FOREIGN_FLOOD")]
	fmt.Println("flooding")
	for {
		stamp(&h)
		if err := ring.Publish(&h, nil); err != nil {
			return err
		}
	}
}

// floodable is a camera whose frames close by their timeout, for one of its two detectors
// has gone silent, and another whose detector floods.
const floodable = `
unit: test
state_dir: $DIR/state
correlation: {emit_empty: true, timeout: 150ms, hung_after: 1h}
cameras:
  - {name: shapes, source: $DIR/film.mp4, pace: realtime, loop: true, tag: barcode, max_picture: 640x360}
  - {name: other, source: $DIR/film.mp4, pace: realtime, loop: true, max_picture: 640x360, fps: 1}
models:
  - {name: mine, command: attach, cameras: [shapes], frame_ids: true}
  - {name: mute, command: attach, cameras: [shapes], frame_ids: true}
  - {name: flood, command: attach, cameras: [other], frame_ids: true}
sinks:
  - shm: {slots: 65536}
`

// A detector that writes at full speed, whatever it writes and however it stamps it, costs
// the other cameras neither messages nor time.
func TestFloodStarvesNobody(t *testing.T) {
	for name := range floods {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, floodable)
			b.start()
			b.until("it runs", 30*time.Second, func(d *status.Document) bool {
				return camera(d, "shapes").Frames > 0 && camera(d, "other").Frames > 0
			})
			startForeign(t, b, "detector", 0).until(1, "attached 1")
			goSilent(t, b)
			b.until("frames wait for the silent one", 20*time.Second, func(d *status.Document) bool { return d.Correlation.Counters["flushed_timeout"] > 5 })
			flooder := startForeign(t, b, "flooder", 0, "FOREIGN_MODEL=flood", "FOREIGN_FLOOD="+name)
			flooder.until(1, "flooding")
			before := b.until("the flood is read", 10*time.Second, func(d *status.Document) bool { return model(d, "flood").Read > 10_000 })
			late := lateness(t, b, 3*time.Second)
			after, err := b.status()
			if err != nil {
				t.Fatal(err)
			}
			if err := flooder.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			d := b.until("the flooder's end is seen", 10*time.Second, func(d *status.Document) bool { return model(d, "flood").State == "absent" })

			flood, mine := model(d, "flood"), model(d, "mine")
			frames := camera(after, "shapes").Frames - camera(before, "shapes").Frames
			fused := camera(after, "shapes").Fused - camera(before, "shapes").Fused
			t.Logf("%d messages a second read, %d lost in all; camera shapes: %d pictures, %d frames, %d of them timed: median %v, p95 %v late",
				(model(after, "flood").Read-model(before, "flood").Read)/3, flood.Lost, frames, fused, len(late), quantile(late, 50), quantile(late, 95))
			if fused < frames*2/3 || fused < 20 {
				t.Errorf("of %d pictures of the other camera %d became frames", frames, fused)
			}
			if len(late) < 20 || quantile(late, 50) > 25*time.Millisecond || quantile(late, 95) > 250*time.Millisecond {
				t.Errorf("%d frames closed late: median %v, p95 %v", len(late), quantile(late, 50), quantile(late, 95))
			}
			if flood.Written != flood.Read+flood.Lost || mine.Written != mine.Read+mine.Lost || mine.Lost != 0 || mine.Refused != 0 || d.Correlation.IdentityFault != "" {
				t.Errorf("accounts: flood %+v, mine %+v, %s", flood, mine, d.Correlation.IdentityFault)
			}
			if (name == "malformed") != (flood.Refused == flood.Read) || d.Correlation.Counters["refused"] != flood.Refused {
				t.Errorf("%d of %d messages refused, counted %d", flood.Refused, flood.Read, d.Correlation.Counters["refused"])
			}
			b.stop()
		})
	}
}

// goSilent attaches as mute, answers once, so that frames wait for it, and says no more.
func goSilent(t *testing.T, b *box) {
	t.Helper()
	w, err := client.AttachWriter(client.Options{Socket: b.path("run/attach.sock"), Client: "mute/1"}, "mute", 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	for range 1000 {
		f, ok, err := w.Newest(0, monotonic())
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			if err := w.Boxes(client.MessageOf(0, &f, monotonic()), nil); err != nil {
				t.Fatal(err)
			}
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("no picture")
}

// lateness reads the output ring for d and says how long after their timeout the frames of
// camera shapes were given out.
func lateness(t *testing.T, b *box, d time.Duration) []time.Duration {
	t.Helper()
	r, err := client.AttachReader(client.Options{Socket: b.path("run/attach.sock"), Client: "late/1"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var late []time.Duration
	for begun := time.Now(); time.Since(begun) < d; {
		f, err := r.Next(monotonic())
		if err != nil {
			t.Fatal(err)
		}
		if f == nil {
			time.Sleep(time.Millisecond)
		} else if f.Camera == "shapes" && f.Reason == "timeout" {
			late = append(late, f.Published.Sub(f.FirstArrival)-150*time.Millisecond)
		}
	}
	slices.Sort(late)
	return late
}

func quantile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)]
}
