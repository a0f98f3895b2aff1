package detect

// maxLabels bounds the labels that a detector may make up.
const maxLabels = 4096

// Labels numbers the label texts of one model, so that a Box can hold a number. A number that
// a detector sends by itself stays as it is.
type Labels struct {
	names   []string
	numbers map[string]uint32
}

// NewLabels starts with the model's own names in the order of their numbers; it may have none.
func NewLabels(names []string) *Labels {
	l := &Labels{numbers: make(map[string]uint32)}
	for _, name := range names {
		if _, twice := l.numbers[name]; !twice {
			l.numbers[name] = uint32(len(l.names))
		}
		l.names = append(l.names, name)
	}
	return l
}

// Number returns the number of a label text, giving a new text the next free one; ok is false
// when there are too many. Known texts allocate nothing.
func (l *Labels) Number(text []byte) (number uint32, ok bool) {
	if n, known := l.numbers[string(text)]; known {
		return n, true
	}
	if len(l.names) >= maxLabels {
		return 0, false
	}
	name := string(text)
	number = uint32(len(l.names))
	l.numbers[name] = number
	l.names = append(l.names, name)
	return number, true
}

// Name returns the text of a number, "" for none.
func (l *Labels) Name(number uint32) string {
	if uint64(number) >= uint64(len(l.names)) {
		return ""
	}
	return l.names[number]
}
