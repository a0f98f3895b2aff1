// Package onnx runs a detector on ONNX Runtime: it loads and checks a model, turns a picture
// straight from a frame ring's I420 bytes into the network's input, runs it and decodes boxes
// in fractions of the full frame. It is the only package that needs cgo, and only
// cmd/skewgate-detect imports it: a crash inside the runtime ends a child, never the path.
//
// One process loads one model. A Detector is for one goroutine at a time.
//
// # What this version runs
//
// Models of layout yolov8 with float32 inputs and outputs, one picture at a time, on the CPU.
// Models whose inputs or outputs are float16 are refused with a word on how to export them; weights
// inside may be of any type ONNX Runtime knows. Pictures are I420 and taken for BT.601 limited range;
// a BT.709 source comes out with colours a few percent off.
//
// # Memory
//
// Tensors lie in mapped memory, not on the Go heap: see session. Prepare writes the network's input
// there straight from the frame ring's bytes, and nothing is allocated per picture.
package onnx
