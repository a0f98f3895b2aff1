package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/valyala/fastjson"
)

// fields picks the values of the given keys out of a JSON object; a key that is not there
// gives nil, and so does one whose value is null unless keepNull names it. A key given twice
// is refused, for two readers could understand the object differently. With strict, so is a
// key that is not in the list.
func fields(v *fastjson.Value, what string, strict bool, keepNull string, keys ...string) ([]*fastjson.Value, error) {
	if v == nil || v.Type() != fastjson.TypeObject {
		return nil, fmt.Errorf("%s is not an object", what)
	}
	object, err := v.Object()
	if err != nil {
		return nil, err
	}
	values := make([]*fastjson.Value, len(keys))
	seen := make([]bool, len(keys))
	object.Visit(func(key []byte, value *fastjson.Value) {
		for i, name := range keys {
			if string(key) != name {
				continue
			}
			if seen[i] && err == nil {
				err = fmt.Errorf("%s has %s twice", what, name)
			}
			seen[i] = true
			if value.Type() != fastjson.TypeNull || name == keepNull {
				values[i] = value
			}
			return
		}
		if strict && err == nil {
			err = fmt.Errorf("%s has the unknown key %.40q: use %s", what, key, strings.Join(keys, ", "))
		}
	})
	return values, err
}

// readText returns the text of a string value.
func readText(v *fastjson.Value, key string) (string, error) {
	if v == nil || v.Type() != fastjson.TypeString {
		return "", fmt.Errorf("%s is missing or no text", key)
	}
	b, err := v.StringBytes()
	return string(b), err
}

// readTexts returns an array of strings.
func readTexts(v *fastjson.Value, key string) ([]string, error) {
	if v == nil || v.Type() != fastjson.TypeArray {
		return nil, fmt.Errorf("%s is missing or no list", key)
	}
	items, err := v.Array()
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(items))
	for i, item := range items {
		if texts[i], err = readText(item, key+" entry"); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// readUint returns an integer from 0 to limit, 0 if v is nil. It is read from the literal.
func readUint(v *fastjson.Value, key string, limit uint64) (uint64, error) {
	if v == nil {
		return 0, nil
	}
	n, err := strconv.ParseUint(string(v.MarshalTo(nil)), 10, 64)
	if v.Type() != fastjson.TypeNumber || err != nil || n > limit {
		return 0, fmt.Errorf("%s is not an integer from 0 to %d", key, limit)
	}
	return n, nil
}

func readBool(v *fastjson.Value, key string) (bool, error) {
	switch {
	case v == nil || v.Type() == fastjson.TypeFalse:
		return false, nil
	case v.Type() == fastjson.TypeTrue:
		return true, nil
	}
	return false, fmt.Errorf("%s is neither true nor false", key)
}

// replaySpanNS bounds durations and instants of the arrival clock, as correlate does.
const replaySpanNS = 1 << 62

var errTooLarge = errors.New("too large")

// readMillis returns a number of milliseconds as nanoseconds, exactly.
func readMillis(v *fastjson.Value, key string) (int64, error) {
	if v == nil || v.Type() != fastjson.TypeNumber {
		return 0, fmt.Errorf("%s is missing or no number", key)
	}
	ns, err := parseMillis(string(v.MarshalTo(nil)))
	if err == nil && (ns < -replaySpanNS || ns > replaySpanNS) {
		err = errTooLarge
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", key, err)
	}
	return ns, nil
}

// parseMillis reads a JSON number of milliseconds with at most 6 decimal places into ns, with
// integers only. It also takes an exponent, as programs write small decimals so. A value that
// an int64 cannot hold gives errTooLarge and the end of the range on its side.
func parseMillis(literal string) (int64, error) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(literal), "e")
	negative := strings.HasPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return 0, nil
	}
	trimmed := strings.TrimRight(digits, "0")
	// The value is trimmed × 10^shift ns; trailing zeros are moved into the exponent, so a
	// negative shift means that digits below 1 ns are left.
	shift := 6 - len(fraction) + len(digits) - len(trimmed)
	if exponent != "" {
		e, err := strconv.Atoi(exponent)
		switch {
		case err != nil && !strings.HasPrefix(exponent, "-"), e > 100:
			shift = 1000 // beyond any bound, whatever it is exactly
		case err != nil, e < -replayLineMax:
			shift = -1
		default:
			shift += e
		}
	}
	if shift < 0 {
		return 0, errors.New("more than 6 decimal places")
	}
	end, sign := int64(math.MaxInt64), ""
	if negative {
		end, sign = math.MinInt64, "-"
	}
	if len(trimmed)+shift > 19 {
		return end, errTooLarge
	}
	ns, err := strconv.ParseInt(sign+trimmed+strings.Repeat("0", shift), 10, 64)
	if err != nil {
		return end, errTooLarge
	}
	return ns, nil
}
