package status

import "fmt"

// Matching is what the setting in force does with one camera's pictures, by the capture times
// of its detectors. Counts are since the start; quantiles and estimates are of the last minute
// and null when it brought nothing.
type Matching struct {
	QuantumMS         *float64     `json:"quantum_ms"`                   // null unless matched by bucket
	WindowMS          *float64     `json:"window_ms"`                    // null unless matched by window
	IntervalMS        *float64     `json:"frame_interval_ms"`            // between two pictures, measured
	IntervalConfigMS  *float64     `json:"frame_interval_configured_ms"` // as configured
	CaptureSkewMS     *Quantiles   `json:"capture_skew_ms"`              // spread of capture times inside one picture
	PairOffsets       []PairOffset `json:"pair_offsets"`
	SplitShare        *float64     `json:"split_share"`     // of pictures that the setting splits, estimated: 0…1
	Pictures          uint64       `json:"pictures"`        // of two models or more that were looked at
	PicturesSplit     uint64       `json:"pictures_split"`  // of those, ended in different frames
	GroupsClosed      uint64       `json:"groups_closed"`   // frames, published or not
	FusedJudged       uint64       `json:"fused_judged"`    // published frames of two models or more that could be judged
	FusedMixed        uint64       `json:"fused_mixed"`     // of those, with two pictures in them
	MixedSpreadMS     *Quantiles   `json:"mixed_spread_ms"` // of capture times in the last of those
	Collisions        uint64       `json:"dup_collision"`
	RunUnfused        *uint64      `json:"run_unfused"` // frames in a row, up to now, in which no two models met; null where fewer than two are expected
	LongestRunUnfused *uint64      `json:"longest_run_unfused"`
	LongestUnfusedMS  *int64       `json:"longest_run_unfused_ms"`
}

// PairOffset is how far the capture times of B are ahead of those of A for one picture, after
// the configured offsets.
type PairOffset struct {
	A             string  `json:"a"`
	B             string  `json:"b"`
	Count         int     `json:"count"`
	MedianMS      float64 `json:"median_ms"`       // signed
	DistanceP99MS float64 `json:"distance_p99_ms"` // without the sign
}

// Alone says why a model has never met another one on a camera.
type Alone struct {
	Camera   string   `json:"camera"`
	Reason   string   `json:"reason"`   // absent, dead, hung, unreadable_time, late, wrong_generation, others_absent, others_late, other_bucket
	ByMS     *float64 `json:"by_ms"`    // late: median time behind the first arrival; other_bucket: median of its capture time less the nearest of another
	Messages uint64   `json:"messages"` // of it, about that camera
	Count    uint64   `json:"count"`    // of those, the ones that the reason is about
}

// FinalSkew is the arrival skew of frames whose horizon is over, so that no arrival within it
// can change them any more.
type FinalSkew struct {
	HorizonMS int64      `json:"horizon_ms"`
	SkewMS    *Quantiles `json:"arrival_skew_ms"`
	Beyond    uint64     `json:"beyond_horizon"`     // messages that came even later
	BeyondMS  *Quantiles `json:"beyond_horizon_ms"`  // how late those were
	Cut       uint64     `json:"cut_before_horizon"` // frames forgotten before their horizon was over
}

// Below these no figure is made a finding.
const (
	enoughPictures = 100  // for what capture times say
	enoughFrames   = 100  // for a model to have met nobody
	worthSplit     = 0.01 // share of pictures
	doubtfulSkew   = 0.4  // of the interval: from there on time hardly tells pictures apart
)

// examineMatching says which of the two the setting in force does: mix pictures or split them.
func examineMatching(f []Finding, c *Camera) []Finding {
	T, skew := c.IntervalMS, c.CaptureSkewMS
	known := T != nil && skew != nil && c.Pictures >= enoughPictures
	if text, next := c.mixes(known); text != "" {
		severity := SeverityWarning
		if c.MixedSpreadMS != nil {
			severity = SeverityError
		}
		f = append(f, Finding{CodeMixRisk, severity, c.Name, text, next})
	}
	if c.WindowMS != nil && T != nil && 2**c.WindowMS >= *T {
		f = append(f, Finding{CodeWindowUnproven, SeverityError, c.Name,
			fmt.Sprintf("camera %s: the window of %.6g ms is not less than half the interval of %.6g ms that its pictures have, so it may join two of them", c.Name, *c.WindowMS, *T),
			fmt.Sprintf("set its window below %.4g ms, and fps to what the camera gives", *T/2)})
	}
	if known && c.SplitShare != nil && *c.SplitShare >= worthSplit {
		f = append(f, Finding{CodeSplitRisk, SeverityWarning, c.Name,
			fmt.Sprintf("camera %s: capture times of one picture spread up to %.4g ms (p99), so %s splits %.1f %% of its pictures (estimated); %d of %d ended in two frames",
				c.Name, skew.P99, c.setting(), 100**c.SplitShare, c.PicturesSplit, c.Pictures),
			"match by frame_id if the detectors pass it on, else by window, or configure the offset of a detector whose clock is ahead; `skewgate advise` shows what each quantum does"})
	}
	return f
}

