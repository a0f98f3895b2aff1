package onnx

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// graph describes a tiny ONNX model that a test writes itself, so that every wrong shape, type and
// metadata there is in the wild can be loaded by the real runtime. Its outputs are constants.
type graph struct {
	inputs, outputs []graphPort
	meta            map[string]string
	op              string // of the nodes; "" is Identity
	domain          string // of that operator; "" is ONNX's own
	opset           int    // 0 is 13
	external        bool   // the constants lie in a second file
}

type graphPort struct {
	name  string
	elem  int     // TensorProto.DataType: 1 float32, 2 uint8, 7 int64, 10 float16
	dims  []int64 // as declared, -1 open
	real  []int64 // of the constant, if it differs
	value []float32
}

// yolo is a valid detector of classes names whose answer is always out, (4+nc)·n floats.
func yolo(out []float32, n int, names string) graph {
	rows := int64(len(out) / n)
	return graph{
		inputs:  []graphPort{{name: "images", elem: 1, dims: []int64{1, 3, 64, 64}}},
		outputs: []graphPort{{name: "output0", elem: 1, dims: []int64{1, rows, int64(n)}, value: out}},
		meta:    map[string]string{"names": names, "task": "detect", "imgsz": "[64, 64]", "stride": "32", "batch": "1"},
	}
}

// write puts the model into a file of its own and returns the path.
func (g graph) write(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := os.WriteFile(path, g.bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// bytes encodes a ModelProto (onnx/onnx.proto; the numbers are its field numbers).
func (g graph) bytes() []byte {
	op, opset := g.op, g.opset
	if op == "" {
		op = "Identity"
	}
	if opset == 0 {
		opset = 13
	}
	var body []byte
	for _, p := range g.outputs {
		node := field(nil, 1, []byte("c_"+p.name))
		node = field(node, 2, []byte(p.name))
		node = field(node, 4, []byte(op))
		node = field(node, 7, []byte(g.domain))
		body = field(body, 1, node)
	}
	body = field(body, 2, []byte("test"))
	for _, p := range g.outputs {
		body = field(body, 5, p.tensor(g.external))
	}
	for _, p := range g.inputs {
		body = field(body, 11, p.info())
	}
	for _, p := range g.outputs {
		body = field(body, 12, p.info())
	}
	model := varint(nil, 1, 8) // IR version
	model = field(model, 7, body)
	model = field(model, 8, varint(nil, 2, uint64(opset)))
	if g.domain != "" {
		model = field(model, 8, varint(field(nil, 1, []byte(g.domain)), 2, 1))
	}
	for k, v := range g.meta {
		model = field(model, 14, field(field(nil, 1, []byte(k)), 2, []byte(v)))
	}
	return model
}

// info is a ValueInfoProto.
func (p graphPort) info() []byte {
	var shape []byte
	for _, d := range p.dims {
		if d < 0 {
			shape = field(shape, 1, field(nil, 2, []byte("open")))
		} else {
			shape = field(shape, 1, varint(nil, 1, uint64(d)))
		}
	}
	tensor := field(varint(nil, 1, uint64(p.elem)), 2, shape)
	return field(field(nil, 1, []byte(p.name)), 2, field(nil, 1, tensor))
}

// tensor is the TensorProto of the constant behind an output, zeros where no value is given.
func (p graphPort) tensor(external bool) []byte {
	dims, n := p.real, 1
	if dims == nil {
		dims = p.dims
	}
	var t []byte
	for _, d := range dims {
		t = varint(t, 1, uint64(d))
		n *= int(d)
	}
	t = varint(t, 2, uint64(p.elem))
	t = field(t, 8, []byte("c_"+p.name))
	if external {
		t = field(t, 13, field(field(nil, 1, []byte("location")), 2, []byte("weights.bin")))
		return varint(t, 14, 1)
	}
	size := map[int]int{1: 4, 2: 1, 7: 8, 10: 2}[p.elem]
	raw := make([]byte, n*size)
	for i, v := range p.value {
		binary.LittleEndian.PutUint32(raw[4*i:], math.Float32bits(v))
	}
	return field(t, 9, raw)
}

func varint(b []byte, number int, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(number)<<3), v)
}

func field(b []byte, number int, value []byte) []byte {
	b = binary.AppendUvarint(b, uint64(number)<<3|2)
	return append(binary.AppendUvarint(b, uint64(len(value))), value...)
}
