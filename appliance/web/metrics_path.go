package web

import (
	"slices"
	"strings"

	"github.com/skewgate/skewgate/appliance/status"
)

var applianceFamilies = []family{
	gauge("skewgate_build_info", "What runs; always 1.", []string{"version"}, func(d *status.Document, put put) { put(1, d.Version) }),
	gauge("skewgate_unit_info", "Whose figures these are; always 1.", []string{"unit"}, func(d *status.Document, put put) { put(1, d.Unit) }),
	gauge("skewgate_running", "1 while the appliance runs, 0 while it starts or drains.", nil, func(d *status.Document, put put) { put(flag(d.State == "running")) }),
	gauge("skewgate_uptime_seconds", "Time since the appliance's start.", nil, func(d *status.Document, put put) { put(seconds(d.UptimeMS)) }),
	gauge("skewgate_shared_memory_bytes", "Sum of all shared memory segments.", nil, func(d *status.Document, put put) { put(float64(d.Memory.Bytes)) }),
	gauge("skewgate_shared_memory_segments", "Number of shared memory segments.", nil, func(d *status.Document, put put) { put(float64(d.Memory.Segments)) }),
	gauge("skewgate_findings", "Things that are not as they should be, by code and by the camera, detector (MODEL/REPLICA) or sink they are about; no sample without one. `skewgate status` says the next step of each.",
		[]string{"code", "severity", "subject"}, putFindings),
}

func putFindings(d *status.Document, put put) {
	type kind struct {
		code     string
		severity status.Severity
		subject  string
	}
	n := map[kind]int{}
	for _, f := range d.Health {
		n[kind{f.Code, f.Severity, f.Subject}]++
	}
	for k, count := range n {
		put(float64(count), k.code, string(k.severity), k.subject)
	}
}

// account makes a family of correlator counters by their keys in the document. With a label, each
// key is a value of it.
func account(name, help, label string, keys ...string) family {
	var labels []string
	if label != "" {
		labels = []string{label}
	}
	return counter(name, help, labels, func(d *status.Document, put put) {
		for _, key := range keys {
			n, known := d.Correlation.Counters[key]
			switch {
			case !known: // not told is not 0
			case label == "":
				put(float64(n))
			default:
				put(float64(n), strings.TrimPrefix(key, "flushed_"))
			}
		}
	})
}

var correlationFamilies = []family{
	account("skewgate_messages_received_total", "Messages of detectors that reached the correlator: the sum of skewgate_messages_total.", "", "received"),
	account("skewgate_messages_total", "Messages by what became of them.", "verdict", "accepted", "late", "dup_resend", "dup_collision", "wrong_generation"),
	account("skewgate_messages_refused_total", "Messages that were malformed or over a bound, counted nowhere else.", "", "refused"),
	account("skewgate_messages_unexpected_total", "Messages of models that their camera does not expect; they have a verdict, too.", "", "unexpected"),
	account("skewgate_messages_unparsed_total", "Messages whose timestamp could not be read; they have a verdict, too.", "", "unparsed"),
	account("skewgate_messages_no_frame_id_total", "Messages without a frame id on cameras matched by it; they have a verdict, too.", "", "no_frame_id"),
	counter("skewgate_groups_opened_total", "Frames begun: the sum of skewgate_groups_closed_total and skewgate_groups_open.", nil,
		func(d *status.Document, put put) { put(float64(d.Correlation.Opened)) }),
	account("skewgate_groups_closed_total", "Frames by why they were closed; all but the stale ones are fused (skewgate_fused_frames_total) or suppressed (skewgate_groups_suppressed_empty_total).", "reason",
		"flushed_quorum", "flushed_settled", "flushed_timeout", "flushed_eviction", "stale"),
	counter("skewgate_groups_stale_total", "The stale ones of skewgate_groups_closed_total by why they grew stale: max_age, or sleep of the machine.", []string{"reason"},
		func(d *status.Document, put put) { putAll(put, d.Correlation.Stale) }),
	gauge("skewgate_groups_open", "Frames that wait for a detector now.", nil, func(d *status.Document, put put) {
		if n, known := d.Correlation.Counters["pending"]; known {
			put(float64(n))
		}
	}),
	account("skewgate_groups_suppressed_empty_total", "Closed frames that were not published because nobody found anything.", "", "suppressed_empty"),
	account("skewgate_closed_records_forgotten_total", "Records of closed frames dropped early for want of room; a late message of one looks new.", "", "closed_forgotten"),
	account("skewgate_progress_broken_total", "Messages that a detector's own progress had ruled out.", "", "progress_broken"),
	account("skewgate_clock_regressions_total", "Instants before the last one, taken for the last one.", "", "now_regressions"),
	counter("skewgate_machine_sleeps_total", "How often the machine slept; frames that were open then are dropped.", nil,
		func(d *status.Document, put put) { put(float64(d.Correlation.Sleeps)) }),
	gauge("skewgate_identity_broken", "1 if a sum that must hold does not. It must be 0; anything else is a fault of skewgate.", nil,
		func(d *status.Document, put put) { put(flag(d.Correlation.IdentityFault != "")) }),
	gauge("skewgate_timeout_seconds", "correlation.timeout: how long a frame waits for its detectors, counted from its first arrival.", nil,
		func(d *status.Document, put put) { put(seconds(d.Correlation.TimeoutMS)) }),
}

