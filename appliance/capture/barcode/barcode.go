// Package barcode reads the 16-bit frame number that a test film carries in its
// top left corner, so that a test can prove which picture a detection belongs to.
//
// The code is one row of 16 square cells, 8 by 8 pixels each, bit 0 leftmost;
// white is 1, black is 0. It is drawn at the film's own size and read at it:
// a scaled picture has no readable code.
package barcode

const (
	bits   = 16
	cellPx = 8 // width and height of a cell

	// Only the inner 4x4 pixels of a cell are looked at: a lossy coder rings
	// along the cell's edges, and a few pixels inside them it does not.
	insetPx = 2
	innerPx = cellPx - 2*insetPx

	// Luma of white is 235 and of black 16 (or 255 and 0 in full range). What a
	// coder makes of them lies well inside these bounds; the midtones that fill
	// real footage lie outside.
	blackMax = 48
	whiteMin = 205
	// The inner pixels of a drawn cell are one colour, so they are close together.
	spreadMax = 30

	// The row below a code is picture, not code. A night scene, an overexposed
	// sky or a letterbox bar goes on below, in almost every cell.
	minEnding = bits / 2
)

// Read returns the frame number in the luma plane y, whose rows are stride bytes
// apart, and whether there is a code at all: false for a picture without one, a
// picture too small for one (under 128x16) and a plane shorter than it claims.
func Read(y []byte, stride, width, height int) (uint64, bool) {
	if width < bits*cellPx || height < 2*cellPx || stride < width ||
		len(y) < (2*cellPx-1)*stride+width {
		return 0, false
	}
	var code uint64
	ending := 0
	for i := range bits {
		bit, ok := cell(y, stride, i*cellPx, 0)
		if !ok {
			return 0, false
		}
		code |= bit << i
		if below, ok := cell(y, stride, i*cellPx, cellPx); !ok || below != bit {
			ending++
		}
	}
	if ending < minEnding {
		return 0, false
	}
	// A thin dark or bright bar across the whole picture reads as all zeros or all
	// ones and does end below; but it does not end to the right, as a code does.
	if (code == 0 || code == 1<<bits-1) && width >= (bits+1)*cellPx {
		if next, ok := cell(y, stride, bits*cellPx, 0); ok && next == code&1 {
			return 0, false
		}
	}
	return code, true
}

// cell reads the cell whose top left pixel is (x, y0): its bit, and whether it
// looks like a drawn cell.
func cell(y []byte, stride, x, y0 int) (bit uint64, ok bool) {
	low, high, sum := byte(255), byte(0), 0
	for row := y0 + insetPx; row < y0+insetPx+innerPx; row++ {
		at := row*stride + x + insetPx
		for _, v := range y[at : at+innerPx] {
			low, high, sum = min(low, v), max(high, v), sum+int(v)
		}
	}
	if high-low > spreadMax {
		return 0, false
	}
	switch mean := sum / (innerPx * innerPx); {
	case mean <= blackMax:
		return 0, true
	case mean >= whiteMin:
		return 1, true
	}
	return 0, false
}
