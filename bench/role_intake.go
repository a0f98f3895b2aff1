package bench

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/skewgate/skewgate/appliance"
	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/config"
	"github.com/skewgate/skewgate/appliance/detect"
	"github.com/skewgate/skewgate/shm"
)

// Kinds of body that the intake role sends.
const (
	bodyPacked   = "packed"
	bodyJSON     = "json"     // read as the appliance reads it
	bodyFastjson = "fastjson" // read by fastjson alone
)

// The traffic of the correlation scenarios: every model of every camera answers every picture.
const (
	trafficCameras = 16
	trafficModels  = 3
	trafficStepNS  = 100 // between two messages, in the time that the correlator is told
	closedBound    = 65_536
)

// intakeRole fills the rings and lets the path's own code read them, in turn, on one thread.
// Only the reading is timed.
func intakeRole(j *job) (r *result, err error) {
	folder, err := os.MkdirTemp("", "skewbench-intake-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for an appliance: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	feed, err := newFeed(j, folder)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, feed.intake.Close()) }()
	// Until the closed records are at their bound: from then on one leaves for each that comes.
	for feed.intake.Counters().ClosedForgotten == 0 {
		if _, _, _, err := feed.round(); err != nil {
			return nil, err
		}
	}
	return feed.measure(j.Messages)
}

// A feed plays the detectors of an intake.
type feed struct {
	intake  *appliance.Intake
	writers [trafficModels]*shm.Writer
	streams [trafficModels][trafficCameras]uint32
	kind    shm.Kind
	counts  []uint16
	bodies  [][]byte

	now   int64
	frame uint64
	sent  int
}

func newFeed(j *job, folder string) (*feed, error) {
	cfg, err := intakeConfig(folder)
	if err != nil {
		return nil, err
	}
	o := appliance.Options{Log: slog.New(slog.DiscardHandler), RunDir: filepath.Join(folder, "run"), Self: "/bin/true", Detect: "/bin/true"}
	f := &feed{now: nowNS()}
	if f.intake, err = appliance.NewIntake(cfg, o, j.Body == bodyFastjson); err != nil {
		return nil, err
	}
	if err = f.load(j); err == nil {
		err = f.attach()
	}
	if err != nil {
		return nil, errors.Join(err, f.intake.Close())
	}
	return f, nil
}

// intakeConfig is an appliance as the row says it: 3 models attach and look at 16 cameras.
func intakeConfig(folder string) (*config.Config, error) {
	var text strings.Builder
	text.WriteString("unit: bench\nstate_dir: state\ncorrelation: {timeout: 500ms}\ncameras:\n")
	var cameras []string
	for i := range trafficCameras {
		cameras = append(cameras, fmt.Sprintf("camera-%d", i))
		fmt.Fprintf(&text, "  - {name: %s, source: none.mp4, max_picture: 16x16}\n", cameras[i])
	}
	text.WriteString("models:\n")
	for i := range trafficModels {
		fmt.Fprintf(&text, "  - {name: model-%d, command: attach, frame_ids: true, max_boxes: 32, cameras: [%s]}\n", i, strings.Join(cameras, ", "))
	}
	return loadConfig(folder, text.String())
}

// loadConfig writes a config into folder and reads it.
func loadConfig(folder, text string) (*config.Config, error) {
	path := filepath.Join(folder, "skewgate.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write a config: %w", err)
	}
	cfg, problems := config.Load(path, config.Options{})
	if cfg == nil {
		return nil, fmt.Errorf("load the bench's config: %v", problems)
	}
	return cfg, nil
}

// load reads the bodies and, if told to, packs them.
func (f *feed) load(j *job) error {
	text, err := os.ReadFile(j.Bodies)
	if err != nil {
		return fmt.Errorf("read bodies: %w", err)
	}
	reader := detect.NewBodyReader(detect.NewLabels([]string{"person", "car", "dog"}))
	f.kind = shm.KindJSON
	for _, body := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		boxes, err := reader.Read(nil, body)
		if err != nil {
			return err
		}
		if j.Body == bodyPacked {
			f.kind, body = shm.KindBoxes, detect.AppendPacked(nil, boxes)
		}
		f.bodies, f.counts = append(f.bodies, body), append(f.counts, uint16(len(boxes)))
	}
	return nil
}

func (f *feed) attach() (err error) {
	for m := range f.writers {
		if f.writers[m], err = shm.NewWriter(f.intake.Ring(m), 1, nil); err != nil {
			return err
		}
		for c := range trafficCameras {
			if f.streams[m][c], err = f.writers[m].RegisterStream("bench", fmt.Sprintf("camera-%d", c), 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// round fills the rings and has them read, which is what it times.
func (f *feed) round() (messages int, tookNS, cpuNS int64, err error) {
	for range f.intake.Slots() / trafficCameras {
		f.frame++
		for m := range f.writers {
			for c := range trafficCameras {
				f.now += trafficStepNS
				body := f.sent % len(f.bodies)
				h := shm.SlotHeader{
					CaptureNS: int64(f.frame)*33_333_333 + int64(c), PublishNS: f.now, FrameID: f.frame,
					Stream: f.streams[m][c], StreamEpoch: 1, Kind: f.kind,
				}
				if f.kind == shm.KindBoxes {
					h.Count = f.counts[body]
				}
				if err := f.writers[m].Publish(&h, f.bodies[body]); err != nil {
					return 0, 0, 0, err
				}
				f.sent++
			}
		}
	}
	cpu, began := threadNS(), nowNS()
	messages = f.intake.Turn(clock.Mono(f.now))
	tookNS = nowNS() - began
	return messages, tookNS, threadNS() - cpu, nil
}

// measure sends n messages and wants each in a group that closed.
func (f *feed) measure(n uint64) (*result, error) {
	runtime.GC()
	var before, after runtime.MemStats
	closed, read := f.intake.Closed(), f.intake.Counters().Received
	runtime.ReadMemStats(&before)
	r := &result{}
	for r.Messages < n {
		messages, took, cpu, err := f.round()
		if err != nil {
			return nil, err
		}
		r.Messages += uint64(messages)
		r.LastNS += took
		r.CPUNS += cpu
	}
	runtime.ReadMemStats(&after)
	r.Allocs = after.Mallocs - before.Mallocs
	r.Closed = f.intake.Closed() - closed
	counters := f.intake.Counters()
	if r.Closed*trafficModels != r.Messages || counters.Received-read != r.Messages || counters.FlushedQuorum != counters.Opened {
		return nil, fmt.Errorf("%d messages read, %d received, %d groups closed: they do not add up (%+v)", r.Messages, counters.Received-read, r.Closed, counters)
	}
	return r, nil
}

// threadNS is the processor time of the calling thread.
func threadNS() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) // cannot fail for oneself
	return ts.Nano()
}
