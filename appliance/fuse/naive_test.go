package fuse

import (
	"math"
	"sort"
)

// The naive fusion below is written from the description of weighted boxes fusion and of
// the rules, with maps, copies and no regard for cost, to check the engine against.

type naiveBox struct {
	corners [4]float64
	score   float64
	model   int
	index   int
	class   int
}

type naiveFused struct {
	corners [4]float64
	score   float64
	class   int
	models  map[int]float64 // best own score of each
}

func naiveIoU(a, b [4]float64) float64 {
	w := math.Min(a[2], b[2]) - math.Max(a[0], b[0])
	h := math.Min(a[3], b[3]) - math.Max(a[1], b[1])
	if w <= 0 || h <= 0 {
		return 0
	}
	return w * h / ((a[2]-a[0])*(a[3]-a[1]) + (b[2]-b[0])*(b[3]-b[1]) - w*h)
}

func naiveMean(cluster []naiveBox, weights []float64) (mean [4]float64) {
	total := 0.0
	for _, b := range cluster {
		total += b.score * weights[b.model]
	}
	for k := range mean {
		for _, b := range cluster {
			w := b.score * weights[b.model]
			if total == 0 {
				mean[k] += b.corners[k] / float64(len(cluster))
				continue
			}
			mean[k] += w * b.corners[k] / total
		}
	}
	return mean
}

// naiveWBF fuses boxes of the models in present. onEdge says that rounding decides: an
// overlap is as good as equal to the threshold, or to that with another cluster.
func naiveWBF(boxes []naiveBox, present []int, weights []float64, iou float64, rule Rule, overflow bool, minModels int) (fused []naiveFused, onEdge bool) {
	classes := map[int][]naiveBox{}
	for _, b := range boxes {
		classes[b.class] = append(classes[b.class], b)
	}
	sumW, maxW := 0.0, 0.0
	for _, m := range present {
		sumW += weights[m]
		maxW = math.Max(maxW, weights[m])
	}
	for class, list := range classes {
		sort.SliceStable(list, func(i, j int) bool {
			a, b := list[i], list[j]
			ra, rb := a.score*weights[a.model], b.score*weights[b.model]
			switch {
			case ra != rb:
				return ra > rb
			case a.model != b.model:
				return a.model < b.model
			}
			return a.index < b.index
		})
		var clusters [][]naiveBox
		for _, b := range list {
			best, at := iou, -1
			for i, c := range clusters {
				v := naiveIoU(naiveMean(c, weights), b.corners)
				onEdge = onEdge || math.Abs(v-best) < 1e-9
				if v > best {
					best, at = v, i
				}
			}
			if at < 0 {
				clusters = append(clusters, []naiveBox{b})
			} else {
				clusters[at] = append(clusters[at], b)
			}
		}
		for _, c := range clusters {
			f := naiveFused{corners: naiveMean(c, weights), class: class, models: map[int]float64{}}
			sum, boxW, modelW, top := 0.0, 0.0, 0.0, 0.0
			for _, b := range c {
				sum += b.score * weights[b.model]
				boxW += weights[b.model]
				top = math.Max(top, b.score*weights[b.model])
				f.models[b.model] = math.Max(f.models[b.model], b.score)
			}
			for m := range f.models {
				modelW += weights[m]
			}
			n := float64(len(c))
			switch rule {
			case AvgPresent:
				f.score = sum / boxW * modelW / sumW
			case AbsentAware:
				f.score = sum / (boxW + sumW - modelW)
			case Max:
				f.score = top / maxW
			case ReferenceAvg:
				if overflow {
					f.score = sum / sumW
				} else {
					f.score = sum / n * math.Min(n, float64(len(present))) / sumW
				}
			}
			f.score = math.Min(f.score, 1)
			if len(f.models) >= minModels {
				fused = append(fused, f)
			}
		}
	}
	return fused, onEdge
}
