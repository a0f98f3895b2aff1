package detect

import (
	"fmt"
	"math"
	"math/bits"
)

// NumberUnit is what a timestamp written as a bare number counts.
type NumberUnit uint8

// The units of a bare number. Auto goes by the magnitude of the integer part: below 1e11 it is
// seconds, below 1e14 milliseconds, below 1e17 microseconds, else nanoseconds; it misreads a
// camera whose clock is near 0, so it is never the default.
const (
	Milliseconds NumberUnit = iota
	Seconds
	Microseconds
	Nanoseconds
	Auto
)

var numberUnits = map[string]NumberUnit{
	"ms": Milliseconds, "s": Seconds, "us": Microseconds, "ns": Nanoseconds, "auto": Auto,
}

// ParseNumberUnit reads a unit by its name: ms, s, us, ns or auto.
func ParseNumberUnit(name string) (NumberUnit, error) {
	unit, ok := numberUnits[name]
	if !ok {
		return 0, fmt.Errorf("number unit %q is not known: use ms, s, us, ns or auto", name)
	}
	return unit, nil
}

// ReadInstant reads a timestamp from its literal text, a number or an ISO 8601 instant, into
// nanoseconds since 1970 UTC. ok is false for everything that the grammar does not name and
// for instants that an int64 cannot hold; such a text is a key by itself (AppendRaw).
//
//	number = ws [ "+" | "-" ] digit+ [ "." digit+ ] ws
//	iso    = ws YYYY "-" MM "-" DD ( "T" | "t" | " " ) hh ":" mm ":" ss
//	         [ ( "." | "," ) digit+ ] ws [ zone ] ws
//	zone   = "Z" | "z" | ( "+" | "-" ) hh [ [ ":" ] mm ]     no zone = UTC
//
// All arithmetic is on integers: digits of a fraction after the ninth are cut, what is left
// below 1 ns is floored. A second 60 rolls over into the next minute. unit counts only for
// numbers. The machine's time zone plays no part.
func ReadInstant[T string | []byte](text T, unit NumberUnit) (ns int64, ok bool) {
	s := scanner[T]{text: text}
	s.space()
	if s.looksLikeDate() {
		return s.iso()
	}
	return s.number(unit)
}

// scanner walks over a text; each method consumes what it names or reports that it is not there.
type scanner[T string | []byte] struct {
	text T
	at   int
}

// peek returns the next byte, 0 at the end. A NUL in the text matches nothing either.
func (s *scanner[T]) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

func (s *scanner[T]) accept(c byte) bool {
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner[T]) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// end reports that only space is left.
func (s *scanner[T]) end() bool {
	s.space()
	return s.at == len(s.text)
}

// sign consumes a sign and reports whether it was a minus.
func (s *scanner[T]) sign() (negative, found bool) {
	switch {
	case s.accept('-'):
		return true, true
	case s.accept('+'):
		return false, true
	}
	return false, false
}

// looksLikeDate tells the two forms apart: only a date has a dash after four digits.
func (s *scanner[T]) looksLikeDate() bool { return s.at+4 < len(s.text) && s.text[s.at+4] == '-' }

// fraction reads digit+ as billionths; digits after the ninth are cut.
func (s *scanner[T]) fraction() (billionths int64, ok bool) {
	n := 0
	for ; isDigit(s.peek()); n++ {
		if n < 9 {
			billionths = billionths*10 + int64(s.peek()-'0')
		}
		s.at++
	}
	for i := n; i < 9; i++ {
		billionths *= 10
	}
	return billionths, n > 0
}

func (s *scanner[T]) number(unit NumberUnit) (int64, bool) {
	negative, _ := s.sign()
	if !isDigit(s.peek()) {
		return 0, false
	}
	whole, overflow := uint64(0), false
	for ; isDigit(s.peek()); s.at++ {
		hi, lo := bits.Mul64(whole, 10)
		sum, carry := bits.Add64(lo, uint64(s.peek()-'0'), 0)
		whole, overflow = sum, overflow || hi|carry != 0
	}
	billionths := int64(0)
	if s.accept('.') {
		var ok bool
		if billionths, ok = s.fraction(); !ok {
			return 0, false
		}
	}
	if !s.end() || overflow {
		return 0, false // an overflow lies outside int64 ns in every unit
	}
	return scale(negative, whole, billionths, unitNS(unit, whole))
}

// unitNS returns the nanoseconds of one unit; auto decides by whole.
func unitNS(unit NumberUnit, whole uint64) uint64 {
	switch {
	case unit == Seconds, unit == Auto && whole < 1e11:
		return 1e9
	case unit == Milliseconds, unit == Auto && whole < 1e14:
		return 1e6
	case unit == Microseconds, unit == Auto && whole < 1e17:
		return 1e3
	}
	return 1
}

// scale returns ±(whole + billionths/1e9) × unit in ns, floored.
func scale(negative bool, whole uint64, billionths int64, unit uint64) (int64, bool) {
	below := uint64(billionths) * unit // < 1e18
	part, rest := below/1e9, below%1e9
	if negative && rest != 0 {
		part++ // floor of a negative value is one further down
	}
	hi, ns := bits.Mul64(whole, unit)
	ns, carry := bits.Add64(ns, part, 0)
	switch {
	case hi|carry != 0:
		return 0, false
	case negative && ns <= 1<<63:
		return -int64(ns), true
	case !negative && ns <= math.MaxInt64:
		return int64(ns), true
	}
	return 0, false
}

func isDigit(c byte) bool { return c-'0' <= 9 }
