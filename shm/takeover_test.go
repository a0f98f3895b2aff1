package shm

import (
	"errors"
	"testing"
)

// Whatever would stop NewWriter is found out before a successor tries.
func TestCheckTakeover(t *testing.T) {
	cfg := RingConfig{Slots: 8, PayloadBytes: 64, Model: "m"}
	for name, row := range map[string]struct {
		wreck func(b []byte)
		want  Reason // "" = fine
	}{
		"as it should be":     {func([]byte) {}, ""},
		"half a message":      {func(b []byte) { word64(b, ringSlotsAt+128).Store(99) }, ""},
		"magic":               {func(b []byte) { b[0]++ }, ReasonMagic},
		"slots":               {func(b []byte) { le.PutUint32(b[offSlots:], 16) }, ReasonIdentity},
		"model":               {func(b []byte) { b[offModel] = 'n' }, ReasonIdentity},
		"head":                {func(b []byte) { word64(b, hotAt).Store(1 << 63) }, ReasonHead},
		"head backwards":      {func(b []byte) { word64(b, hotAt).Store(0) }, ReasonHeadBackwards},
		"stream count":        {func(b []byte) { word32(b, offStreamCount).Store(65) }, ReasonStreamTable},
		"name of a stream":    {func(b []byte) { b[tableAt] = 0 }, ReasonName},
		"hash of a stream":    {func(b []byte) { b[tableAt+entryHash]++ }, ReasonStreamTable},
		"a stream not filled": {func(b []byte) { word32(b, offStreamCount).Store(2) }, ReasonName},
	} {
		t.Run(name, func(t *testing.T) {
			b := make([]byte, cfg.Bytes())
			if err := FormatRing(b, cfg); err != nil {
				t.Fatal(err)
			}
			w, err := NewWriter(b, 1, nil)
			if err != nil {
				t.Fatal(err)
			}
			s, err := w.RegisterStream("u", "c", 1)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Publish(&SlotHeader{Stream: s, Kind: KindBoxes}, nil); err != nil {
				t.Fatal(err)
			}
			r, err := NewReader(b)
			if err != nil {
				t.Fatal(err)
			}
			row.wreck(b)
			err = r.CheckTakeover()
			var q *QuarantineError
			switch {
			case row.want == "" && err != nil:
				t.Errorf("want it fine, got %v", err)
			case row.want != "" && (!errors.As(err, &q) || q.Reason != row.want || r.Err() != err):
				t.Errorf("want %s, got %v", row.want, err)
			}
			if _, errW := NewWriter(b, 2, nil); errW != nil && err == nil {
				t.Errorf("called fine, yet a writer fails: %v", errW)
			}
		})
	}
}
