package correlate

import (
	"fmt"
	"strings"

	"github.com/skewgate/skewgate/appliance/clock"
	"github.com/skewgate/skewgate/appliance/hist"
)

// Counters count since New. Pending is the number of open groups now.
type Counters struct {
	Received, Accepted, Late, DupResend, DupCollision, WrongGeneration uint64
	Unexpected, Unparsed                                               uint64 // counted above too
	FlushedQuorum, FlushedSettled, FlushedTimeout, FlushedEviction     uint64
	Stale, Pending                                                     uint64
	Opened, Published                                                  uint64
	Refused                                                            uint64 // before received, in no other counter
	NowRegressions, ProgressBroken, ClosedForgotten                    uint64
	NoFrameID, SuppressedEmpty                                         uint64
}

// Counters returns a copy of the counters.
func (c *Correlator) Counters() Counters {
	n := c.n
	n.Pending = uint64(c.pending)
	return n
}

// Each calls f for every counter of the replay contract, in its order and by its name there.
func (n *Counters) Each(f func(name string, value uint64)) {
	f("received", n.Received)
	f("accepted", n.Accepted)
	f("late", n.Late)
	f("dup_resend", n.DupResend)
	f("dup_collision", n.DupCollision)
	f("wrong_generation", n.WrongGeneration)
	f("unexpected", n.Unexpected)
	f("unparsed", n.Unparsed)
	f("flushed_quorum", n.FlushedQuorum)
	f("flushed_settled", n.FlushedSettled)
	f("flushed_timeout", n.FlushedTimeout)
	f("flushed_eviction", n.FlushedEviction)
	f("stale", n.Stale)
	f("pending", n.Pending)
	f("refused", n.Refused)
	f("now_regressions", n.NowRegressions)
	f("progress_broken", n.ProgressBroken)
	f("closed_forgotten", n.ClosedForgotten)
	f("no_frame_id", n.NoFrameID)
	f("suppressed_empty", n.SuppressedEmpty)
}

// Refuse counts a message that the caller had to turn away as malformed before Step could see it.
func (c *Correlator) Refuse() { c.n.Refused++ }

// CheckIdentities returns an error that names the first identity that does not hold. It costs
// a few additions: the appliance exports it as a metric that must be 0.
func (c *Correlator) CheckIdentities() error {
	n := c.Counters()
	for _, id := range []struct {
		name      string
		left, sum uint64
	}{
		{"received = accepted + late + dup_resend + dup_collision + wrong_generation",
			n.Received, n.Accepted + n.Late + n.DupResend + n.DupCollision + n.WrongGeneration},
		{"opened = quorum + settled + timeout + eviction + stale + open",
			n.Opened, n.FlushedQuorum + n.FlushedSettled + n.FlushedTimeout + n.FlushedEviction + n.Stale + n.Pending},
		{"published + suppressed_empty = quorum + settled + timeout + eviction",
			n.Published + n.SuppressedEmpty, n.FlushedQuorum + n.FlushedSettled + n.FlushedTimeout + n.FlushedEviction},
	} {
		if id.left != id.sum {
			return fmt.Errorf("identity %q does not hold: %d ≠ %d", id.name, id.left, id.sum)
		}
	}
	return nil
}

// Skew returns the arrival skew in ns over the moving window: of published groups with two or
// more models last − first arrival, and of each late message its distance from the first.
// It sorts a copy of the samples; see AppendSkew for a hot path.
func (c *Correlator) Skew(now clock.Mono) hist.Summary { return c.skew.Summary(int64(c.upTo(now))) }

// AppendSkew appends the samples of Skew, for another goroutine to give to hist.Summarize.
func (c *Correlator) AppendSkew(dst []int64, now clock.Mono) []int64 {
	return c.skew.AppendValues(dst, int64(c.upTo(now)))
}

// SkewOverflow returns how many samples of Skew left their window early because
// Limits.SkewSamples had come in less time: its figures then tell of a shorter one.
func (c *Correlator) SkewOverflow() uint64 { return c.skew.Overflow() }

// ModelStats is what is known of one model name. Counts are since New.
type ModelStats struct {
	Name           string
	Expected       bool // now or before, by any camera
	Seen           bool // a message of it was received
	Received       uint64
	Accepted       uint64 // joined a group
	Fused          uint64 // was published together with another model
	Late           uint64
	Unparsed       uint64
	Unexpected     uint64
	ProgressBroken uint64

	DupResend, DupCollision, WrongGeneration uint64

	Lag hist.Summary // arrival − the group's first arrival, in ns
}

// Models returns the figures of every model name in the order in which they were entered.
func (c *Correlator) Models(now clock.Mono) []ModelStats {
	stats := c.AppendModels(make([]ModelStats, 0, len(c.models)-1))
	for i, m := range c.models[1:] {
		stats[i].Lag = m.lag.Summary(int64(c.upTo(now)))
	}
	return stats
}

// AppendModels appends what Models says, without the lag and so without its sorting.
func (c *Correlator) AppendModels(dst []ModelStats) []ModelStats {
	for _, m := range c.models[1:] {
		dst = append(dst, ModelStats{
			Name: m.name, Expected: m.expected, Seen: m.seen,
			Received: m.received, Accepted: m.accepted, Fused: m.fused, Late: m.late, Unparsed: m.unparsed, Unexpected: m.unexpected,
			ProgressBroken: m.progressBroken, DupResend: m.dupResend, DupCollision: m.dupCollision, WrongGeneration: m.wrongGeneration,
		})
	}
	return dst
}

// maxHints bounds the names in a rename hint.
const maxHints = 3

// RenameHint says which expected models were never seen, of which a name that nobody expects
// may be the new one; "" if all were.
func RenameHint(models []ModelStats, unexpected string) string {
	var unseen []string
	for i := range models {
		if models[i].Expected && !models[i].Seen {
			unseen = append(unseen, fmt.Sprintf("%q", models[i].Name))
		}
	}
	if len(unseen) == 0 {
		return ""
	}
	if more := len(unseen) - maxHints; more > 0 {
		unseen = append(unseen[:maxHints], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("never seen of those that are expected: %s; is %q a new name of one of them?", strings.Join(unseen, ", "), unexpected)
}

// upTo keeps a question about the figures from running behind what is recorded.
func (c *Correlator) upTo(now clock.Mono) clock.Mono {
	if c.started {
		return max(now, c.last)
	}
	return now
}
