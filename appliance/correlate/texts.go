package correlate

// Texts numbers texts for as long as somebody uses them, so that a key can hold a number in
// place of a text. Numbers start at 1 and are reused; their count is bounded.
type Texts struct {
	limit int
	ids   map[string]int64
	all   []text // by number − 1
	free  []int64
}

type text struct {
	text string
	uses int
}

// NewTexts returns an empty table for at most limit texts at a time.
func NewTexts(limit int) *Texts { return &Texts{limit: limit, ids: make(map[string]int64)} }

// Lookup returns the number of a text, or 0. It allocates nothing.
func (t *Texts) Lookup(b []byte) int64 { return t.ids[string(b)] }

// Full reports whether a new text finds no room.
func (t *Texts) Full() bool { return len(t.ids) >= t.limit }

// Add returns the number of a text, giving it one with no uses if it has none. Ask Full first. Use
// it before anything is released: a number may have its last use there.
func (t *Texts) Add(b []byte) int64 {
	if id := t.ids[string(b)]; id != 0 {
		return id
	}
	var id int64
	if n := len(t.free); n > 0 {
		id, t.free = t.free[n-1], t.free[:n-1]
	} else {
		t.all = append(t.all, text{})
		id = int64(len(t.all))
	}
	s := string(b)
	t.all[id-1] = text{text: s}
	t.ids[s] = id
	return id
}

// Use adds one use of a number.
func (t *Texts) Use(id int64) { t.all[id-1].uses++ }

// Release takes one use back, and with the last one the number.
func (t *Texts) Release(id int64) {
	entry := &t.all[id-1]
	if entry.uses--; entry.uses > 0 {
		return
	}
	delete(t.ids, entry.text)
	*entry = text{}
	t.free = append(t.free, id)
}

// Text returns the text of a number, "" for none.
func (t *Texts) Text(id int64) string {
	if id < 1 || id > int64(len(t.all)) {
		return ""
	}
	return t.all[id-1].text
}

// Len returns how many texts have a number.
func (t *Texts) Len() int { return len(t.ids) }
