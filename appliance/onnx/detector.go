package onnx

import (
	"errors"
	"fmt"

	"github.com/skewgate/skewgate/appliance/detect"
)

// provider is where this version runs models.
const provider = "CPUExecutionProvider"

// maxPlans bounds the picture sizes remembered; a box has a camera or two of each.
const maxPlans = 64

// Info is what a detector says of itself once it is loaded.
type Info struct {
	Names         []string // by class number
	Width, Height int      // of the network's input, pixels
	Candidates    int      // boxes it proposes before threshold and suppression
	Layout        string
	Provider      string
	SHA256        string // of the model file, hex
}

// Detector is a loaded model. Use it from one goroutine at a time, in the order Prepare, Run, Boxes.
type Detector struct {
	info    Info
	session *session
	decoder *decoder
	plans   map[[2]int]*plan // by picture size
	current *plan            // of the picture in the input tensor, nil for none
	filled  *plan            // whose grey border the input tensor has
}

// Load opens the manifest's model on threads intra-op threads; OpenLibrary comes before. The error
// names the file and what would make it work. Close gives the memory back.
func Load(m *Manifest, threads int) (*Detector, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	file, err := openModel(m.Model, m.SHA256)
	if err != nil {
		return nil, err
	}
	s, err := checkShape(file.inputs, file.outputs, file.meta, m.Names)
	if err != nil {
		return nil, fmt.Errorf("load model %q: %w", m.Model, err)
	}
	ss, err := newSession(file, s, threads)
	if err != nil {
		return nil, fmt.Errorf("load model %q: %w", m.Model, err)
	}
	return &Detector{
		info: Info{
			Names: s.names, Width: s.width, Height: s.height, Candidates: s.candidates,
			Layout: m.Layout, Provider: provider, SHA256: file.sha256,
		},
		session: ss,
		decoder: newDecoder(s.classes, s.candidates, m),
		plans:   map[[2]int]*plan{},
	}, nil
}

// Info is what was loaded.
func (d *Detector) Info() Info { return d.info }

// Prepare turns the picture into the network's input, straight into the tensor's memory. A picture
// that cannot be what it claims is an error that wraps ErrPicture and leaves nothing prepared.
func (d *Detector) Prepare(p Picture) error {
	d.current = nil
	if d.session.in == nil {
		return errors.New("prepare picture: the detector is closed")
	}
	y, u, v, err := p.planes()
	if err != nil {
		return err
	}
	pl, err := d.plan(p.Width, p.Height)
	if err != nil {
		return err
	}
	if d.filled != pl {
		fillPad(d.session.in)
		d.filled = pl
	}
	pl.fill(d.session.in, y, u, v)
	d.current = pl
	return nil
}

func (d *Detector) plan(width, height int) (*plan, error) {
	key := [2]int{width, height}
	if pl := d.plans[key]; pl != nil {
		return pl, nil
	}
	pl, err := newPlan(width, height, d.info.Width, d.info.Height)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPicture, err)
	}
	if len(d.plans) == maxPlans {
		clear(d.plans) // only a source that changes its size all the time gets here
	}
	d.plans[key] = pl
	return pl, nil
}

// Run runs the model on what Prepare left in the tensor.
func (d *Detector) Run() error {
	if d.current == nil {
		return errors.New("run model: no picture is prepared")
	}
	return d.session.infer()
}

// Boxes appends what the last Run found to dst, best score first, at most the manifest's MaxBoxes,
// in fractions of the picture that was prepared.
func (d *Detector) Boxes(dst []detect.Box) ([]detect.Box, error) {
	if d.current == nil {
		return dst, errors.New("decode boxes: no picture is prepared")
	}
	return d.decoder.decode(dst, d.session.out, &d.current.box)
}

// WarmUp runs the whole way runs times on a made-up picture of the input's real shape, and checks
// that every candidate is possible under the layout. The first run of a model costs several times
// a later one, and a wrong layout shows here and not on the first frame.
func (d *Detector) WarmUp(runs int) error {
	p := warmPicture(d.info.Width, d.info.Height)
	for range runs {
		if err := d.Prepare(p); err != nil {
			return fmt.Errorf("warm up: %w", err)
		}
		if err := d.Run(); err != nil {
			return fmt.Errorf("warm up: %w", err)
		}
		if err := d.decoder.plausible(d.session.out); err != nil {
			return fmt.Errorf("warm up: %w", err)
		}
		if _, err := d.Boxes(nil); err != nil {
			return fmt.Errorf("warm up: %w", err)
		}
	}
	return nil
}

// warmPicture is a picture with edges and noise, the same in every process.
func warmPicture(width, height int) Picture {
	luma := width * height
	px := make([]byte, luma+2*((width+1)/2)*((height+1)/2))
	noise := uint32(1)
	for i := range px {
		noise ^= noise << 13
		noise ^= noise >> 17
		noise ^= noise << 5
		px[i] = byte(96 + i/37%64 + int(noise%32))
	}
	return Picture{Pixels: px, Width: width, Height: height}
}

// Close gives the model's memory back; the detector is of no use after it.
func (d *Detector) Close() error {
	d.current, d.filled = nil, nil
	return d.session.close()
}
