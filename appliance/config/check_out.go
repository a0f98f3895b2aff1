package config

import (
	"fmt"
	"os"
)

// fusion checks bounds, then whether min_models can be reached on each camera.
func (c *checker) fusion() {
	f := &c.cfg.Fusion
	c.within("fusion.skip", f.Skip, 0, 1)
	c.within("fusion.min_score", f.MinScore, 0, 1)
	if !(f.IoU >= 0 && f.IoU < 1) && !c.failed("fusion.iou") {
		c.failAt("fusion.iou", fmt.Sprintf("%s is out of bounds: boxes join at an IoU above it", c.shownAt("fusion.iou")), "take 0 up to, not including, 1")
	}
	const key = "fusion.min_models"
	c.withinInt(key, f.MinModels, 1, max(len(c.cfg.Models), 1))
	if !c.clean() {
		return
	}
	for i := range c.cfg.Cameras {
		name := c.cfg.Cameras[i].Name
		if n := len(c.cfg.LookingAt(name)); n > 0 && n < f.MinModels {
			c.warnAt(key, fmt.Sprintf("camera %q has %d model(s) and so never yields a box", name, n), fmt.Sprintf("lower min_models to %d, or let more models look at the camera", n))
		}
	}
}

// Bounds of a file's size. The smallest holds the longest line.
const (
	minFileSize = 1_000_000
	maxFileSize = 1 << 40
)

// sinks checks each entry and that no two write to one file: their lines would be cut off
// by each other's rotation.
func (c *checker) sinks() {
	sinks := c.cfg.Sinks
	if len(sinks) == 0 && !c.failed("sinks") {
		c.warnAt("sinks", "no sink: fused frames are counted and go nowhere", "add one: - jsonl: {path: out/fused.jsonl}")
	}
	if len(sinks) > maxSinks {
		c.failAt(fmt.Sprintf("sinks[%d]", maxSinks), fmt.Sprintf("%d sinks", len(sinks)), fmt.Sprintf("at most %d", maxSinks))
	}
	taken, ring := c.readFiles(), ""
	for i := range sinks {
		key := fmt.Sprintf("sinks[%d]", i)
		switch s := &sinks[i]; {
		case s.JSONL != nil && s.SHM != nil:
			c.failAt(key, "two kinds in one sink", "begin a new entry with - for each")
		case s.JSONL != nil:
			c.jsonl(key+".jsonl", s.JSONL, taken)
		case s.SHM != nil && ring != "":
			c.failAt(key+".shm", fmt.Sprintf("there is an output ring already, at line %d", c.at(ring).line), "keep one: any number of readers attach to it")
		case s.SHM != nil:
			ring = key + ".shm"
			c.outputRing(ring, s.SHM)
		case !c.hasProblemBelow(key):
			c.failAt(key, "a sink without a kind", "write - jsonl: {path: out/fused.jsonl}")
		}
	}
}

// Bounds of the output ring's slots: names are told anew within 64 messages, and a reader
// must be able to look back that far.
const (
	minOutputSlots = 128
	maxOutputSlots = 1 << 16
)

func (c *checker) outputRing(key string, s *SHM) {
	k := key + ".slots"
	if n := s.Slots; (n < minOutputSlots || n > maxOutputSlots || n&(n-1) != 0) && !c.failed(k) {
		c.failAt(k, fmt.Sprintf("%s is no power of two from %d to %d", c.shownAt(k), minOutputSlots, maxOutputSlots), "take 1024: half a minute at 30 frames a second")
	}
	c.uids(key+".allow.uid", s.Allow.UID)
}

// readFiles maps every file the appliance reads to what it is: a sink must not write
// over it.
func (c *checker) readFiles() map[string]string {
	taken := map[string]string{c.cfg.File: "this config"}
	for i := range c.cfg.Cameras {
		if cam := &c.cfg.Cameras[i]; cam.Source.Kind() == SourceFile {
			taken[cam.Source.text] = fmt.Sprintf("the film of camera %q", cam.Name)
		}
	}
	for i := range c.cfg.Models {
		m := &c.cfg.Models[i]
		if m.Foreign() {
			continue
		}
		taken[m.Manifest] = fmt.Sprintf("the manifest of model %q", m.Name)
		taken[m.Network.Model] = fmt.Sprintf("the network of model %q", m.Name)
	}
	return taken
}

// jsonl checks a sink without touching its path: the sink makes folder and file itself,
// and one that cannot be written now may be writable when it runs.
func (c *checker) jsonl(key string, j *JSONL, taken map[string]string) {
	k := key + ".path"
	if c.need(k, j.Path == "", "name the file, or - for standard output") {
		return
	}
	c.withinInt(key+".keep", j.Keep, 0, 1000)
	if j.MaxSize < minFileSize || j.MaxSize > maxFileSize {
		if k := key + ".max_size"; !c.failed(k) {
			c.failAt(k, fmt.Sprintf("%s is out of bounds", c.shownAt(k)), fmt.Sprintf("take %s to %s", Bytes(minFileSize), Bytes(maxFileSize)))
		}
	}
	if j.Path != "-" {
		j.Path = resolve(c.dir, j.Path)
		if info, err := os.Stat(j.Path); err == nil && info.IsDir() {
			c.failAt(k, c.hide.show(j.Path)+" is a folder", "name the file in it")
		}
	}
	if what := taken[j.Path]; what != "" {
		c.failAt(k, fmt.Sprintf("%s is %s", c.shownAt(k), what), "write to a file of its own")
		return
	}
	taken[j.Path] = "already the path of another sink"
}

// hasProblemBelow says whether something was told about a key of this entry.
func (c *checker) hasProblemBelow(key string) bool {
	for _, p := range c.out.list {
		if p.File == c.file && len(p.Key) > len(key) && p.Key[:len(key)] == key {
			return true
		}
	}
	return false
}
