package nut

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll reads every frame of b and returns their PTS and payloads.
func readAll(b []byte) (pts []int64, payloads [][]byte, err error) {
	r := NewReader(iotest.OneByteReader(bytes.NewReader(b)))
	for {
		f, err := r.Next()
		if err == io.EOF {
			return pts, payloads, nil
		}
		if err != nil {
			return pts, payloads, err
		}
		p := make([]byte, f.Size)
		if err := r.ReadPayload(p); err != nil {
			return pts, payloads, err
		}
		pts, payloads = append(pts, f.PTS), append(payloads, p)
	}
}

func TestEveryKindOfFrameHeader(t *testing.T) {
	side := new(builder).v(4).
		text("Palette").s(-2).text("bin").text("xyz").
		text("Width").s(64).text("t").s(-4).v(9).text("r").s(-9).s(-3)
	side.v(1).text("note").s(-1).text("hello") // metadata
	for _, tc := range []struct {
		name    string
		version uint64
		frames  func(w *builder)
		pts     []int64
		data    []string
	}{
		{"size and step in the code", 3, func(w *builder) {
			w.raw(codeSmall).raw([]byte("abcd")...).raw(codeSmall + 2).raw([]byte("efghij")...)
		}, []int64{41, 42}, []string{"abcd", "efghij"}},
		{"low bits of the PTS", 3, func(w *builder) {
			// lastPTS 40 = 2·16+8; low bits 5 mean 37 or 53, whichever is nearer 40.
			w.raw(codeFull).v(flagCodedPTS|flagSizeMSB).vs(5, 2).raw('x', 'y')
			w.raw(codeFull).v(flagCodedPTS|flagSizeMSB).vs(15, 1).raw('z')
		}, []int64{37, 31}, []string{"xy", "z"}},
		{"full PTS beyond max_pts_distance with checksum", 3, func(w *builder) {
			w.sum(new(builder).raw(codeFull).v(flagCodedPTS|flagSizeMSB|flagChecksum).vs(5000+16, 1)).raw('z')
		}, []int64{5000}, []string{"z"}},
		{"stream id, reserved fields, match time", 3, func(w *builder) {
			w.raw(codeFull).v(flagStreamID|flagSizeMSB|flagReserved|flagMatchTime).v(0).v(1).s(-7).vs(2, 300, 400).raw('z')
		}, []int64{40}, []string{"z"}},
		{"elision header", 3, func(w *builder) {
			w.raw(codeFull).v(flagSizeMSB|flagHeaderIdx).vs(5, 1).raw('p', 'q')
			w.raw(codeFull).v(flagSizeMSB|flagHeaderIdx).vs(2, 2)
		}, []int64{40, 40}, []string{"\x00\x00\x01pq", "ab"}},
		{"side data and metadata", 4, func(w *builder) {
			w.raw(codeFull).v(flagSizeMSB|flagSideData).v(uint64(len(side.b)+2)).raw(side.b...).raw('o', 'k')
		}, []int64{40}, []string{"ok"}},
		{"end of relevance, then on", 3, func(w *builder) {
			w.raw(codeEOR).raw(codeSmall).raw([]byte("abcd")...)
		}, []int64{41}, []string{"abcd"}},
		{"repeated headers, info and unknown packets between frames", 3, func(w *builder) {
			w.packet(mainCode, mainBody(3)).packet(streamCode, streamBody(2, 2))
			w.packet(0x4E49AB68B596BA78, new(builder).raw(make([]byte, 5000)...))
			w.packet(uint64('N')<<56|7, new(builder).text("later"))
			w.packet(syncCode, new(builder).vs(3*2, 0)) // 3/25 s = 120 ms
			w.raw(codeSmall).raw([]byte("abcd")...)
		}, []int64{121}, []string{"abcd"}},
		{"stuffing in a header", 3, func(w *builder) {
			w.raw(codeFull).raw(0x80, 0x80).v(flagSizeMSB).v(1).raw('z')
		}, []int64{40}, []string{"z"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := headers(tc.version, 40)
			tc.frames(w)
			pts, payloads, err := readAll(w.b)
			if err != nil {
				t.Fatal(err)
			}
			var data []string
			for _, p := range payloads {
				data = append(data, string(p))
			}
			if !slices.Equal(tc.pts, pts) || !slices.Equal(tc.data, data) {
				t.Errorf("want PTS %d data %q, got PTS %d data %q", tc.pts, tc.data, pts, data)
			}
		})
	}
}

