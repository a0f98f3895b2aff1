package trace

import (
	"cmp"
	"slices"
)

// standing is what events have changed for good, kept so that a new part can begin with it.
type standing struct {
	down    map[Place]bool
	changed bool
	all     []string
	cameras map[[2]string][]string // unit, camera → who, since it was last said for all
}

func newStanding(s *State) *standing {
	t := &standing{down: make(map[Place]bool), cameras: make(map[[2]string][]string)}
	for _, p := range s.Down {
		t.down[p] = true
	}
	t.changed, t.all = s.Changed, s.Expected
	for _, c := range s.OnCameras {
		t.cameras[[2]string{c.Unit, c.Camera}] = c.Expected
	}
	return t
}

// hear follows one event as the correlator does: whoever is heard of lives again.
func (t *standing) hear(e *Event) {
	switch e.Kind {
	case Message, Progress:
		if len(t.down) > 0 {
			delete(t.down, Place{Model: e.Model})
			delete(t.down, Place{e.Unit, e.Camera, e.Model})
		}
	case ModelDown:
		t.down[Place{e.Unit, e.Camera, e.Model}] = true
	case Expected:
		if e.Camera != "" {
			t.cameras[[2]string{e.Unit, e.Camera}] = e.Names
			return
		}
		t.changed, t.all = true, e.Names
		clear(t.cameras)
	}
}

// state returns it in a stable order.
func (t *standing) state() State {
	s := State{Changed: t.changed, Expected: t.all}
	for p := range t.down {
		s.Down = append(s.Down, p)
	}
	slices.SortFunc(s.Down, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.Camera, b.Camera), cmp.Compare(a.Model, b.Model))
	})
	for name, models := range t.cameras {
		s.OnCameras = append(s.OnCameras, Change{name[0], name[1], models})
	}
	slices.SortFunc(s.OnCameras, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.Camera, b.Camera))
	})
	return s
}
