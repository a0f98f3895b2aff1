package onnx

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	ort "github.com/yalue/onnxruntime_go"
)

// maxModelBytes is protobuf's own limit on one message.
const maxModelBytes = 1<<31 - 1

// model is an ONNX file read once: what was hashed is what runs.
type model struct {
	path   string
	data   []byte
	sha256 string // hex, lower case

	inputs, outputs []Port
	meta            map[string]string
}

// openModel reads the file, holds it against want if that is given, and asks ONNX Runtime what the
// model declares.
func openModel(path, want string) (*model, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open model: %w; check the manifest's model, which is relative to the manifest", err)
	}
	if !info.Mode().IsRegular() || info.Size() == 0 || info.Size() > maxModelBytes {
		return nil, fmt.Errorf("open model %q: it must be a file of 1…%d bytes", path, maxModelBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("open model: %w", err)
	}
	sum := sha256.Sum256(data)
	m := &model{path: path, data: data, sha256: hex.EncodeToString(sum[:])}
	if want != "" && !strings.EqualFold(want, m.sha256) {
		return nil, fmt.Errorf("open model %q: its SHA-256 is %s, the manifest wants %s; restore the file, or correct the manifest if the change is meant", path, m.sha256, want)
	}
	if err := m.describe(); err != nil {
		return nil, fmt.Errorf("open model %q: %w", path, explain(err))
	}
	return m, nil
}

// describe fills in ports and metadata through short-lived sessions: the wrapper offers no way to
// ask the session that will run, whose tensors must exist before it does.
func (m *model) describe() error {
	opts, err := newOptions(1, ort.GraphOptimizationLevelDisableAll)
	if err != nil {
		return err
	}
	defer opts.Destroy()
	inputs, outputs, err := ort.GetInputOutputInfoWithOptions(m.path, opts)
	if err != nil {
		return err
	}
	m.inputs, m.outputs = newPorts(inputs), newPorts(outputs)
	meta, err := ort.GetModelMetadataWithOptions(m.path, opts)
	if err != nil {
		return err
	}
	defer meta.Destroy()
	m.meta, err = readMetadata(meta)
	return err
}

// cures maps words of ONNX Runtime to what would help; it gives no error codes through the wrapper.
var cures = []struct{ words, cure string }{
	{"Protobuf parsing failed", "the file is no whole ONNX model; fetch or export it again"},
	{"is not a registered function/op", plugInCure},
	{"No Op registered", plugInCure},
	{"xternal data", "its weights lie in a second file, which is not in this version; export it as one file"},
	{"opset", "it was exported for a newer ONNX than this library knows; export with a lower opset or take a newer ONNX Runtime"},
}

const plugInCure = "it uses operators this ONNX Runtime does not have; export it without plug-ins such as TensorRT's NMS"

// explain adds the cure to an error of ONNX Runtime's where its words tell it.
func explain(err error) error {
	for _, c := range cures {
		if strings.Contains(err.Error(), c.words) {
			return fmt.Errorf("%w; %s", err, c.cure)
		}
	}
	return err
}
