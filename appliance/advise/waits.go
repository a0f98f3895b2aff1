package advise

import "slices"

// Waits are the lags of frames, each of which waited for more than one model.
type Waits struct {
	lags     []int64 // of all that closed by themselves
	sums     []int64 // sums[i] is the sum of the first i, once sorted
	answered []int64 // of those that an answer closed
	never    int
}

// Closing is what closed a frame.
type Closing uint8

const (
	Answered Closing = iota // the last answer, or the word that none will come
	GivenUp                 // what it still waited for was found dead, or no longer expected
	Nothing                 // it never closed by itself
)

// Add takes one frame: what closed it, and how many nanoseconds after its first arrival.
func (w *Waits) Add(by Closing, lagNS int64) {
	w.sums = nil
	switch by {
	case Nothing:
		w.never++
		return
	case Answered:
		w.answered = append(w.answered, lagNS)
	}
	w.lags = append(w.lags, lagNS)
}

// add takes another camera's frames, too.
func (w *Waits) add(other *Waits) {
	w.sums = nil
	w.lags = append(w.lags, other.lags...)
	w.answered = append(w.answered, other.answered...)
	w.never += other.never
}

// Frames is the number of frames.
func (w *Waits) Frames() int { return len(w.lags) + w.never }

// Answered is the number of frames that an answer closed. Only those tell how slow the
// detectors are.
func (w *Waits) Answered() int { return len(w.answered) }

// Outcome is what a timeout makes of the frames.
type Outcome struct {
	Frames   int
	Complete int   // closed by themselves before the timeout
	WaitNS   int64 // sum over all frames, from first arrival to closing
}

// Yield is the share of complete frames.
func (o Outcome) Yield() float64 { return share(o.Complete, o.Frames) }

// Mean is the mean wait of a frame.
func (o Outcome) Mean() Millis {
	if o.Frames == 0 {
		return 0
	}
	return Millis(o.WaitNS / int64(o.Frames))
}

// At is the outcome with a timeout of x nanoseconds. A lag of x is too late: what comes at the
// deadline is.
func (w *Waits) At(x int64) Outcome {
	w.sort()
	n, _ := slices.BinarySearch(w.lags, x)
	return Outcome{Frames: w.Frames(), Complete: n, WaitNS: w.sums[n] + x*int64(w.Frames()-n)}
}

// Rank returns the lag that so many thousandths of the answered frames do not exceed; there
// must be one.
func (w *Waits) Rank(thousandths int) int64 {
	w.sort()
	return rank(w.answered, thousandths)
}

// Summary is of the answered frames' lags.
func (w *Waits) Summary() *Summary {
	w.sort()
	return summarize(w.answered)
}

func (w *Waits) sort() {
	if w.sums != nil {
		return
	}
	slices.Sort(w.lags)
	slices.Sort(w.answered)
	w.sums = make([]int64, 1, len(w.lags)+1)
	for i, lag := range w.lags {
		w.sums = append(w.sums, w.sums[i]+lag)
	}
}
