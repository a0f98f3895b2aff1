package web

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/skewgate/skewgate/appliance/status"
)

// maxScrapes bounds how many scrapes run at once; more are told to come again (503).
const maxScrapes = 4

// put emits one sample of a family, with a value for each of the family's labels.
type put func(value float64, labels ...string)

// family is one metric: what it is called, what it means and where the document says it.
type family struct {
	name   string
	help   string
	kind   prometheus.ValueType
	labels []string
	// each emits the family's samples. A figure that the document does not have is not
	// emitted: an absent sample is not a 0.
	each func(d *status.Document, put put)
}

// maker makes a family: counter or gauge.
type maker func(name, help string, labels []string, each func(*status.Document, put)) family

func counter(name, help string, labels []string, each func(*status.Document, put)) family {
	return family{name, help, prometheus.CounterValue, labels, each}
}

func gauge(name, help string, labels []string, each func(*status.Document, put)) family {
	return family{name, help, prometheus.GaugeValue, labels, each}
}

// families are all that is told of the appliance, in the order of the path.
var families = slices.Concat(
	applianceFamilies, correlationFamilies, skewFamilies, fusionFamilies, cameraFamilies, matchingFamilies,
	ringFamilies, detectorFamilies, aloneFamilies, outputFamilies, processFamilies,
)

// collector answers a scrape from one status document, so that all samples of a scrape are of
// one moment and metrics and status never differ. Label values are names from the config and
// words of this program, never what a detector or a camera says: nobody outside can make series.
type collector struct {
	src     Source
	descs   []*prometheus.Desc // of families
	turning *prometheus.Desc
}

func newCollector(src Source) *collector {
	c := &collector{src: src, turning: prometheus.NewDesc(turningName, turningHelp, nil, nil)}
	for _, f := range families {
		c.descs = append(c.descs, prometheus.NewDesc(f.name, f.help, f.labels, nil))
	}
	return c
}

// Whether the path turns is the one thing that the document does not say: it is the path's.
const (
	turningName = "skewgate_path_turning"
	turningHelp = "1 while the path's thread turns, 0 when it is stuck and all other figures are old."
)

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
	ch <- c.turning
}

// Collect implements prometheus.Collector. It never blocks on the path.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	d := c.src.Status()
	for i, f := range families {
		f.each(d, func(value float64, labels ...string) {
			for j := range labels {
				labels[j] = strings.ToValidUTF8(labels[j], "\uFFFD")
			}
			m, err := prometheus.NewConstMetric(c.descs[i], f.kind, value, labels...)
			if err != nil {
				m = prometheus.NewInvalidMetric(c.descs[i], err)
			}
			ch <- m
		})
	}
	ch <- prometheus.MustNewConstMetric(c.turning, prometheus.GaugeValue, flag(c.src.Alive() == nil))
}

// registry holds our families and what the library says of the process and the Go runtime.
func registry(src Source) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(newCollector(src), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// metrics serves GET /metrics. A sample that cannot be told is logged and left out; it does not
// take the page away.
func metrics(src Source) http.Handler {
	return promhttp.HandlerFor(registry(src), promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(slog.Default().Handler(), slog.LevelError),
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes,
	})
}
