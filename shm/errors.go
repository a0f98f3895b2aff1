package shm

import (
	"errors"
	"fmt"
)

var (
	// ErrQuarantine is matched by every *QuarantineError: the other side's memory makes
	// no sense. Drop that ring, tell why, attach anew; no other ring is touched.
	ErrQuarantine = errors.New("ring quarantined")
	// ErrTooLarge is returned when a body, a picture or a name exceeds its slot.
	ErrTooLarge = errors.New("larger than its slot")
	// ErrStream is returned for a stream that was never registered, or one too many.
	ErrStream = errors.New("stream unknown")
	// ErrOrder is returned when Begin, Publish and Abort do not pair up.
	ErrOrder = errors.New("begin, publish and abort out of order")
	// ErrNotSealed is returned for a file whose size could change under a mapping.
	ErrNotSealed = errors.New("segment not sealed")
)

// Reason names what was wrong with a segment. The names are stable: they are shown
// in status and counted in metrics.
type Reason string

// Reasons, in the order in which they are checked.
const (
	ReasonMagic         Reason = "magic"
	ReasonVersion       Reason = "abi_version"
	ReasonKind          Reason = "segment_kind"
	ReasonSize          Reason = "size"
	ReasonLayout        Reason = "layout"
	ReasonName          Reason = "name"
	ReasonHead          Reason = "head_out_of_range"
	ReasonHeadBackwards Reason = "head_backwards"
	ReasonSequence      Reason = "slot_sequence"
	ReasonLength        Reason = "length"
	ReasonMessageKind   Reason = "message_kind"
	ReasonStream        Reason = "stream"
	ReasonStreamTable   Reason = "stream_table"
	ReasonPicture       Reason = "picture"
	ReasonIdentity      Reason = "identity_changed"
)

// QuarantineError says why a segment cannot be used. It matches ErrQuarantine.
type QuarantineError struct {
	Reason Reason
	Detail string
}

func (e *QuarantineError) Error() string {
	return fmt.Sprintf("ring quarantined: %s: %s", e.Reason, e.Detail)
}

// Is makes errors.Is(err, ErrQuarantine) true.
func (e *QuarantineError) Is(target error) bool { return target == ErrQuarantine }

func quarantine(r Reason, format string, args ...any) *QuarantineError {
	return &QuarantineError{Reason: r, Detail: fmt.Sprintf(format, args...)}
}
