package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// R000-21: a name that nobody expects beside an expected one that never came is hinted at.
func TestReplayHintsAtNames(t *testing.T) {
	in := `{"config":{"quantum_ms":25,"timeout_ms":300,"max_pending":100,"expected":["people","cars"]}}` + "\n"
	for i := range 12 {
		in += fmt.Sprintf(`{"now_ms":%d,"msg":{"unit":"u","camera":"c","model":"m%d","timestamp":0}}`+"\n", i, i)
	}
	in += `{"now_ms":20,"msg":{"unit":"u","camera":"c","model":"people","timestamp":0}}` + "\n"
	var out, complaints bytes.Buffer
	if err := newReplay(&out).print(strings.NewReader(in), &complaints); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(complaints.String()), "\n")
	if len(lines) != maxNameHints+1 || !strings.Contains(lines[0], `1 messages of model "m0"`) || !strings.Contains(lines[0], `"cars"`) || strings.Contains(lines[0], `"people"`) {
		t.Errorf("%s", complaints.String())
	}
	if strings.Contains(out.String(), "never seen") {
		t.Error("hints are in the output, whose form is a contract")
	}
}
