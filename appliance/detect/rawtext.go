package detect

import (
	"crypto/sha256"
	"encoding/hex"
)

// An unreadable timestamp is its own key. At most RawTextMax bytes of it are kept; of a longer
// one the first rawHead bytes and half of the SHA-256 of the whole, so that texts which
// begin alike do not collide.
const (
	RawTextMax = 40
	rawHead    = 24
	rawHash    = 8 // bytes, 16 hex digits
)

// rawCut stands between head and hash ("…" in UTF-8).
const rawCut = "\u2026"

// ShortRawMax is the longest result of AppendRaw in bytes.
const ShortRawMax = rawHead + len(rawCut) + 2*rawHash

// AppendRaw appends the text under which an unreadable timestamp is kept: text itself up to
// RawTextMax bytes, else its head, "…" and the hash. The cut may fall inside a character.
func AppendRaw(dst, text []byte) []byte {
	if len(text) <= RawTextMax {
		return append(dst, text...)
	}
	sum := sha256.Sum256(text)
	dst = append(dst, text[:rawHead]...)
	dst = append(dst, rawCut...)
	return hex.AppendEncode(dst, sum[:rawHash])
}
