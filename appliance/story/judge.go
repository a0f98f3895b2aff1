package story

import (
	"fmt"
	"strings"
)

// judge says in a sentence what became of a frame, and what to do about it.
func judge(f *Frame) (verdict, next string) {
	verdict = outcome(f)
	worst := worstOf(f)
	switch {
	case f.State == "open":
		return verdict, ""
	case f.Reason != nil && *f.Reason == "eviction":
		return verdict, "more frames were open than correlation.max_pending: find the model that does not answer, or raise it (timeout × frames/s of all cameras)"
	case f.Reason != nil && *f.Reason == "stale":
		return verdict, "the path stood still for longer than max_age: see whether the box is overloaded or was stopped (skewgate status, path.sched)"
	case f.State == "dropped":
		return verdict, "nothing: the machine slept, and what was on its way belonged to a time that was over"
	case worst != nil:
		return verdict, advice(f, worst)
	case f.CaptureSkew == nil && len(f.Expected) == 0:
		return verdict, "nobody is expected on this camera, so its frames always wait for the timeout: name models for it"
	}
	for _, m := range f.Messages {
		if m.Verdict == "dup_collision" {
			return verdict, fmt.Sprintf("%s sent two pictures for this frame: correlation.quantum is wider than its frame interval; skewgate advise shows which is not", Printable(m.Model))
		}
	}
	return verdict, ""
}

func outcome(f *Frame) string {
	joined, expected := 0, len(f.Expected)
	for _, m := range f.Messages {
		if m.Verdict == "accepted" && m.Expected {
			joined++
		}
	}
	who := fmt.Sprintf("%d of %d expected models", joined, expected)
	if joined == expected && expected > 0 {
		who = fmt.Sprintf("all %d expected models", expected)
		if expected == 1 {
			who = "the one expected model"
		}
	}
	var b strings.Builder
	switch f.State {
	case "open":
		fmt.Fprintf(&b, "open for %s: %s so far, it waits until %s at the most", Millis(f.WaitNS), who, Millis(f.TimeoutNS))
	case "published":
		fmt.Fprintf(&b, "published after %s by %s with %s", Millis(f.WaitNS), *f.Reason, who)
	case "suppressed_empty":
		fmt.Fprintf(&b, "closed after %s by %s with %s, and not published: nobody found anything (emit_empty is off)", Millis(f.WaitNS), *f.Reason, who)
	default:
		fmt.Fprintf(&b, "dropped after %s (%s) with %s", Millis(f.WaitNS), *f.Reason, who)
	}
	for i, m := range f.Missing {
		sep := ", "
		if i == 0 {
			sep = "; "
		}
		fmt.Fprintf(&b, "%s%s %s", sep, Printable(m.Model), said(m.Why))
	}
	return b.String()
}

// said says why in a sentence.
func said(why string) string {
	switch why {
	case "passed":
		return "had nothing to say"
	case "late":
		return "came late"
	case "wrong_generation":
		return "is of another generation"
	case "hung":
		return "hangs"
	case "unreadable_time":
		return "sent a time that cannot be read"
	case "other_bucket":
		return "is in another frame"
	}
	return "is " + why // dead, absent
}

// gravity orders the reasons by how much there is to do about them.
var gravity = []string{"passed", "absent", "late", "wrong_generation", "hung", "dead", "unreadable_time", "other_bucket"}

// worstOf returns the missing model that there is most to do about, nil for none: who had passed
// had nothing to say.
func worstOf(f *Frame) (worst *Missing) {
	rank := func(why string) int {
		for i, w := range gravity {
			if w == why {
				return i
			}
		}
		return 0
	}
	for i := range f.Missing {
		if m := &f.Missing[i]; rank(m.Why) > 0 && (worst == nil || rank(m.Why) > rank(worst.Why)) {
			worst = m
		}
	}
	return worst
}

func advice(f *Frame, m *Missing) string {
	who := Printable(m.Model)
	switch m.Why {
	case "late":
		for _, msg := range f.Messages {
			if msg.Model == m.Model && msg.Verdict == "late" {
				return fmt.Sprintf("a timeout above %s would have waited for %s: skewgate advise says what that costs; or make it faster", Millis(msg.AtNS), who)
			}
		}
	case "wrong_generation":
		return "its detector still runs another generation: see skewgate status"
	case "hung":
		return fmt.Sprintf("%s answers nothing while others do: look at its log and restart it; it is waited for again from its next message on", who)
	case "dead":
		if m.Cause == "" {
			return fmt.Sprintf("see skewgate status: how the process of %s ended, and whether it comes back", who)
		}
		return fmt.Sprintf("get %s going again: skewgate status shows its last words and its next start", who)
	case "unreadable_time":
		return fmt.Sprintf("mend how %s writes its timestamps: a number of milliseconds, or ISO 8601", who)
	case "other_bucket":
		if strings.HasPrefix(f.Key, "id:") {
			return fmt.Sprintf("%s gives the same picture another frame id: mend that, or set match: bucket", who)
		}
		return "one picture was split in two: match by frame_id if all models can send it, or take the quantum that skewgate advise recommends"
	}
	return absentAdvice(f, m, who)
}

func absentAdvice(f *Frame, m *Missing, who string) string {
	for _, msg := range f.Messages {
		if !msg.Expected && msg.Verdict == "accepted" {
			return fmt.Sprintf("%s came and is not expected here: if it is %s under another name, set them equal", Printable(msg.Model), who)
		}
	}
	if d := m.Dispatch; d != nil {
		switch d.Fate {
		case "superseded":
			return fmt.Sprintf("%s is slower than its camera, a newer picture took this one's place: a lower fps, a smaller model, or fewer detectors on this box", who)
		case "not_ready":
			return fmt.Sprintf("%s was not ready for this picture: see skewgate status", who)
		case "assigned", "waiting":
			return fmt.Sprintf("%s has the picture and has not answered yet: it is slow or hangs; see its lag and queue in skewgate status", who)
		case "finished":
			return fmt.Sprintf("%s took the picture and gave no answer: its outcomes in skewgate status (expired, lapped, failed) say why", who)
		case "died":
			return fmt.Sprintf("the process of %s ended while it had the picture: see its last exit in skewgate status", who)
		}
	}
	return fmt.Sprintf("see whether %s publishes at all: skewgate ring tail %s, and its state in skewgate status", who, who)
}

// Millis shows a duration in milliseconds, as exact as somebody wants to read it.
func Millis(ns int64) string {
	ms := float64(ns) / 1e6
	switch a := max(ms, -ms); {
	case a >= 10_000:
		return fmt.Sprintf("%.1f s", ms/1000)
	case a >= 1 || ns == 0:
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.3f ms", ms)
}
