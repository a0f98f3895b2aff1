package onnx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	ort "github.com/yalue/onnxruntime_go"
)

// libraryCure ends every error about the library.
const libraryCure = "fetch it with scripts/fetch-onnxruntime.sh, or point runtime.library or SKEWGATE_ONNXRUNTIME at a libonnxruntime.so of version 1.24 or later"

// OpenLibrary loads ONNX Runtime from path, once a process, and returns its version. The calls this
// program uses are those of API 24, so 1.24 and all later ones work.
func OpenLibrary(path string) (version string, err error) {
	if ort.IsInitialized() {
		return "", errors.New("open ONNX Runtime: it is already open; one process loads one library")
	}
	// A name without a slash would send the dynamic linker through its search path.
	path, err = filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("open ONNX Runtime %q: %w", path, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("open ONNX Runtime: %w; %s", err, libraryCure)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("open ONNX Runtime %q: it is not a file; %s", path, libraryCure)
	}
	ort.SetSharedLibraryPath(path)
	if err := ort.InitializeEnvironment(); err != nil {
		// The wrapper says 2 when the library does not know API 24 (SetAPIFromBase in
		// onnxruntime_wrapper.c); the runtime itself has told its version on stderr.
		if strings.Contains(err.Error(), "ORT API base: 2") {
			return "", fmt.Errorf("open ONNX Runtime %q: it is older than 1.24 and lacks API 24; %s", path, libraryCure)
		}
		return "", fmt.Errorf("open ONNX Runtime %q: %w; is it whole and built for this machine? %s", path, err, libraryCure)
	}
	return ort.GetVersion(), nil
}
