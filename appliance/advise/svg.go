package advise

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// curvePoints is how finely the drawing follows a curve.
const curvePoints = 200

// WriteSVG draws both curves: yield and mean wait over timeouts, and what buckets do wrong over
// quanta. It is one file without scripts, fonts or anything else from outside.
func WriteSVG(w io.Writer, r *Report) error {
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" width="1240" height="470" viewBox="0 0 1240 470" font-family="sans-serif" font-size="12">
<rect width="1240" height="470" fill="white"/>
`)
	r.drawTimeouts(&plot{b: &b, left: 60, top: 70, width: 480, height: 320, log: true})
	r.drawQuanta(&plot{b: &b, left: 700, top: 70, width: 480, height: 320})
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) drawTimeouts(p *plot) {
	// Far beyond the timeout in force there is nothing to see but the wait growing.
	p.from, p.to = 1, max(2, float64(min(r.Timeout.Horizon, max(4*r.Settings.Timeout, 100e6)))/1e6)
	all := &r.Timeout.All
	p.axes(fmt.Sprintf("Timeout: %d frames that wait for more than one model", all.Frames), "timeout, ms")
	if all.Frames == 0 {
		return
	}
	at := make([]float64, 0, curvePoints+1)
	for i := 0; i <= curvePoints; i++ {
		at = append(at, p.from*math.Pow(p.to/p.from, float64(i)/curvePoints))
	}
	at[curvePoints] = p.to // not a little beyond it
	outcome := func(ms float64) Outcome { return r.waits.At(int64(ms * 1e6)) }
	top := niceStep(max(float64(outcome(p.to).Mean())/1e6, 0.1))
	p.rightAxis(top, "ms", orange)
	p.curve("complete", blue, "", at, func(ms float64) float64 { return outcome(ms).Yield() })
	p.curve("mean wait", orange, "", at, func(ms float64) float64 { return float64(outcome(ms).Mean()) / 1e6 / top })
	p.marks(&r.Timeout.Advice)
}

func (r *Report) drawQuanta(p *plot) {
	pictures, interval := 0, int64(0)
	for i, c := range r.Quantum.Cameras {
		if c.Method != Unknown {
			pictures += c.Pictures
			interval = max(interval, r.pictures[i].Interval)
		}
	}
	p.to = max(2*float64(interval), 1.2*float64(r.Settings.Quantum), 1e6) / 1e6
	p.axes(fmt.Sprintf("Quantum: %d pictures of two models or more", pictures), "quantum, ms")
	if pictures == 0 {
		return
	}
	at := make([]float64, 0, curvePoints)
	sums := make(map[float64]Buckets)
	for i := 1; i <= curvePoints; i++ {
		ms := p.to * float64(i) / curvePoints
		at = append(at, ms)
		sums[ms] = r.buckets(int64(ms * 1e6))
	}
	p.curve("split", blue, "", at, func(ms float64) float64 { return share(sums[ms].Split, sums[ms].Pictures) })
	p.curve("split, any phase", sky, "6 3", at, func(ms float64) float64 { return sums[ms].AnyPhase })
	p.curve("collision", green, "", at, func(ms float64) float64 { return share(sums[ms].Collided, sums[ms].Messages) })
	p.curve("mix", orange, "", at, func(ms float64) float64 { return share(sums[ms].Mixed, sums[ms].Frames) })
	p.marks(&r.Quantum.Advice)
}

// buckets sums over the cameras of which pictures are known.
func (r *Report) buckets(q int64) (sum Buckets) {
	for _, p := range r.pictures {
		if p.Method != Unknown {
			sum.add(p.At(q))
		}
	}
	return sum
}

// marks shows the setting in force and the advised one.
func (p *plot) marks(a *Advice) {
	p.mark(float64(a.Now)/1e6, "now "+a.Now.String(), 0)
	if a.Advised != nil && *a.Advised != a.Now {
		p.mark(float64(*a.Advised)/1e6, "advised "+a.Advised.String(), 1)
	}
}
