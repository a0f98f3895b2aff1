package web

import (
	"strconv"

	"github.com/skewgate/skewgate/appliance/status"
)

// perSink makes families that have one sample a sink.
func perSink(make maker, name, help string, value func(*status.Sink) float64) family {
	return make(name, help, []string{"sink"}, func(d *status.Document, put put) {
		for i := range d.Sinks {
			put(value(&d.Sinks[i]), d.Sinks[i].Name)
		}
	})
}

// sum makes a gauge of all recordings together: they come and go with their clients, so their
// own names and counts are no series.
func sum(name, help string, value func(*status.Recording) uint64) family {
	return gauge(name, help, nil, func(d *status.Document, put put) {
		total := uint64(0)
		for i := range d.Recordings {
			total += value(&d.Recordings[i])
		}
		put(float64(total))
	})
}

var outputFamilies = []family{
	perSink(gauge, "skewgate_sink_up", "1 while the sink takes what it is given.", func(s *status.Sink) float64 { return flag(s.State == "ok") }),
	perSink(counter, "skewgate_sink_frames_offered_total", "Fused frames given to the sink: written, lost or queued.", func(s *status.Sink) float64 { return float64(s.Offered) }),
	perSink(counter, "skewgate_sink_frames_written_total", "Fused frames that the sink has written.", func(s *status.Sink) float64 { return float64(s.Written) }),
	perSink(gauge, "skewgate_sink_frames_queued", "Fused frames that wait to be written.", func(s *status.Sink) float64 { return float64(s.Queued) }),
	counter("skewgate_sink_frames_lost_total", "Fused frames that the sink did not write, by reason.", []string{"sink", "reason"}, func(d *status.Document, put put) {
		for _, s := range d.Sinks {
			putAll(put, s.Lost, s.Name)
		}
	}),
	sum("skewgate_recordings", "Recordings that run, or ended early.", func(*status.Recording) uint64 { return 1 }),
	sum("skewgate_recording_events", "Events written by the recordings that run.", func(r *status.Recording) uint64 { return r.Events }),
	sum("skewgate_recording_events_queued", "Events that wait to be written by the recordings that run.", func(r *status.Recording) uint64 { return r.Queued }),
	sum("skewgate_recording_events_lost", "Events that the recordings that run could not keep: those are incomplete.", func(r *status.Recording) uint64 { return r.Lost }),
}

// ofExit makes gauges of how each child process last ended.
func ofExit(name, help string, more []string, each func(e *status.Exit, tell put)) family {
	return gauge(name, help+" No sample before the first end.", append([]string{"task"}, more...), func(d *status.Document, put put) {
		for _, t := range d.Tasks {
			if t.LastExit != nil {
				each(t.LastExit, func(value float64, labels ...string) { put(value, append([]string{t.Name}, labels...)...) })
			}
		}
	})
}

var processFamilies = []family{
	counter("skewgate_process_restarts_total", "How often a child process was started again.", []string{"task"}, func(d *status.Document, put put) {
		for _, t := range d.Tasks {
			put(float64(t.Restarts), t.Name)
		}
	}),
	gauge("skewgate_process_uptime_seconds", "For how long a child process has been ready; no sample while it is not.", []string{"task"}, func(d *status.Document, put put) {
		for _, t := range d.Tasks {
			if t.UptimeMS > 0 {
				put(seconds(t.UptimeMS), t.Name)
			}
		}
	}),
	ofExit("skewgate_process_last_exit_info", "Why a child process last ended, with its signal (0 without one) and exit code (-1 with a signal); always 1.", []string{"cause", "signal", "code"},
		func(e *status.Exit, tell put) { tell(1, e.Cause, strconv.Itoa(e.Signal), strconv.Itoa(e.Code)) }),
	ofExit("skewgate_process_last_exit_uptime_seconds", "How long the child process that ended last had run.", nil, func(e *status.Exit, tell put) { tell(seconds(e.UptimeMS)) }),
	ofExit("skewgate_process_last_exit_cpu_seconds", "How much processor time the child process that ended last had used.", nil, func(e *status.Exit, tell put) { tell(seconds(e.CPUMS)) }),
	ofExit("skewgate_process_last_exit_max_rss_bytes", "The most memory that the child process that ended last had.", nil, func(e *status.Exit, tell put) { tell(float64(e.MaxRSS)) }),
}
