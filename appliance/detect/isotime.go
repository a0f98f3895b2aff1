package detect

// digits reads exactly n digits.
func (s *scanner[T]) digits(n int) (v int, ok bool) {
	for range n {
		if !isDigit(s.peek()) {
			return 0, false
		}
		v = v*10 + int(s.peek()-'0')
		s.at++
	}
	return v, true
}

// field reads n digits after the separator sep, at most limit.
func (s *scanner[T]) field(sep byte, n, limit int) (int, bool) {
	if !s.accept(sep) {
		return 0, false
	}
	v, ok := s.digits(n)
	return v, ok && v <= limit
}

func (s *scanner[T]) iso() (int64, bool) {
	year, ok := s.digits(4)
	month, ok1 := s.field('-', 2, 12)
	day, ok2 := s.field('-', 2, 31)
	if !ok || !ok1 || !ok2 || month == 0 || day == 0 || day > daysIn(year, month) {
		return 0, false
	}
	sep := s.peek()
	if sep != 'T' && sep != 't' && sep != ' ' {
		return 0, false
	}
	hour, ok := s.field(sep, 2, 23)
	minute, ok1 := s.field(':', 2, 59)
	second, ok2 := s.field(':', 2, 60) // 60 is a leap second and rolls over
	if !ok || !ok1 || !ok2 {
		return 0, false
	}
	ns := int64(0)
	if s.accept('.') || s.accept(',') {
		if ns, ok = s.fraction(); !ok {
			return 0, false
		}
	}
	s.space()
	offset, ok := s.zone()
	if !ok || !s.end() {
		return 0, false
	}
	seconds := daysSince1970(year, month, day)*86400 + int64(hour*3600+minute*60+second) - offset
	return joinSeconds(seconds, ns)
}

// zone reads an optional zone as seconds east of UTC.
func (s *scanner[T]) zone() (int64, bool) {
	if s.accept('Z') || s.accept('z') {
		return 0, true
	}
	west, found := s.sign()
	if !found {
		return 0, true
	}
	hour, ok := s.digits(2)
	if !ok || hour > 23 {
		return 0, false
	}
	minute := 0
	if s.accept(':') || isDigit(s.peek()) {
		if minute, ok = s.digits(2); !ok || minute > 59 {
			return 0, false
		}
	}
	seconds := int64(hour*3600 + minute*60)
	if west {
		seconds = -seconds
	}
	return seconds, true
}

// joinSeconds returns seconds·1e9 + ns with 0 ≤ ns < 1e9, if an int64 holds it.
func joinSeconds(seconds, ns int64) (int64, bool) {
	if seconds >= 0 {
		return scale(false, uint64(seconds), ns, 1e9)
	}
	if ns == 0 {
		return scale(true, uint64(-seconds), 0, 1e9)
	}
	return scale(true, uint64(-seconds)-1, 1e9-ns, 1e9)
}

// daysSince1970 counts days in the proleptic Gregorian calendar from 1970-01-01. It shifts the
// year to start in March, so that a leap day is the last day of its year.
func daysSince1970(year, month, day int) int64 {
	y, m := int64(year), int64(month)
	if m <= 2 {
		y, m = y-1, m+12
	}
	era := y*365 + floorDiv(y, 4) - floorDiv(y, 100) + floorDiv(y, 400)
	return era + (153*(m-3)+2)/5 + int64(day) - 1 - 719468
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