// skewFamilies are of arrival. What capture times say is told for each camera.
var skewFamilies = slices.Concat(
	window("skewgate_arrival_skew", "Last arrival minus first of the frames of the last 60 s with two models or more, and how late late messages were; it is not cut off at the timeout.", nil,
		func(d *status.Document, tell func(*status.Quantiles, ...string)) { tell(d.Correlation.SkewMS) }),
	window("skewgate_arrival_skew_final", "Arrival skew of the frames whose horizon was over in the last 60 s: nothing that comes within it can change these.", nil,
		func(d *status.Document, tell func(*status.Quantiles, ...string)) { tell(d.Correlation.Final.SkewMS) }),
	window("skewgate_arrival_beyond_horizon", "How late the messages of the last 60 s were that came even after the horizon of their frame.", nil,
		func(d *status.Document, tell func(*status.Quantiles, ...string)) { tell(d.Correlation.Final.BeyondMS) }),
	[]family{
		gauge("skewgate_arrival_horizon_seconds", "How long after its first arrival a frame's arrival skew is final.", nil,
			func(d *status.Document, put put) { put(seconds(d.Correlation.Final.HorizonMS)) }),
		counter("skewgate_messages_beyond_horizon_total", "Messages that came after the horizon of their frame.", nil,
			func(d *status.Document, put put) { put(float64(d.Correlation.Final.Beyond)) }),
		counter("skewgate_groups_cut_before_horizon_total", "Frames forgotten before their horizon was over: what came for them later is in no figure.", nil,
			func(d *status.Document, put put) { put(float64(d.Correlation.Final.Cut)) }),
	},
	window("skewgate_publish_to_fused", "From the last detector's publish to the fused frame handed to the sinks, over the frames of the last 60 s that waited for nothing else.", nil,
		func(d *status.Document, tell func(*status.Quantiles, ...string)) { tell(d.Correlation.PathMS) }),
)

var fusionFamilies = []family{
	counter("skewgate_fused_frames_total", "Fused frames handed to the sinks.", nil, func(d *status.Document, put put) { put(float64(d.Fusion.Published)) }),
	counter("skewgate_fused_frames_multi_model_total", "Of the fused frames, those with two models or more.", nil, func(d *status.Document, put put) { put(float64(d.Fusion.Multi)) }),
	counter("skewgate_fused_boxes_withheld_total", "Fused boxes left out, by the setting that did it.", []string{"reason"}, func(d *status.Document, put put) {
		put(float64(d.Fusion.BelowMinModels), "below_min_models")
		put(float64(d.Fusion.BelowMinScore), "below_min_score")
	}),
	counter("skewgate_input_boxes_rejected_total", "Boxes of detectors that the input gate turned away, by reason; no sample for a reason before its first box.", []string{"reason"},
		func(d *status.Document, put put) { putAll(put, d.Fusion.Rejected) }),
}
