package config

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

const maxClasses = 10_000

// models loads each manifest once, however many models name it: its problems are told
// once.
func (c *checker) models() {
	models := c.cfg.Models
	if c.need("models", len(models) == 0, "name at least one: - {name: general, manifest: general.yaml, cameras: [gate]}") {
		return
	}
	if len(models) > maxModels {
		c.failAt(fmt.Sprintf("models[%d]", maxModels), fmt.Sprintf("%d models", len(models)), fmt.Sprintf("at most %d a box", maxModels))
	}
	first, loaded := map[string]int{}, map[string]*Manifest{}
	for i := range models {
		key := fmt.Sprintf("models[%d]", i)
		m := &models[i]
		c.name(key+".name", m.Name)
		c.unique(key+".name", "model", m.Name, i, first)
		c.within(key+".weight", m.Weight, 0.001, 1000)
		c.servedCameras(key+".cameras", m)
		c.offsets(key+".offset", m)
		c.classes(key, m)
		c.ownKeys(key, m)
		if m.Foreign() {
			c.attach(key, m)
			continue
		}
		c.replicas(key+".replicas", &m.Replicas)
		c.modelManifest(key+".manifest", m, loaded)
	}
	if c.clean() {
		c.idleCameras()
	}
}

// replicas: one process a model is what this version runs.
func (c *checker) replicas(key string, r *Replicas) {
	for _, n := range []struct {
		key   string
		value int
	}{{".min", r.Min}, {".max", r.Max}, {".max_ongoing", r.MaxOngoing}} {
		switch k := key + n.key; {
		case n.value == 1 || c.failed(k):
		case n.value > 1:
			c.failAt(k, "more than one replica or frame at a time is not in this version", "write 1, or delete the line")
		default:
			c.failAt(k, fmt.Sprintf("%s is out of bounds", c.shownAt(k)), "write 1, or delete the line")
		}
	}
}

// servedCameras checks the list that makes a model expected on its cameras.
func (c *checker) servedCameras(key string, m *Model) {
	if c.need(key, len(m.Cameras) == 0, "list the cameras this model looks at: cameras: [gate]") {
		return
	}
	var names []string
	for i := range c.cfg.Cameras {
		names = append(names, c.cfg.Cameras[i].Name)
	}
	for i, name := range m.Cameras {
		k := fmt.Sprintf("%s[%d]", key, i)
		switch {
		case c.failed(k):
		case !slices.Contains(names, name):
			cure := "cameras are " + strings.Join(names, ", ")
			if len(names) == 0 {
				cure = "add the camera to cameras"
			}
			c.failAt(k, fmt.Sprintf("there is no camera %s", c.shownAt(k)), orNearest(name, names, cure))
		case slices.Index(m.Cameras, name) < i:
			c.failAt(k, fmt.Sprintf("the camera %s is listed twice", c.shownAt(k)), "keep one")
		}
	}
}

// classes checks the map's form. Whether its keys are classes of the network is known
// only when the network is loaded.
func (c *checker) classes(key string, m *Model) {
	k := key + ".classes"
	if len(m.Classes) > maxClasses {
		c.failAt(k, fmt.Sprintf("%d classes", len(m.Classes)), fmt.Sprintf("at most %d", maxClasses))
		return
	}
	if m.Unmapped == UnmappedDrop && len(m.Classes) == 0 {
		c.warnAt(key+".unmapped", "drop without classes drops every box of this model", "map its classes, or take pass")
	}
	from := make([]string, 0, len(m.Classes))
	for name := range m.Classes {
		from = append(from, name)
	}
	sort.Strings(from) // problems in the same order each time
	for _, name := range from {
		at := k + "." + name
		if strings.TrimSpace(name) == "" {
			c.failAt(at, "a class without a name", "write the model's own name of the class")
		}
		c.label(at, m.Classes[name])
	}
}

// modelManifest loads the manifest a model names, once a file.
func (c *checker) modelManifest(key string, m *Model, loaded map[string]*Manifest) {
	if c.need(key, m.Manifest == "", "name the model's manifest; docs/manifest.example.yaml is one to start from") || c.failed(key) {
		return
	}
	m.Manifest = resolve(c.dir, m.Manifest)
	network, known := loaded[m.Manifest]
	if !known {
		network = c.readManifest(key, m.Manifest)
		loaded[m.Manifest] = network
	}
	if network != nil {
		m.Network = *network
	}
}

// readManifest tells what is wrong with the path at the key that names it, and what is
// wrong in the file at its place in the file.
func (c *checker) readManifest(key, path string) *Manifest {
	if strings.HasSuffix(path, ".onnx") {
		c.failAt(key, "this is the network itself, not its manifest", "write a manifest beside it, with model: and layout:, and name that")
		return nil
	}
	if _, err := readBounded(path, maxFileBytes); err != nil {
		c.failAt(key, fmt.Sprintf("read manifest %s: %v", c.hide.show(path), err), "correct the path (it counts from the config's folder) or put the file there")
		return nil
	}
	return loadManifest(path, c.opts, c.out, c.hide)
}

// idleCameras warns of a camera that nobody looks at.
func (c *checker) idleCameras() {
	for i := range c.cfg.Cameras {
		cam := &c.cfg.Cameras[i]
		if cam.Name != "" && len(c.cfg.LookingAt(cam.Name)) == 0 {
			c.warnAt(fmt.Sprintf("cameras[%d].name", i), fmt.Sprintf("no model looks at the camera %q", cam.Name), "list it under a model's cameras, or delete it")
		}
	}
}
