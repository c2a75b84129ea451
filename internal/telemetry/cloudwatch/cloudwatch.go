// Package cloudwatch reads what Amazon CloudWatch recorded of EBS volumes.
//
//  1. [Spec] names volumes and a time. Its grid has only whole periods of that time, because a
//     period that is cut has operations from outside (grid.go).
//  2. The client has the usual chain of credentials, and time-outs (client.go).
//  3. Queries go out in calls of 500. Answers fill the grid; what was not answered stays NaN.
//  4. A period without a value is a gap.
//
// Metrics: Amazon EBS user guide, "Amazon CloudWatch metrics for Amazon EBS".
package cloudwatch

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/telemetry"
)

// Spec says what is read.
type Spec struct {
	// Volumes are ids, "vol-…". With "i-…/vol-…" the recording is of that node, and has the
	// checks of the instance's own limits.
	Volumes []string
	// From and To bound the time. Only whole periods that lie between them, and before now,
	// are read.
	From, To time.Time
	// Period is a part of a day in whole minutes. 0 is the shortest that CloudWatch keeps so
	// long: a minute for 15 days, five for 63 days, an hour for 455 days.
	Period time.Duration
	// Region is empty if the environment or the profile names it.
	Region string
	// Endpoint is the URL of a server that speaks CloudWatch's query protocol; empty: Amazon's.
	Endpoint string

	now              time.Time     // zero: by the clock
	silence, backoff time.Duration // 0: as the constants
}

// metric is one that EBS or EC2 sends.
type metric struct {
	name    string
	measure telemetry.Measure
	// average is the factor of an average. 0: the metric is a sum, which is divided by the
	// period.
	average float64
}

const check = 1 // the factor of metrics that are 0 or 1 of a minute

// ofVolume are metrics of a volume, which counts operations after the kernel has merged them.
var ofVolume = []metric{
	{"VolumeReadOps", telemetry.ReadOps, 0},
	{"VolumeWriteOps", telemetry.WriteOps, 0},
	{"VolumeReadBytes", telemetry.ReadBytes, 0},
	{"VolumeWriteBytes", telemetry.WriteBytes, 0},
	{"VolumeConsumedReadWriteOps", telemetry.ConsumedOps, 0},
	{"VolumeIdleTime", telemetry.Idle, 0}, // seconds
	{"BurstBalance", telemetry.Credits, .01},
	{"VolumeIOPSExceededCheck", telemetry.ExceededOps, check},
	{"VolumeThroughputExceededCheck", telemetry.ExceededBytes, check},
}

// ofInstance are metrics of an instance, for all its volumes together.
var ofInstance = []metric{
	{"InstanceEBSIOPSExceededCheck", telemetry.NodeExceededOps, check},
	{"InstanceEBSThroughputExceededCheck", telemetry.NodeExceededBytes, check},
}

// Codes of remarks, beside those of package telemetry.
const (
	NoMinutes caveat.Code = "no_minutes" // Count: minutes of a period
	ChecksMet caveat.Code = "checks_met" // Of: a measure; Count: periods in which the limit was met
)

// Caveats defines what they say.
var Caveats = caveat.Table{
	caveat.Define(NoMinutes, func(n telemetry.Noted) string {
		return fmt.Sprintf("%s: CloudWatch keeps minutes for 15 days; periods have %s and hide what is shorter",
			n.Service, num.Count(n.Count, "minute"))
	}),
	caveat.Define(ChecksMet, func(n telemetry.Noted) string {
		return fmt.Sprintf("%s: %s counts each minute in which a limit was met as a whole one, in %s; "+
			"the time is at most that", n.Service, n.Of, num.Count(n.Count, "period"))
	}),
}

// query asks for a metric of a recording's volume, or of its node.
type query struct {
	metric
	space, dimension, id string
	to                   *telemetry.Recording
}

var volumeID = regexp.MustCompile(`^(?:(i-[0-9a-f]+)/)?(vol-[0-9a-f]+)$`)

// Read returns a recording for each volume, in their order. Errors are ErrUsage, ErrDenied for
// credentials, ErrNotFound if a volume has no data, ErrUnavailable if CloudWatch does not
// answer.
func Read(ctx context.Context, s Spec) ([]telemetry.Recording, error) {
	if s.now.IsZero() {
		s.now = time.Now()
	}
	g, err := s.grid()
	if err != nil {
		return nil, err
	}
	recordings := make([]telemetry.Recording, len(s.Volumes))
	var queries []query
	for i, name := range s.Volumes {
		parts := volumeID.FindStringSubmatch(name)
		if parts == nil {
			return nil, model.Usagef("%q is not the id of a volume; write vol-0123456789abcdef0, or i-…/vol-…", name)
		}
		r := &recordings[i]
		*r = g.recording()
		r.Node, r.Service = parts[1], parts[2]
		for _, m := range ofVolume {
			queries = append(queries, query{m, "AWS/EBS", "VolumeId", r.Service, r})
		}
		for _, m := range ofInstance {
			if r.Node != "" {
				queries = append(queries, query{m, "AWS/EC2", "InstanceId", r.Node, r})
			}
		}
	}
	client, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	for call := range slices.Chunk(queries, 500) { // CloudWatch's limit
		if err := g.ask(ctx, client, call); err != nil {
			return nil, err
		}
	}
	for i := range recordings {
		if err := g.settle(&recordings[i]); err != nil {
			return nil, err
		}
	}
	return recordings, nil
}

