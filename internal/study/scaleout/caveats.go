package scaleout

import (
	"fmt"
	"math"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
)

// Arguments of caveats.
type (
	sizeOf struct {
		Nodes int `json:"nodes"`
	}
	wideArgs struct {
		Nodes     int     `json:"nodes"`
		HalfWidth float64 `json:"half_width"` // a share
		Wanted    float64 `json:"wanted"`
	}
	driftArgs struct {
		Before float64 `json:"before"` // jobs a second
		After  float64 `json:"after"`
	}
	resourceArgs struct {
		Resource caveat.Verbatim `json:"resource"`
	}
	packetArgs struct {
		Resource caveat.Verbatim `json:"resource"`
		Bytes    float64         `json:"bytes"` // of a packet
	}
	chanceArgs struct {
		Nodes  int `json:"nodes"`
		Trials int `json:"trials"`
	}
	missedArgs struct {
		Nodes  int `json:"nodes"`
		Trials int `json:"trials"`
		Of     int `json:"of"`
	}
	beyondArgs struct {
		Nodes   int `json:"nodes"`
		Largest int `json:"largest"`
	}
)

var (
	stepLost = caveat.Define("step_lost", func(a sizeOf) string {
		return num.Count(a.Nodes, "node") + ": a step failed and does not count"
	})
	noCurve = caveat.Define("no_curve", func(a caveat.Cause) string {
		return fmt.Sprintf("no curve was fitted: %s. Measure three sizes or more, and use trials: 3", a.Why)
	})
	noPrediction = caveat.Define("no_prediction", func(struct{}) string {
		return "nothing was predicted, because no measurement of one node is complete"
	})
	wideBand = caveat.Define("wide_band", func(a wideArgs) string {
		return fmt.Sprintf("the predicted band of %s has a half-width of %s, and %s was wanted. Measure one node for longer "+
			"(singles, or a longer duration)", num.Count(a.Nodes, "node"), num.Fraction(a.HalfWidth), num.Fraction(a.Wanted))
	})
	latePrediction = caveat.Define("late_prediction", func(struct{}) string {
		return "a larger fleet began before the last measurement of the prediction ended. " +
			"That fleet was not predicted beforehand"
	})
	drift = caveat.Define("drift", func(a driftArgs) string {
		return fmt.Sprintf("one node did %s before the prediction and %s in the trials after it. The prediction may be "+
			"off by as much", num.Human(a.Before, "job/s"), num.Human(a.After, "job/s"))
	})
	notMeasured = caveat.DefineAbout("capacity_not_measured", func(c caveat.Caveat, a resourceArgs) string {
		return fmt.Sprintf("jobs use %s, and its capacity was not measured. The prediction leaves its limit out. Name a "+
			"workload that measures it under capacities", a.Resource)
	})
	segmented = caveat.DefineAbout("segmented_packets", func(c caveat.Caveat, a packetArgs) string {
		return fmt.Sprintf("%s: nodes count %s on average as one packet, and network devices divide them. On the wire "+
			"there are more. Give the number of packets with --demand", a.Resource, num.Human(a.Bytes, "B"))
	})
	beyond = caveat.Define("beyond_measured", func(a beyondArgs) string {
		return fmt.Sprintf("%s were not measured: the largest fleet had %d. A bottleneck may lie between",
			num.Count(a.Nodes, "node"), a.Largest)
	})
	notReached = caveat.Define("not_reached", func(a beyondArgs) string {
		return fmt.Sprintf("no fleet did the target, up to the largest of %s. The curve says that %s it",
			num.Count(a.Largest, "node"), num.Do(a.Nodes, "node"))
	})
	byChance = caveat.Define("reached_by_chance", func(a chanceArgs) string {
		return fmt.Sprintf("%s did the target in the mean of %s, and that may be chance. Measure this size more often",
			num.Count(a.Nodes, "node"), num.Count(a.Trials, "trial"))
	})
	overCapacity = caveat.DefineAbout("more_than_capacity", func(_ caveat.Caveat, a resourceArgs) string {
		return fmt.Sprintf("a fleet did the target, and %s has too little capacity for that. Its capacity or its demand is "+
			"wrong", a.Resource)
	})
	missed = caveat.Define("trials_missing", func(a missedArgs) string {
		return fmt.Sprintf("%s were measured in %d of %s. Too few nodes were left, or the run ended early",
			num.Count(a.Nodes, "node"), a.Trials, num.Count(a.Of, "trial"))
	})
	noCommonTime = caveat.Define("no_common_time", func(a sizeOf) string {
		return fmt.Sprintf("%s were not seen at work at the same time. Their throughput is the sum of what each did by "+
			"itself, and may be too high", num.Count(a.Nodes, "node"))
	})
	copies = caveat.Define("equal_trials", func(struct{}) string {
		return "all trials of a size are equal, as copies are. Each size counts once. Give what each trial measured"
	})
	notPriced = caveat.Define("not_priced", func(a caveat.Cause) string { return "there is no cost: " + string(a.Why) })
	caveats   = caveat.Table{stepLost, noCurve, noPrediction, wideBand, latePrediction, drift, notMeasured,
		segmented, beyond, notReached, byChance, overCapacity, missed, noCommonTime, copies, notPriced}
)

