package shm

import (
	"errors"
	"strings"
	"testing"
)

func TestRaw(t *testing.T) {
	body, err := AppendRaw(nil, "2026-11-30T20:00:00Z", []byte("boxes"))
	if err != nil {
		t.Fatal(err)
	}
	text, rest, err := SplitRaw(body)
	if err != nil || string(text) != "2026-11-30T20:00:00Z" || string(rest) != "boxes" {
		t.Fatalf("got %q, %q, %v", text, rest, err)
	}
	if _, err := AppendRaw(nil, strings.Repeat("x", MaxRaw+1), nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("want ErrTooLarge, got %v", err)
	}
	for _, s := range []string{"", "\x01", "\x01\x00", "\xff\xff..."} {
		if _, _, err := SplitRaw([]byte(s)); !errors.Is(err, ErrRaw) {
			t.Errorf("%q: want ErrRaw, got %v", s, err)
		}
	}
}
