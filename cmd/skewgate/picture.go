package main

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// layer is what one model, or the fusion, says of a picture.
type layer struct {
	name  string
	color color.RGBA
	thick int
	line  int // where the words stand: 0 above the box, n in the nth line below it
	marks []mark
}

// mark is one box in fractions of the picture with its words.
type mark struct {
	x1, y1, x2, y2 float64
	text           string
}

// palette colours the models in the order of the config; the fused result is white.
var palette = []color.RGBA{
	{R: 255, G: 176, B: 0, A: 255},
	{R: 0, G: 200, B: 255, A: 255},
	{R: 255, G: 96, B: 208, A: 255},
	{R: 128, G: 255, B: 96, A: 255},
}

var fusedColor = color.RGBA{R: 255, G: 255, B: 255, A: 255}

const (
	legendHeight = 20
	lineHeight   = 12
)

// renderPicture draws layers over an I420 picture (BT.601, limited range) and a
// legend line below it.
func renderPicture(i420 []byte, width, height int, title string, layers []layer) (*image.RGBA, error) {
	chromaWidth, chromaHeight := (width+1)/2, (height+1)/2
	if want := width*height + 2*chromaWidth*chromaHeight; width <= 0 || height <= 0 || len(i420) < want {
		return nil, fmt.Errorf("render a %dx%d picture: %d bytes, want %d", width, height, len(i420), want)
	}
	img := image.NewRGBA(image.Rect(0, 0, width, height+legendHeight))
	luma, u := i420[:width*height], i420[width*height:]
	v := u[chromaWidth*chromaHeight:]
	for y := range height {
		for x := range width {
			c := y/2*chromaWidth + x/2
			img.SetRGBA(x, y, limitedToRGB(luma[y*width+x], u[c], v[c]))
		}
	}
	draw.Draw(img, image.Rect(0, height, width, height+legendHeight), image.NewUniform(color.RGBA{A: 255}), image.Point{}, draw.Src)
	legend := 4
	legend = drawText(img, legend, height+14, fusedColor, title)
	for _, l := range layers {
		for _, m := range l.marks {
			drawMark(img, width, height, l, m)
		}
		legend = drawText(img, legend+10, height+14, l.color, fmt.Sprintf("%s (%d)", l.name, len(l.marks)))
	}
	return img, nil
}

// limitedToRGB is ITU-R BT.601 with 16…235 luma, as ffmpeg reads untagged SD video.
func limitedToRGB(y, u, v byte) color.RGBA {
	c, d, e := 1.164383*float64(int(y)-16), float64(int(u)-128), float64(int(v)-128)
	return color.RGBA{R: clampByte(c + 1.596027*e), G: clampByte(c - 0.391762*d - 0.812968*e), B: clampByte(c + 2.017232*d), A: 255}
}

func clampByte(f float64) byte { return byte(math.Max(0, math.Min(255, math.Round(f)))) }

func drawMark(img *image.RGBA, width, height int, l layer, m mark) {
	r := image.Rect(int(m.x1*float64(width)), int(m.y1*float64(height)), int(math.Ceil(m.x2*float64(width))), int(math.Ceil(m.y2*float64(height))))
	r = r.Intersect(image.Rect(0, 0, width, height))
	if r.Empty() {
		return
	}
	src := image.NewUniform(l.color)
	for _, side := range []image.Rectangle{
		{r.Min, image.Pt(r.Max.X, r.Min.Y+l.thick)},
		{image.Pt(r.Min.X, r.Max.Y-l.thick), r.Max},
		{r.Min, image.Pt(r.Min.X+l.thick, r.Max.Y)},
		{image.Pt(r.Max.X-l.thick, r.Min.Y), r.Max},
	} {
		draw.Draw(img, side.Intersect(r), src, image.Point{}, draw.Src)
	}
	baseline := r.Min.Y - 3
	if l.line > 0 {
		baseline = r.Max.Y + lineHeight*l.line
	}
	drawText(img, r.Min.X, min(max(baseline, lineHeight), height-3), l.color, m.text)
}

// drawText writes s on a dark ground so that it reads on any picture, and returns
// the x just behind it.
func drawText(img *image.RGBA, x, baseline int, c color.RGBA, s string) int {
	d := font.Drawer{Dst: img, Src: image.NewUniform(c), Face: basicfont.Face7x13, Dot: fixed.P(x, baseline)}
	end := x + d.MeasureString(s).Ceil()
	shade := image.NewUniform(color.RGBA{A: 160})
	draw.Draw(img, image.Rect(x-1, baseline-11, end+1, baseline+3), shade, image.Point{}, draw.Over)
	d.DrawString(s)
	return end
}