// doubt adds what the steps and the prediction leave in doubt.
func (r *Result) doubt(p *Params, capacity map[quantity]float64) {
	pr := r.Predicted
	if pr == nil {
		r.Doubts.Add(noPrediction.Warn(struct{}{}))
		return
	}
	if w := pr.widest(); w.HalfWidth > float64(p.HalfWidth)/100 {
		r.Doubts.Add(wideBand.Warn(wideArgs{w.Nodes, w.HalfWidth, float64(p.HalfWidth) / 100}))
	}
	if pr.FirstLarger != nil && pr.FirstLarger.Before(pr.Made) {
		r.Doubts.Add(latePrediction.Warn(struct{}{}))
	}
	r.doubtDrift()
	r.doubtPackets(capacity)
	r.doubtMissing()
	for _, u := range r.Uses {
		if u.Capacity == nil {
			r.Doubts.Add(notMeasured.At(model.Warning, caveat.Subject{}, resourceArgs{caveat.Verbatim(u.Resource)}))
		}
	}
}

// doubtPackets tells where packets were counted that are none on the wire.
func (r *Result) doubtPackets(capacity map[quantity]float64) {
	small := r.pointsOf(r.smallest().Nodes)
	for _, q := range quantities() {
		if _, asked := capacity[q]; !asked || q.unit != observe.PacketRate {
			continue
		}
		of := func(unit string) float64 {
			return average(small, func(x point) float64 { return x.takes[quantity{q.resource, unit}] })
		}
		bytes, packets := of(evaluation.ByteRate), of(q.unit)
		if observe.Segmented(bytes, packets) && packets > 0 {
			r.Doubts.Add(segmented.At(model.Warning, caveat.Subject{}, packetArgs{caveat.Verbatim(q.resource), bytes / packets}))
		}
	}
}

// doubtMissing tells of sizes that have fewer trials than others.
func (r *Result) doubtMissing() {
	trials := make(map[int]int)
	most := 0
	for c := range r.planned {
		trials[c.nodes]++
		most = max(most, trials[c.nodes])
	}
	for _, b := range r.Predicted.Sizes {
		if n := trials[b.Nodes]; n < most {
			r.Doubts.Add(missed.Warn(missedArgs{b.Nodes, n, most}))
		}
	}
}

// doubtDrift compares one node before the prediction with one node in the blocks.
func (r *Result) doubtDrift() {
	var before, after []float64
	for _, x := range r.points {
		switch {
		case x.single:
			before = append(before, x.rate)
		case x.nodes == 1:
			after = append(after, x.rate)
		}
	}
	was, is := stats.Average(before), stats.Average(after)
	test, err := stats.WelchT(before, after, stats.DefaultLevel)
	if err == nil && test.P < 1-stats.DefaultLevel && math.Abs(is/was-1) > worthDoubting {
		r.Doubts.Add(drift.Warn(driftArgs{was, is}))
	}
}

// worthDoubting is by what share the rate of one node may change without a word.
const worthDoubting = .05
