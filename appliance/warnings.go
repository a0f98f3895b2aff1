package appliance

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/correlate"
)

// Bounds of the warnings.
const (
	warnEveryNS   = int64(30 * time.Second)
	maxWarned     = 256 // kinds and subjects; more are told together, as others
	warnedPerPass = 16  // lines; the rest waits for the next pass, a fifth of a second later
)

// warningKind is what a line is about. Its code is a stable name.
type warningKind struct{ code, text, next string }

var (
	warnUnexpected      = &warningKind{"unexpected", "messages of a model that no camera expects", "add the model to the config, or correct its name"}
	warnUnparsed        = &warningKind{"unparsed", "capture times that cannot be read", "the detector must send int64 nanoseconds, or a number or ISO 8601 as text"}
	warnDupCollision    = &warningKind{"dup_collision", "two pictures of one model in one bucket, the second is dropped", "lower correlation.quantum, or match by frame_id or window; see `skewgate advise`"}
	warnDupResend       = &warningKind{"dup_resend", "messages sent twice, the second is dropped", "the detector publishes a picture's answer more than once: mend it there"}
	warnLate            = &warningKind{"late", "messages came after their frame was closed", "raise correlation.timeout or make the detector faster; see `skewgate advise`"}
	warnWrongGeneration = &warningKind{"wrong_generation", "messages of another generation than their frame", "restart the detector: it runs a model of another generation"}
	warnProgressBroken  = &warningKind{"progress_broken", "messages that the model's progress had promised not to send", "send progress only for pictures that are answered or skipped; it is not trusted until the next stream_epoch"}
	warnNoFrameID       = &warningKind{"no_frame_id", "messages without a frame id on a camera matched by frame_id", "let every detector pass the frame id on, or match by bucket or window"}
	warnRefused         = &warningKind{"refused", "messages refused as malformed or over a bound", "`skewgate status` says why, detector by detector"}
	warnEvicted         = &warningKind{"evicted", "frames closed early because too many were open", "raise correlation.max_pending, or lower correlation.timeout"}
	warnMixed           = &warningKind{"mixed", "fused frames with two pictures in them", "lower the quantum or the window, or match by frame_id; `skewgate status` has the figures"}
	warnForgotten       = &warningKind{"closed_forgotten", "closed frames forgotten early: what comes late for them looks new", "too many frames for the table of closed ones: fewer cameras on this box, or a shorter timeout"}
	warnNowRegressions  = &warningKind{"now_regressions", "the time ran back and was held", "this is a fault of skewgate: please report it with `skewgate status --json`"}
)

// others is the subject of what has found no place of its own.
const others = "(others)"

// warnings tells in the log what goes wrong with messages: at once when it first happens, then
// one line for each kind and subject in 30 s with its count. It is fed with running totals, so
// that the path does nothing for it between two passes.
type warnings struct {
	log   *slog.Logger
	known map[warningKey]*warning
	rest  map[*warningKind]uint64 // of this pass: totals of subjects without a place
}

type warningKey struct {
	kind    *warningKind
	subject string
}

type warning struct {
	total, told uint64
	toldAt      clock.Mono
	hint        string
}

func newWarnings(log *slog.Logger) *warnings {
	return &warnings{log: log, known: make(map[warningKey]*warning), rest: make(map[*warningKind]uint64)}
}

// count takes the total of a kind and subject since the start. subject is what a person knows
// it by, "" for the appliance as a whole.
func (w *warnings) count(kind *warningKind, subject string, total uint64) *warning {
	if total == 0 {
		return nil
	}
	key := warningKey{kind, subject}
	one := w.known[key]
	if one == nil {
		if len(w.known) >= maxWarned && subject != others {
			w.rest[kind] += total
			return nil
		}
		one = &warning{}
		w.known[key] = one
	}
	one.total = max(one.total, total)
	return one
}

// tell writes the lines that are due at now: first what has waited longest.
func (w *warnings) tell(now clock.Mono) {
	for kind, total := range w.rest {
		w.count(kind, others, total)
	}
	clear(w.rest)
	var due []warningKey
	for key, one := range w.known {
		if one.total > one.told && (one.told == 0 || int64(now-one.toldAt) >= warnEveryNS) {
			due = append(due, key)
		}
	}
	slices.SortFunc(due, func(a, b warningKey) int {
		return cmp.Or(cmp.Compare(w.known[a].toldAt, w.known[b].toldAt), cmp.Compare(a.kind.code, b.kind.code), cmp.Compare(a.subject, b.subject))
	})
	for _, key := range due[:min(len(due), warnedPerPass)] {
		one := w.known[key]
		args := []any{"code", key.kind.code, "n", one.total - one.told, "total", one.total}
		if key.subject != "" {
			args = append(args, "subject", key.subject)
		}
		if one.told > 0 {
			args = append(args, "since", time.Duration(now-one.toldAt).Round(time.Second))
		}
		if one.hint != "" {
			args = append(args, "hint", one.hint)
		}
		w.log.Warn(key.kind.text, append(args, "next", key.kind.next)...)
		one.told, one.toldAt = one.total, now
	}
}

// look takes the totals of the correlator: by model where it knows them, by camera, in all.
func (w *warnings) look(corr *correlate.Correlator, cameras []correlate.Figures) {
	models := corr.AppendModels(nil)
	for i := range models {
		m := &models[i]
		if one := w.count(warnUnexpected, m.Name, m.Unexpected); one != nil {
			one.hint = correlate.RenameHint(models, m.Name)
		}
		w.count(warnUnparsed, m.Name, m.Unparsed)
		w.count(warnDupCollision, m.Name, m.DupCollision)
		w.count(warnDupResend, m.Name, m.DupResend)
		w.count(warnLate, m.Name, m.Late)
		w.count(warnWrongGeneration, m.Name, m.WrongGeneration)
		w.count(warnProgressBroken, m.Name, m.ProgressBroken)
	}
	for i := range cameras {
		w.count(warnMixed, cameras[i].Camera, cameras[i].Mixed)
	}
	n := corr.Counters()
	w.count(warnNoFrameID, "", n.NoFrameID)
	w.count(warnEvicted, "", n.FlushedEviction)
	w.count(warnForgotten, "", n.ClosedForgotten)
	w.count(warnNowRegressions, "", n.NowRegressions)
}

// warn tells what has gone wrong with messages since the last view.
func (p *path) warn(now clock.Mono) {
	w := p.warnings
	w.look(p.corr.Correlator, p.figures.cameras)
	refused := p.corr.Counters().Refused
	for _, r := range p.replicas {
		w.count(warnRefused, r.task, r.refused)
		refused -= min(refused, r.refused)
	}
	w.count(warnRefused, "", refused) // for want of room
	w.tell(now)
}
