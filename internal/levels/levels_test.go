package levels

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalebench/scalebench/internal/model"
)

func levelsOf(t *testing.T, name string, set map[string]string) Levels {
	t.Helper()
	m, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	l, err := m.Levels(set)
	if err != nil {
		t.Fatalf("%s %v: %v", name, set, err)
	}
	return l
}

func parse(t *testing.T, src string) *Model {
	t.Helper()
	m, err := Parse("m.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// fileOnly compares what a file has.
var fileOnly = cmpopts.IgnoreUnexported(Model{}, Input{})

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) || a == b }

func TestBuiltin(t *testing.T) {
	for _, m := range Builtin() {
		src, err := WriteModel(m)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse(m.Name, src)
		if err != nil {
			t.Fatalf("%s does not read back: %v\n%s", m.Name, err, src)
		}
		if diff := cmp.Diff(m, back, fileOnly); diff != "" {
			t.Errorf("%s (-was +read back):\n%s", m.Name, diff)
		}
		if found, err := Find(m.Name); err != nil || !cmp.Equal(found, m, fileOnly) {
			t.Errorf("Find(%s) = %v, %v", m.Name, found, err)
		}
		if m.Source.Title == "" || m.Source.Read != "2026-11-27" || m.About == "" {
			t.Errorf("%s has the source %+v", m.Name, m.Source)
		}
	}
}

