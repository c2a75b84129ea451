package analysis

import (
	"fmt"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// NodeRateOf is the rate at which one node does its jobs alone: the mean serial
// capacity of a workload's only metric per second, with Student's interval over
// what was measured as one. A pair's rate is divided by the nodes that measure
// it; data, the run of the findings, tells how many. It is a model.ErrUsage if
// there is no rate, more than one, or one of bytes, which are no jobs.
func NodeRateOf(findings []model.Finding, data model.RunData, workload string) (rate float64, ci *model.Interval, err error) {
	f, err := rateFinding(findings, workload)
	if err != nil {
		return 0, nil, err
	}
	if normal, _ := normalUnit(f.Unit); normal == byteRate {
		return 0, nil, fmt.Errorf("%w: %s/%s is a rate of bytes (%s), not of jobs; give --node-rate", model.ErrUsage, f.Workload, f.Metric, f.Unit)
	}
	nodes := float64(endsOf(f, data).perSubject())
	rate = *f.Serial.Mean / nodes
	serial, _ := columns(f.Pairs)
	if half, err := stats.MeanHalfWidth(serial, level); err == nil {
		ci = &model.Interval{rate - half/nodes, rate + half/nodes}
	}
	return rate, ci, nil
}

// rateFinding is the only finding of a workload that counts something a second.
// The reciprocal of how long a task took is one, too, but what a task counted
// itself comes before it.
func rateFinding(findings []model.Finding, workload string) (model.Finding, error) {
	var counted, durations []model.Finding
	for _, f := range findings {
		switch {
		case workload != "" && f.Workload != workload || f.Serial.Mean == nil || !strings.HasSuffix(f.Unit, "/s"):
		case f.Reciprocal:
			durations = append(durations, f)
		default:
			counted = append(counted, f)
		}
	}
	if len(counted) == 0 {
		counted = durations
	}
	switch len(counted) {
	case 0:
		return model.Finding{}, fmt.Errorf("%w: the run has no serial rate in jobs per second; give --node-rate", model.ErrUsage)
	case 1:
		return counted[0], nil
	}
	var names []string
	for _, f := range counted {
		names = append(names, f.Workload+"/"+f.Metric)
	}
	return model.Finding{}, fmt.Errorf("%w: the run has several rates (%s); give --node-rate", model.ErrUsage, list(names))
}
