package pressure

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/telemetry"
	"github.com/scalebench/scalebench/internal/telemetry/cloudwatch"
	"github.com/scalebench/scalebench/internal/telemetry/prometheus"
)

// Addresses of sources that are asked.
const (
	cloudWatch = "cloudwatch"
	prom       = "prometheus"
)

// takes says that sources are read by this package.
func takes(s study.Study) study.Takes {
	p, _ := s.(*Params) // New made it
	return study.Takes{Least: 1, Addresses: []string{cloudWatch, prom}, Read: p.read}
}

// read reads a source that is no run.
func (p *Params) read(ctx context.Context, name string, in io.Reader) (json.RawMessage, error) {
	var recordings []telemetry.Recording
	from, to, err := p.span(time.Now())
	zone, wrong := p.location()
	if err = cmp.Or(err, wrong); err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrUsage, err)
	}
	scheme, rest, _ := strings.Cut(name, ":")
	switch {
	case in != nil:
		recordings, err = telemetry.Read(ctx, name, in, telemetry.Options{Zone: zone, Period: p.Period.Std()})
	case scheme == cloudWatch:
		recordings, err = cloudwatch.Read(ctx, cloudwatch.Spec{Volumes: strings.Split(rest, ","), From: from, To: to,
			Period: p.Period.Std(), Region: p.Region, Endpoint: p.Endpoint})
	default:
		recordings, err = prometheus.Read(ctx, prometheus.Spec{URL: rest, From: from, To: to, Match: p.Match,
			Token: os.Getenv("PROMETHEUS_TOKEN")})
	}
	if err != nil {
		return nil, err
	}
	for i := range recordings {
		recordings[i].Source = name
	}
	return json.Marshal(recordings)
}

// unread refuses what says what to ask an address for, where no source is such an address.
func (p *Params) unread(sources []study.Source) error {
	asks := func(schemes ...string) bool {
		return slices.ContainsFunc(sources, func(s study.Source) bool {
			scheme, _, _ := strings.Cut(s.Name, ":")
			return slices.Contains(schemes, scheme)
		})
	}
	for _, x := range []struct {
		key, value string
		of         []string
	}{
		{"since", p.Since, []string{cloudWatch, prom}}, {"until", p.Until, []string{cloudWatch, prom}},
		{"match", p.Match, []string{prom}},
		{"region", p.Region, []string{cloudWatch}}, {"endpoint", p.Endpoint, []string{cloudWatch}},
	} {
		if x.value != "" && !asks(x.of...) {
			return &model.InputError{Path: x.key, Problem: "no source is of " + strings.Join(x.of, " or "),
				Allowed: "leave it out: all of a file or run is read"}
		}
	}
	return nil
}

// recordingsOf are those of all sources, by node and service, ascending in time.
func (p *Params) recordingsOf(sources []study.Source) ([]telemetry.Recording, error) {
	if err := p.unread(sources); err != nil {
		return nil, err
	}
	var out []telemetry.Recording
	for i, s := range sources {
		if slices.ContainsFunc(sources[:i], func(other study.Source) bool { return other.Name == s.Name }) {
			return nil, fmt.Errorf("%w: %s is given twice; leave one out", model.ErrUsage, s.Name)
		}
		var found []telemetry.Recording
		switch {
		case s.Run != nil:
			if err := s.Run.Need(observe.Hosts); err != nil {
				return nil, err
			}
			found = p.ofRun(s.Name, s.Run)
		case s.Own != nil:
			if err := json.Unmarshal(s.Own, &found); err != nil {
				return nil, fmt.Errorf("decoding what was read of %s: %w", s.Name, err)
			}
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%w: %s has no volume, network or processor that was monitored", model.ErrUsage, s.Name)
		}
		out = append(out, found...)
	}
	return out, nil
}

// counters are the host series of a volume or disk, by what they measure.
var counters = map[string]telemetry.Measure{
	"reads": telemetry.ReadOps, "writes": telemetry.WriteOps,
	"read_bytes": telemetry.ReadBytes, "write_bytes": telemetry.WriteBytes,
	"read_merges": telemetry.ReadMerges, "write_merges": telemetry.WriteMerges,
	"exceeded_ops": telemetry.ExceededOps, "exceeded_bytes": telemetry.ExceededBytes,
	"node_exceeded_ops": telemetry.NodeExceededOps, "node_exceeded_bytes": telemetry.NodeExceededBytes,
}

// allDisks is what the monitor calls the sum of all disks: the only one, where no single
// one has a name.
const allDisks = "disk"

// measured says which service of a node a host series is of, and what it measures.
func measured(metric string, shared bool) (service string, of telemetry.Measure) {
	switch {
	case metric == observe.MetricReceived:
		return telemetry.Network, telemetry.ReceivedBytes
	case metric == observe.MetricSent:
		return telemetry.Network, telemetry.SentBytes
	case shared && metric == observe.MetricCgroupCPU, !shared && slices.Contains(observe.CPURunning, metric):
		return telemetry.Processor, telemetry.CPU
	}
	prefix, name, _ := strings.Cut(metric, ".")
	device, counter, single := cutLast(name)
	if of = counters[counter]; of == "" || prefix != "volume" && (prefix != allDisks || shared) {
		return "", ""
	}
	if !single {
		device = prefix
	}
	return device, of
}

