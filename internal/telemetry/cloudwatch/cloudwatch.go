// Package cloudwatch reads what Amazon CloudWatch recorded of EBS volumes.
//
//  1. [Spec] names volumes and a time; its grid has only whole periods of that
//     time, because a period that is cut has operations from outside (grid.go).
//  2. The client has the usual chain of credentials, and time-outs (client.go).
//  3. Queries go out in calls of 500. Answers fill the grid, and what was
//     not answered stays NaN.
//  4. A period without operations and bytes is a gap (recording.go).
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
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/telemetry"
)

// Spec says what is read.
type Spec struct {
	// Volumes are ids, "vol-…". With "i-…/vol-…" the recording is of that node, and
	// has the checks of the instance's own limits.
	Volumes []string
	// From and To bound the time. Only whole periods that lie between them, and before
	// now, are read.
	From, To time.Time
	// Period is a part of a day in whole minutes. 0 is the shortest that CloudWatch keeps
	// so long: a minute for 15 days, five for 63 days, an hour for 455 days.
	Period time.Duration
	// Region is empty if the environment or the profile names it.
	Region string
	// Endpoint is the URL of a server that speaks CloudWatch's query protocol; empty:
	// Amazon's own.
	Endpoint string
	// Progress hears how many queries of all are answered; may be nil.
	Progress func(done, total int)
	// Now is the present; zero: by the clock.
	Now time.Time

	silence, backoff time.Duration // as in package's constants, unless tests set them
}

// metric is one that EBS or EC2 sends. EBS counts operations as its volumes do: after
// the kernel has merged them.
type metric struct {
	namespace, name string
	measure         telemetry.Measure
	// average is the factor of an average. 0: the metric is a sum, which is divided by
	// the period.
	average float64
}

// metrics are those of a volume. The checks are 0 or 1 of a minute. Their average is
// the share of minutes in which the limit was met at all, so it bounds the share of
// time from above.
var metrics = []metric{
	{"AWS/EBS", "VolumeReadOps", telemetry.ReadOps, 0},
	{"AWS/EBS", "VolumeWriteOps", telemetry.WriteOps, 0},
	{"AWS/EBS", "VolumeReadBytes", telemetry.ReadBytes, 0},
	{"AWS/EBS", "VolumeWriteBytes", telemetry.WriteBytes, 0},
	{"AWS/EBS", "VolumeConsumedReadWriteOps", telemetry.ConsumedOps, 0},
	{"AWS/EBS", "VolumeIdleTime", telemetry.Idle, 0}, // seconds
	{"AWS/EBS", "BurstBalance", telemetry.Credits, .01},
	{"AWS/EBS", "VolumeIOPSExceededCheck", telemetry.ExceededOps, 1},
	{"AWS/EBS", "VolumeThroughputExceededCheck", telemetry.ExceededBytes, 1},
	{"AWS/EC2", "InstanceEBSIOPSExceededCheck", telemetry.NodeExceededOps, 1},
	{"AWS/EC2", "InstanceEBSThroughputExceededCheck", telemetry.NodeExceededBytes, 1},
}

// maxQueries is CloudWatch's limit for one call.
const maxQueries = 500

// volume is one that is read, with a value a slot of the grid for each measure.
type volume struct {
	node, id string
	values   map[telemetry.Measure]telemetry.Numbers
}

// query is a metric of a volume.
type query struct {
	metric
	*volume
}

var volumeID = regexp.MustCompile(`^(?:(i-[0-9a-f]+)/)?(vol-[0-9a-f]+)$`)

// Read returns a recording for each volume, in their order. Errors are ErrUsage,
// ErrDenied for credentials, ErrNotFound if a volume has no data, ErrUnavailable if
// CloudWatch does not answer.
func Read(ctx context.Context, s Spec) ([]telemetry.Recording, error) {
	if s.Now.IsZero() {
		s.Now = time.Now()
	}
	g, err := s.grid()
	if err != nil {
		return nil, err
	}
	volumes, queries, err := s.queries(g)
	if err != nil {
		return nil, err
	}
	client, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	done := 0
	for call := range slices.Chunk(queries, maxQueries) {
		if err := ask(ctx, client, g, call); err != nil {
			return nil, explain(err)
		}
		if done += len(call); s.Progress != nil {
			s.Progress(done, len(queries))
		}
	}
	recordings := make([]telemetry.Recording, 0, len(volumes))
	for _, v := range volumes {
		r, err := v.recording(g)
		if err != nil {
			return nil, err
		}
		recordings = append(recordings, r)
	}
	return recordings, nil
}