func TestDamageIsNamed(t *testing.T) {
	frame := func(f func(w *builder)) func() []byte {
		return func() []byte { w := headers(3, 40); f(w); return w.b }
	}
	// A stream of plain builds, with the main or the stream header replaced.
	build := func(main, stream *builder) func() []byte {
		return func() []byte {
			w := new(builder).raw([]byte(fileID)...).packet(mainCode, main).packet(streamCode, stream)
			return w.packet(syncCode, new(builder).vs(1, 0)).raw(codeSmall, 1, 2, 3, 4).b
		}
	}
	plain := mainBody(3).b
	for _, tc := range []struct {
		name string
		data func() []byte
		kind error
		want string
	}{
		{"not NUT", func() []byte { return []byte("RIFF....") }, ErrDamaged, "file id"},
		{"version 2", build(mainBody(2), streamBody(2, 2)), ErrUnsupported, "version 2"},
		{"two streams", build(&builder{b: append([]byte{3, 2}, plain[2:]...)}, streamBody(2, 2)), ErrUnsupported, "2 streams"},
		{"audio", build(mainBody(3), new(builder).vs(0, 1)), ErrUnsupported, "class 1"},
		{"no width", build(mainBody(3), streamBody(0, 2)), ErrDamaged, "0x2"},
		{"huge height", build(mainBody(3), streamBody(2, 1<<40)), ErrDamaged, "height"},
		{"time base 0/25", build(new(builder).vs(3, 1, 9, 1, 0, 25), streamBody(2, 2)), ErrDamaged, "time base is 0/25"},
		{"no time base", build(new(builder).vs(3, 1, 9, 0).raw(plain[7:]...), streamBody(2, 2)), ErrDamaged, "no time base"},
		{"empty run of codes", build(new(builder).vs(3, 1, 9, 1, 1, 25).vs(1, 6, 0, 1, 0, 0, 0, 0), streamBody(2, 2)), ErrDamaged, "empty"},
		{"fields run over their packet", build(&builder{b: plain[:len(plain)-2]}, streamBody(2, 2)), ErrDamaged, "longer than"},
		{"frame first", func() []byte {
			w := new(builder).raw([]byte(fileID)...)
			return w.raw(codeSmall).b
		}, ErrDamaged, "before the stream header"},
		{"no sync point", func() []byte {
			w := new(builder).raw([]byte(fileID)...).packet(mainCode, mainBody(3)).packet(streamCode, streamBody(2, 2))
			return w.raw(codeSmall, 1, 2, 3, 4).b
		}, ErrDamaged, "sync point"},
		{"invalid code", frame(func(w *builder) { w.raw(0xff) }), ErrDamaged, "frame code 0xff"},
		{"second stream", frame(func(w *builder) { w.raw(codeFull).v(flagStreamID).v(1) }), ErrDamaged, "stream is 1"},
		{"far without checksum", frame(func(w *builder) { w.raw(codeFull).v(flagCodedPTS|flagSizeMSB).vs(5016, 1).raw(0) }), ErrDamaged, "no checksum"},
		{"large without checksum", frame(func(w *builder) { w.raw(codeFull).v(flagSizeMSB).v(2<<16 + 1) }), ErrDamaged, "no checksum"},
		{"too large", frame(func(w *builder) { w.raw(codeFull).v(flagSizeMSB).v(1 << 40) }), ErrDamaged, "size"},
		{"PTS out of range", frame(func(w *builder) { w.raw(codeFull).v(flagCodedPTS).v(1 << 63) }), ErrDamaged, "PTS"},
		{"number too long", frame(func(w *builder) { w.raw(codeFull).raw(bytes.Repeat([]byte{0x80}, 40)...) }), ErrDamaged, "a number"},
		{"number over 64 bits", frame(func(w *builder) { w.raw(codeFull).raw(bytes.Repeat([]byte{0xff}, 11)...) }), ErrDamaged, "64 bits"},
		{"elision header unknown", frame(func(w *builder) { w.raw(codeFull).v(flagSizeMSB|flagHeaderIdx).vs(5, 3) }), ErrDamaged, "elision header 3"},
		{"smaller than elided", frame(func(w *builder) { w.raw(codeFull).v(flagSizeMSB|flagHeaderIdx).vs(2, 1) }), ErrDamaged, "leaves out"},
		{"side data over its frame", frame(func(w *builder) {
			w.raw(codeFull).v(flagSizeMSB | flagSideData).v(4).v(1).text("name too long")
		}), ErrDamaged, "side data"},
		{"packet of a gigabyte", frame(func(w *builder) { w.raw([]byte("N1234567")...).v(1 << 30) }), ErrDamaged, "length"},
		{"packet without room", frame(func(w *builder) { w.raw([]byte("N1234567")...).v(3) }), ErrDamaged, "no room"},
		{"frame checksum", frame(func(w *builder) {
			w.raw(codeFull).v(flagSizeMSB|flagChecksum).v(1).raw(1, 2, 3, 4, 'z')
		}), ErrDamaged, "checksum of a frame header"},
		{"cut in a payload", frame(func(w *builder) { w.raw(codeSmall, 1, 2) }), io.ErrUnexpectedEOF, ""},
		{"cut in a header", frame(func(w *builder) { w.raw(codeFull) }), io.ErrUnexpectedEOF, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := readAll(tc.data())
			if !errors.Is(err, tc.kind) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want %v naming %q, got %v", tc.kind, tc.want, err)
			}
		})
	}
}

