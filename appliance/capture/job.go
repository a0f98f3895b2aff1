package capture

import (
	"errors"
	"fmt"
	"math"
)

// Values of Job.Pace. A live source has its own pace and takes only realtime.
const (
	PaceRealtime = "realtime" // a film by its PTS
	PaceFast     = "fast"     // a film as fast as the appliance allows, losing nothing
)

// Values of Job.Tag: what is read out of the pixels into each picture's tag.
const (
	TagNone    = "none"
	TagBarcode = "barcode" // the test film's frame number
)

// NoTag is the tag of a picture in which a barcode was wanted and none was found. 0
// is a barcode's own value: the film's first picture.
const NoTag = math.MaxUint64

// Job is what the parent asks of one capture process.
type Job struct {
	Unit   string  `json:"unit"`
	Camera string  `json:"camera"`
	Source string  `json:"source"` // a film's path or a URL, with its password: never print it
	FPS    float64 `json:"fps"`    // pictures a second at most; 0 = all
	Pace   string  `json:"pace"`
	Loop   bool    `json:"loop"` // play a film again and again
	Tag    string  `json:"tag"`
	// MaxPictureBytes is the size of the ring's slots as the config's max_picture gives
	// it, 0 = whatever the ring has.
	MaxPictureBytes int    `json:"max_pixels_bytes"`
	FFmpeg          string `json:"ffmpeg"` // program, by name or path
}

// check completes the job with defaults and reports all that is wrong with it.
func (j *Job) check() error {
	var errs []error
	add := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("camera %s: "+format, append([]any{j.Camera}, args...)...))
	}
	if j.FFmpeg == "" {
		j.FFmpeg = "ffmpeg"
	}
	if j.Pace == "" {
		j.Pace = PaceRealtime
	}
	if j.Tag == "" {
		j.Tag = TagNone
	}
	if err := checkSource(j.Source); err != nil {
		add("%w", err)
	}
	if math.IsNaN(j.FPS) || j.FPS < 0 || j.FPS > 1000 || (j.FPS > 0 && j.FPS < 0.001) {
		add("fps %v: write 0 for all pictures, or 0.001 to 1000", j.FPS)
	}
	if j.Pace != PaceRealtime && j.Pace != PaceFast {
		add("pace %q: write realtime or fast", j.Pace)
	}
	if j.Tag != TagNone && j.Tag != TagBarcode {
		add("tag %q: write none or barcode", j.Tag)
	}
	if j.live() && j.Pace == PaceFast {
		add("pace fast: a live source has its own pace; write realtime")
	}
	if j.live() && j.Loop {
		add("loop: a live source has no end to start again from; leave it out")
	}
	return errors.Join(errs...)
}

func (j *Job) live() bool { return isLive(j.Source) }
