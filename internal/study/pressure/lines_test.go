package pressure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/telemetry"
)

// columns are rates of each period.
type columns map[telemetry.Measure][]float64

// recordedOf is a service with periods of this length from time 0.
func recordedOf(node, service string, step float64, of columns) telemetry.Recording {
	r := telemetry.Recording{Source: "x.csv", Node: node, Service: service,
		Rates: map[telemetry.Measure]telemetry.Numbers{}}
	for m, values := range of {
		r.Rates[m], r.Begin, r.End = values, nil, nil
		for i := range values {
			r.Begin, r.End = append(r.Begin, float64(i)*step), append(r.End, float64(i+1)*step)
		}
	}
	return r
}

// reads are columns of reads of one size, a second.
func reads(size float64, ops ...float64) columns {
	out := columns{}
	for _, n := range ops {
		out[telemetry.ReadOps] = append(out[telemetry.ReadOps], n)
		out[telemetry.ReadBytes] = append(out[telemetry.ReadBytes], n*size)
		out[telemetry.WriteOps], out[telemetry.WriteBytes] = append(out[telemetry.WriteOps], 0),
			append(out[telemetry.WriteBytes], 0)
	}
	return out
}

// file is a model of these lines.
func file(of, name string, lines ...string) Chosen {
	return Chosen{For: of, Name: name, Text: "model: " + name + "\n" + strings.Join(lines, "\n") + "\n"}
}

const (
	opsInput  = "inputs: {iops: {}}\nlimits: [{of: ops, rate: iops}]"
	paperForm = "inputs: {iops: {max: 16000}, throughput: {unit: MiB}}\nlimits:\n- {of: ops, rate: iops}\n- {of: bytes, " +
		"rate: throughput}"
	nodeForm   = "scope: node\nlimits: [{of: ops, rate: 1000}]"
	bucketForm = "limits: [{of: ops, rate: 100, bucket: {size: 5000, burst: 300}}]"
)

func params(set map[string]string, models ...Chosen) *Params {
	p := New()
	p.Models, p.Set = models, set
	return p
}

// resultOf is the result with the texts of its doubts.
func resultOf(t *testing.T, p *Params, recordings ...telemetry.Recording) *Result {
	t.Helper()
	r, err := p.result(recordings)
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range r.Places() {
		Caveats.FillPlace(place)
	}
	return r
}

// find is a limit of a result.
func find(t *testing.T, r *Result, node, service, quality string) *Service {
	t.Helper()
	for _, s := range r.Services {
		if s.Node == node && s.Service == service && s.Quality == quality {
			return s
		}
	}
	t.Fatalf("no %s of %s/%s among %d limits; doubts %v", quality, node, service, len(r.Services), r.Warnings)
	return nil
}

// says fails unless a doubt holds these words.
func says(t *testing.T, r *Result, words string) {
	t.Helper()
	for _, d := range r.Doubts {
		if strings.Contains(string(d.Text), words) {
			return
		}
	}
	t.Errorf("no doubt says %q: %v", words, r.Doubts.Texts())
}

// TestModelsByCloseness: a service has the model and the inputs that name it most closely.
func TestModelsByCloseness(t *testing.T) {
	p := params(map[string]string{"iops": "100", "vol-2.iops": "200", "db-2/vol-2.iops": "400", "log-*.iops": "800",
		"log-1.iops": "1600"},
		file("", "all", opsInput), file("log-*", "logs", opsInput), file("db-1/log-2", "one", opsInput))
	var recordings []telemetry.Recording
	for _, name := range []string{"db-1/vol-1", "db-1/vol-2", "db-2/vol-2", "db-1/log-1", "db-1/log-2"} {
		node, service, _ := strings.Cut(name, "/")
		recordings = append(recordings, recordedOf(node, service, 1, reads(4096, 50, 50)))
	}
	r := resultOf(t, p, recordings...)
	for name, want := range map[string]string{"db-1/vol-1": "all 100", "db-1/vol-2": "all 200", "db-2/vol-2": "all 400",
		"db-1/log-1": "logs 1600", "db-1/log-2": "one 800"} {
		node, service, _ := strings.Cut(name, "/")
		if s := find(t, r, node, service, "ops"); fmt.Sprintf("%s %g", s.Model, s.Limit) != want {
			t.Errorf("%s has %s %g, want %s", name, s.Model, s.Limit, want)
		}
	}
}

