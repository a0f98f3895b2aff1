package shm

import (
	"strings"
	"testing"
)

// cGolden is a line of a recipe as the driver wants it: with the number of the mapping.
func cGolden(line goldenLine) string {
	words := strings.Join(append([]string{line.op}, line.words...), " ")
	switch line.op {
	case "format":
		return "format 0 " + strings.Join(line.words, " ")
	case "writer":
		return "writer 0 " + line.words[0] + " 0"
	case "reader", "frames":
		return line.op + " 0"
	}
	return words
}

// C writes the frozen rings byte for byte, and reads in all frozen rings what Go reads.
func testCGolden(t *testing.T, c *cBuild) {
	for _, name := range []string{"detection", "output", "frames"} {
		write, read := goldenRecipe(t, name)
		frozen := goldenFile(t, name)
		if name != "frames" { // the library has no writer of pictures
			s := newSegment(t, len(frozen), nothing)
			d := c.drive(t, s.File())
			d.want("0", "map 3 rw 0")
			for _, line := range write {
				if answer := d.ask("%s", cGolden(line)); strings.HasPrefix(answer, "error ") {
					t.Fatalf("%s: %s", line.at, answer)
				}
			}
			d.end()
			wantGolden(t, name, s.Bytes())
		}
		s := newSegment(t, len(frozen), func(b []byte) error { copy(b, frozen); return nil })
		ro, err := s.OpenReadOnly()
		if err != nil {
			t.Fatal(err)
		}
		defer ro.Close()
		d := c.drive(t, ro)
		d.want("0", "map 3 ro 0")
		for _, line := range read {
			if line.op != "frame-info" {
				d.want(line.answer, "%s", cGolden(line))
			}
		}
		d.end()
	}
}
