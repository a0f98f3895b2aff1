package client

import (
	"errors"
	"fmt"
)

var (
	// ErrDetached is returned while no appliance is there. Call again: the attachment is
	// renewed by itself, at most 5 s after the appliance is back.
	ErrDetached = errors.New("detached from the appliance")
	// ErrReattached is returned by the one call that found the appliance back. Slices of the
	// former pictures are dead.
	ErrReattached = errors.New("attached again: take a new picture")
	// ErrStream is returned for a camera that this model was not given.
	ErrStream = errors.New("no such camera here")
	// ErrProtocol is returned when the other end of the socket is no skewgate known here.
	ErrProtocol = errors.New("not the attach protocol of skewgate")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("closed")
)

// RefusedError is the appliance's no, with its reason.
type RefusedError struct {
	Code string // abi_version, unknown_model, not_allowed, writer_present, … as in shm/ABI.md
	Text string // both sides' facts
}

func (e *RefusedError) Error() string { return fmt.Sprintf("refused (%s): %s", e.Code, e.Text) }