// afterRaise is what the source of steps after a raise is called.
const afterRaise = ", raised"

// ofRun is what the monitor recorded of the services of each node, task by task: what
// lies between tasks is a gap. Steps after a raise are a source of their own.
func (p *Params) ofRun(name string, run *observe.Run) []telemetry.Recording {
	var out []telemetry.Recording
	shared := make(map[model.NodeID]bool) // nodes that share a machine with others
	for _, n := range run.Nodes() {
		shared[n.ID] = run.SharedMachine() || n.Labels[model.LabelFleet] == model.FleetLab
	}
	for _, step := range run.Steps() {
		source := name
		if raisedIn(step) {
			source += afterRaise
		}
		for volume, set := range inForce(step) {
			if p.forced == nil {
				p.forced = make(map[string]map[string]string)
			}
			p.forced[source+"/"+volume] = set
		}
		end := run.Times(step).LastEnd
		for _, result := range run.Accepted(step.ID) {
			host := until(end, result)
			for _, r := range OfHost(string(result.Node), result.Started, host, shared[result.Node]) {
				r.Source = source
				out = append(out, r)
			}
		}
	}
	return telemetry.Join(out)
}

// until are the host series of a result up to the end of what the step measured; without an
// end all. Services go on after it: one that stops writes what it holds, under no load.
func until(end time.Time, r model.Result) []model.HostSeries {
	out := slices.Clone(r.Host)
	if end.IsZero() {
		return out
	}
	for i, s := range out {
		n, _ := slices.BinarySearch(s.Offsets, end.Sub(r.Started).Nanoseconds()+1)
		out[i].Offsets, out[i].Values = s.Offsets[:n], s.Values[:min(n, len(s.Values))]
	}
	return out
}

// OfHost is what the monitor recorded of the services of a node since it began. Of hosts
// that share a machine, disks are the machine's and are left out, and the processor time
// is that of the node's own control group.
func OfHost(node string, began time.Time, series []model.HostSeries, shared bool) (out []telemetry.Recording) {
	type service struct {
		times []float64
		rates map[telemetry.Measure][]float64
		named bool // a volume by its name, which lies on disks
	}
	all, disks, single := make(map[string]*service), false, false
	for _, s := range series {
		onDisk := strings.HasPrefix(s.Metric, allDisks+".")
		single = single || onDisk && strings.Count(s.Metric, ".") > 1
		name, of := measured(s.Metric, shared)
		if of == "" || !s.Counter || len(s.Offsets) != len(s.Values) || len(s.Values) < 2 {
			continue
		}
		x := all[name]
		if x == nil {
			x = &service{rates: make(map[telemetry.Measure][]float64)}
			for _, at := range s.Offsets {
				x.times = append(x.times, float64(began.UnixNano())/1e9+float64(at)/1e9)
			}
			all[name] = x
		}
		disks, x.named = disks || onDisk, x.named || strings.HasPrefix(s.Metric, observe.VolumePrefix)
		if old := x.rates[of]; len(s.Values) == len(x.times) {
			x.rates[of] = s.Values
			if old != nil { // processors have several states
				x.rates[of] = sum([][]float64{old, s.Values})
			}
		}
	}
	if single {
		delete(all, allDisks) // each is there by itself
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r := telemetry.FromCounters(name, all[name].times, all[name].rates)
		r.Node, r.Stacked = node, all[name].named && disks
		out = append(out, r)
	}
	return out
}

// rented are the recordings without devices that are parts of others, or made of them:
// partitions of a disk, and mapped, striped and loop devices beside disks. A model that
// names one keeps it.
func rented(all []telemetry.Recording, models []Chosen) (kept []telemetry.Recording, dropped int) {
	disk := func(r telemetry.Recording) bool {
		return kindOf(r.Service) == levels.Volume && !made.MatchString(r.Service)
	}
	for _, r := range all {
		named := slices.ContainsFunc(models, func(u Chosen) bool {
			_, fits := u.fits(r.Node, r.Service)
			return fits && u.For != ""
		})
		isMade, of := made.MatchString(r.Service), partition.FindStringSubmatch(r.Service)
		part := (isMade || of != nil) && slices.ContainsFunc(all, func(x telemetry.Recording) bool {
			return oneMachine(&x, &r) && disk(x) && (isMade || x.Service == of[1]+of[2])
		})
		if part && !named {
			dropped++
			continue
		}
		kept = append(kept, r)
	}
	return kept, dropped
}

// made are names of devices that hold no data themselves; partition has the name of the
// disk in its groups.
var (
	made      = regexp.MustCompile(`^(dm-|md|loop|zram|ram|sr|fd)[0-9]+$`)
	partition = regexp.MustCompile(`^(?:([shv]d[a-z]+|xvd[a-z]+)[0-9]+|(nvme[0-9]+n[0-9]+|mmcblk[0-9]+)p[0-9]+)$`)
)
