package main

import (
	"errors"
	"fmt"

	"github.com/skewgate/skewgate/appliance/capture"
	"github.com/skewgate/skewgate/appliance/onnx"
)

// maxCameras bounds one detector's cameras; the streams of a ring are as many.
const maxCameras = 256

// job is what the appliance tells this process to do, once, at its start.
type job struct {
	Unit       string        `json:"unit"`
	Model      string        `json:"model"`
	Replica    uint32        `json:"replica"`
	Generation uint64        `json:"generation"`
	Manifest   onnx.Manifest `json:"manifest"`
	Library    string        `json:"library"` // path of ONNX Runtime
	Threads    int           `json:"threads"`
	Cameras    []jobCamera   `json:"cameras"` // assignments name them by their place here
}

type jobCamera struct {
	Name string `json:"name"`
	Tag  string `json:"tag"` // capture.TagNone, or TagBarcode: read from the pixels that are used
}

func (j *job) check() error {
	var errs []error
	if j.Unit == "" || j.Model == "" || j.Library == "" {
		errs = append(errs, fmt.Errorf("job: unit %q, model %q and library %q must all be given", j.Unit, j.Model, j.Library))
	}
	if len(j.Cameras) == 0 || len(j.Cameras) > maxCameras {
		errs = append(errs, fmt.Errorf("job: %d cameras, want 1…%d", len(j.Cameras), maxCameras))
	}
	for _, c := range j.Cameras {
		if c.Name == "" || c.Tag != capture.TagNone && c.Tag != capture.TagBarcode {
			errs = append(errs, fmt.Errorf("job: camera %q with tag %q; want a name, and none or barcode", c.Name, c.Tag))
		}
	}
	return errors.Join(append(errs, j.Manifest.Check())...)
}

// readyReport is what this process says of itself once it takes work.
type readyReport struct {
	Names          []string `json:"names"`
	Width          int      `json:"width"` // of the network's input, pixels
	Height         int      `json:"height"`
	Layout         string   `json:"layout"`
	Provider       string   `json:"provider"`
	LibraryVersion string   `json:"library_version"`
	WarmUpMS       float64  `json:"warm_up_ms"` // all warm-up runs together
	ModelSHA256    string   `json:"model_sha256"`
}
