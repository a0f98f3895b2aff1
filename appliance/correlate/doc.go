// Package correlate joins the detections that several models made of one picture.
//
// Messages go in one by one, each with the instant at which it arrived; groups come out through
// a callback, each with the messages that belong to one picture and the reason why it was
// closed. The package reads no clock, starts no goroutine, touches no memory but its own and is
// driven by one thread:
//
//	c, err := correlate.New(cfg, func(g *correlate.Group) { … })   // g is valid only inside
//	s, err := c.Stream("box-7", "gate", epoch)                     // once per ring and stream
//	m, err := c.Model("people")                                    // once per ring
//	for {
//		for each message of the rings, merged by arrival {
//			c.Step(arrival, &correlate.Message{Stream: s, Model: m, CaptureNS: …, FrameID: …, Boxes: …, HasBoxes: true})
//		}
//		for each progress a detector said or the dispatch shows {
//			c.Progress(arrival, s, m, captureNS)
//		}
//		c.Tick(now)                                                // last
//		sleep until c.NextDeadline()
//	}
//
// Step, Progress and Tick allocate nothing once the tables have grown to their working size.
// Streams, models and all other tables have a stated bound (Limits, AppendTables); what does
// not fit is refused and counted, never silently dropped and never a reason to grow.
//
// # What happens in one call
//
// Every call clamps now so that it never runs back, then closes what is due in order of first
// arrival. A message is then counted received; its timestamp is unparsed or not; its model is
// expected or not; its group is closed (duplicate or late), belongs to another generation, holds
// the model already (duplicate), or takes it in. Last come quorum and eviction.
//
// A group is keyed by one tagged instant of one stream (Key). It closes as
//
//   - quorum: all models that are expected and not known dead are in,
//   - settled: every one of those is in, or has promised by Progress that it will not come,
//   - timeout: it has waited for Config.TimeoutNS since its first arrival,
//   - eviction: more than Config.MaxPending groups were open and it had arrived first,
//   - stale: nobody called for so long that it is older than Config.MaxAgeNS; it is dropped.
//
// A closed key is remembered for Config.ClosedTTLNS, with the models that came and when, so that
// what comes later is known as late or as a duplicate, and its skew is measured uncensored.
//
// # Figures
//
// Counters count everything that happened; Skew and Models give the arrival skew over a moving
// window, for all and for each model, late arrivals included; Final gives it for frames whose
// horizon is over. Arrival skew is about when messages came, never about when the pictures were
// taken.
//
// AppendFigures tells of each camera: the interval of its pictures, how far the capture times of
// one picture spread and how far each two models are apart, what the setting in force does with
// them (pictures told apart, groups with two pictures in them), the longest run of frames in
// which no two models met, and why a model has never met another. Capture times are surveyed
// once a second from what every model has said lately, so that figures do not depend on the
// groups that a quantum made, and the usual message pays for one entry in a ring.
//
// A Watch hears the story behind them: how each group ended with whom, and which messages came
// for it and did not join.
//
// # Identities
//
// These hold after every call; CheckIdentities says so:
//
//	received = accepted + late + dup_resend + dup_collision + wrong_generation
//	opened = quorum + settled + timeout + eviction + stale + open
//	published + suppressed_empty = quorum + settled + timeout + eviction
package correlate
