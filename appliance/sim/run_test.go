package sim

import (
	"fmt"

	"github.com/skewgate/skewgate/appliance/correlate"
	"github.com/skewgate/skewgate/appliance/dispatch"
)

// Result is what one run came to.
type Result struct {
	Counters correlate.Counters
	Messages int
	Pictures int
	Mixed    int    // groups of two pictures
	Lost     uint64 // messages overwritten before they were read
	Digest   uint64
}

// run plays a plan to a path and returns the first thing that was wrong.
func run(p *Plan, mk maker, h habits) (Result, error) { return runWith(p, mk, h, newJudge(p)) }

func runWith(p *Plan, mk maker, h habits, j *judge) (Result, error) {
	s, err := newPathFor(p, mk, h, j)
	if err != nil {
		return Result{}, err
	}
	w := NewWorld(p, s)
	j.truth = &w.Truth
	err = w.Run()
	r := Result{Counters: s.corr.Counters(), Messages: len(w.Truth.Messages), Pictures: len(w.Truth.Pictures)}
	for _, ring := range s.rings {
		r.Lost += ring.reader.Lost()
	}
	for _, n := range j.mixed {
		r.Mixed += n
	}
	j.hash.write("%+v %+v", r.Counters, s.corr.Models(j.now))
	r.Digest = j.hash.sum()
	if err != nil {
		return r, err
	}
	j.checkFigures(j.now)
	s.checkEnd(w)
	j.checkMixing()
	return r, s.Err()
}

// newPathFor breaks the circle between a path and its judge.
func newPathFor(p *Plan, mk maker, h habits, j *judge) (*path, error) {
	return newPath(p, func(cfg correlate.Config, out func(*correlate.Group)) (correlator, error) {
		c, err := mk(cfg, out)
		j.corr = c
		return c, err
	}, h, j)
}

// checkEnd: every message is accounted for once, and every picture.
func (s *path) checkEnd(w *World) {
	read, lost := uint64(0), uint64(0)
	for i, r := range s.rings {
		if sum := r.reader.Start() + r.reader.Read() + r.reader.Lost(); r.reader.Written() != sum || r.reader.Pending() != 0 {
			s.fail(fmt.Errorf("ring %d: written %d, read and lost %d, pending %d", i, r.reader.Written(), sum, r.reader.Pending()))
		}
		read, lost = read+r.reader.Read(), lost+r.reader.Lost()
		if r.managed && !s.unclear {
			s.checkAccount(i, r)
		}
	}
	if sent := uint64(len(w.Truth.Messages) + len(w.Truth.Promises)); sent != read+lost {
		s.fail(fmt.Errorf("%d messages were published, %d were read and %d lost", sent, read, lost))
	}
	n := s.corr.Counters()
	if stepped := uint64(len(s.judge.seen)); n.Received+n.Refused < stepped || lost == 0 && stepped != uint64(len(w.Truth.Messages)) {
		s.fail(fmt.Errorf("%d messages were stepped of %d that were sent; received %d, refused %d", stepped, len(w.Truth.Messages), n.Received, n.Refused))
	}
	if n.Pending != 0 || n.NowRegressions != 0 {
		s.fail(fmt.Errorf("%d groups are open at the end, and the clock ran back %d times", n.Pending, n.NowRegressions))
	}
}

// checkAccount: every picture offered was given out, dropped or waits; and every one given out
// has its outcome, died with its process or is held.
func (s *path) checkAccount(i int, r *ring) {
	a := s.disp.Account(r.queue)
	offered := a.Assigned + a.Waiting
	for _, reason := range dispatch.DropReasons() {
		offered += a.Dropped[reason]
	}
	outcomes := a.Died + a.Queue
	for _, n := range r.reader.Outcomes() {
		outcomes += n
	}
	if offered != s.lookedAt || a.Assigned != outcomes {
		s.fail(fmt.Errorf("process %d: %d pictures were offered, %d are accounted for; %d were assigned, %d are: %+v", i, s.lookedAt, offered, a.Assigned, outcomes, a))
	}
}

// checkMixing: where the match promises that no frame mixes two pictures, none does; and where
// it promises not to tear one, it does not, as long as closed keys are remembered.
func (j *judge) checkMixing() {
	forgetful := j.n.ClosedForgotten > 0 || j.plan.Config.ClosedTTLNS != correlate.DefaultTTL
	margins := map[line]Margin{}
	for at := range j.lines {
		m := j.plan.Margin(j.truth, at.camera, at.epoch)
		margins[at] = m
		if n := j.mixed[at]; n > 0 && m.Safe {
			j.fail("%d frames of %+v mix two pictures, though %s", n, at, m)
		}
	}
	for picture, n := range j.opened {
		at := j.truth.Pictures[picture].line()
		if m := margins[at]; n > 1 && m.Whole && !forgetful {
			j.fail("picture %d of %+v was torn into %d frames, though %s", picture, at, n, m)
		}
	}
}
