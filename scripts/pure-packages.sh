#!/usr/bin/env bash
# Prints the packages that must build without a C compiler and for another processor: all but
# ONNX Runtime's wrapper and the one program around it (a test holds cgo to those two).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
CGO_ENABLED=1 go list ./... | grep -v -e '/appliance/onnx$' -e '/appliance/onnx/' -e '/cmd/skewgate-detect$'
