// Package prometheus reads what Prometheus recorded of nodes that run node_exporter:
// disks, network interfaces and processors.
//
// Rates come from raw samples, as the selector metric[range] of an instant query gives
// them (query.go): a rate is the increase between two scrapes over the time between
// them, both exact (series.go). query_range would not do. Without rate() it repeats the
// last sample at each step, so steps that drift against scrapes see an increase twice
// or never. With rate() it extrapolates to the window's borders and adds up what is
// before and after a reset of the counter.
package prometheus

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
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
	// Step is the shortest period; 0: each scrape.
	Step time.Duration

	patience time.Duration // as the constant, unless tests set it
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

const (
	// bootTime tells a restart of the node, after which a counter may have passed
	// what it was before.
	bootTime = "node_boot_time_seconds"
	// busyModes are those in which a processor works for this node, and no mode for
	// what is no processor. Time of guests is in user time.
	busyModes = `mode=~"|user|nice|system|irq|softirq"`
	// window is how much time one query asks for.
	window = time.Hour
)

// physical are interfaces that Linux names after a card. Others (bridges, bonds,
// tunnels, VLANs, ends of containers) pass on the same bytes once more.
var physical = regexp.MustCompile(`^(eth|en[dopsxPX]|em[0-9]|ib|wl|p[0-9]+p)[^.:]*$`)

// Read returns a recording for each service: of a disk it has the device's name, of
// processors "cpu". Of a node with one physical interface it is "network". Several are
// "network NAME" each: some cards show the same bytes as two interfaces. Errors are
// ErrUsage, ErrDenied, ErrNotFound if there are no such series, ErrUnavailable.
func Read(ctx context.Context, s Spec) ([]telemetry.Recording, error) {
	if !s.From.Before(s.To) {
		return nil, model.Usagef("the time begins at %s and ends at %s; the end must be later", stamp(s.From), stamp(s.To))
	}
	if s.Step < 0 {
		return nil, model.Usagef("the step %v is below 0; leave it out to have each scrape", s.Step)
	}
	c, err := s.client()
	if err != nil {
		return nil, err
	}
	names := strings.Join(slices.Sorted(maps.Keys(counters)), "|")
	all, err := c.read(ctx, fmt.Sprintf(`__name__=~"%s",%s,%s`, names, busyModes, strings.Trim(s.Match, "{} ")), s.From, s.To)
	if err != nil {
		return nil, err
	}
	boots, err := c.boots(ctx, all, s)
	if err != nil {
		return nil, err
	}
	return s.recordings(all, boots)
}

// boots are the boot times of the nodes that series are from. They are asked for by
// themselves, because matchers of devices do not match them.
func (c *client) boots(ctx context.Context, all map[string]*series, s Spec) (map[string]*series, error) {
	instances := make(map[string]bool)
	for _, one := range all {
		instances[regexp.QuoteMeta(one.labels["instance"])] = true
	}
	boots := make(map[string]*series)
	for some := range slices.Chunk(slices.Sorted(maps.Keys(instances)), 50) { // a URL has a limit
		answer, err := c.read(ctx, fmt.Sprintf(`__name__="%s",instance=~%s`, bootTime, strconv.Quote(strings.Join(some, "|"))), s.From, s.To)
		if err != nil {
			return nil, err
		}
		for _, one := range answer {
			boots[one.labels["instance"]] = one
		}
	}
	return boots, nil
}

// recordings joins the series of each service.
func (s Spec) recordings(all, boots map[string]*series) ([]telemetry.Recording, error) {
	groups, identities := make(map[[2]string]*group), make(map[string]*series)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		one := all[key]
		l := one.labels
		identity := fmt.Sprintf("%s of %s %s %s %s", l["__name__"], l["instance"], l["device"], l["cpu"], l["mode"])
		if other := identities[identity]; other != nil {
			return nil, model.Usagef("Prometheus has %s twice: %v and %v; narrow the match to one of them", identity, other.labels, l)
		}
		identities[identity] = one
		service, ok := one.service()
		if !ok {
			continue
		}
		g := groups[[2]string{l["instance"], service}]
		if g == nil {
			g = &group{node: l["instance"], service: service, counters: make(map[telemetry.Measure][]*series)}
			groups[[2]string{g.node, service}] = g
		}
		m := counters[l["__name__"]]
		g.counters[m] = append(g.counters[m], one)
	}
	var out []telemetry.Recording
	interfaces := make(map[string][]int)
	for _, key := range slices.SortedFunc(maps.Keys(groups), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	}) {
		g := groups[key]
		r := g.recording(s.Step, boots[g.node])
		if len(r.Begin) == 0 && len(r.Remarks) == 0 {
			continue // one sample
		}
		if _, network := g.counters[telemetry.ReceivedBytes]; network {
			interfaces[g.node] = append(interfaces[g.node], len(out))
		}
		out = append(out, r)
	}
	for _, at := range interfaces {
		if len(at) == 1 {
			out[at[0]].Service = "network"
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: Prometheus has no two samples of node_exporter's disks, networks or processors with {%s} between %s and %s;"+
			" check match and time, and that it scrapes node_exporter", model.ErrNotFound, s.Match, stamp(s.From), stamp(s.To))
	}
	return out, nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