// ask sends one call, follows its pages, and fills the recordings.
func (g grid) ask(ctx context.Context, client *cloudwatch.Client, call []query) error {
	input := &cloudwatch.GetMetricDataInput{StartTime: &g.begin, EndTime: aws.Time(g.at(g.slots))}
	byID := make(map[string]query, len(call))
	for i, q := range call {
		id := "m" + strconv.Itoa(i)
		byID[id] = q
		stat := types.StatisticSum
		if q.average != 0 {
			stat = types.StatisticAverage
		}
		q.to.Rates[q.measure] = slices.Repeat(telemetry.Numbers{math.NaN()}, g.slots)
		input.MetricDataQueries = append(input.MetricDataQueries, types.MetricDataQuery{
			Id: &id,
			MetricStat: &types.MetricStat{
				Metric: &types.Metric{Namespace: &q.space, MetricName: &q.name,
					Dimensions: []types.Dimension{{Name: &q.dimension, Value: &q.id}}},
				Period: aws.Int32(int32(g.period.Seconds())), Stat: aws.String(string(stat)),
			},
		})
	}
	pages := cloudwatch.NewGetMetricDataPaginator(client, input,
		func(o *cloudwatch.GetMetricDataPaginatorOptions) { o.StopOnDuplicateToken = true })
	status := make(map[string]types.StatusCode)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return explain(err)
		}
		for _, result := range page.MetricDataResults {
			id := aws.ToString(result.Id)
			q, ok := byID[id]
			if !ok || len(result.Values) != len(result.Timestamps) {
				return fmt.Errorf("CloudWatch answered %d times and %d values of %q, which do not fit the call",
					len(result.Timestamps), len(result.Values), id)
			}
			status[id] = result.StatusCode
			if err := g.fill(q, result); err != nil {
				return err
			}
		}
	}
	for _, asked := range input.MetricDataQueries {
		if got, q := status[*asked.Id], byID[*asked.Id]; got != types.StatusCodeComplete {
			return model.Unavailablef("CloudWatch gave a part of %s of %s only (%q); try again, or ask for less time",
				q.name, q.id, got)
		}
	}
	return nil
}

// fill takes the values of one page. Stamps are the begins of periods.
func (g grid) fill(q query, result types.MetricDataResult) error {
	factor := q.average
	if factor == 0 {
		factor = 1 / g.period.Seconds()
	}
	for i, at := range result.Timestamps {
		slot, value := int(at.Sub(g.begin)/g.period), result.Values[i]
		if !g.at(slot).Equal(at) || slot < 0 || slot >= g.slots || !(value >= 0) || math.IsInf(value, 1) {
			return fmt.Errorf("CloudWatch answered %s of %s with %v at %s; there is no such value or no such period",
				q.name, q.id, value, stamp(at))
		}
		q.to.Rates[q.measure][slot] = value * factor
	}
	return nil
}

// settle leaves out gaps, and remarks what the values do not show.
func (g grid) settle(r *telemetry.Recording) error {
	r.Settle()
	nearest := math.Inf(1)
	for i := 1; i < len(r.Begin); i++ {
		nearest = min(nearest, r.Begin[i]-r.Begin[i-1])
	}
	switch {
	case len(r.Begin) == 0:
		return fmt.Errorf("%w: CloudWatch has no data of %s from %s to %s; check id, region, and that it was attached",
			model.ErrNotFound, r.Service, stamp(g.begin), stamp(g.at(g.slots)))
	case len(r.Begin) > 2 && nearest > g.period.Seconds():
		// Without detailed monitoring a value is the sum of five minutes, at the first one.
		return model.Usagef("%s has values every %v s at most, which may be sums of that time; choose it as the period",
			r.Service, nearest)
	}
	if g.old {
		r.Remarks = append(r.Remarks, telemetry.Remark{Code: NoMinutes, Count: int(g.period / time.Minute)})
	}
	for _, m := range append(ofVolume, ofInstance...) {
		met := 0
		for _, value := range r.Rates[m.measure] {
			if value > 0 && m.average == check {
				met++
			}
		}
		if met > 0 {
			r.Remarks = append(r.Remarks, telemetry.Remark{Code: ChecksMet, Of: string(m.measure), Count: met})
		}
	}
	return nil
}