// TestAt: levels of models, by arithmetic from their documents.
func TestAt(t *testing.T) {
	const analytic = "model: m\ninputs: {iops: {}, throughput: {unit: MiB}}\nlimits:\n" +
		"- {of: ops, unit: 256KiB, rate: iops}\n- {of: bytes, rate: throughput}\n"
	at := func(iops, throughput string) map[string]string {
		return map[string]string{"iops": iops, "throughput": throughput}
	}
	for _, c := range []struct {
		model, text string
		set         map[string]string
		kib, reads  float64
		ops         float64
		limit       string
	}{
		// AISLE, section 4.1
		{"", analytic, at("300", "320"), 4, 1, 300, "ops"},
		{"", analytic, at("300", "66"), 64, 1, 300, "ops"},
		{"", analytic, at("300", "66"), 1024, 1, 66, "bytes"},
		{"", analytic, at("1800", "66MiB/s"), 4, 1, 1800, "ops"},
		{"paper-ebs-2015", "", map[string]string{"iops": "300"}, 1024, 1, 75, "ops"},
		{"paper-ebs-2015", "", map[string]string{"iops": "1800"}, 1024, 1, 320, "bytes.volume"},
		{"paper-ebs-2015", "", map[string]string{"iops": "1800", "type": "t2.micro"}, 1024, 0, 60, "bytes.connection"},
		{"paper-ebs-2015", "", map[string]string{"iops": "3000", "type": "optimized-62.5"}, 256, 0, 250, "bytes.connection"},
		{"aws-gp2", "", map[string]string{"gib": "100"}, 16, .5, 300, "ops"},
		{"aws-gp2", "", map[string]string{"gib": "20"}, 16, .5, 100, "ops"},
		{"aws-gp2", "", map[string]string{"gib": "170"}, 256, .5, 510, "ops"},
		{"aws-gp2", "", map[string]string{"gib": "334"}, 256, .5, 1000, "bytes"},
		{"aws-gp2", "", map[string]string{"gib": "16384"}, 4, .5, 16000, "ops"},
		{"aws-gp3", "", map[string]string{"gib": "8"}, 64, .5, 2000, "bytes"},
		{"aws-io1", "", map[string]string{"gib": "100", "iops": "3000"}, 4, 1, 3000, "ops"},
		{"aws-io1", "", map[string]string{"gib": "100", "iops": "3000"}, 64, 1, 3000, "ops"},
		{"aws-io1", "", map[string]string{"gib": "100", "iops": "3000"}, 256, 1, 2000, "bytes"},
		{"aws-io1", "", map[string]string{"gib": "100", "iops": "3000"}, 1024, 1, 500, "bytes"},
		{"aws-io1", "", map[string]string{"gib": "2000", "iops": "48000"}, 16, 1, 48000, "ops, bytes"},
		{"aws-io2", "", map[string]string{"gib": "100", "iops": "1000"}, 256, 1, 1000, "ops"},
		{"aws-st1", "", map[string]string{"gib": "1024"}, 1024, 1, 40, "bytes"},
		{"aws-st1", "", map[string]string{"gib": "1024"}, 4, 1, 40, "bytes"}, // counts as 1 MiB
		{"aws-st1", "", map[string]string{"gib": "16384"}, 1024, 1, 500, "ops, bytes"},
		{"aws-sc1", "", map[string]string{"gib": "512"}, 2048, 1, 3, "bytes"},
		{"azure-premium", "", map[string]string{"tier": "P10"}, 257, 1, 250, "ops"},
		{"gcp-pd-balanced", "", map[string]string{"gib": "500", "vcpus": "4"}, 4, .5, 6000, "ops.disks"},
		{"gcp-pd-balanced", "", map[string]string{"gib": "5000", "vcpus": "16"}, 4, .5, 20000, "ops.machine"},
		{"gcp-pd-ssd", "", map[string]string{"gib": "500", "vcpus": "4"}, 1024, .5, 480,
			"bytes.read.machine, bytes.write.machine"},
		{"gcp-vm", "", map[string]string{"machine": "extreme-64"}, 1024, .5, 6000, "bytes.write"},
		{"aws-instance", "", map[string]string{"type": "t3.medium"}, 16, 1, 2000, "ops"},
		// each direction of a lab has the limit for itself
		{"lab", "", map[string]string{"iops": "300"}, 4, 1, 300, "ops.read"},
		{"lab", "", map[string]string{"iops": "300"}, 4, .75, 400, "ops.read"},
		{"lab", "", map[string]string{"iops": "300"}, 4, .5, 600, "ops.read, ops.write"},
		{"lab", "", map[string]string{"iops": "100", "bandwidth": "60"}, 384, 1, 50, "ops.read"},
		{"lab", "", map[string]string{"iops": "100", "bandwidth": "60"}, 1024, 0, 25, "ops.write"},
		{"lab", "", map[string]string{"bandwidth": "60MiB/s"}, 1024, 0, 60, "bytes.write"},
	} {
		var l Levels
		if c.model == "" {
			var err error
			if l, err = parse(t, c.text).Levels(c.set); err != nil {
				t.Fatal(err)
			}
		} else {
			l = levelsOf(t, c.model, c.set)
		}
		e := l.At(c.kib*1024, c.reads)
		var names []string
		for _, i := range e.Limits {
			names = append(names, l.Limits[i].Name())
		}
		if got := strings.Join(names, ", "); !near(e.Ops, c.ops) || got != c.limit || !near(e.Bytes, c.ops*c.kib*1024) {
			t.Errorf("%s %v at %v KiB, reads %v: %v op/s by %s, want %v by %s", c.model, c.set, c.kib, c.reads, e.Ops, got,
				c.ops, c.limit)
		}
	}
}

// TestCounts: no(d) of section 4.1.
func TestCounts(t *testing.T) {
	for unit, want := range map[float64]map[float64]float64{
		256: {4: 1, 256: 1, 257: 2, 512: 2, 1024: 4}, 16: {4: 1, 32: 2, 64: 4, 256: 16, 1024: 64}, 0: {4: 1, 1024: 1},
	} {
		for size, no := range want {
			if got := (Level{Quality: Ops, Unit: unit * 1024}).Counts(size * 1024); got != no {
				t.Errorf("no(%v) by %v KiB = %v, want %v", size, unit, got, no)
			}
		}
	}
}

