package appliance

import (
	"fmt"
	"os"
	"slices"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/dispatch"
	"github.com/skewgate/skewgate/appliance/fuse"
	"github.com/skewgate/skewgate/appliance/status"
	"github.com/skewgate/skewgate/appliance/supervise"
	"github.com/skewgate/skewgate/shm"
)

// view is what only the path's thread knows, copied out five times a second. The
// samples are sorted by whoever asks, not by the path.
type view struct {
	cameras     []status.Camera
	models      []status.Model
	correlation status.Correlation
	fusion      status.Fusion
	figures     *figures
}

// takeView copies the path's figures. It is the one place of the path that allocates,
// five times a second and not per frame.
func (p *path) takeView(now clock.Mono) {
	p.nextView = now + clock.Mono(snapshotNS)
	p.a.beat(now)
	p.repairBell()
	v := &view{
		figures: p.takeFigures(now),
		fusion: status.Fusion{
			Published: p.out.seq, Multi: p.out.multi,
			BelowMinModels: p.out.tooFew + p.out.fuser.TooFew(), BelowMinScore: p.out.tooLow, Rejected: make(map[string]uint64),
		},
		correlation: p.viewCorrelation(),
	}
	for reason, n := range p.out.rejected() {
		if n > 0 {
			v.fusion.Rejected[fuse.Reason(reason).String()] = n
		}
	}
	for _, c := range p.cameras {
		v.cameras = append(v.cameras, p.viewCamera(now, c))
	}
	for _, r := range p.replicas {
		v.models = append(v.models, p.viewReplica(now, r))
	}
	p.snapshot.Store(v)
	p.warn(now)
}

func (p *path) viewCorrelation() status.Correlation {
	counters := p.corr.Counters()
	c := status.Correlation{
		Counters: make(map[string]uint64), Opened: counters.Opened, Sleeps: p.sleeps.count,
		TimeoutMS: float64(p.a.cfg.Correlation.Timeout.Nanoseconds()) / 1e6,
	}
	c.Stale = map[string]uint64{"max_age": counters.Stale - p.sleeps.groups, "sleep": p.sleeps.groups}
	counters.Each(func(name string, n uint64) { c.Counters[name] = n })
	if err := p.corr.CheckIdentities(); err != nil {
		c.IdentityFault = err.Error()
	}
	return c
}

func (p *path) viewCamera(now clock.Mono, c *camera) status.Camera {
	state, detail := c.word.noteText()
	if c.quarantine != "" {
		state, detail = "quarantined", c.quarantine
	}
	s := status.Camera{
		Name: c.cfg.Name, State: state, Detail: detail, Match: string(p.a.cfg.ResolvedMatch(c.cfg)),
		Frames: c.pictures, FramesLost: c.lost, Fused: c.fused, FusedMulti: c.multi, LongestRunSingle: c.worst,
	}
	if c.pictures > 0 {
		age := now.Sub(c.lastAt).Milliseconds()
		s.LastFrameAgeMS = &age
		s.StreamEpoch, s.ClockSource = c.last.StreamEpoch, c.last.ClockSource.String()
		s.Width, s.Height = c.last.Width, c.last.Height
	}
	return s
}