func TestWrongModelsAndInputs(t *testing.T) {
	volume := recordedOf("db-1", "vol-1", 1, reads(4096, 50, 50))
	for name, tt := range map[string]struct {
		p    *Params
		want string
	}{
		"no model fits": {params(nil, file("", "cpu", "service: cpu\nlimits: [{of: cpu, rate: 2}]")),
			"models: no model fits vol-1; "},
		"an unknown input": {params(map[string]string{"iops": "9", "iop": "9"}, file("", "m", opsInput)),
			"--set iop: no model has the input"},
		"an unknown service": {params(map[string]string{"iops": "9", "vol-2.iops": "9"}, file("", "m", opsInput)),
			"--set vol-2.iops: there is no service"},
		"a model of no one": {params(map[string]string{"iops": "9"}, file("", "m", opsInput), file("v2", "n", opsInput)),
			"--model v2=n: there is no service"},
		"a missing input": {params(nil, file("", "m", opsInput)), "--set iops: it is missing"},
		"an input of no size": {params(map[string]string{"iops": "0"}, file("", "m", opsInput)),
			"--set iops: 0 is not greater than 0"},
	} {
		if _, err := tt.p.result([]telemetry.Recording{volume}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
		_, err := tt.p.Live(0).Look(time.Now(), []telemetry.Recording{volume})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: now: error %v, want %q", name, err, tt.want)
		}
	}
}

// TestAbsentMeasures: what a source lacks is said, and is no pressure of 0.
func TestAbsentMeasures(t *testing.T) {
	ops := columns{telemetry.Ops: {50, 50}}
	r := resultOf(t, params(nil, file("", "m", "limits:\n- {of: ops, unit: 16KiB, rate: 100}\n- {of: bytes, rate: "+
		"1MiB/s}")),
		recordedOf("", "vol-1", 1, ops), recordedOf("", "cpu", 1, columns{telemetry.CPU: {1, 1}}))
	if len(r.Services) != 1 {
		t.Fatalf("%d limits have a pressure, want 1", len(r.Services))
	}
	says(t, r, "vol-1 bytes has no pressure: the source lacks read_bytes")
	says(t, r, "vol-1 operations: the source lacks read_bytes. The pressure is at least what is shown")
	nan := math.NaN()
	r = resultOf(t, params(nil, file("", "m", "limits: [{of: ops, rate: 100}]")),
		recordedOf("", "vol-1", 1, columns{telemetry.Ops: {50, nan, 50}}), recordedOf("", "vol-2", 1,
			columns{telemetry.Ops: {nan, nan}}))
	near(t, "mean without the gap", find(t, r, "", "vol-1", "ops").SLP.Mean, .5)
	says(t, r, "vol-1 operations: 1 period of 3 have no value")
	says(t, r, "vol-2 operations: 2 periods of 2 have no value")
}

// TestAboveModel: a pressure above what an enforced limit allows has no lower bound, for the limit is
// another one. Neighbours whose readings shifted work between them are no such case.
func TestAboveModel(t *testing.T) {
	model := func() *Params { return params(nil, file("", "m", "limits: [{of: ops, rate: 300}]")) }
	for name, c := range map[string]struct {
		step   float64
		ops    []float64
		beyond bool
	}{
		"minutes":            {60, []float64{360, 360, 360, 360, 200, 200, 200, 200}, true},
		"one minute":         {60, []float64{200, 200, 360, 200, 200, 200, 200, 200}, true},
		"minutes at 105 %":   {60, []float64{315, 315, 315, 315, 200, 200, 200, 200}, false},
		"seconds shifted":    {1, []float64{300, 240, 360, 300, 240, 360, 300, 300, 300, 300, 300, 300}, false},
		"ten seconds at 120": {1, []float64{200, 360, 360, 360, 360, 360, 360, 360, 360, 360, 360, 360}, true},
	} {
		r := resultOf(t, model(), recordedOf("", "v", c.step, columns{telemetry.Ops: c.ops}))
		s := find(t, r, "", "v", "ops")
		if s.beyond != c.beyond || c.beyond != (s.TCPT.Lo == 0) {
			t.Errorf("%s: above the model %t, want %t; at the limit for at least %v %%", name, s.beyond, c.beyond, s.TCPT.Lo)
		}
	}
}

// TestSizesUnknown: if operations are larger than the unit, the most that they can count.
func TestSizesUnknown(t *testing.T) {
	r := resultOf(t, params(nil, file("", "m", "limits: [{of: ops, unit: 16KiB, rate: 1000}]")), recordedOf("", "v", 1,
		reads(64<<10, 50, 50)))
	near(t, "pressure of started units", find(t, r, "", "v", "ops").SLP.Mean, .2)
	says(t, r, "the mean pressure may be up to 25.0 %") // 50 operations + 200 units
}

