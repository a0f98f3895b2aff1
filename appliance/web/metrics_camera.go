package web

import (
	"slices"

	"github.com/skewgate/skewgate/appliance/status"
)

// cameraLabels are those of whatever is told once a camera.
var cameraLabels = []string{"camera"}

// ofCamera makes families of cameras; tell emits samples whose first label is the camera.
func ofCamera(make maker, name, help string, more []string, each func(c *status.Camera, tell put)) family {
	return make(name, help, slices.Concat(cameraLabels, more), func(d *status.Document, put put) {
		for i := range d.Cameras {
			c := &d.Cameras[i]
			each(c, func(value float64, labels ...string) { put(value, append([]string{c.Name}, labels...)...) })
		}
	})
}

// perCamera makes families that have one sample a camera.
func perCamera(make maker, name, help string, value func(*status.Camera) float64) family {
	return ofCamera(make, name, help, nil, func(c *status.Camera, tell put) { tell(value(c)) })
}

// windowOfCamera makes the families of a moving window of each camera.
func windowOfCamera(name, help string, value func(*status.Camera) *status.Quantiles) []family {
	return window(name, help, cameraLabels, func(d *status.Document, tell func(*status.Quantiles, ...string)) {
		for i := range d.Cameras {
			tell(value(&d.Cameras[i]), d.Cameras[i].Name)
		}
	})
}

var cameraFamilies = []family{
	ofCamera(gauge, "skewgate_camera_info", "How the frames of a camera are matched and whose clock stamps its pictures (none before the first picture); always 1.",
		[]string{"match", "clock_source"}, func(c *status.Camera, tell put) { tell(1, c.Match, c.ClockSource) }),
	perCamera(gauge, "skewgate_camera_streaming", "1 while pictures are coming in.", func(c *status.Camera) float64 { return flag(c.State == "streaming") }),
	perCamera(counter, "skewgate_camera_pictures_total", "Pictures that the path saw in the frame ring.", func(c *status.Camera) float64 { return float64(c.Frames) }),
	perCamera(counter, "skewgate_camera_pictures_lost_total", "Pictures overwritten before the path looked.", func(c *status.Camera) float64 { return float64(c.FramesLost) }),
	ofCamera(gauge, "skewgate_camera_last_picture_age_seconds", "Time since the last picture; no sample before the first.", nil,
		func(c *status.Camera, tell put) { putSeconds(tell, c.LastFrameAgeMS) }),
	perCamera(gauge, "skewgate_camera_stream_epoch", "Rises when the source restarts or its clock is set back; 0 before the first picture.", func(c *status.Camera) float64 { return float64(c.StreamEpoch) }),
	perCamera(gauge, "skewgate_camera_width_pixels", "Width of the decoded picture; 0 before the first.", func(c *status.Camera) float64 { return float64(c.Width) }),
	perCamera(gauge, "skewgate_camera_height_pixels", "Height of the decoded picture; 0 before the first.", func(c *status.Camera) float64 { return float64(c.Height) }),
	perCamera(counter, "skewgate_camera_fused_frames_total", "Fused frames of this camera.", func(c *status.Camera) float64 { return float64(c.Fused) }),
	perCamera(counter, "skewgate_camera_fused_frames_multi_model_total", "Of the fused frames of this camera, those with two models or more.", func(c *status.Camera) float64 { return float64(c.FusedMulti) }),
	perCamera(gauge, "skewgate_camera_longest_run_single_frames", "Longest run of fused frames with fewer than two models since the start.", func(c *status.Camera) float64 { return float64(c.LongestRunSingle) }),
}
