package shm

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// CheckName says whether s can be a model, unit or camera name; what it is, for the error.
func CheckName(what, s string) error { return checkName(what, s) }

// checkName says whether s can be a model, unit or camera name: 1…63 bytes of UTF-8
// without control characters.
func checkName(what, s string) error {
	if s == "" {
		return fmt.Errorf("%s name is empty", what)
	}
	if len(s) > MaxName {
		return fmt.Errorf("%s name %q has %d bytes, at most %d fit: %w", what, s, len(s), MaxName, ErrTooLarge)
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("%s name %q is not UTF-8", what, s)
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return fmt.Errorf("%s name %q holds a control character", what, s)
		}
	}
	return nil
}

func putName(b []byte, off int, s string) {
	field := b[off : off+nameBytes]
	clear(field[copy(field, s):])
}

// readName copies a name out of memory that a peer may have written, then checks it.
func readName(b []byte, off int, what string) (string, error) {
	var field [nameBytes]byte
	copy(field[:], b[off:off+nameBytes])
	end := bytes.IndexByte(field[:], 0)
	if end < 0 {
		return "", quarantine(ReasonName, "%s name does not end within %d bytes", what, nameBytes)
	}
	s := string(field[:end])
	if err := checkName(what, s); err != nil {
		return "", quarantine(ReasonName, "%v", err)
	}
	return s, nil
}

// FNV-1a, 64 bits: small enough to be written anew in any language.
const (
	fnvOffset = 0xcbf29ce484222325
	fnvPrime  = 0x100000001b3
)

func fnv(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return h
}

// streamHash identifies (unit, camera): FNV-1a 64 of unit, a zero byte, camera, a zero byte.
func streamHash(unit, camera string) uint64 {
	return fnv(fnv(fnv(fnv(fnvOffset, unit), "\x00"), camera), "\x00")
}

// EpochHash goes on from a stream's hash over the four little-endian bytes of a
// stream_epoch. It is the key under which the probe files a picture's stream.
func EpochHash(hash uint64, streamEpoch uint32) uint64 {
	var b [4]byte
	le.PutUint32(b[:], streamEpoch)
	for _, c := range b {
		hash = (hash ^ uint64(c)) * fnvPrime
	}
	return hash
}

func modelHash(model string) uint32 { return uint32(fnv(fnvOffset, model)) }
