package capture

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/shm"
)

// errDrained ends whatever is waited for when the parent asks for an orderly end.
var errDrained = errors.New("drained")

// limits are the waits a test shortens, and the clocks in which it lets the machine sleep.
type limits struct {
	first, between time.Duration // patience for the first picture, and between two
	backoff        time.Duration // before the first new try
	boot           func() clock.BootOffset
}

var defaultLimits = limits{first: 20 * time.Second, between: 10 * time.Second, backoff: backoffFirst, boot: clock.ReadBootOffset}

// capture is the state of Run.
type capture struct {
	job     Job
	limits  limits
	parent  Parent
	frames  *shm.FrameWriter
	allowed *shm.DispatchReader
	log     io.Writer
	mask    masker
	program string

	complaint string // ffmpeg's last error in a pass that came to an orderly end

	backoff  backoff
	sleeps   clock.SleepWatch
	timer    *time.Timer
	beatAt   clock.Mono
	told     string
	toldAt   clock.Mono
	counters Counters
}

// Run captures until the parent asks for an end, and returns nil then. It returns an
// error only for what trying again cannot mend: a bad job, no ffmpeg, or a parent
// that no longer listens. frames is the camera's ring; allowed carries what pace fast
// may publish and may be nil in pace realtime. Lines for a person go to log.
func Run(parent Parent, job Job, frames *shm.FrameWriter, allowed *shm.DispatchReader, log io.Writer) error {
	return run(parent, job, frames, allowed, log, defaultLimits)
}

func run(parent Parent, job Job, frames *shm.FrameWriter, allowed *shm.DispatchReader, log io.Writer, l limits) error {
	runtime.LockOSThread() // PDEATHSIG of ffmpeg watches this thread
	defer runtime.UnlockOSThread()
	c := &capture{
		job: job, limits: l, parent: parent, frames: frames, allowed: allowed, log: log,
		mask: newMasker(job.Source), backoff: backoff{first: l.backoff}, timer: time.NewTimer(time.Hour),
	}
	defer c.timer.Stop()
	err := c.prepare()
	if err == nil {
		err = c.capture()
	}
	frames.SetState(shm.StateDraining)
	if errors.Is(err, errDrained) {
		return nil
	}
	err = errors.New(c.mask.mask(err.Error()))
	return errors.Join(err, parent.State(StateFailed, Report{Reason: err.Error(), Counters: c.counters}))
}

// prepare checks what must be right before the source is looked at.
func (c *capture) prepare() (err error) {
	if err = c.job.check(); err != nil {
		return err
	}
	if c.job.Pace == PaceFast && c.allowed == nil {
		return errors.New("pace fast needs the dispatch segment that says how far to go")
	}
	if c.program, err = findFFmpeg(c.job.FFmpeg); err != nil {
		return err
	}
	c.frames.Heartbeat(int64(clock.Now()))
	c.frames.SetState(shm.StateBuilding)
	if err = c.parent.Ready(nil); err != nil {
		return err
	}
	return c.tell(StateOpening, Report{})
}

// capture plays passes for ever: it ends with errDrained or with an error of the parent.
func (c *capture) capture() error {
	for {
		delivered, err := c.pass()
		switch {
		case errors.Is(err, errDrained):
			return err
		case err == nil && c.job.Loop:
			continue
		case err == nil && !c.job.live():
			return c.ended()
		case err == nil:
			err = errors.New("the source ended its stream")
			if c.complaint != "" {
				err = fmt.Errorf("%w (ffmpeg: %s)", err, c.complaint)
			}
		}
		if err := c.retry(err, c.backoff.after(delivered)); err != nil {
			return err
		}
	}
}

// retry tells why the source failed and waits before the next try.
func (c *capture) retry(why error, wait time.Duration) error {
	c.frames.SetState(shm.StateBuilding)
	reason := c.mask.mask(why.Error())
	fmt.Fprintf(c.log, "camera %s: retrying in %v: %s\n", c.job.Camera, wait, reason)
	if err := c.tell(StateRetrying, Report{Reason: reason, RetryMS: wait.Milliseconds()}); err != nil {
		return err
	}
	return c.sleepUntil(clock.Now().Add(wait))
}

// ended idles after a film was played once: were the process to end, its supervisor
// would start it again.
func (c *capture) ended() error {
	r := Report{Reason: c.mask.mask(c.complaint)}
	fmt.Fprintf(c.log, "camera %s: film ended after %d pictures %s\n", c.job.Camera, c.counters.Decoded, r.Reason)
	if err := c.tell(StateEnded, r); err != nil {
		return err
	}
	for {
		if err := c.sleepUntil(clock.Now().Add(time.Hour)); err != nil {
			return err
		}
	}
}

// tell reports a state with the counters as they are.
func (c *capture) tell(state string, r Report) error {
	r.Counters = c.counters
	c.told, c.toldAt = state, clock.Now()
	return c.parent.State(state, r)
}
