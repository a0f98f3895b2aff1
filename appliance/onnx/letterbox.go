package onnx

import (
	"fmt"
	"math"
)

// Sides a picture and a network input may have, in pixels. A frame header is untrusted; these and
// the length check in Picture.check bound what it can ask for.
const (
	maxPictureSide = 8192
	minInputSide   = 32
	maxInputSide   = 4096
)

// letterbox is how a source picture is laid into the network's input: scaled as a whole by one
// ratio, rounded to whole pixels, centred, the rest filled grey. It is kept beside the tensor it
// made and never computed again, so that boxes go back by exactly what was done.
//
// The numbers are those of ultralytics LetterBox: r = min(Sh/h, Sw/w), sizes rounded half to even,
// left = round(dw/2 − 0.1), so an odd pixel goes to the right and to the bottom.
type letterbox struct {
	srcW, srcH int // the picture
	dstW, dstH int // the input
	newW, newH int // the picture inside the input
	left, top  int
	// What the resampling really scaled by: newW/srcW and newH/srcH. ultralytics divides by r, which
	// is off by up to half an input pixel at the far edge because the sizes were rounded.
	gainX, gainY float64
}

func newLetterbox(srcW, srcH, dstW, dstH int) (letterbox, error) {
	r := min(float64(dstH)/float64(srcH), float64(dstW)/float64(srcW))
	b := letterbox{
		srcW: srcW, srcH: srcH, dstW: dstW, dstH: dstH,
		newW: int(math.RoundToEven(float64(srcW) * r)),
		newH: int(math.RoundToEven(float64(srcH) * r)),
	}
	if b.newW < 1 || b.newH < 1 {
		return letterbox{}, fmt.Errorf("picture %d×%d is too thin: nothing of it is left in an input of %d×%d", srcW, srcH, dstW, dstH)
	}
	b.left = int(math.RoundToEven(float64(dstW-b.newW)/2 - 0.1))
	b.top = int(math.RoundToEven(float64(dstH-b.newH)/2 - 0.1))
	b.gainX = float64(b.newW) / float64(srcW)
	b.gainY = float64(b.newH) / float64(srcH)
	return b, nil
}

// forward maps a point of the picture to the input, both in pixels from the left upper edge.
func (b *letterbox) forward(x, y float64) (float64, float64) {
	return x*b.gainX + float64(b.left), y*b.gainY + float64(b.top)
}

// inverse maps a point of the input back to the picture, clipped to it.
func (b *letterbox) inverse(x, y float64) (float64, float64) {
	x = (x - float64(b.left)) / b.gainX
	y = (y - float64(b.top)) / b.gainY
	return min(max(x, 0), float64(b.srcW)), min(max(y, 0), float64(b.srcH))
}