// Each single flipped bit of the headers must be found by a checksum or a bound, and
// must not change what is read.
func TestFlippedHeaderBitsAreFound(t *testing.T) {
	clean := headers(3, 40).raw(codeSmall).raw([]byte("abcd")...).b
	last := len(clean) - 5 // the frame code and its payload carry no checksum
	for i := range last * 8 {
		b := bytes.Clone(clean)
		b[i/8] ^= 1 << (i % 8)
		if _, _, err := readAll(b); err == nil {
			t.Fatalf("bit %d of byte %d flipped: want an error, got none", i%8, i/8)
		}
	}
}

func TestEmptyStreamIsEOF(t *testing.T) {
	if _, err := NewReader(bytes.NewReader(nil)).Stream(); err != io.EOF {
		t.Errorf("want io.EOF, got %v", err)
	}
}

func TestNanos(t *testing.T) {
	for _, tc := range []struct {
		num, den uint32
		pts      int64
		want     int64
		ok       bool
	}{
		{1, 90000, 90137070, 1001523000000, true},
		{1, 61440, 2048, 33333333, true},
		{1001, 30000, 1, 33366666, true},
		{1, 1, 1 << 62, 0, false},
		{1<<31 - 1, 1, 1 << 40, 0, false},
		{1, 1<<31 - 1, 1 << 61, 1073741824500000000, true},
		{1, 25, -1, 0, false},
	} {
		s := Stream{TickNum: tc.num, TickDen: tc.den}
		if got, ok := s.Nanos(tc.pts); got != tc.want || ok != tc.ok {
			t.Errorf("%d ticks of %d/%d s: want %d %v, got %d %v", tc.pts, tc.num, tc.den, tc.want, tc.ok, got, ok)
		}
	}
}

// Headers and payloads cost no allocation once the reader runs.
func TestNextAllocatesNothing(t *testing.T) {
	const frames = 200
	w := headers(3, 40)
	for range frames + 2 {
		w.raw(codeFull).v(flagSizeMSB).v(20000).raw(make([]byte, 20000)...)
	}
	r := NewReader(bytes.NewReader(w.b))
	p := make([]byte, 20000)
	step := func() {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		if err := r.ReadPayload(p); err != nil {
			t.Fatal(err)
		}
	}
	step()
	if n := testing.AllocsPerRun(frames-10, step); n != 0 {
		t.Errorf("want 0 allocations a picture, got %v", n)
	}
}
