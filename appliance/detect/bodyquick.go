package detect

import (
	"math"
	"math/bits"
	"unicode/utf8"
)

// quick reads a body of the usual form: one list, the keys of a detection once each and in any
// order, plain decimal numbers, labels that were met before. It takes about a
// quarter of fastjson's time, because it builds no tree. ok is false for anything else, wrong
// or just unusual: then nothing has happened, and fastjson says what the body is. What quick
// does read is bit for bit what fastjson would; a fuzz test holds it to that.
//
// Its parts take the place in the body where they begin and return where they end, or -1, which
// every part hands on.
func (r *BodyReader) quick(dst []Box, b []byte) (boxes []Box, ok bool) {
	boxes = dst
	i := punct(b, punct(b, 0, '{'), '"')
	switch {
	case starts(b, i, `detections"`):
		boxes, i = r.quickDetections(boxes, b, punct(b, i+len(`detections"`), ':'))
	case starts(b, i, `boxes"`):
		boxes, i = r.quickCompact(boxes, b, punct(b, i+len(`boxes"`), ':'))
	default:
		return dst, false
	}
	if i = blank(b, punct(b, i, '}')); i != len(b) {
		return dst, false
	}
	return boxes, true
}

func (r *BodyReader) quickDetections(dst []Box, b []byte, i int) ([]Box, int) {
	i = punct(b, i, '[')
	if end := punct(b, i, ']'); end > 0 {
		return dst, end
	}
	for n := 0; n < MaxBodyBoxes; n++ {
		dst = append(dst, Box{})
		i = r.quickDetection(&dst[len(dst)-1], b, punct(b, i, '{'))
		var more bool
		if i, more = next(b, i, ']'); !more {
			return dst, i
		}
	}
	return dst, -1
}

func (r *BodyReader) quickDetection(box *Box, b []byte, i int) int {
	const haveBox, haveScore, haveLabel = 1, 2, 4
	for have := 0; ; {
		before := have
		i = punct(b, i, '"')
		switch {
		case starts(b, i, `box"`):
			have |= haveBox
			i = punct(b, punct(b, i+len(`box"`), ':'), '[')
			box.X1, i = quickNumber(b, i)
			box.Y1, i = quickNumber(b, punct(b, i, ','))
			box.X2, i = quickNumber(b, punct(b, i, ','))
			box.Y2, i = quickNumber(b, punct(b, i, ','))
			i = punct(b, i, ']')
		case starts(b, i, `score"`):
			have |= haveScore
			box.Score, i = quickNumber(b, punct(b, i+len(`score"`), ':'))
		case starts(b, i, `label"`):
			have |= haveLabel
			box.Label, i = r.quickLabel(b, punct(b, i+len(`label"`), ':'))
		}
		if have == before { // a key that is not ours, or ours a second time
			return -1
		}
		var more bool
		if i, more = next(b, i, '}'); !more {
			if have != haveBox|haveScore|haveLabel {
				return -1
			}
			return i
		}
	}
}

func (r *BodyReader) quickCompact(dst []Box, b []byte, i int) ([]Box, int) {
	i = punct(b, i, '[')
	if end := punct(b, i, ']'); end > 0 {
		return dst, end
	}
	for n := 0; n < MaxBodyBoxes; n++ {
		var box Box
		box.X1, i = quickNumber(b, i)
		box.Y1, i = quickNumber(b, punct(b, i, ','))
		box.X2, i = quickNumber(b, punct(b, i, ','))
		box.Y2, i = quickNumber(b, punct(b, i, ','))
		box.Score, i = quickNumber(b, punct(b, i, ','))
		box.Label, i = r.quickLabel(b, punct(b, i, ','))
		dst = append(dst, box)
		var more bool
		if i, more = next(b, i, ']'); !more {
			return dst, i
		}
	}
	return dst, -1
}

// quickLabel reads a number, or a text that is numbered already: one that is not gets its
// number from fastjson's side, once it is known that the whole body is good.
func (r *BodyReader) quickLabel(b []byte, i int) (label uint32, end int) {
	i = blank(b, i)
	if !starts(b, i, `"`) {
		m, end := digits(b, i)
		if end < 0 || end-i > len("4294967295") || m > math.MaxUint32 {
			return 0, -1
		}
		return uint32(m), end
	}
	i++
	// Mostly it is the label of the box before.
	if last := r.last; last != "" && len(b)-i > len(last) && string(b[i:i+len(last)]) == last && b[i+len(last)] == '"' {
		return r.lastLabel, i + len(last) + 1
	}
	ascii := true
	for end = i; end < len(b) && b[end] != '"'; end++ {
		if b[end] < ' ' || b[end] == '\\' {
			return 0, -1
		}
		ascii = ascii && b[end] < utf8.RuneSelf
	}
	if end == len(b) || end-i > maxLabelBytes || !ascii && !utf8.Valid(b[i:end]) {
		return 0, -1
	}
	label, known := r.labels.numbers[string(b[i:end])]
	if !known {
		return 0, -1
	}
	r.last, r.lastLabel = r.labels.names[label], label
	return label, end + 1
}