// TestWholeNodes: a node's limit counts all its volumes, and a period that one of them
// lacks is not known.
func TestWholeNodes(t *testing.T) {
	nan := math.NaN()
	shares := recordedOf("db-1", "vol-1", 1, reads(4096, 100, 300, 100))
	shares.Rates[telemetry.Credits], shares.Rates[telemetry.NodeExceededOps] = telemetry.Numbers{.5, .5, .5},
		telemetry.Numbers{0, .5, 0}
	single := resultOf(t, params(nil, file("", "node", nodeForm)), shares)
	s := find(t, single, "db-1", "", "ops")
	near(t, "one volume", s.SLP.Max, .3)
	disk, data := recordedOf("db-1", "nvme0n1", 1, reads(4096, 100, 300, 100)), shares
	data.Stacked = true
	for name, all := range map[string][]telemetry.Recording{"a volume beside its disk": {data, disk}, "alone": {data}} {
		near(t, name, find(t, resultOf(t, params(nil, file("", "node", nodeForm)), all...), "db-1", "", "ops").SLP.Max, .3)
	}
	if s.Throttled == nil || math.Abs(*s.Throttled-.5/3) > 1e-9 {
		t.Errorf("throttled %v, want a sixth", s.Throttled)
	}
	other := recordedOf("db-1", "vol-2", 1, reads(4096, 200, nan, 400))
	short := recordedOf("db-2", "vol-1", 1, reads(4096, 10, 20, 30))
	late := recordedOf("db-2", "vol-2", 1, reads(4096, 10))
	r := resultOf(t, params(nil, file("", "node", nodeForm)), shares, other, short, late)
	near(t, "two volumes", find(t, r, "db-1", "", "ops").SLP.Mean, (.3+.5)/2)
	near(t, "the common period", find(t, r, "db-2", "", "ops").SLP.Mean, .02)
	says(t, r, "all volumes operations: 1 period of 3 have no value")
	says(t, r, "all volumes operations: 2 periods of 3 have no value")
}

// TestMeasuredCells: what was observed, over what was measured of that size and mix; other
// sizes have no pressure, and do not change the limit.
func TestMeasuredCells(t *testing.T) {
	m := file("", "cells", "cells:\n- {size: 4KiB, reads: 100, ops: [200, 400]}\n- {size: 64KiB, reads: 100, ops: [100]}")
	volume := recordedOf("", "v", 1, reads(4096, 100, 200, 0))
	big := recordedOf("", "big", 1, columns{telemetry.ReadOps: {50, 50}, telemetry.WriteOps: {0, 0},
		telemetry.ReadBytes: {50 << 16, 50 << 20}, telemetry.WriteBytes: {0, 0}})
	idle := recordedOf("", "idle", 1, reads(4096, 0, 0))
	r := resultOf(t, params(nil, m), volume, big, idle)
	s := find(t, r, "", "v", "ops")
	near(t, "mean", s.SLP.Mean, (100/200.+100/400.)/2*(1+2+0)/3)
	near(t, "limit", s.Limit, 1/((1/200.+1/400.)/2))
	s = find(t, r, "", "big", "ops")
	near(t, "mean inside", s.SLP.Mean, .5)
	near(t, "limit inside", s.Limit, 100)
	says(t, r, "big operations: in 1 period of 2 the operations are of a size or mix that the model has not measured")
	if s := find(t, r, "", "idle", "ops"); s.SLP.Mean != 0 || s.Limit != 0 {
		t.Errorf("idle: pressure %g, limit %g", s.SLP.Mean, s.Limit)
	}
}