func TestBucket(t *testing.T) {
	type bucket struct{ size, burst, fill, start, lasts, refill float64 }
	nan := math.NaN()
	for _, c := range []struct {
		model string
		set   map[string]string
		limit int
		want  *bucket
	}{
		{"aws-gp2", map[string]string{"gib": "100"}, 0, &bucket{5.4e6, 3000, 300, 1, 2000, 18000}},
		{"aws-gp2", map[string]string{"gib": "1000"}, 0, nil},
		{"aws-gp2", map[string]string{"gib": "100"}, 1, nil},
		{"aws-st1", map[string]string{"gib": "1024"}, 1, &bucket{1 << 40, 250 << 20, 40 << 20, nan, 1048576. / 210,
			1048576. / 40}},
		{"azure-premium", map[string]string{"tier": "P10"}, 0, &bucket{5.4e6, 3500, 500, 1, 1800, 10800}},
		{"azure-premium", map[string]string{"tier": "P30"}, 0, nil},
		{"aws-instance", map[string]string{"type": "t3.medium"}, 0, &bucket{nan, 11800, nan, nan, 1800, nan}},
		{"aws-instance", map[string]string{"type": "m6i.8xlarge"}, 0, nil},
	} {
		l := levelsOf(t, c.model, c.set)
		got := l.Limits[c.limit].Bucket
		if (got == nil) != (c.want == nil) {
			t.Errorf("%s %v: bucket %v, want %v", c.model, c.set, got, c.want)
		} else if got != nil {
			have := bucket{got.Size, got.Burst, got.Fill, got.Start, got.BurstTime(), got.RefillTime()}
			if a, b := fmt.Sprint(have), fmt.Sprint(*c.want); a != b {
				t.Errorf("%s %v: bucket %s, want %s", c.model, c.set, a, b)
			}
		}
	}
}

func TestDistribution(t *testing.T) {
	one, three := Distribution{{5, 1}}, Distribution{{50, .25}, {100, .5}, {200, .25}}
	if p := one.Pressure(3); !near(p, .6) {
		t.Errorf("SLP(3) of 5 = %v, want .6", p)
	}
	if p, r := three.Pressure(60), three.Reached(60); !near(p, .675) || r != .25 {
		t.Errorf("SLP(60) = %v, P(s ≤ 60) = %v; want .675, .25", p, r)
	}
	for o := 1.; o < 1000; o *= 1.7 {
		if p := three.Pressure(o); !near(p, o*three.Pressure(1)) || !near(p, o/three.Level()) {
			t.Errorf("SLP(%v) = %v is not linear", o, p)
		}
	}
	if three.Reached(49) != 0 || three.Reached(200) != 1 || three.Reached(100) != .75 {
		t.Error("P(s ≤ o) is wrong at its steps")
	}
}

func TestTurn(t *testing.T) {
	for _, c := range []struct {
		model string
		set   map[string]string
		kib   float64
	}{
		{"paper-ebs-2015", map[string]string{"iops": "1800", "type": "m3.medium"}, 60 * 1024. / 1800}, // 34.1
		{"paper-ebs-2015", map[string]string{"iops": "300", "type": "m3.medium"}, 204.8},
		{"aws-gp2", map[string]string{"gib": "100"}, math.NaN()},
		{"aws-st1", map[string]string{"gib": "100"}, 0},
		{"lab", map[string]string{"iops": "1800", "bandwidth": "60"}, 60 * 1024. / 1800},
	} {
		if got := levelsOf(t, c.model, c.set).Turn(1) / 1024; !near(got, c.kib) && !(math.IsNaN(got) && math.IsNaN(c.kib)) {
			t.Errorf("%s %v turns at %v KiB, want %v", c.model, c.set, got, c.kib)
		}
	}
}

func TestBurst(t *testing.T) {
	l := levelsOf(t, "aws-gp2", map[string]string{"gib": "100"})
	if b := l.Burst().At(4096, 1); b.Ops != 3000 || l.Limits[0].Bucket == nil {
		t.Errorf("with credits %v of %+v, want 3000", b.Ops, l.Limits[0])
	}
}

