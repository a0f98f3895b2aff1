package fuse

// rect is a box in fractions of the frame. After the strict gate 0 ≤ x1 < x2 ≤ 1.
type rect struct{ x1, y1, x2, y2 float64 }

// The explicit float64 conversions here and elsewhere forbid the compiler to fuse a
// multiplication with an addition, which would give arm64 other last bits than amd64.

func (r *rect) area() float64 { return float64((r.x2 - r.x1) * (r.y2 - r.y1)) }

// overlap is the intersection of a and b over their union, or over the smaller of the two.
// It is 0 for boxes that only touch, and for a box turned inside out.
func overlap(a, b *rect, m Metric) float64 {
	w := min(a.x2, b.x2) - max(a.x1, b.x1)
	h := min(a.y2, b.y2) - max(a.y1, b.y1)
	if !(w > 0 && h > 0) {
		return 0
	}
	inter := float64(w * h)
	if m == IOS {
		return inter / min(a.area(), b.area())
	}
	return inter / (a.area() + b.area() - inter)
}

// overlap32 is overlap as supervision computes it: corners of the intersection, its sides
// and area in float32, the boxes' own areas in float64, the quotient rounded to float32.
// A box may so overlap itself by more than 1.
func overlap32(a, b *rect, m Metric) float32 {
	w := float32(min(a.x2, b.x2)) - float32(max(a.x1, b.x1))
	h := float32(min(a.y2, b.y2)) - float32(max(a.y1, b.y1))
	inter := float64(float32(max(w, 0) * max(h, 0)))
	norm := min(a.area(), b.area())
	if m == IOU {
		norm = a.area() + b.area() - inter
	}
	if !(norm > 0) {
		return 0
	}
	return float32(inter / norm)
}