func (p *path) viewReplica(now clock.Mono, r *replica) status.Model {
	info, sums := r.ring.Info(), r.account()
	s := status.Model{
		Name: r.cfg.Name, State: r.word.state.String(), Provider: r.said.Provider, Quarantine: r.quarantine,
		RingEpoch: uint64(info.RingEpoch), Written: sums.written, Read: sums.read, Lost: sums.lost,
		Quarantines: r.quarantines, QuarantineLast: r.quarantineLast,
		Messages: r.messages, Refused: r.refused, RefusedLast: r.refusal,
		Dropped: make(map[string]uint64), Outcomes: make(map[string]uint64),
	}
	s.HangsOn = r.hangsOn()
	for _, c := range r.cameras {
		s.Cameras = append(s.Cameras, c.cfg.Name)
	}
	// Not now: what beats during the turn would lie in the future.
	s.HeartbeatAgeMS, s.HeartbeatNote = status.HeartbeatAge(info.HeartbeatNS, int64(clock.Now()))
	if r.foreign != nil {
		s.Foreign, s.State = true, "absent"
		if peer := r.foreign.heard.Peer; peer != nil {
			s.State = "attached"
			s.Peer = &status.Peer{
				PID: peer.PID, UID: peer.UID, Client: peer.Client, State: info.State.String(),
				AttachedMS: now.Sub(peer.Since).Milliseconds(),
			}
		}
		return s
	}
	queue := p.disp.Account(r.queue)
	s.Queue, s.Assigned = queue.Queue, queue.Assigned
	for _, reason := range dispatch.DropReasons() {
		s.Dropped[reason.String()] = queue.Dropped[reason]
	}
	for outcome, n := range r.ring.Outcomes() {
		s.Outcomes[shm.Outcome(outcome).String()] = n
	}
	s.Outcomes["died"] = queue.Died
	return s
}

// Status returns the whole document. It takes the path's newest view and asks the
// supervisor and the sinks, none of which blocks.
func (a *Appliance) Status() *status.Document {
	now, v := clock.Now(), a.path.snapshot.Load()
	d := &status.Document{
		Schema: status.Schema, Unit: a.cfg.Unit, Version: a.o.Version, PID: os.Getpid(),
		State: a.state.String(), UptimeMS: now.Sub(a.started).Milliseconds(),
		Cameras: slices.Clone(v.cameras), Models: slices.Clone(v.models), Correlation: v.correlation, Fusion: v.fusion,
		Tasks: a.tasks(now), Sinks: []status.Sink{},
	}
	d.Memory.Segments, d.Memory.Bytes = a.memory.sum()
	v.figures.fill(d)
	for _, s := range a.sinks {
		st := s.Stats()
		d.Sinks = append(d.Sinks, status.Sink{
			Name: s.name, State: st.State, Detail: st.Error, Offered: st.Offered, Written: st.Written, Queued: st.Queued, Lost: st.Lost,
		})
	}
	d.Recordings = a.recordings.status()
	d.Health = status.Examine(d)
	return d
}

// maxTurnAge is how long the path may take for one turn before the appliance calls
// itself sick: a thousand times the longest wait.
const maxTurnAge = 5000 * int64(1e6)

// Alive says whether the path still turns.
func (a *Appliance) Alive() error {
	if turned := a.path.turned.Load(); turned != 0 && int64(clock.Now())-turned > maxTurnAge {
		return fmt.Errorf("the path has not turned for %d ms", (int64(clock.Now())-turned)/1e6)
	}
	return nil
}

// tasks lists every child process. After the drain the last list is kept.
func (a *Appliance) tasks(now clock.Mono) []status.Task {
	all := []status.Task{}
	for _, t := range a.sup.Snapshot() {
		s := status.Task{Name: t.Task, State: t.State.String(), PID: t.PID, Start: t.Start}
		if t.Start > 0 {
			s.Restarts = t.Start - 1
		}
		if t.PID != 0 && t.ReadyAt != 0 {
			s.UptimeMS = now.Sub(t.ReadyAt).Milliseconds()
		}
		s.LastExit = exitOf(t.LastExit)
		all = append(all, s)
	}
	return all
}

func exitOf(r *supervise.ExitRecord) *status.Exit {
	if r == nil {
		return nil
	}
	e := &status.Exit{
		Start: r.Start, PID: r.PID, Cause: string(r.Cause), Text: r.String(), Signal: r.Signal, Code: r.Code,
		UptimeMS: r.UpTimeNS / 1e6, CPUMS: (r.UserNS + r.SystemNS) / 1e6, MaxRSS: r.MaxRSSBytes,
		LastStderr: r.LastStderr, Truncated: r.Truncated,
	}
	if r.LastFrame != nil {
		e.LastFrame = fmt.Sprint(*r.LastFrame)
	}
	return e
}