// TestMadeInCode: a model that no file had gives the same levels, and is checked alike.
func TestMadeInCode(t *testing.T) {
	made := Model{Name: "m", Limits: []Limit{{Quality: Ops, Rate: Rate{Term: Term{Value: Amount{Number: 300}}}}}}
	if l, err := made.Levels(nil); err != nil || l.At(4096, 1).Ops != 300 {
		t.Errorf("Levels: %+v, %v", l, err)
	}
	made.Limits[0].Quality = CPU
	if _, err := made.Levels(nil); !errors.Is(err, model.ErrUsage) {
		t.Errorf("a volume has a limit of cpu: %v", err)
	}
	cells := Model{Name: "m", Cells: []Cell{{Size: 4096, Reads: 100, Ops: []float64{298.7, 300.2}}}}
	if l, err := cells.Levels(nil); err != nil || !near(l.At(4096, 1).Ops, 2/(1/298.7+1/300.2)) {
		t.Errorf("Levels of cells: %+v, %v", l, err)
	}
}

func TestInputs(t *testing.T) {
	for _, c := range []struct {
		model string
		set   map[string]string
		want  string
	}{
		{"aws-gp2", nil, "gib: it is missing; use a number from 1 to 16384 (size of the volume in GiB)"},
		{"aws-gp2", map[string]string{"gib": "0.5"},
			"gib: 0.5 is too small; use a number from 1 to 16384 (size of the volume in GiB)"},
		{"aws-gp2", map[string]string{"gib": "NaN"},
			`gib: "NaN" is no amount; use a number from 1 to 16384 (size of the volume in GiB)`},
		{"aws-gp2", map[string]string{"gib": "-3"},
			"gib: -3 is not greater than 0; use a number from 1 to 16384 (size of the volume in GiB)"},
		{"aws-gp2", map[string]string{"gib": "100", "iop": "3"},
			"iop: aws-gp2 has no such input; the inputs are gib"},
		{"aws-io1", map[string]string{"gib": "100", "iops": "5001"},
			"iops: 5001 is too large; use a number from 100 to 5000 with gib=100 (provisioned operations a second)"},
		{"aws-gp3", map[string]string{"gib": "1", "iops": "16000"},
			"iops: 16000 is too large; use 3000 with gib=1 (provisioned operations a second)"},
		{"aws-io1", map[string]string{"gib": "100", "iop": "5000"},
			"iop: aws-io1 has no such input; did you mean \"iops\"? The inputs are gib, iops\niops: it is missing; use a " +
				"number from 100 to 5000 with gib=100 (provisioned operations a second)"},
		{"aws-gp3", map[string]string{"gib": "100", "throughput": "800"},
			"throughput: 800 MiB is too large; use a number from 125 MiB to 750 MiB with iops=3000 (provisioned throughput)"},
		{"aws-gp3", map[string]string{"gib": "100", "throughput": "300op/s"},
			"throughput: \"300op/s\" is no amount; use a number from 125 MiB to 750 MiB with iops=3000 " +
				"(provisioned throughput)"},
		{"azure-premium", map[string]string{"tier": "P11"},
			"tier: \"P11\" is none of the choices; use P10, P15, P20, P30, P40, P50, P60, P70, P80 (tier of the disk)"},
		{"lab", nil, "iops, bandwidth: all are none, so that no limit is left; give one of them"},
	} {
		m, err := Find(c.model)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Levels(c.set)
		if err == nil || err.Error() != c.want || !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s %v:\n%v\nwant\n%s", c.model, c.set, err, c.want)
		}
	}
	if _, err := Find("gp2"); !errors.Is(err, model.ErrUsage) {
		t.Errorf("Find(gp2): %v", err)
	}
	m := parse(t, "model: m\ninputs: {vcpus: {}}\nlimits: [{of: ops, rate: {by: vcpus, steps: {15: 300, 63: unknown}}}]\n")
	for vcpus, want := range map[string]string{
		"15": "", "16": "vcpus: the model does not know the level of ops, vcpus=16; use other inputs, or a file of your own",
		"64": "vcpus: the model does not know the level of ops, vcpus=64; use other inputs, or a file of your own",
	} {
		if _, err := m.Levels(map[string]string{"vcpus": vcpus}); err == nil != (want == "") || err != nil &&
			err.Error() != want {
			t.Errorf("vcpus %s: %v, want %q", vcpus, err, want)
		}
	}
}
