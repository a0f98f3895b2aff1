package status

import "fmt"

// Severity orders findings: an error needs a person, a warning tells one where to look.
type Severity string

const (
	SeverityWarning Severity = "warning"
	SeverityError   Severity = "error"
)

// Finding is one thing that is not as it should be, with the next step.
type Finding struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Subject  string   `json:"subject"`
	Text     string   `json:"text"`
	Next     string   `json:"next"`
}

// Codes are stable names: alerts and runbooks refer to them.
const (
	CodeCameraDown      = "camera_down"
	CodeCameraSilent    = "camera_silent"
	CodeModelDown       = "model_down"
	CodeModelFailed     = "model_failed"
	CodeModelHung       = "model_hung"
	CodeNeverFused      = "model_never_fused"
	CodeModelAbsent     = "model_absent"
	CodeModelRefused    = "model_refused"
	CodeRingQuarantined = "ring_quarantined"
	CodeSinkLosing      = "sink_losing"
	CodeIdentity        = "identity_broken"
	CodeMixRisk         = "mix_risk"
	CodeSplitRisk       = "split_risk"
	CodeWindowUnproven  = "window_unproven"
)

// HeartbeatStaleMS is the age from which a ready detector's heartbeat counts as stale;
// children beat at least twice a second, also when idle.
const HeartbeatStaleMS = 2000

// cameraSilentMS is how long a streaming camera may deliver nothing before it is named.
const cameraSilentMS = 5000

// Examine returns what is wrong in d, in a stable order: cameras, models, sinks, sums.
func Examine(d *Document) []Finding {
	var f []Finding
	for i := range d.Cameras {
		f = examineCamera(f, &d.Cameras[i])
		f = examineMatching(f, &d.Cameras[i])
	}
	for i := range d.Models {
		f = examineModel(f, &d.Models[i], d)
	}
	for _, s := range d.Sinks {
		if s.State != "ok" && s.State != "closed" {
			f = append(f, Finding{CodeSinkLosing, SeverityError, s.Name,
				fmt.Sprintf("sink %s is %s: %s", s.Name, s.State, s.Detail),
				"free space or repair the target; the path goes on and counts what is lost"})
		}
	}
	if d.Correlation.IdentityFault != "" {
		f = append(f, Finding{CodeIdentity, SeverityError, "correlator", d.Correlation.IdentityFault,
			"this is a fault of skewgate: please report it with `skewgate status --json`"})
	}
	return f
}

func examineCamera(f []Finding, c *Camera) []Finding {
	switch {
	case c.State == "retrying" || c.State == "backoff" || c.State == "failed":
		return append(f, Finding{CodeCameraDown, SeverityError, c.Name,
			fmt.Sprintf("camera %s delivers nothing (%s): %s", c.Name, c.State, orUnknown(c.Detail)),
			"check the source in the config and the camera itself; skewgate keeps retrying"})
	case c.State == "streaming" && c.LastFrameAgeMS != nil && *c.LastFrameAgeMS > cameraSilentMS:
		return append(f, Finding{CodeCameraSilent, SeverityWarning, c.Name,
			fmt.Sprintf("camera %s delivered its last picture %d ms ago", c.Name, *c.LastFrameAgeMS),
			"the source has stalled; it is reopened by itself, look at its network if this stays"})
	}
	return f
}