// mixes says why two pictures of a camera can end in one frame, "" if they cannot.
func (c *Camera) mixes(known bool) (text, next string) {
	counted := fmt.Sprintf("%d of %d fused frames held two pictures so far, %d messages collided", c.FusedMixed, c.FusedJudged, c.Collisions)
	switch {
	case known && c.QuantumMS != nil && *c.QuantumMS > *c.IntervalMS-c.CaptureSkewMS.P99:
		room := *c.IntervalMS - c.CaptureSkewMS.P99
		text = fmt.Sprintf("camera %s: a quantum of %.6g ms can join two pictures, which are %.6g ms apart with capture times that spread up to %.4g ms (p99); %s",
			c.Name, *c.QuantumMS, *c.IntervalMS, c.CaptureSkewMS.P99, counted)
		next = fmt.Sprintf("lower correlation.quantum to at most %.4g ms, or match this camera by frame_id or window", room)
		if room <= 0 {
			next = "no quantum keeps these pictures apart: match this camera by frame_id"
		}
	case c.MixedSpreadMS != nil:
		text = fmt.Sprintf("camera %s: frames hold two pictures: capture times in one spread up to %.4g ms; %s", c.Name, c.MixedSpreadMS.Max, counted)
		next = "match this camera by frame_id, or lower the quantum or the window"
	default:
		return "", ""
	}
	if c.Match != "frame_id" && c.IntervalMS != nil && c.CaptureSkewMS != nil && c.CaptureSkewMS.P99 > doubtfulSkew**c.IntervalMS {
		text += "; the spread may be larger than it looks, for beyond half an interval time cannot tell which picture a message is of"
	}
	return text, next
}

func (c *Camera) setting() string {
	switch {
	case c.WindowMS != nil:
		return fmt.Sprintf("a window of %.6g ms", *c.WindowMS)
	case c.QuantumMS != nil:
		return fmt.Sprintf("a quantum of %.6g ms", *c.QuantumMS)
	}
	return "match: " + c.Match
}

// examineAlone names a model that has never met another on a camera, with the reason and its
// figure. What another finding says of the model or of the others is not said again.
func examineAlone(f []Finding, m *Model, d *Document, name string) []Finding {
	for i := range m.Alone {
		a := &m.Alone[i]
		if closed := d.closedOn(a.Camera); closed < enoughFrames {
			continue
		}
		what, next := a.words()
		if what == "" || a.Reason == "absent" && m.State != "ready" && m.State != "attached" {
			continue
		}
		f = append(f, Finding{CodeNeverFused, SeverityError, name,
			fmt.Sprintf("detector %s has never met another on camera %s: %s", name, a.Camera, what), next})
	}
	return f
}

func (d *Document) closedOn(camera string) uint64 {
	for i := range d.Cameras {
		if d.Cameras[i].Name == camera {
			return d.Cameras[i].GroupsClosed
		}
	}
	return 0
}

// words returns what has happened to the messages and what to do, "" where it is no fault of
// this model or is told as dead or hung.
func (a *Alone) words() (what, next string) {
	most := fmt.Sprintf("%d of its %d messages", a.Count, a.Messages)
	switch a.Reason {
	case "absent":
		return "it has sent nothing about it", "look at its log, and whether it is given this camera's pictures"
	case "unreadable_time":
		return most + " had a capture time that could not be read", "it must send int64 nanoseconds or one of the texts that docs and shm/ABI.md name"
	case "wrong_generation":
		return most + " were of another generation than their frame", "restart it: it runs a model of another generation"
	case "late":
		return most + " came after their frame was closed" + a.by("half of them %.4g ms or more behind the first arrival"),
			"raise correlation.timeout above that, or make the detector faster; `skewgate advise` shows what each timeout yields"
	case "other_bucket":
		return most + " went to frames of their own" + a.by("its capture times less the nearest of another are %+.4g ms (median)"),
			"if that is constant, configure it as this model's offset; else match by frame_id or window, or give all detectors one clock"
	}
	return "", ""
}

func (a *Alone) by(format string) string {
	if a.ByMS == nil {
		return ""
	}
	return "; " + fmt.Sprintf(format, *a.ByMS)
}
