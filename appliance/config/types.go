package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// textValue is a type of ours that is written as text. parse returns false when the
// text is none; want says what is, with an example, so that messages need not show
// the text itself.
type textValue interface {
	parse(text string) bool
	want() string
}

// Bytes is a size in bytes, written as 100MB (10⁶), 64MiB (2²⁰) or a plain number.
type Bytes int64

// ParseBytes reads a size as it stands in a config.
func ParseBytes(text string) (Bytes, error) {
	var b Bytes
	if !b.parse(text) {
		return 0, fmt.Errorf("%.40q is not %s", text, b.want())
	}
	return b, nil
}

var byteUnits = []struct {
	suffix string
	factor int64
}{
	// Longest suffix first: "B" ends all of them.
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

func (b *Bytes) parse(text string) bool {
	factor := int64(1)
	for _, u := range byteUnits {
		if rest, ok := strings.CutSuffix(text, u.suffix); ok {
			text, factor = strings.TrimRight(rest, " "), u.factor
			break
		}
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n > uint64((1<<63-1)/factor) {
		return false
	}
	*b = Bytes(int64(n) * factor)
	return true
}

func (*Bytes) want() string { return "a size in whole units, such as 100MB or 64MiB" }

// String gives the shortest exact form.
func (b Bytes) String() string {
	best := byteUnits[len(byteUnits)-1]
	for _, u := range byteUnits {
		if int64(b) != 0 && int64(b)%u.factor == 0 && u.factor > best.factor {
			best = u
		}
	}
	return strconv.FormatInt(int64(b)/best.factor, 10) + best.suffix
}

// UIDs are numbers of users, written as one or as a list.
type UIDs []int

// oneOrMany is implemented by lists that may be written without brackets when they have
// one entry.
type oneOrMany interface{ oneOrMany() }

func (UIDs) oneOrMany() {}

// Offsets are how far a model's capture clock is ahead, by camera: "" is every camera that is
// not named. It is written as one duration, or as a section of camera: duration.
type Offsets map[string]time.Duration

func (Offsets) oneOrEach() {}

// oneOrEach is implemented by tables that may be written as one value, which is then that of
// the key "".
type oneOrEach interface{ oneOrEach() }

// Picture is a size in pixels, written as 1920x1080.
type Picture struct{ Width, Height int }

func (p *Picture) parse(text string) bool {
	w, h, ok := strings.Cut(text, "x")
	width, errW := strconv.ParseUint(w, 10, 31)
	height, errH := strconv.ParseUint(h, 10, 31)
	if !ok || errW != nil || errH != nil {
		return false
	}
	p.Width, p.Height = int(width), int(height)
	return true
}

func (*Picture) want() string { return "width x height in pixels, such as 1920x1080" }

func (p Picture) String() string { return fmt.Sprintf("%dx%d", p.Width, p.Height) }
