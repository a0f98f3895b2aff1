package shm

import (
	"fmt"
	"testing"
)

// cPicture is a picture as the driver prints it.
func cPicture(m *FrameMeta, pixels []byte) string {
	return fmt.Sprintf("1 %d %d %d %d %d %d %d %d %d %d %d %x", m.Seq, m.CaptureNS, m.PublishNS, m.FrameID, m.Tag, m.StreamEpoch,
		m.Format, m.Width, m.Height, m.Length, m.ClockSource, fnv(fnvOffset, string(pixels)))
}

// cFilm writes pictures that differ from each other, and says how C must see them.
type cFilm struct {
	t *testing.T
	s *Segment
	w *FrameWriter
}

func newCFilm(t *testing.T, camera string) *cFilm {
	t.Helper()
	c := FrameRingConfig{Slots: 3, PixelBytes: 64 * 48 * 3, Unit: "box-7", Camera: camera, Index: 5}
	s := newSegment(t, c.Bytes(), func(b []byte) error { return FormatFrameRing(b, c) })
	w, err := NewFrameWriter(s.Bytes(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.NextStreamEpoch()
	return &cFilm{t, s, w}
}

// show publishes one picture; one block of a 16th of its sides is bright.
func (f *cFilm) show(format uint32, bright int) string {
	f.t.Helper()
	const width, height = 64, 48
	n, _ := FrameBytes(format, width, height)
	pixels, err := f.w.Begin(n)
	if err != nil {
		f.t.Fatal(err)
	}
	for i := range pixels {
		pixels[i] = byte(i%16 + int(f.w.Head()%16))
	}
	for y := range height / 16 {
		for x := range width / 16 {
			pixels[(bright/16*height/16+y)*width+bright%16*width/16+x] = 255
		}
	}
	m := FrameMeta{CaptureNS: 1_700_000_000_000_000_000 + int64(f.w.Head()), PublishNS: 5, FrameID: f.w.Head() + 1, Tag: 8,
		StreamEpoch: f.w.StreamEpoch(), Width: width, Height: height, Format: format, ClockSource: ClockArrival}
	if _, err := f.w.Publish(&m); err != nil {
		f.t.Fatal(err)
	}
	return cPicture(&m, pixels)
}

func testCPictures(t *testing.T, c *cBuild) {
	film := newCFilm(t, "gate")
	ro, err := film.s.OpenReadOnly()
	if err != nil {
		t.Fatal(err)
	}
	defer ro.Close()
	d := c.drive(t, ro)
	d.want("0", "map 3 ro 0")
	d.want("0", "frames 0")
	d.want("0", "frame newest")
	d.want("0", "frame 0")
	d.want("0", "frame 1")
	first := film.show(FormatI420, 7)
	d.want(first, "frame newest")
	second := film.show(FormatRGB24, 8)
	d.want(second, "frame newest")
	d.want(first, "frame 1")
	d.want("0", "frame 3")
	d.want("1", "valid")
	film.show(FormatI420, 9)
	d.want("1", "valid")
	// The fourth picture goes where the first one lies: it is gone as soon as it is begun.
	if _, err := film.w.Begin(1); err != nil {
		t.Fatal(err)
	}
	d.want("0", "valid")
	d.want("0", "frame 1")
	film.w.Abort()
	d.want(second, "frame 2")
	last := film.show(FormatI420, 10)
	d.want(last, "frame newest")
	d.want(last, "frame 4")
	// A slot that is whole before head says so is not looked at.
	word64(film.s.Bytes(), frameSlotsAt+5%3*frameSlotBytes).Store(5)
	d.want("0", "frame 5")
	// A picture that makes no sense is named.
	word32(film.s.Bytes(), frameSlotsAt+4%3*frameSlotBytes+frameHeight).Store(1 << 20)
	d.wantError(-4, "picture", "attach anew", "frame 4")
	d.wantError(-4, "picture", "attach anew", "frame newest")
	d.want("0", "frames 0")
	word64(film.s.Bytes(), hotAt+5*hotBlock).Store(3)
	d.wantError(-4, "head_backwards", "4, 3", "frame newest")
	d.end()
}
