package fuse

import "math"

// Reason is why the gate kept a box from fusion.
type Reason uint8

const (
	passed       Reason = iota
	NotFinite           // a coordinate or the score is NaN or infinite
	Units               // a coordinate far outside the frame: pixels, most likely, in place of fractions
	ScoreRange          // score outside 0…1
	NoArea              // no width or no height, as sent or once cut to the frame
	OverCap             // beyond Settings.MaxBoxes of its model
	UnknownLabel        // label not in the model's class table
	DroppedClass        // the class table says to drop it: a choice of the config, not a fault
	BelowSkip           // score below Settings.Skip: likewise
	NumReasons
)

var reasonNames = [NumReasons]string{
	passed: "passed", NotFinite: "not_finite", Units: "units", ScoreRange: "score_range",
	NoArea: "no_area", OverCap: "over_cap", UnknownLabel: "unknown_label",
	DroppedClass: "dropped_class", BelowSkip: "below_skip",
}

// String is the name used in metrics and in texts.
func (r Reason) String() string {
	if r < NumReasons {
		return reasonNames[r]
	}
	return "unknown"
}

// Counts are what the gate did with the boxes of one model since the Fuser was made.
// Boxes = Fused + the sum of Removed.
type Counts struct {
	Boxes   uint64             // boxes given
	Fused   uint64             // boxes that went on into fusion
	Removed [NumReasons]uint64 // by Reason; index 0 stays 0
	Swapped uint64             // corners were exchanged; the box went on
	Clipped uint64             // cut to the frame, or a score a hair above 1 set to 1; the box went on
}

// Slack of the gate. Beyond unitsSlack frame sizes outside the frame a coordinate cannot
// be a fraction of it; scores up to scoreSlack above 1 are float32 rounding of a softmax.
const (
	unitsSlack = 1.0
	scoreSlack = 1e-3
)

// policy says how much of a box the gate corrects or refuses.
type policy uint8

const (
	strict  policy = iota // production: all of Reason
	clipped               // as ensemble-boxes prepares boxes: swap, cut, no zero area; scores as given
	asGiven               // as torchvision and supervision take them: only NaN is refused
)

// clean brings one box into shape or says why it cannot go on. It reports what it mended.
func (p policy) clean(r *rect, score *float64) (reason Reason, swapped, cut bool) {
	// Mostly there is nothing to say; no NaN gets past a comparison.
	if p == strict && r.x1 >= 0 && r.y1 >= 0 && r.x2 <= 1 && r.y2 <= 1 && r.x1 < r.x2 && r.y1 < r.y2 && *score >= 0 && *score <= 1 && r.area() > 0 {
		return passed, false, false
	}
	if math.IsNaN(r.x1+r.y1+r.x2+r.y2) && anyNaN(r) || math.IsNaN(*score) || math.IsInf(*score, 0) {
		return NotFinite, false, false
	}
	if p == asGiven {
		return passed, false, false
	}
	lowered := false
	if p == strict {
		if reason, lowered = refuse(r, score); reason != passed {
			return reason, false, false
		}
	}
	if r.x2 < r.x1 {
		r.x1, r.x2, swapped = r.x2, r.x1, true
	}
	if r.y2 < r.y1 {
		r.y1, r.y2, swapped = r.y2, r.y1, true
	}
	far := outOfUnits(r)
	if r.x1 < 0 || r.y1 < 0 || r.x2 > 1 || r.y2 > 1 {
		*r, cut = rect{unit(r.x1), unit(r.y1), unit(r.x2), unit(r.y2)}, true
	}
	switch {
	case r.area() > 0:
		return passed, swapped, cut || lowered
	case far: // nothing left of it, for that reason
		return Units, false, false
	}
	return NoArea, false, false
}

// refuse makes the checks that only production makes. It lowers a score that rounding has
// carried above 1.
func refuse(r *rect, score *float64) (reason Reason, lowered bool) {
	switch {
	case math.IsInf(r.x1, 0) || math.IsInf(r.y1, 0) || math.IsInf(r.x2, 0) || math.IsInf(r.y2, 0):
		return NotFinite, false
	case outOfUnits(r):
		return Units, false
	case *score < 0 || *score > 1+scoreSlack:
		return ScoreRange, false
	case *score > 1:
		*score = 1
		return passed, true
	}
	return passed, false
}

func outOfUnits(r *rect) bool {
	const low, high = -unitsSlack, 1 + unitsSlack
	return min(r.x1, r.y1, r.x2, r.y2) < low || max(r.x1, r.y1, r.x2, r.y2) > high
}

// anyNaN is needed beside the sum because +Inf and −Inf add up to NaN too.
func anyNaN(r *rect) bool {
	return math.IsNaN(r.x1) || math.IsNaN(r.y1) || math.IsNaN(r.x2) || math.IsNaN(r.y2)
}

func unit(v float64) float64 { return min(max(v, 0), 1) }
