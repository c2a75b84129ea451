package prometheus

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/telemetry"
	"github.com/scalebench/scalebench/test/servers"
)

// node writes a node's samples as text of OpenMetrics, and what is to be read of them.
type node struct {
	text     map[string]*strings.Builder // by metric
	counters map[string]float64
	times    []int64 // ms
}

func (n *node) sample(name, labels string, at int64, value float64) {
	if n.text[name] == nil {
		n.text[name] = &strings.Builder{}
	}
	fmt.Fprintf(n.text[name], "%s{instance=\"db-1:9100\",job=\"node\"%s} %v %d.%03d\n",
		name, labels, value, at/1000, at%1000)
}

// count adds to a counter and writes a sample.
func (n *node) count(name, labels string, at int64, by float64) {
	n.counters[name+labels] += by
	n.sample(name, labels, at, n.counters[name+labels])
}

// diskCounters are those of each device, in the order in which they are drawn.
var diskCounters = []string{"node_disk_reads_completed_total", "node_disk_writes_completed_total",
	"node_disk_read_bytes_total", "node_disk_written_bytes_total",
	"node_disk_reads_merged_total", "node_disk_writes_merged_total"}

// draw is two and a half hours of a node: scrapes about every 15 s, a gap of ten minutes, a device
// that is attached anew, and a restart.
func draw(r *rand.Rand, begin int64) (n node, want []telemetry.Recording) {
	const anewAt, gapAt, bootAt, scrapes = 100, 200, 400, 600
	n = node{text: make(map[string]*strings.Builder), counters: make(map[string]float64)}
	recording := func(service string) telemetry.Recording {
		return telemetry.Recording{Source: "prometheus", Node: "db-1:9100", Service: service,
			Rates: make(map[telemetry.Measure]telemetry.Numbers)}
	}
	cpu, network, sda, sdb := recording("cpu"), recording("network"), recording("sda"), recording("sdb")
	at, last := begin, begin
	for i := range scrapes {
		if i > 0 {
			at = last + 14_000 + r.Int64N(2000)
		}
		if i == gapAt {
			at += 600_000
		}
		span, restarted := float64(at-last)/1e3, i == bootAt
		if restarted {
			clear(n.counters)
		}
		n.times = append(n.times, at)
		add := func(rec *telemetry.Recording, values map[telemetry.Measure]float64, left bool) {
			if i == 0 {
				return
			}
			if left || i == gapAt {
				code := telemetry.Reset
				if i == gapAt {
					code = telemetry.Paused
				}
				k := slices.IndexFunc(rec.Remarks, func(x telemetry.Remark) bool { return x.Code == code })
				if k < 0 {
					k = len(rec.Remarks)
					rec.Remarks = append(rec.Remarks, telemetry.Remark{Code: code, At: float64(at) / 1e3})
				}
				rec.Remarks[k].Count++
				return
			}
			rec.Begin, rec.End = append(rec.Begin, float64(last)/1e3), append(rec.End, float64(at)/1e3)
			for m, v := range values {
				rec.Rates[m] = append(rec.Rates[m], v/span)
			}
		}
		for _, disk := range []*telemetry.Recording{&sda, &sdb} {
			device, values := fmt.Sprintf(`,device=%q`, disk.Service), make(map[telemetry.Measure]float64)
			anew := disk == &sdb && i == anewAt
			for _, name := range diskCounters {
				if anew {
					n.counters[name+device] = 0
				}
				by := float64(r.IntN(1e9))
				n.count(name, device, at, by)
				values[counters[name]] = by
			}
			add(disk, values, anew || restarted)
		}
		busy := 0.0
		for core := range 2 {
			for _, mode := range []string{"idle", "iowait", "irq", "nice", "softirq", "steal", "system", "user"} {
				by := r.Float64()
				n.count("node_cpu_seconds_total", fmt.Sprintf(`,cpu="%d",mode=%q`, core, mode), at, by)
				if !slices.Contains([]string{"idle", "iowait", "steal"}, mode) {
					busy += by
				}
			}
		}
		add(&cpu, map[telemetry.Measure]float64{telemetry.CPU: busy}, restarted)
		for _, device := range []string{"lo", "veth12", "eth0", "eth0.7", "bond0"} {
			received, sent := float64(r.IntN(1e9)), float64(r.IntN(1e9))
			n.count("node_network_receive_bytes_total", fmt.Sprintf(`,device=%q`, device), at, received)
			n.count("node_network_transmit_bytes_total", fmt.Sprintf(`,device=%q`, device), at, sent)
			if device == "eth0" {
				values := map[telemetry.Measure]float64{telemetry.ReceivedBytes: received, telemetry.SentBytes: sent}
				add(&network, values, restarted)
			}
		}
		last = at
	}
	return n, []telemetry.Recording{cpu, network, sda, sdb}
}

// serve starts Prometheus with samples that promtool has put into its store.
func serve(t *testing.T, n node) (url string) {
	t.Helper()
	promtool, server := servers.Program(t, "promtool"), servers.Program(t, "prometheus")
	s := servers.New(t, "")
	text := ""
	for _, name := range slices.Sorted(maps.Keys(n.text)) {
		text += "# TYPE " + strings.TrimSuffix(name, "_total") + " counter\n" + n.text[name].String()
	}
	input := filepath.Join(s.Dir, "samples")
	if err := os.WriteFile(input, []byte(text+"# EOF\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "prometheus.yml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(s.Dir, "data")
	fill := s.Command(promtool, "tsdb", "create-blocks-from", "openmetrics", input, data)
	if out, err := fill.CombinedOutput(); err != nil {
		t.Fatalf("promtool: %v\n%s", err, out)
	}
	s.Listen(func(port string) *exec.Cmd {
		return s.Command(server, "--config.file="+filepath.Join(s.Dir, "prometheus.yml"), "--storage.tsdb.path="+data,
			"--web.listen-address=127.0.0.1:"+port)
	}, func() error { return s.Says("GET /-/ready HTTP/1.0\r\n\r\n", " 200 ") })
	return "http://" + s.Addr
}

// TestPrometheus reads a known series from a real server.
func TestPrometheus(t *testing.T) {
	begin := time.Now().Add(-8 * time.Hour).Truncate(time.Second)
	n, want := draw(rand.New(rand.NewPCG(27, 3)), begin.UnixMilli())
	first, last := time.UnixMilli(n.times[0]), time.UnixMilli(n.times[len(n.times)-1])
	spec := Spec{URL: serve(t, n), From: first, To: last}
	approx := cmp.Options{cmpopts.EquateApprox(1e-7, 1e-9), cmpopts.EquateNaNs()}

	got, err := Read(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, approx); diff != "" {
		t.Fatalf("each scrape (-want +got):\n%s", diff)
	}

	spec.Match = `{device="sda"}`
	if got, err = Read(t.Context(), spec); err != nil || len(got) != 1 || got[0].Service != "sda" {
		t.Errorf("%d recordings, %v; want that of sda", len(got), err)
	}
	spec.Match = `instance="db-2"`
	_, err = Read(t.Context(), spec)
	if !errors.Is(err, model.ErrNotFound) || !strings.Contains(err.Error(), `{instance="db-2"}`) {
		t.Errorf("no such series: %v", err)
	}
	spec.Match = `instance=db-2`
	_, err = Read(t.Context(), spec)
	if !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), "check match") {
		t.Errorf("bad match: %v", err)
	}
}
