package clock

import "strconv"

// AppendMillis appends ns nanoseconds as a decimal number of milliseconds, exactly and without
// trailing zeros: the form of every now_ms and …_ms that is written to be read again.
func AppendMillis(dst []byte, ns int64) []byte {
	u := uint64(ns)
	if ns < 0 {
		dst = append(dst, '-')
		u = -u
	}
	dst = strconv.AppendUint(dst, u/1e6, 10)
	rest := u % 1e6
	if rest == 0 {
		return dst
	}
	dst = append(dst, '.')
	for digit := uint64(1e5); rest > 0; digit /= 10 {
		dst = append(dst, byte('0'+rest/digit))
		rest %= digit
	}
	return dst
}