func (s Spec) queries(g grid) (volumes []*volume, queries []query, err error) {
	if len(s.Volumes) == 0 {
		return nil, nil, model.Usagef("CloudWatch is asked for no volume; give ids, such as vol-0123456789abcdef0")
	}
	for i, name := range s.Volumes {
		parts := volumeID.FindStringSubmatch(name)
		if parts == nil {
			return nil, nil, model.Usagef("%q is not the id of a volume; write vol-0123456789abcdef0, or i-0123456789abcdef0/vol-…", name)
		}
		if slices.Contains(s.Volumes[:i], name) {
			return nil, nil, model.Usagef("volume %s is given twice; give it once", name)
		}
		v := &volume{node: parts[1], id: parts[2], values: make(map[telemetry.Measure]telemetry.Numbers)}
		for _, m := range metrics {
			if m.namespace == "AWS/EC2" && v.node == "" {
				continue
			}
			v.values[m.measure] = slices.Repeat([]float64{math.NaN()}, g.slots)
			queries = append(queries, query{m, v})
		}
		volumes = append(volumes, v)
	}
	return volumes, queries, nil
}

// ask sends one call, follows its pages, and fills the values.
func ask(ctx context.Context, client *cloudwatch.Client, g grid, call []query) error {
	input := &cloudwatch.GetMetricDataInput{StartTime: &g.begin, EndTime: aws.Time(g.end()), ScanBy: types.ScanByTimestampAscending}
	for i, q := range call {
		input.MetricDataQueries = append(input.MetricDataQueries, q.data(i, g))
	}
	complete := make([]types.StatusCode, len(call))
	pages := cloudwatch.NewGetMetricDataPaginator(client, input, func(o *cloudwatch.GetMetricDataPaginatorOptions) { o.StopOnDuplicateToken = true })
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		if len(page.Messages) > 0 {
			m := page.Messages[0]
			return fmt.Errorf("CloudWatch did not answer in full: %s: %s", aws.ToString(m.Code), aws.ToString(m.Value))
		}
		for _, r := range page.MetricDataResults {
			i, err := strconv.Atoi(strings.TrimPrefix(aws.ToString(r.Id), "m"))
			if err != nil || i < 0 || i >= len(call) {
				return fmt.Errorf("CloudWatch answered the query %q, which was not asked", aws.ToString(r.Id))
			}
			if err := call[i].fill(g, r); err != nil {
				return err
			}
			complete[i] = r.StatusCode
		}
	}
	for i, q := range call {
		if complete[i] != types.StatusCodeComplete {
			return fmt.Errorf("CloudWatch gave a part of %s of %s only (%q); try again, or ask for less time", q.name, q.id, complete[i])
		}
	}
	return nil
}

func (q query) data(i int, g grid) types.MetricDataQuery {
	name, value, stat := "VolumeId", q.id, "Sum"
	if q.namespace == "AWS/EC2" {
		name, value = "InstanceId", q.node
	}
	if q.average != 0 {
		stat = "Average"
	}
	return types.MetricDataQuery{
		Id: aws.String("m" + strconv.Itoa(i)),
		MetricStat: &types.MetricStat{
			Metric: &types.Metric{
				Namespace: aws.String(q.namespace), MetricName: aws.String(q.name),
				Dimensions: []types.Dimension{{Name: &name, Value: &value}},
			},
			Period: aws.Int32(int32(g.period / time.Second)), Stat: &stat,
		},
	}
}

// fill takes the values of one page. Stamps are the begins of periods.
func (q query) fill(g grid, r types.MetricDataResult) error {
	if len(r.Timestamps) != len(r.Values) {
		return fmt.Errorf("CloudWatch answered %d times and %d values of %s of %s", len(r.Timestamps), len(r.Values), q.name, q.id)
	}
	factor := q.average
	if factor == 0 {
		factor = 1 / g.period.Seconds()
	}
	for i, at := range r.Timestamps {
		slot := at.Sub(g.begin) / g.period
		if at.Before(g.begin) || int(slot) >= g.slots || !g.at(int(slot)).Equal(at) {
			return fmt.Errorf("CloudWatch answered %s of %s at %s, where no period of %v begins", q.name, q.id, at.Format(time.RFC3339), g.period)
		}
		if r.Values[i] < 0 || math.IsNaN(r.Values[i]) || math.IsInf(r.Values[i], 0) {
			return fmt.Errorf("CloudWatch answered %s of %s at %s with %v", q.name, q.id, at.Format(time.RFC3339), r.Values[i])
		}
		q.values[q.measure][slot] = r.Values[i] * factor
	}
	return nil
}
