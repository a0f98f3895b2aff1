package config

import (
	"fmt"
	"os"
	"strings"
)

// Bounds of the lists. A detector's ring has room for 64 cameras.
const (
	maxCameras = 64
	maxModels  = 64
	maxSinks   = 16
)

// maxPictureSide holds what H.264 and H.265 cameras give, twice over.
const maxPictureSide = 8192

// cameras checks every camera by itself.
func (c *checker) cameras() {
	cams := c.cfg.Cameras
	if c.need("cameras", len(cams) == 0, "name at least one: - {name: gate, source: gate.mp4}") {
		return
	}
	if len(cams) > maxCameras {
		c.failAt(fmt.Sprintf("cameras[%d]", maxCameras), fmt.Sprintf("%d cameras", len(cams)), fmt.Sprintf("at most %d a box", maxCameras))
	}
	first := map[string]int{}
	for i := range cams {
		key := fmt.Sprintf("cameras[%d]", i)
		cam := &cams[i]
		c.name(key+".name", cam.Name)
		c.unique(key+".name", "camera", cam.Name, i, first)
		c.source(key, cam)
		if cam.FPS != 0 {
			c.within(key+".fps", cam.FPS, 0.001, 240)
		}
		if side := cam.MaxPicture; min(side.Width, side.Height) < 16 || max(side.Width, side.Height) > maxPictureSide {
			if k := key + ".max_picture"; !c.failed(k) {
				c.failAt(k, fmt.Sprintf("%s is out of bounds", c.shownAt(k)), fmt.Sprintf("take 16x16 to %dx%d", maxPictureSide, maxPictureSide))
			}
		}
		c.window(key, cam)
	}
}

// unique tells a name that another entry of the same list has; first maps names to the
// index that had them first.
func (c *checker) unique(key, kind, name string, i int, first map[string]int) {
	if name == "" {
		return
	}
	if j, twice := first[name]; twice {
		earlier := strings.Replace(key, fmt.Sprintf("[%d]", i), fmt.Sprintf("[%d]", j), 1)
		c.failAt(key, fmt.Sprintf("another %s has the name %s, at line %d", kind, c.shownAt(key), c.at(earlier).line), "give each its own name")
		return
	}
	first[name] = i
}

// source checks what can be known without the camera: a camera that is not there is
// retried when the appliance runs, so a missing film is no error.
func (c *checker) source(key string, cam *Camera) {
	k := key + ".source"
	if c.need(k, cam.Source.text == "", "name a film or an rtsp:// URL") {
		return
	}
	switch cam.Source.Kind() {
	case SourceRTSP:
		if cam.Source.host() == "" {
			c.failAt(k, "this URL has no host, or has signs that must be escaped", "write rtsp://user:password@host/path, with %40 for an @ and %2F for a / in the password")
		}
		if cam.Pace == PaceFast {
			c.failAt(key+".pace", "fast is for films: a live camera has its own pace", "delete the line")
		}
		if cam.Loop {
			c.failAt(key+".loop", "only a film can be looped", "delete the line")
		}
	case SourceFile:
		c.film(k, cam)
	default:
		scheme, _, _ := strings.Cut(Mask(cam.Source.text), "://")
		c.failAt(k, fmt.Sprintf("sources of the kind %s:// are not in this version", scheme), "take a film's path or an rtsp:// URL")
	}
}

// film resolves the path and warns when nothing is there.
func (c *checker) film(key string, cam *Camera) {
	if strings.HasPrefix(cam.Source.text, "/dev/") {
		c.failAt(key, "camera devices are not in this version", "take a film's path or an rtsp:// URL")
		return
	}
	cam.Source.text = resolve(c.dir, cam.Source.text)
	info, err := os.Stat(cam.Source.text)
	switch {
	case err != nil:
		c.warnAt(key, fmt.Sprintf("%s: %v", c.hide.show(cam.Source.text), bare(err)), "put the film there; until then the camera is retried while the appliance runs")
	case info.IsDir():
		c.warnAt(key, fmt.Sprintf("%s is a folder", c.hide.show(cam.Source.text)), "name the film in it; until then the camera is retried while the appliance runs")
	}
}
