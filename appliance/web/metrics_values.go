package web

import "github.com/skewgate/skewgate/appliance/status"

func flag(set bool) float64 {
	if set {
		return 1
	}
	return 0
}

// seconds are the base unit; documents have milliseconds.
func seconds[N int64 | float64](ms N) float64 { return float64(ms) / 1000 }

// putSeconds emits a time in milliseconds that may not be known; no sample then.
func putSeconds[N int64 | float64](put put, ms *N, labels ...string) {
	if ms != nil {
		put(seconds(*ms), labels...)
	}
}

// putCount emits a count that may not be known; no sample then.
func putCount(put put, n *uint64, labels ...string) {
	if n != nil {
		put(float64(*n), labels...)
	}
}

// putAll emits one sample a key.
func putAll(put put, m map[string]uint64, labels ...string) {
	for key, n := range m {
		put(float64(n), with(labels, key)...)
	}
}

// with returns labels and one more; it leaves the array of labels alone.
func with(labels []string, more string) []string {
	return append(labels[:len(labels):len(labels)], more)
}

// window makes the two families of a moving window: its figures by stat, of which there are none
// while it is empty, and how many samples they rest on, which is 0 then.
func window(name, help string, labels []string, each func(d *status.Document, tell func(q *status.Quantiles, labels ...string))) []family {
	return []family{
		gauge(name+"_seconds", help+" No sample while there are none.", with(labels, "stat"), func(d *status.Document, put put) {
			each(d, func(q *status.Quantiles, labels ...string) {
				if q == nil || q.Count == 0 {
					return
				}
				put(seconds(q.P50), with(labels, "p50")...)
				put(seconds(q.P99), with(labels, "p99")...)
				put(seconds(q.Max), with(labels, "max")...)
			})
		}),
		gauge(name+"_samples", "How many samples "+name+"_seconds rests on; 0 while it has none.", labels, func(d *status.Document, put put) {
			each(d, func(q *status.Quantiles, labels ...string) {
				if q == nil {
					q = &status.Quantiles{}
				}
				put(float64(q.Count), labels...)
			})
		}),
	}
}
