package onnx

// Inspection is what can be said of a model file without running it.
type Inspection struct {
	Model    string            `json:"model"`
	SHA256   string            `json:"sha256"`
	Inputs   []Port            `json:"inputs"`
	Outputs  []Port            `json:"outputs"`
	Metadata map[string]string `json:"metadata"` // the keys this program knows
	Names    []string          `json:"names"`    // class names out of the metadata, null when they cannot be read
	// LooksLike is the layout the shapes suggest, "" for none known. Shapes are ambiguous: it is a
	// proposal, and loading the model is the proof.
	LooksLike string `json:"looks_like"`
	// Problem says why this version cannot run the model, "" when it can.
	Problem string `json:"problem"`
	// Proposal is a manifest that loads the model, nil when there is a problem.
	Proposal *Manifest `json:"proposal"`
}

// Defaults of a proposed manifest, those of ultralytics' predictor but for the stricter overlap.
const (
	proposedThreshold = 0.25
	proposedNMSIoU    = 0.5
	proposedMaxBoxes  = 300
)

// Inspect reads the model at path; override replaces its class names, nil for none. OpenLibrary
// comes before. An error means that the file is no readable model.
func Inspect(path string, override []string) (*Inspection, error) {
	m, err := openModel(path, "")
	if err != nil {
		return nil, err
	}
	in := &Inspection{Model: path, SHA256: m.sha256, Inputs: m.inputs, Outputs: m.outputs, Metadata: m.meta}
	if names, err := parseNames(m.meta["names"]); err == nil {
		in.Names = names
	}
	nc := len(in.Names)
	if len(override) > 0 {
		nc = len(override)
	}
	in.LooksLike = guessLayout(m.inputs, m.outputs, nc)
	if _, err := checkShape(m.inputs, m.outputs, m.meta, override); err != nil {
		in.Problem = err.Error()
		return in, nil
	}
	in.Proposal = &Manifest{
		Model: path, SHA256: m.sha256, Layout: LayoutYOLOv8, Names: override,
		Threshold: proposedThreshold, NMSIoU: proposedNMSIoU, MaxBoxes: proposedMaxBoxes,
	}
	return in, nil
}