func examineModel(f []Finding, m *Model, d *Document) []Finding {
	name := fmt.Sprintf("%s/%d", m.Name, m.Replica)
	if m.Quarantine != "" {
		next := "the process wrote nonsense into its ring; it is restarted with a fresh one"
		if m.Foreign {
			next = "it wrote nonsense into its ring and was sent away; it may attach again, to a fresh one"
		}
		f = append(f, Finding{CodeRingQuarantined, SeverityError, name,
			fmt.Sprintf("the ring of %s is quarantined: %s", name, m.Quarantine), next})
	}
	for _, camera := range m.HangsOn {
		f = append(f, Finding{CodeModelHung, SeverityError, name,
			fmt.Sprintf("detector %s says nothing on camera %s while others do; its frames no longer wait for it", name, camera),
			"look at its process and its log; it counts again with its next message, and correlation.hung_after says how long it may be silent"})
	}
	f = examineAlone(f, m, d, name)
	if m.Foreign {
		return examineForeign(f, m, name)
	}
	switch m.State {
	case "failed":
		f = append(f, Finding{CodeModelFailed, SeverityError, name,
			fmt.Sprintf("detector %s cannot run: %s", name, lastWords(d, "detect/"+name)),
			"mend what the text names, then restart skewgate"})
	case "backoff", "exited":
		f = append(f, Finding{CodeModelDown, SeverityError, name,
			fmt.Sprintf("detector %s is down: %s", name, lastWords(d, "detect/"+name)),
			"it is restarted by itself with growing back-off; the last stderr lines are in `skewgate status --json`"})
	case "ready":
		f = examineHeartbeat(f, m, name, "detector "+name)
		if m.HeartbeatAgeMS != nil && *m.HeartbeatAgeMS > HeartbeatStaleMS {
			f = append(f, Finding{CodeModelDown, SeverityError, name,
				fmt.Sprintf("detector %s has not given a heartbeat for %d ms", name, *m.HeartbeatAgeMS),
				"it hangs or is starved of CPU: look at its process"})
		}
		if len(m.Alone) == 0 && m.Messages == 0 && m.Outcomes["ok"] > 100 {
			f = append(f, Finding{CodeNeverFused, SeverityError, name,
				fmt.Sprintf("detector %s worked on %d frames and none of its messages joined a frame", name, m.Outcomes["ok"]),
				"compare the counters late, unexpected and unparsed in `skewgate status`"})
		}
	}
	return f
}

// examineHeartbeat names a heartbeat by which nobody can tell whether the detector lives.
func examineHeartbeat(f []Finding, m *Model, name, who string) []Finding {
	if m.HeartbeatNote == "" {
		return f
	}
	return append(f, Finding{CodeModelDown, SeverityWarning, name,
		fmt.Sprintf("the heartbeat of %s makes no sense (%s), so it does not tell whether it lives", who, m.HeartbeatNote),
		"it writes a wrong time into its ring: heartbeats are CLOCK_MONOTONIC in ns, see shm/ABI.md"})
}

// examineForeign looks at a detector that attaches by itself.
func examineForeign(f []Finding, m *Model, name string) []Finding {
	if m.Peer == nil {
		return append(f, Finding{CodeModelAbsent, SeverityWarning, name,
			fmt.Sprintf("nobody is attached as detector %s", name),
			"start it; it attaches through attach.sock by itself, and frames do not wait for it until then"})
	}
	who := fmt.Sprintf("detector %s (pid %d, uid %d, %s)", name, m.Peer.PID, m.Peer.UID, m.Peer.Client)
	f = examineHeartbeat(f, m, name, who)
	if m.HeartbeatAgeMS != nil && *m.HeartbeatAgeMS > HeartbeatStaleMS {
		f = append(f, Finding{CodeModelDown, SeverityWarning, name,
			fmt.Sprintf("%s has not given a heartbeat for %d ms", who, *m.HeartbeatAgeMS),
			"it hangs or is starved of CPU: look at its process"})
	}
	if m.Refused > 0 {
		f = append(f, Finding{CodeModelRefused, SeverityWarning, name,
			fmt.Sprintf("%d messages of %s were refused, the last because: %s", m.Refused, who, m.RefusedLast),
			"mend what it sends: shm/ABI.md says how messages look"})
	}
	if len(m.Alone) == 0 && m.Messages == 0 && m.Read > 100 {
		f = append(f, Finding{CodeNeverFused, SeverityError, name,
			fmt.Sprintf("%s sent %d messages and none joined a frame", who, m.Read),
			"compare the counters late, unexpected and unparsed in `skewgate status`, and its frame ids or capture times with the camera's"})
	}
	return f
}

func lastWords(d *Document, task string) string {
	for _, t := range d.Tasks {
		if t.Name == task && t.LastExit != nil {
			text := t.LastExit.Text
			if n := len(t.LastExit.LastStderr); n > 0 {
				text += ": " + t.LastExit.LastStderr[n-1]
			}
			return text
		}
	}
	return "no exit recorded yet"
}

func orUnknown(s string) string {
	if s == "" {
		return "no reason given yet"
	}
	return s
}
