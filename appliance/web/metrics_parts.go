package web

import (
	"slices"
	"strconv"

	"github.com/skewgate/skewgate/appliance/status"
)

// ofDetector makes families of detectors: each is told once a replica, with its labels.
func ofDetector(make maker, name, help string, more []string, each func(m *status.Model, tell put)) family {
	return make(name, help, slices.Concat([]string{"model", "replica"}, more), func(d *status.Document, put put) {
		for i := range d.Models {
			m := &d.Models[i]
			each(m, func(value float64, labels ...string) {
				put(value, append([]string{m.Name, strconv.FormatUint(uint64(m.Replica), 10)}, labels...)...)
			})
		}
	})
}

// perDetector makes families that have one sample a replica.
func perDetector(make maker, name, help string, value func(*status.Model) float64) family {
	return ofDetector(make, name, help, nil, func(m *status.Model, tell put) { tell(value(m)) })
}

// eachModel calls f once a model: what the correlator says of a model is of all its replicas.
func eachModel(d *status.Document, f func(m *status.Model)) {
	for i := range d.Models {
		first := slices.IndexFunc(d.Models, func(m status.Model) bool { return m.Name == d.Models[i].Name })
		if first == i {
			f(&d.Models[i])
		}
	}
}

// managed leaves out detectors that attach by themselves: they have no queue.
func managed(each func(m *status.Model, tell put)) func(*status.Model, put) {
	return func(m *status.Model, tell put) {
		if !m.Foreign {
			each(m, tell)
		}
	}
}

var ringFamilies = []family{
	perDetector(counter, "skewgate_ring_written_total", "Messages that the path knows to be written into the detector's ring: those read, lost, and not read yet. It goes on when a ring is laid out anew.",
		func(m *status.Model) float64 { return float64(m.Written) }),
	perDetector(counter, "skewgate_ring_read_total", "Messages that the path read from the ring.", func(m *status.Model) float64 { return float64(m.Read) }),
	perDetector(counter, "skewgate_ring_lost_total", "Messages overwritten before the path read them.", func(m *status.Model) float64 { return float64(m.Lost) }),
	perDetector(gauge, "skewgate_ring_epoch", "Rises with each new writer of the ring; from 0 again when the ring is laid out anew.", func(m *status.Model) float64 { return float64(m.RingEpoch) }),
	perDetector(gauge, "skewgate_ring_quarantined", "1 while the ring is not read because of nonsense in it.", func(m *status.Model) float64 { return flag(m.Quarantine != "") }),
	perDetector(counter, "skewgate_ring_quarantines_total", "How often the ring was set aside for nonsense in it.", func(m *status.Model) float64 { return float64(m.Quarantines) }),
}

var detectorFamilies = slices.Concat(
	[]family{
		perDetector(gauge, "skewgate_detector_up", "1 while the detector is ready, or attached if it comes by itself.", func(m *status.Model) float64 { return flag(m.State == "ready" || m.State == "attached") }),
		ofDetector(gauge, "skewgate_detector_hung", "1 while frames of the camera do not wait for the detector because it says nothing.", cameraLabels, func(m *status.Model, tell put) {
			for _, camera := range m.Cameras {
				tell(flag(slices.Contains(m.HangsOn, camera)), camera)
			}
		}),
		ofDetector(gauge, "skewgate_detector_heartbeat_age_seconds", "Time since the last sign of life in the ring; no sample before the first, and while skewgate_detector_heartbeat_nonsense is 1.", nil,
			func(m *status.Model, tell put) { putSeconds(tell, m.HeartbeatAgeMS) }),
		perDetector(gauge, "skewgate_detector_heartbeat_nonsense", "1 while the heartbeat is a time that cannot be, so that nobody can tell whether the detector lives.", func(m *status.Model) float64 { return flag(m.HeartbeatNote != "") }),
		ofDetector(gauge, "skewgate_detector_attached_seconds", "For how long a detector that comes by itself has been attached; no sample while nobody is.", nil, func(m *status.Model, tell put) {
			if m.Peer != nil {
				tell(seconds(m.Peer.AttachedMS))
			}
		}),
		perDetector(counter, "skewgate_detector_messages_joined_total", "Messages of the detector that joined a frame.", func(m *status.Model) float64 { return float64(m.Messages) }),
		perDetector(counter, "skewgate_detector_messages_refused_total", "Messages of the detector that were malformed.", func(m *status.Model) float64 { return float64(m.Refused) }),
	},
	window("skewgate_model_lag", "How long after the first arrival of its frame the model's messages came, late ones included, over the last 60 s.", []string{"model"},
		func(d *status.Document, tell func(*status.Quantiles, ...string)) {
			eachModel(d, func(m *status.Model) { tell(m.LagMS, m.Name) })
		}),
	[]family{
		counter("skewgate_model_late_total", "Messages of the model that came after their frame was closed.", []string{"model"}, func(d *status.Document, put put) {
			eachModel(d, func(m *status.Model) { put(float64(m.Late), m.Name) })
		}),
		ofDetector(gauge, "skewgate_dispatch_queue_pictures", "Pictures handed to the replica that it has not done; none of the dispatch's figures for a detector that comes by itself.", nil,
			managed(func(m *status.Model, tell put) { tell(float64(m.Queue)) })),
		ofDetector(counter, "skewgate_dispatch_assigned_total", "Pictures handed to the replica.", nil, managed(func(m *status.Model, tell put) { tell(float64(m.Assigned)) })),
		ofDetector(counter, "skewgate_dispatch_dropped_total", "Pictures never handed to the replica, by reason.", []string{"reason"}, func(m *status.Model, tell put) { putAll(tell, m.Dropped) }),
		ofDetector(counter, "skewgate_dispatch_outcomes_total", "What became of the pictures handed to the replica, by its own word; from 0 again when its ring is laid out anew.", []string{"outcome"},
			func(m *status.Model, tell put) { putAll(tell, m.Outcomes) }),
	},
)

// ofAlone makes gauges of the cameras on which a model has never met another one.
func ofAlone(name, help string, more []string, each func(a *status.Alone, tell put)) family {
	return gauge(name, help, slices.Concat([]string{"model", "camera"}, more), func(d *status.Document, put put) {
		eachModel(d, func(m *status.Model) {
			for i := range m.Alone {
				a := &m.Alone[i]
				each(a, func(value float64, labels ...string) { put(value, append([]string{m.Name, a.Camera}, labels...)...) })
			}
		})
	})
}

var aloneFamilies = []family{
	ofAlone("skewgate_model_alone_info", "Why the model has never met another one on the camera; always 1, no sample once it has.", []string{"reason"},
		func(a *status.Alone, tell put) { tell(1, a.Reason) }),
	ofAlone("skewgate_model_alone_seconds", "By how much it misses the others. Reason late: its median time behind the first arrival; other_bucket: the signed median of its capture time less the nearest of another. No sample for other reasons.", nil,
		func(a *status.Alone, tell put) { putSeconds(tell, a.ByMS) }),
	ofAlone("skewgate_model_alone_messages", "Messages of the model about a camera on which it has never met another one.", nil, func(a *status.Alone, tell put) { tell(float64(a.Messages)) }),
	ofAlone("skewgate_model_alone_reason_messages", "Of skewgate_model_alone_messages, those that the reason is about.", nil, func(a *status.Alone, tell put) { tell(float64(a.Count)) }),
}