// quickNumber reads a decimal number without exponent as fastjson reads it: to the nearest
// float64, half to even, and that to the nearest float32.
func quickNumber(b []byte, i int) (f float32, end int) {
	i = blank(b, i)
	minus := starts(b, i, "-")
	if minus {
		i++
	}
	m, point := digits(b, i)
	end, places := point, 0
	if starts(b, point, ".") {
		m, end = moreDigits(m, b, point+1)
		places = end - point - 1
		if places == 0 {
			return 0, -1
		}
	}
	// 19 digits fit an uint64; the zeros that a fraction begins with are none.
	if end-i > 19 && significant(b[i:end]) > 19 || places >= len(pow5) || end < 0 {
		return 0, -1
	}
	d := 0.0
	switch {
	case m == 0:
	case m < 1<<53 && places < len(pow10): // two exact numbers: their quotient is rounded once
		d = float64(m) / pow10[places]
	default:
		d = quotient(m, places)
	}
	if minus { // of 0 too
		d = -d
	}
	return float32(d), end
}

// significant counts digits from the first that is not 0.
func significant(number []byte) (n int) {
	for _, c := range number {
		if c != '.' && (n > 0 || c != '0') {
			n++
		}
	}
	return n
}

// quotient returns m / 10^places, m > 0, rounded once. 10^places is 5^places · 2^places, and
// powers of two are exact; m and 5^places, both shifted until their highest bit is set, give a
// quotient of 64 bits, and whether something remains decides what lies at half.
func quotient(m uint64, places int) float64 {
	p := pow5[places]
	exponent := bits.LeadingZeros64(p) - bits.LeadingZeros64(m) - places - 64
	p <<= bits.LeadingZeros64(p)
	m <<= bits.LeadingZeros64(m)
	hi, lo := m, uint64(0)
	if m >= p {
		hi, lo = m>>1, m<<63
		exponent++
	}
	q, rest := bits.Div64(hi, lo, p)
	if rest != 0 {
		q |= 1
	}
	const dropped = 64 - 53
	d, tail := q>>dropped, q&(1<<dropped-1)
	if half := uint64(1 << (dropped - 1)); tail > half || tail == half && d&1 == 1 {
		d++
	}
	return float64(d) * math.Float64frombits(uint64(1023+exponent+dropped)<<52)
}

// pow10 are the powers of ten that a float64 holds exactly.
var pow10 = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// pow5 are the powers of five that fit 64 bits.
var pow5 = func() (powers [28]uint64) {
	p := uint64(1)
	for i := range powers {
		powers[i] = p
		p *= 5
	}
	return powers
}()

// digits reads an integer as JSON writes it: one 0, or digits that begin with another. What
// does not fit wraps around.
func digits(b []byte, i int) (m uint64, end int) {
	m, end = moreDigits(0, b, i)
	if end <= i || end > i+1 && b[i] == '0' {
		return 0, -1
	}
	return m, end
}

func moreDigits(m uint64, b []byte, i int) (uint64, int) {
	for uint(i) < uint(len(b)) && b[i]-'0' <= 9 {
		m = m*10 + uint64(b[i]-'0')
		i++
	}
	return m, i
}

// next is what follows an element: a comma and more, or the end of the list or object.
func next(b []byte, i int, closing byte) (at int, more bool) {
	i = blank(b, i)
	switch {
	case uint(i) >= uint(len(b)):
	case b[i] == ',':
		return i + 1, true
	case b[i] == closing:
		return i + 1, false
	}
	return -1, false
}

func punct(b []byte, i int, c byte) int {
	i = blank(b, i)
	if uint(i) >= uint(len(b)) || b[i] != c {
		return -1
	}
	return i + 1
}

// blank skips what JSON takes for space.
func blank(b []byte, i int) int {
	for uint(i) < uint(len(b)) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// starts reports whether text is at i.
func starts(b []byte, i int, text string) bool {
	return i >= 0 && len(b)-i >= len(text) && string(b[i:i+len(text)]) == text
}
