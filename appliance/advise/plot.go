package advise

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// plot is one panel of a drawing: a frame with axes, in which curves are drawn. Coordinates in
// the drawing are pixels, y downwards.
type plot struct {
	b                        *strings.Builder
	left, top, width, height float64
	from, to                 float64 // of x, in ms
	log                      bool
	legend                   float64 // where the next entry goes
}

// Colours that people who confuse red and green can tell apart (Okabe and Ito).
const (
	blue   = "#0072b2"
	sky    = "#56b4e9"
	green  = "#009e73"
	orange = "#d55e00"
	grey   = "#777777"
)

func (p *plot) x(ms float64) float64 {
	if p.log {
		return p.left + p.width*(math.Log(ms)-math.Log(p.from))/(math.Log(p.to)-math.Log(p.from))
	}
	return p.left + p.width*(ms-p.from)/(p.to-p.from)
}

// y places a share of the panel's height, 0 at its foot.
func (p *plot) y(share float64) float64 { return p.top + p.height*(1-share) }

func (p *plot) text(x, y float64, anchor, colour, text string) {
	fmt.Fprintf(p.b, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">`, x, y, anchor, colour)
	_ = xml.EscapeText(p.b, []byte(text)) // a Builder does not fail
	p.b.WriteString("</text>\n")
}

func (p *plot) segment(x1, y1, x2, y2 float64, style string) {
	fmt.Fprintf(p.b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" %s/>`+"\n", x1, y1, x2, y2, style)
}

// axes draws the frame, x with its values and a share on the left.
func (p *plot) axes(title, xName string) {
	p.text(p.left, p.top-40, "start", "black", title)
	p.legend = p.left
	for i := 0; i <= 4; i++ {
		y := p.y(float64(i) / 4)
		p.segment(p.left, y, p.left+p.width, y, `stroke="#dddddd"`)
		p.text(p.left-6, y+4, "end", "black", fmt.Sprintf("%d %%", 25*i))
	}
	for _, at := range p.ticks() {
		x := p.x(at)
		p.segment(x, p.top+p.height, x, p.top+p.height+4, `stroke="black"`)
		p.text(x, p.top+p.height+18, "middle", "black", fmt.Sprintf("%g", at))
	}
	p.text(p.left+p.width/2, p.top+p.height+36, "middle", "black", xName)
	fmt.Fprintf(p.b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="none" stroke="black"/>`+"\n", p.left, p.top, p.width, p.height)
}

// ticks are round values on the x axis.
func (p *plot) ticks() (all []float64) {
	if p.log {
		for at := 1.0; at <= p.to; at *= 10 {
			for _, n := range []float64{1, 2, 5} {
				if v := n * at; v >= p.from && v <= p.to {
					all = append(all, v)
				}
			}
		}
		return all
	}
	step := niceStep((p.to - p.from) / 6)
	for at := 0.0; at <= p.to; at += step {
		all = append(all, at)
	}
	return all
}

// niceStep is 1, 2 or 5 of a decade, not below x.
func niceStep(x float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(x)))
	for _, n := range []float64{1, 2, 5} {
		if n*decade >= x {
			return n * decade
		}
	}
	return 10 * decade
}

// rightAxis writes values beside the quarters of the panel's height.
func (p *plot) rightAxis(top float64, unit, colour string) {
	for i := 0; i <= 4; i++ {
		p.text(p.left+p.width+6, p.y(float64(i)/4)+4, "start", colour, fmt.Sprintf("%g %s", top*float64(i)/4, unit))
	}
}

// curve draws f, a share of the panel's height over ms, and names it. A name of "" has none.
func (p *plot) curve(name, colour, dash string, at []float64, f func(ms float64) float64) {
	style := fmt.Sprintf(`stroke="%s" stroke-width="2"`, colour)
	if dash != "" {
		style += fmt.Sprintf(` stroke-dasharray="%s"`, dash)
	}
	p.b.WriteString(`<polyline fill="none" ` + style + ` points="`)
	for _, ms := range at {
		fmt.Fprintf(p.b, "%.1f,%.1f ", p.x(ms), p.y(min(max(f(ms), 0), 1)))
	}
	p.b.WriteString("\"/>\n")
	y := p.top - 18
	p.segment(p.legend, y, p.legend+22, y, style)
	p.text(p.legend+27, y+4, "start", "black", name)
	p.legend += 45 + 7*float64(len(name))
}

// mark draws an upright line at one value and names it, on a row of its own.
func (p *plot) mark(ms float64, name string, row int) {
	if ms < p.from || ms > p.to {
		return
	}
	x := p.x(ms)
	p.segment(x, p.top, x, p.top+p.height, fmt.Sprintf(`stroke="%s" stroke-dasharray="4 3"`, grey))
	anchor, dx := "start", 4.0
	if x > p.left+0.7*p.width {
		anchor, dx = "end", -4.0
	}
	// On a rim of white, for it may lie on a curve.
	fmt.Fprintf(p.b, `<g stroke="white" stroke-width="4" paint-order="stroke">`)
	p.text(x+dx, p.y(0.6)+16*float64(row), anchor, "#444444", name)
	p.b.WriteString("</g>\n")
}