// TestBuckets: a load of three times the base rate. With a full bucket of 5,000 it lasts for
// 25 s; with one that is not known, every moment may be the last.
func TestBuckets(t *testing.T) {
	load := make([]float64, 20)
	for i := range load {
		load[i] = 300
	}
	p := params(nil, file("", "m", bucketForm))
	p.Credits = "full"
	r := resultOf(t, p, recordedOf("", "v", 1, reads(4096, load...)))
	s := find(t, r, "", "v", "ops")
	near(t, "pressure on the burst", s.SLP.Mean, 1)
	near(t, "share left", s.Credits.Share.Lo, 1-20*200/5000.)
	near(t, "runs out", s.Credits.RunsOut.Hi, 25)
	if len(r.Advice) == 0 || r.Advice[0].Action != ActionOtherService || r.Advice[0].From != 300 {
		t.Errorf("advice %+v, want another service in place of the burst rate", r.Advice)
	}
	p.Credits = ""
	r = resultOf(t, p, recordedOf("", "v", 1, reads(4096, load[:10]...)))
	s = find(t, r, "", "v", "ops")
	if s.TCPT.Hi < 99 || s.Credits.Share.Lo != 0 || s.Credits.Share.Hi > .61 {
		t.Errorf("credits not known: time at the limit %+v, balance %+v", s.TCPT, s.Credits)
	}
	says(t, r, "the credits at the beginning are not known")
	// Nobody says how it fills: at any moment there may be credits, and a burst is no contradiction.
	p.Models = []Chosen{file("", "m", "limits: [{of: ops, rate: 100, bucket: {for: 60s, fill: unknown, burst: 300}}]")}
	for _, rate := range []float64{99, 250} {
		r = resultOf(t, p, recordedOf("", "v", 60, reads(4096, slicesOf(rate, 20)...)))
		if s = find(t, r, "", "v", "ops"); s.TCPT.Lo != 0 || s.TCPT.Hi != 100 || s.Limit != 100 {
			t.Errorf("%g of 100, burst 300: time at the limit %+v", rate, s.TCPT)
		}
		says(t, r, "the credits at the beginning are not known")
	}
	// A half-used burst is no reason to lower the base rate.
	p.Credits = "full"
	p.Models = []Chosen{file("", "m", "inputs: {iops: {}}\nlimits: [{of: ops, rate: iops, bucket: {size: 5000, burst: "+
		"900}}]")}
	p.Set = map[string]string{"iops": "400"}
	for rate, want := range map[float64]int{420: 0, 100: 1} {
		r = resultOf(t, p, recordedOf("", "v", 1, reads(4096, slicesOf(rate, 3600)...)))
		if n := len(lowered(r)); n != want {
			t.Errorf("%g of 400, burst 900: %d limits are to be lowered, want %d: %+v", rate, n, want, r.Advice)
		}
	}
}

func slicesOf(x float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = x
	}
	return out
}

func lowered(r *Result) (out []Advised) {
	for _, a := range r.Advice {
		if a.Action == ActionLower {
			out = append(out, a)
		}
	}
	return out
}

// drawn is a random limit with its distribution.
type drawn struct {
	quality, ways string
	unit          float64
	rates, shares []float64
}

func (d drawn) text() string {
	var values []string
	for i, r := range d.rates {
		values = append(values, fmt.Sprintf("%q: %g", fmt.Sprintf("%.0f%s", r,
			map[string]string{"bytes": "B/s"}[d.quality]), d.shares[i]))
	}
	unit := ""
	if d.unit > 0 {
		unit = fmt.Sprintf("unit: %gKiB, ", d.unit/1024)
	}
	return fmt.Sprintf("- {of: %s, ways: %s, %srate: {values: {%s}}}", d.quality, d.ways, unit, strings.Join(values, ", "))
}

// counts is for how much a period counts, by the definition.
func (d drawn) counts(of columns, way string, i int) float64 {
	n, b := of[telemetry.Measure(way+"_ops")][i], of[telemetry.Measure(way+"_bytes")][i]
	switch {
	case d.quality == "bytes":
		return b
	case d.unit > 0:
		return math.Max(n, b/d.unit)
	}
	return n
}

func drawLimit(rng *rand.Rand, quality string) drawn {
	d := drawn{quality: quality, ways: []string{"each", "[read, write]"}[rng.IntN(2)]}
	scale := map[string]float64{"ops": 100, "bytes": 1 << 20}[quality]
	if quality == "ops" && rng.IntN(2) == 0 {
		d.unit = 16 << 10
	}
	n, rest := 1+rng.IntN(3), 1.
	for k := range n {
		d.rates = append(d.rates, math.Round(scale*(1+.9*rng.Float64())*float64(int(1)<<k)))
		share := rest
		if k < n-1 {
			share = math.Round(rest*rng.Float64()*64) / 128
			share = max(share, 1./128)
		}
		d.shares, rest = append(d.shares, share), rest-share
	}
	return d
}

func drawVolume(rng *rand.Rand, n int) columns {
	of := columns{}
	for range n {
		for _, way := range []string{"read", "write"} {
			ops := math.Round(300 * rng.Float64() * rng.Float64())
			size := 1024 * math.Exp(4*rng.Float64())
			if rng.IntN(12) == 0 {
				ops = math.NaN()
			}
			o, b := telemetry.Measure(way+"_ops"), telemetry.Measure(way+"_bytes")
			of[o], of[b] = append(of[o], ops), append(of[b], ops*size)
		}
	}
	return of
}

