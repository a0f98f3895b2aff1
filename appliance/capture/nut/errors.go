package nut

import (
	"errors"
	"fmt"
)

var (
	// ErrDamaged is returned when the stream breaks the specification or a bound.
	ErrDamaged = errors.New("damaged NUT stream")
	// ErrUnsupported is returned for a stream that is sound but not one video stream
	// of a version known here.
	ErrUnsupported = errors.New("unsupported NUT stream")
)

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnsupported, fmt.Sprintf(format, args...))
}
