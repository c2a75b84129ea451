package objectstore

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	store "github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// TestPut checks that the work reported is the work done: the objects in the
// bucket, to the byte.
func TestPut(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	b := newBench(t, g.URL, func(p *Params) { p.Count, p.Size = 41, 100_003 })
	b.prepare(t)
	if err := b.measure(t); err != nil {
		t.Fatal(err)
	}
	found := g.objects(t)
	if len(found) != 41 {
		t.Errorf("%d objects in the bucket, want 41", len(found))
	}
	for key, size := range found {
		if size != 100_003 || !strings.HasPrefix(key, b.target.Dir) {
			t.Errorf("object %s of %d bytes, want 100003 below %s", key, size, b.target.Dir)
		}
	}
	if got, want := b.record.last("objectstore_put_throughput"), 41*100_003.0; got != want {
		t.Errorf("the series of bytes ends at %v, want %v", got, want)
	}
	if got := b.record.last("objectstore_operations"); got != 41 {
		t.Errorf("the series of operations ends at %v, want 41", got)
	}
	checkCapacities(t, b, 41, 41*100_003)
	checkLatencies(t, b, store.Put, 41)
	b.clean(t)
	if left := g.all(t); len(left) != 0 {
		t.Errorf("Cleanup left %v", left)
	}
}

// checkCapacities compares the rates of a task by count with its own end.
func checkCapacities(t *testing.T, b *bench, operations, size float64) {
	t.Helper()
	series := b.record.Readings["objectstore_put_throughput"]
	took := series[len(series)-1].After.Seconds()
	if got, want := b.record.value("objectstore_put_throughput"), size/took; math.Abs(got/want-1) > 1e-9 {
		t.Errorf("throughput %v, want %v", got, want)
	}
	if got, want := b.record.value("objectstore_operations"), operations/took; math.Abs(got/want-1) > 1e-9 {
		t.Errorf("rate %v, want %v", got, want)
	}
	want := model.Sample{Metric: "objectstore_put_throughput", Unit: "byte/s", Value: size / took, Better: model.Higher, Resource: "objectstore.put"}
	if diff := cmp.Diff(want, b.record.Find("objectstore_put_throughput")); diff != "" {
		t.Errorf("sample (-want +got):\n%s", diff)
	}
}

// checkLatencies reads the histograms as anybody else would.
func checkLatencies(t *testing.T, b *bench, kind string, operations int64) {
	t.Helper()
	for _, metric := range []string{"objectstore_" + kind + "_latency", "objectstore_" + kind + "_first_byte"} {
		h, err := hdrhistogram.Decode([]byte(b.record.FindHistogram(metric).Encoded))
		if err != nil {
			t.Fatal(err)
		}
		if h.TotalCount() != operations || b.record.FindHistogram(metric).Unit != "us" {
			t.Errorf("%s has %d values in %s, want %d in us", metric, h.TotalCount(), b.record.FindHistogram(metric).Unit, operations)
		}
		if got, want := b.record.value(metric+"_p99"), float64(h.ValueAtPercentile(99)); got != want {
			t.Errorf("%s_p99 = %v, the histogram says %v", metric, got, want)
		}
	}
	if b.record.value("objectstore_"+kind+"_first_byte_p50") > b.record.value("objectstore_"+kind+"_latency_max") {
		t.Errorf("%s: the first byte came after the end", kind)
	}
}

func TestPutDelete(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	b := newBench(t, g.URL, func(p *Params) { p.Preset, p.Count, p.Size = PresetPaper, 30, 64*unit.KiB })
	b.prepare(t)
	if err := b.measure(t); err != nil {
		t.Fatal(err)
	}
	if found := g.objects(t); len(found) != 0 {
		t.Errorf("objects in the bucket: %v, want none", found)
	}
	for metric, want := range map[string]float64{"objectstore_put_rate": 30, "objectstore_delete_rate": 30, "objectstore_operations": 60, "objectstore_put_throughput": 30 << 16} {
		if got := b.record.last(metric); got != want {
			t.Errorf("the series %s ends at %v, want %v", metric, got, want)
		}
		b.record.value(metric)
	}
	checkLatencies(t, b, store.Delete, 30)
}

func TestGet(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	b := newBench(t, g.URL, func(p *Params) {
		p.Operation, p.Count, p.Size, p.Objects, p.Keys = store.Get, 50, 3*unit.MiB, 7, store.HotKeys
	})
	b.prepare(t)
	before := g.objects(t)
	if len(before) != 7 {
		t.Fatalf("Prepare put %d objects, want 7", len(before))
	}
	if err := b.measure(t); err != nil {
		t.Fatal(err)
	}
	if got, want := b.record.last("objectstore_get_throughput"), 50*3*1048576.0; got != want {
		t.Errorf("the series of bytes ends at %v, want %v", got, want)
	}
	if got := b.record.Find("objectstore_get_throughput").Resource; got != model.ResourceObjectGet {
		t.Errorf("resource %q", got)
	}
	checkLatencies(t, b, store.Get, 50)
}

func TestMixedForDuration(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	b := newBench(t, g.URL, func(p *Params) {
		p.Operation, p.Duration, p.Size = store.Mixed, unit.Duration(1200*time.Millisecond), 128*unit.KiB
	})
	b.prepare(t)
	prepared := len(g.objects(t))
	if err := b.measure(t); err != nil {
		t.Fatal(err)
	}
	// All but what the deadline cut off: at most one object a worker, in part.
	puts := float64(len(g.objects(t)) - prepared)
	if got := b.record.last("objectstore_put_rate"); got > puts || got < puts-2 {
		t.Errorf("%v puts reported, %v objects more in the bucket", got, puts)
	}
	if got := b.record.last("objectstore_put_throughput"); got > puts*131072 || got < (puts-2)*131072 {
		t.Errorf("%v bytes reported, %v in the bucket", got, puts*131072)
	}
	both := b.record.last("objectstore_put_rate") + b.record.last("objectstore_get_rate")
	if got := b.record.last(operationsMetric); math.Abs(got-both) > 1e-3 {
		t.Errorf("%v operations in all, %v by kind", got, both)
	}
	checkDeadline(t, b)
	if n := len(b.record.Readings["objectstore_operations"]); n < 10 {
		t.Errorf("%d readings in 1.2 s, want ten a second", n)
	}
}

// TestKeys checks where objects lie.
func TestKeys(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	b := newBench(t, g.URL, func(p *Params) { p.Count, p.Size, p.Keys, p.Prefix = 3, 16, store.HotKeys, "load/tests" })
	b.prepare(t)
	if err := b.measure(t); err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(maps.Keys(g.objects(t)))
	want := []string{b.target.Dir + "000000000001", b.target.Dir + "000000000002", b.target.Dir + "000000000003"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(b.target.Dir, "load/tests/task-") {
		t.Errorf("directory %s", b.target.Dir)
	}
}

func TestBucketMissing(t *testing.T) {
	g := startGateway(t)
	b := newBench(t, g.URL, func(p *Params) { p.Bucket = "missing" })
	err := b.Prepare(t.Context(), b.env)
	if err == nil || !strings.Contains(err.Error(), `bucket "missing" does not exist`) || !strings.Contains(err.Error(), "create: true") {
		t.Errorf("Prepare() = %v, want what to do", err)
	}
	b.clean(t)
	b = newBench(t, g.URL, func(p *Params) { p.Bucket, p.Create, p.Count, p.Size = "made-here", true, 2, 16 })
	b.prepare(t)
	if err := b.measure(t); err != nil {
		t.Error(err)
	}
}
