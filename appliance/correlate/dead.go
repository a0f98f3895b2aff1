package correlate

import "github.com/skewgate/skewgate/appliance/clock"

// Dead calls f for every model that is known dead: with the unit and camera where it is, or with
// two empty names if it is dead everywhere. It is for whoever has to begin in the middle.
func (c *Correlator) Dead(f func(unit, camera, model string)) {
	each := func(set uint64, unit, camera string) {
		for _, m := range c.bitModels {
			if set&m.bit != 0 {
				f(unit, camera, m.name)
			}
		}
	}
	each(c.down, "", "")
	for _, cam := range c.cameras[1:] {
		each(cam.down, cam.unit, cam.name)
	}
}

// downSince returns since when a model that is known dead on a camera is so: a death everywhere
// outweighs one on that camera, as where a model hangs on one and is killed then.
func (c *Correlator) downSince(cam *camera, mod *model) clock.Mono {
	if c.down&mod.bit != 0 {
		return mod.downAt
	}
	return cam.downAt[mod.id]
}
