package session

import (
	"math"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// Outcome is what the users of all generators of a trial came to together, by the
// samples that were published. What is not known is NaN.
type Outcome struct {
	Throughput float64 // operations a second that ended well
	Response   float64 // mean of those, in seconds
	Think      float64 // mean that was drawn, in seconds
	Errors     float64 // share of what was due that did not end well
	NoLink     float64 // share of it after which a user found no way to go on
	Unfinished int
	Latencies  *hdr.Histogram // ns; nil: not known
	Generators []Generator
}

// Generator is how well one kept up.
type Generator struct {
	Node model.NodeID
	Busy float64 // share of its time that it worked
	Lag  float64 // by how many seconds its sends were late, 99th percentile
}

// Sum adds up the generators of a trial: rates and counts are summed, means are those
// of all operations together.
func Sum(of []model.Result) (out Outcome, err error) {
	var response, think, due, ok, noLink float64
	for _, x := range of {
		v := samplesOf(x)
		out.Throughput += v[MetricThroughput]
		response += v[MetricThroughput] * v[MetricResponse]
		think += v[MetricThroughput] * v[MetricThink]
		due, ok, noLink = due+v[MetricDue], ok+v[MetricOK], noLink+v[MetricNoLink]
		out.Unfinished += int(v[MetricUnfinished])
		lag, err := histogramOf(load.HistogramLag, x)
		if err != nil {
			return out, err
		}
		busy, known := v[load.MetricBusy]
		if !known {
			busy = math.NaN()
		}
		out.Generators = append(out.Generators, Generator{Node: x.Node, Busy: busy, Lag: lateness(lag)})
	}
	out.Response, out.Think, out.Errors, out.NoLink = response/out.Throughput, think/out.Throughput, 1-ok/due, noLink/due
	out.Latencies, err = histogramOf(HistogramResponse, of...)
	return out, err
}

// histogramOf adds up the histograms of a metric over whole tasks; nil: they have none.
func histogramOf(metric string, of ...model.Result) (sum *hdr.Histogram, err error) {
	for _, x := range of {
		for _, h := range x.Histograms {
			if h.Metric != metric || h.Second > 0 {
				continue
			}
			if sum, err = histogram.Add(sum, h.Encoded); err != nil {
				return nil, err
			}
		}
	}
	return sum, nil
}

// lateness is by how many seconds more than one in a hundred of the sends were late, as
// far as so many of them tell: of 60 the two latest may be chance. NaN: not known.
func lateness(lag *hdr.Histogram) float64 {
	const late = .01
	if lag == nil || lag.TotalCount() == 0 {
		return math.NaN()
	}
	n := int(lag.TotalCount())
	rank := max(0, n+1-stats.Telling(n, late, stats.DefaultLevel))
	return float64(lag.ValueAtPercentile(100*float64(rank)/float64(n))) / 1e9
}

// samplesOf are the samples without labels, times in seconds.
func samplesOf(x model.Result) map[string]float64 {
	out := make(map[string]float64)
	for _, s := range x.Samples {
		if len(s.Labels) > 0 {
			continue
		}
		v := s.Value
		if per, ok := map[string]float64{"ms": 1e-3, "us": 1e-6, "ns": 1e-9}[s.Unit]; ok {
			v *= per
		}
		out[s.Metric] = v
	}
	return out
}
