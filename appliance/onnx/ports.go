package onnx

import (
	"fmt"
	"strings"

	ort "github.com/yalue/onnxruntime_go"
)

// Port is one input or output as the model declares it. A dimension of -1 is left to the caller.
type Port struct {
	Name string  `json:"name"`
	Type string  `json:"type"` // as ONNX writes element types: float32, float16, int64 …
	Dims []int64 `json:"dims"`
}

// String is the port as people write it: images float32 (1,3,640,640).
func (p Port) String() string {
	dims := make([]string, len(p.Dims))
	for i, d := range p.Dims {
		dims[i] = fmt.Sprint(d)
		if d < 0 {
			dims[i] = "?"
		}
	}
	return fmt.Sprintf("%q %s (%s)", p.Name, p.Type, strings.Join(dims, ","))
}

// elementNames of ONNX's element types; anything rarer is told by its number.
var elementNames = map[ort.TensorElementDataType]string{
	ort.TensorElementDataTypeFloat:    "float32",
	ort.TensorElementDataTypeFloat16:  "float16",
	ort.TensorElementDataTypeBFloat16: "bfloat16",
	ort.TensorElementDataTypeDouble:   "float64",
	ort.TensorElementDataTypeUint8:    "uint8",
	ort.TensorElementDataTypeInt8:     "int8",
	ort.TensorElementDataTypeInt32:    "int32",
	ort.TensorElementDataTypeInt64:    "int64",
}

func newPorts(infos []ort.InputOutputInfo) []Port {
	ports := make([]Port, len(infos))
	for i := range infos {
		ports[i] = newPort(&infos[i])
	}
	return ports
}

func newPort(i *ort.InputOutputInfo) Port {
	p := Port{Name: i.Name, Dims: []int64(i.Dimensions), Type: elementNames[i.DataType]}
	if i.OrtValueType != ort.ONNXTypeTensor {
		p.Type = "not a tensor"
	} else if p.Type == "" {
		p.Type = fmt.Sprintf("element type %d", i.DataType)
	}
	return p
}
