// Package prometheus reads what Prometheus recorded of nodes that run node_exporter: disks,
// network interfaces and processors.
//
// Rates come from raw samples, as the selector metric[range] of an instant query gives them: a
// rate is the increase between two scrapes over the time between them, both exact. query_range
// would not do. Without rate() it repeats the last sample at each step, so steps that drift
// against scrapes see an increase twice or never. With rate() it extrapolates to the window's
// borders, and adds up what is before and after a reset of the counter.
package prometheus

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/telemetry"
)

// Spec says what is read.
type Spec struct {
	// URL is that of Prometheus, or of a server that answers like it. It may have
	// user:password@.
	URL string
	// Token is a bearer token; empty: none.
	Token string
	// Match selects series by matchers of labels, as in instance="db-1:9100",device="sda";
	// empty: all.
	Match string
	// From and To bound the time; both readings of a period are in it.
	From, To time.Time

	patience time.Duration // 0: as the constant
}

// counters are node_exporter's names of what is measured.
var counters = map[string]telemetry.Measure{
	"node_disk_reads_completed_total":   telemetry.ReadOps,
	"node_disk_writes_completed_total":  telemetry.WriteOps,
	"node_disk_read_bytes_total":        telemetry.ReadBytes,
	"node_disk_written_bytes_total":     telemetry.WriteBytes,
	"node_disk_reads_merged_total":      telemetry.ReadMerges,
	"node_disk_writes_merged_total":     telemetry.WriteMerges,
	"node_network_receive_bytes_total":  telemetry.ReceivedBytes,
	"node_network_transmit_bytes_total": telemetry.SentBytes,
	"node_cpu_seconds_total":            telemetry.CPU,
}

// busyModes are those in which a processor works for this node, and no mode for what is no
// processor. Time of guests is in user time.
const busyModes = `mode=~"|user|nice|system|irq|softirq"`

// window is how much time one query asks for.
const window = time.Hour

// physical are interfaces that Linux names after a card. Others (bridges, bonds, VLANs, ends of
// containers) pass on the same bytes once more. So does enP…, which Azure shows beside eth0.
var physical = regexp.MustCompile(`^(eth|en[dopsxX]|em[0-9]|ib|wl|p[0-9]+p)[^.:]*$`)

// Read returns a recording for each service: a disk by its device's name, "network" of all
// physical interfaces of a node, "cpu" of all its cores. Errors are ErrUsage, ErrDenied,
// ErrNotFound if there are no such series, ErrUnavailable.
func Read(ctx context.Context, s Spec) ([]telemetry.Recording, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" {
		return nil, model.Usagef("the address of Prometheus is not a URL; write it as in http://prometheus:9090")
	}
	c := &client{http.Client{Timeout: cmp.Or(s.patience, patience)}, u, s.Token}
	selector := fmt.Sprintf(`{__name__=~"%s",%s,%s}`, strings.Join(slices.Sorted(maps.Keys(counters)), "|"), busyModes,
		strings.Trim(s.Match, "{} "))
	groups := make(map[[2]string]group)
	for after := s.From.Add(-time.Millisecond); after.Before(s.To); after = after.Add(window) {
		length := min(window, s.To.Sub(after))
		all, err := c.samples(ctx, selector, after.Add(length), length)
		if err != nil {
			return nil, err
		}
		if err := add(groups, all, seconds(after)); err != nil {
			return nil, err
		}
	}
	var out []telemetry.Recording
	byName := func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }
	for _, of := range slices.SortedFunc(maps.Keys(groups), byName) {
		r := groups[of].recording(of[1])
		r.Source, r.Node = "prometheus", of[0]
		if len(r.Begin)+len(r.Remarks) > 0 { // more than one sample
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: Prometheus has no two samples of node_exporter with {%s} from %s to %s; "+
			"check match and time", model.ErrNotFound, s.Match, s.From.Format(time.RFC3339), s.To.Format(time.RFC3339))
	}
	return out, nil
}

// group is the counters of one service of a node: sums over series, by Unix s.
type group map[telemetry.Measure]map[float64]sum

type sum struct {
	value  float64
	series int
}

// add puts samples later than a time into the groups of their node and service.
func add(groups map[[2]string]group, all []series, after float64) error {
	known := make(map[string]map[string]string)
	for _, s := range all {
		l := s.Metric
		id := fmt.Sprint(l["__name__"], " of ", l["instance"], " ", l["device"], l["cpu"], " ", l["mode"])
		if other := known[id]; other != nil {
			return model.Usagef("Prometheus has %stwice, as %v and %v; let match choose one of them", id, other, l)
		}
		known[id] = l
		m, of := counters[l["__name__"]], [2]string{l["instance"], l["device"]}
		switch m {
		case telemetry.CPU:
			of[1] = "cpu"
		case telemetry.ReceivedBytes, telemetry.SentBytes:
			if !physical.MatchString(of[1]) {
				continue
			}
			of[1] = "network"
		}
		if groups[of] == nil {
			groups[of] = make(group)
		}
		if groups[of][m] == nil {
			groups[of][m] = make(map[float64]sum)
		}
		for _, sample := range s.Values {
			at, timeErr := sample[0].Float64()
			value, err := sample[1].Float64()
			if err := cmp.Or(timeErr, err); err != nil {
				return model.Unavailablef("Prometheus has a sample of %sthat is not a number: %w", id, err)
			}
			if at > after {
				before := groups[of][m][at]
				groups[of][m][at] = sum{before.value + value, before.series + 1}
			}
		}
	}
	return nil
}

// recording makes rates of the counters. A sum that lacks a series is not known.
func (g group) recording(service string) telemetry.Recording {
	var times []float64
	for _, sums := range g {
		times = slices.AppendSeq(times, maps.Keys(sums))
	}
	slices.Sort(times)
	times = slices.Compact(times)
	counters := make(map[telemetry.Measure][]float64)
	for m, sums := range g {
		all := 0
		for _, s := range sums {
			all = max(all, s.series)
		}
		for _, at := range times {
			value := math.NaN()
			if s := sums[at]; s.series == all {
				value = s.value
			}
			counters[m] = append(counters[m], value)
		}
	}
	return telemetry.FromCounters(service, times, counters)
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1e3 }
