package web

import (
	"slices"

	"github.com/skewgate/skewgate/appliance/status"
)

// secondsOfCamera makes a gauge of a time that not every camera has.
func secondsOfCamera(name, help string, value func(*status.Camera) *float64) family {
	return ofCamera(gauge, name, help, nil, func(c *status.Camera, tell put) { putSeconds(tell, value(c)) })
}

// ofPair makes a gauge of each two models of a camera that met in the last 60 s.
func ofPair(name, help string, value func(*status.PairOffset) float64) family {
	return ofCamera(gauge, name, help, []string{"a", "b"}, func(c *status.Camera, tell put) {
		for i := range c.PairOffsets {
			if p := &c.PairOffsets[i]; p.Count > 0 {
				tell(value(p), p.A, p.B)
			}
		}
	})
}

// matchingFamilies say what the setting in force does with a camera's pictures: the estimates of
// the interval T and the capture skew D, and by them whether it mixes or splits.
var matchingFamilies = slices.Concat(
	[]family{
		secondsOfCamera("skewgate_camera_quantum_seconds", "The quantum in force; no sample unless matched by bucket.", func(c *status.Camera) *float64 { return c.QuantumMS }),
		secondsOfCamera("skewgate_camera_window_seconds", "The window in force; no sample unless matched by window.", func(c *status.Camera) *float64 { return c.WindowMS }),
		secondsOfCamera("skewgate_camera_interval_seconds", "T: time between two pictures, measured in the last 60 s; no sample while it is not known.", func(c *status.Camera) *float64 { return c.IntervalMS }),
		secondsOfCamera("skewgate_camera_interval_configured_seconds", "Time between two pictures by fps in the config; no sample without.", func(c *status.Camera) *float64 { return c.IntervalConfigMS }),
	},
	windowOfCamera("skewgate_camera_capture_skew", "D: how far the capture times of one picture spread, over the last 60 s.", func(c *status.Camera) *status.Quantiles { return c.CaptureSkewMS }),
	[]family{
		secondsOfCamera("skewgate_camera_mix_room_seconds", "T less p99 of D: a quantum above it can join two pictures. It may be negative: then time does not tell the pictures apart. No sample while T or D is not known.",
			mixRoom),
		ofCamera(gauge, "skewgate_camera_split_ratio", "Share of the pictures that the setting splits, 0 to 1, estimated from D over the last 60 s; no sample while D is not known or when matched by frame id.", nil,
			func(c *status.Camera, tell put) {
				if c.SplitShare != nil {
					tell(*c.SplitShare)
				}
			}),
		perCamera(counter, "skewgate_camera_pictures_judged_total", "Pictures with answers of two models or more that were looked at.", func(c *status.Camera) float64 { return float64(c.Pictures) }),
		perCamera(counter, "skewgate_camera_pictures_split_total", "Of skewgate_camera_pictures_judged_total, those that ended in different frames.", func(c *status.Camera) float64 { return float64(c.PicturesSplit) }),
		perCamera(counter, "skewgate_camera_fused_frames_judged_total", "Fused frames of two models or more of which can be said whether they hold two pictures.", func(c *status.Camera) float64 { return float64(c.FusedJudged) }),
		perCamera(counter, "skewgate_camera_fused_frames_mixed_total", "Of skewgate_camera_fused_frames_judged_total, those with two pictures in them.", func(c *status.Camera) float64 { return float64(c.FusedMixed) }),
	},
	windowOfCamera("skewgate_camera_mixed_spread", "How far capture times spread in the frames of the last 60 s that held two pictures.", func(c *status.Camera) *status.Quantiles { return c.MixedSpreadMS }),
	[]family{
		perCamera(counter, "skewgate_camera_collisions_total", "Messages that met another picture's message of their own model: dup_collision of skewgate_messages_total.", func(c *status.Camera) float64 { return float64(c.Collisions) }),
		perCamera(counter, "skewgate_camera_groups_closed_total", "Frames of this camera that were closed, published or not.", func(c *status.Camera) float64 { return float64(c.GroupsClosed) }),
		ofCamera(gauge, "skewgate_camera_run_unfused_frames", "Frames in a row, up to now, in which no two models met; no sample where fewer than two are expected.", nil,
			func(c *status.Camera, tell put) { putCount(tell, c.RunUnfused) }),
		ofCamera(gauge, "skewgate_camera_longest_run_unfused_frames", "The longest run of frames in which no two models met, since the start; no sample where fewer than two are expected.", nil,
			func(c *status.Camera, tell put) { putCount(tell, c.LongestRunUnfused) }),
		ofCamera(gauge, "skewgate_camera_longest_run_unfused_seconds", "How long the longest run of frames took in which no two models met.", nil,
			func(c *status.Camera, tell put) { putSeconds(tell, c.LongestUnfusedMS) }),
		ofPair("skewgate_camera_pair_offset_seconds", "Signed: how far the capture times of model b are ahead of those of model a for one picture, after configured offsets; median of the last 60 s.",
			func(p *status.PairOffset) float64 { return seconds(p.MedianMS) }),
		ofPair("skewgate_camera_pair_distance_p99_seconds", "How far the capture times of models a and b are apart for one picture, without the sign; p99 of the last 60 s.", func(p *status.PairOffset) float64 { return seconds(p.DistanceP99MS) }),
		ofPair("skewgate_camera_pair_samples", "How many pictures the offset and the distance of two models rest on; none of the three for two that did not meet in the last 60 s.", func(p *status.PairOffset) float64 { return float64(p.Count) }),
	},
)

// mixRoom is the largest quantum that keeps two pictures apart, as the finding mix_risk has it.
func mixRoom(c *status.Camera) *float64 {
	if c.IntervalMS == nil || c.CaptureSkewMS == nil || c.CaptureSkewMS.Count == 0 {
		return nil
	}
	room := *c.IntervalMS - c.CaptureSkewMS.P99
	return &room
}