// TestPressuresAreTheDefinition draws models and recordings. The pressures of volumes and of
// the whole node are what the definitions of the paper say, period by period.
func TestPressuresAreTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 3))
	for range 60 {
		own, whole := []drawn{drawLimit(rng, "ops"), drawLimit(rng, "bytes")}, []drawn{drawLimit(rng, "ops"), drawLimit(rng,
			"bytes")}
		p := params(nil, file("", "own", "limits:", own[0].text(), own[1].text()),
			file("", "whole", "scope: node", "limits:", whole[0].text(), whole[1].text()))
		p.Critical = 80
		n, step := 5+rng.IntN(40), float64(1+rng.IntN(60))
		var recordings []telemetry.Recording
		volumes := map[string][]columns{"": {}}
		for k := range 1 + rng.IntN(3) {
			name := fmt.Sprintf("v%d", k)
			of := drawVolume(rng, n)
			recordings = append(recordings, recordedOf("db", name, step, of))
			volumes[name], volumes[""] = []columns{of}, append(volumes[""], of)
		}
		r := resultOf(t, p, recordings...)
		for name, all := range volumes {
			limits := own
			if name == "" {
				limits = whole
			}
			for _, d := range limits {
				if d.ways == "each" {
					d.holds(t, find(t, r, "db", name, d.quality+".read"), all, []string{"read"})
					d.holds(t, find(t, r, "db", name, d.quality+".write"), all, []string{"write"})
				} else {
					d.holds(t, find(t, r, "db", name, d.quality), all, []string{"read", "write"})
				}
			}
		}
	}
}

// holds compares a limit with what its definition gives of these volumes together.
func (d drawn) holds(t *testing.T, s *Service, all []columns, ways []string) {
	t.Helper()
	known, sum, above, reached, most := 0., 0., 0., 0., 0.
	for i := range all[0][telemetry.ReadOps] {
		o := 0.
		for _, of := range all { // each volume splits operations by itself
			for _, way := range ways {
				o += d.counts(of, way, i)
			}
		}
		if math.IsNaN(o) {
			continue
		}
		pressure := 0.
		for k, rate := range d.rates {
			pressure += d.shares[k] * o / rate
			if rate <= o {
				reached += d.shares[k]
			}
		}
		known, sum, most = known+1, sum+pressure, max(most, pressure)
		if pressure > .8 {
			above++
		}
	}
	near(t, s.Service+" "+s.Quality+" mean", s.SLP.Mean, sum/known)
	near(t, s.Service+" "+s.Quality+" max", s.SLP.Max, most)
	near(t, s.Service+" "+s.Quality+" P(s ≤ o)", s.Exceeds, reached/known)
	near(t, s.Service+" "+s.Quality+" TCPT", s.TCPT.Percent, 100*above/known)
	if s.TCPT.Lo > s.TCPT.Percent && s.TCPT.Percent > 0 ||
		s.MCPT.Seconds > s.TCPT.Percent/100*known*(s.line.series[0].seconds())+1e-9 {
		t.Errorf("%s %s: bounds %+v, longest %+v", s.Service, s.Quality, s.TCPT, s.MCPT)
	}
}

// TestNodesOverFiles: what a node did is the same in one file and in several.
func TestNodesOverFiles(t *testing.T) {
	first, later := recordedOf("n1", "sda", 60, reads(4096, 50, 50)), recordedOf("n1", "sda", 60, reads(4096, 150, 150))
	for i := range later.Begin {
		later.Begin[i], later.End[i], later.Source = later.Begin[i]+120, later.End[i]+120, "later.csv"
	}
	part := recordedOf("n1", "sda1", 60, reads(4096, 50, 50))
	part.Source = "later.csv"
	form := file("", "m", "scope: node\nlimits: [{of: ops, rate: 100}]")
	for name, all := range map[string][]telemetry.Recording{"in order": {first, later}, "the later first": {later, first},
		"with a partition": {first, part, later}} {
		r := resultOf(t, params(nil, form), slices.Clone(all)...)
		s := find(t, r, "n1", "", "ops")
		near(t, name+": mean", s.SLP.Mean, 1)
		near(t, name+": observed", s.Observed, 240)
		near(t, name+": time at the limit", s.TCPT.Percent, 50)
		if n := len(first.Rates[telemetry.ReadOps]); n != len(first.Begin) {
			t.Errorf("%s: the first part has %d values in %d periods", name, n, len(first.Begin))
		}
	}
}
