package capture

import "strconv"

// ioTimeoutUS is after how long a silent RTSP socket is an error to ffmpeg itself,
// in microseconds. Capture's own bound on silence is the backstop.
const ioTimeoutUS = 10_000_000

// arguments is ffmpeg's command line for one pass. What each part is for:
//
//   - repeat+level+warning: every line is whole and says how bad it is;
//   - a small probe: the first picture of a live source after 0.1 s, not after 5; less
//     than 64 KiB, or -fflags nobuffer, loses pictures;
//   - one thread: each more would hold back one picture;
//   - copyts, passthrough, the input's time base: each picture keeps its PTS; NUT may
//     take a multiple of the time base, which is exact;
//   - no metadata and no index: ffmpeg's index of a stream of keyframes grows for ever,
//     and so would ffmpeg;
//   - autoscale: a film that changes its size goes on in its first one; a live source
//     is opened anew instead, so that detectors get unscaled pictures.
func arguments(job *Job) []string {
	args := []string{"-hide_banner", "-nostdin", "-nostats", "-loglevel", "repeat+level+warning"}
	if isRTSP(job.Source) {
		args = append(args, "-rtsp_transport", "tcp", "-timeout", strconv.Itoa(ioTimeoutUS))
	}
	autoscale := "1"
	if job.live() {
		autoscale = "0"
	}
	return append(args,
		"-probesize", "65536", "-analyzeduration", "0", "-threads", "1", "-copyts",
		"-i", input(job.Source),
		"-map", "0:V:0", "-map_metadata", "-1", "-map_chapters", "-1",
		"-fps_mode", "passthrough", "-enc_time_base", "-1", "-autoscale", autoscale,
		"-pix_fmt", "yuv420p", "-c:v", "rawvideo", "-filter_threads", "1",
		"-write_index", "0", "-f", "nut", "pipe:1",
	)
}
