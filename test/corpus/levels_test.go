package corpus

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// levelCases are pages of what may be expected.
func levelCases() (out []question) {
	add := func(name, of string, set map[string]string) {
		out = append(out, question{name: "levels/" + name, study: "levels", show: func() (any, *doc.Document, error) {
			m, err := levels.Find(of)
			if text := ownModels[of]; text != "" {
				m, err = levels.Parse(of, []byte("model: own\n"+text))
			}
			if err != nil {
				return nil, nil, err
			}
			return levels.Show(m, set)
		}})
	}
	type inputs = map[string]string
	add("gp2", "aws-gp2", inputs{"gib": "100"})
	add("gp2, large", "aws-gp2", inputs{"gib": "4000"})
	add("gp3", "aws-gp3", inputs{"gib": "100"})
	add("gp3, raised", "aws-gp3", inputs{"gib": "100", "iops": "6000", "throughput": "500"})
	add("io1", "aws-io1", inputs{"gib": "1000", "iops": "40000"})
	add("io2", "aws-io2", inputs{"gib": "100", "iops": "20000"})
	add("st1", "aws-st1", inputs{"gib": "1024"})
	add("sc1", "aws-sc1", inputs{"gib": "2048"})
	add("instance", "aws-instance", inputs{"type": "m5.large"})
	add("premium", "azure-premium", inputs{"tier": "P15"})
	add("premium-v2", "azure-premium-v2", inputs{"gib": "100", "iops": "4000", "throughput": "200"})
	add("ultra", "azure-ultra", inputs{"gib": "64", "iops": "8000", "throughput": "300"})
	add("pd-balanced", "gcp-pd-balanced", inputs{"gib": "500", "vcpus": "16"})
	add("pd-ssd", "gcp-pd-ssd", inputs{"gib": "500", "vcpus": "16"})
	add("gcp-vm", "gcp-vm", inputs{"machine": "ssd-8-15"})
	add("lab", "lab", inputs{"iops": "300"})
	add("paper", "paper-ebs-2015", inputs{"iops": "1800", "type": "m3.medium"})
	for _, of := range []string{"units.yaml", "bands.yaml", "cells.yaml", "filled.yaml", "cores.yaml", "wrong.yaml"} {
		add("own, "+of, of, nil)
	}
	add("input missing", "aws-gp2", nil)
	add("input unknown", "aws-gp2", inputs{"gibs": "100", "gib": "100"})
	add("not there", "aws-gp4", nil)
	return out
}

// fitCases make models of measured values.
func fitCases() (out []question) {
	add := func(name, params, text string) {
		out = append(out, question{name: "levelfit/" + name, study: "levelfit", params: params, files: []file{{"cpu.csv",
			text}}})
	}
	add("two bands", `{"value": "score", "name": "m5-large"}`, values("score", 120, bands(seeded(710), .3, 80, 120, .005)))
	add("one band", `{"value": "score"}`, values("score", 80, normal(seeded(711), 100, .01)))
	add("few", `{"value": "score"}`, values("score", 8, normal(seeded(712), 100, .02)))
	add("scattered", "", values("score", 60, func(i int) float64 { return 50 + 2*float64(i*37%60) }))
	several := metricsTable(seeded(713), 40, func(string, int) (float64, float64) { return 100, .01 }, "read", "write")
	add("one of several", `{"metric": "read"}`, several)
	add("which of several", "", several)
	add("not positive", `{"value": "score"}`, values("score", 40, func(i int) float64 { return float64(i - 1) }))
	runs := []model.RunData{stored(keeping(714, 6, 6, .9, .01).Data, 95, "measured", 0)}
	out = append(out, question{name: "levelfit/of a run", study: "levelfit", runs: runs, sources: []string{"measured"}})
	return out
}

// cellsRun measures a volume of which the truth is known: sizes of operations by shares of
// reads by operations in flight, in each trial.
type cellsRun struct {
	ops, bytes     float64 // limits
	latency, noise float64 // of one operation, in s; of a step, relative
	trials         int
	depths         []int
	volumes        []string       // of each of two nodes; nil: one without a name
	factors        map[string]any // further ones of all steps
}

// run is what was measured.
func (x cellsRun) run() model.RunData {
	b, rng, nodes := simulated.New(2), seeded(720), 2
	if x.volumes == nil {
		x.volumes, nodes = []string{""}, 1
	}
	b.Data.Nodes = b.Data.Nodes[:nodes]
	for trial := range x.trials {
		for node := range nodes {
			for _, volume := range x.volumes {
				for _, size := range []float64{4 * kib, 64 * kib, 512 * kib} {
					for _, reads := range []float64{1, .5} {
						for _, depth := range x.depths {
							factors := map[string]any{"node": simulated.NodeName(node), "volume": volume, "size": size,
								"reads": 100 * reads, "depth": depth}
							maps.Copy(factors, x.factors)
							b.Step("trial", trial+1, x.cell(b, rng, node, size, reads, depth))
							b.Data.Steps[len(b.Data.Steps)-1].Factors, _ = json.Marshal(factors) // it is of plain values
						}
					}
				}
			}
		}
	}
	return stored(b.Data, 96, "cells", 0)
}

// cell is the result of a step.
func (x cellsRun) cell(b *builder, rng *rand.Rand, node int, size, reads float64, depth int) model.Result {
	const seconds = 10
	ops := min(x.ops/math.Ceil(size/(256*kib)), x.bytes/size,
		float64(depth)/x.latency) * math.Exp(x.noise*rng.NormFloat64())
	r := b.Reported(node, 0, seconds, ops)
	r.Samples = nil
	for i, way := range []string{"disk_read_iops", "disk_write_iops"} {
		share := []float64{reads, 1 - reads}[i]
		if share == 0 {
			continue
		}
		r.Samples = append(r.Samples, model.Sample{Metric: way, Unit: "op/s", Value: ops * share, Better: model.Higher})
		s := model.Series{Metric: way, Unit: "op"}
		for i := range 2*seconds + 1 {
			at := float64(i) / 2
			s.Offsets, s.Values = append(s.Offsets, int64(at*1e9)), append(s.Values, ops*share*at*(1+.01*float64(i%3)))
		}
		r.Series = append(r.Series, s)
	}
	return r
}

// measuredCases compare what volumes gave with what was expected of them.
func measuredCases() (out []question) {
	add := func(name, params string, x cellsRun) {
		out = append(out, question{name: "servicelevel/" + name, study: "servicelevel", params: params,
			runs: []model.RunData{x.run()}})
	}
	own := func(more, limits string) string {
		text, _ := json.Marshal("model: own\nlimits:\n" + limits)
		return fmt.Sprintf(`{"model_file": %s, "models": [{"model": "own"}]%s}`, text, more)
	}
	const limits = "- {of: ops, unit: 256KiB, rate: 1000}\n- {of: bytes, rate: 60MiB}\n"
	const gate = `, "fail_unless_holds": true`
	holding := cellsRun{ops: 1000, bytes: 60 * mib, latency: .0005, noise: .004, trials: 5, depths: []int{8, 16, 32}}
	but := func(change func(x *cellsRun)) cellsRun {
		x := holding
		change(&x)
		return x
	}
	add("holds", own(gate, limits), holding)
	add("lower", own(gate, limits), but(func(x *cellsRun) { x.ops, x.bytes = 800, 48*mib }))
	add("higher", own("", limits), but(func(x *cellsRun) { x.ops, x.bytes = 1200, 72*mib }))
	add("unclear", own(gate, limits), but(func(x *cellsRun) { x.noise, x.trials = .1, 3 }))
	add("margin", own(`, "margin": 30, "level": 0.9`, limits), but(func(x *cellsRun) { x.ops = 800 }))
	add("one trial", own("", limits), but(func(x *cellsRun) { x.trials = 1 }))
	add("no model", "", holding)
	add("one in flight", own("", limits), but(func(x *cellsRun) { x.depths, x.latency = []int{1}, .002 }))
	add("not saturated", own("", limits), but(func(x *cellsRun) { x.latency = .05 }))
	add("credits left", own("", limits), but(func(x *cellsRun) { x.factors = map[string]any{"burst": true} }))
	add("ways", own("", "- {of: ops, ways: each, unit: 256KiB, rate: 1000}\n- {of: bytes, ways: [write], rate: "+
		"20MiB}\n"), holding)
	add("lab", "", but(func(x *cellsRun) {
		x.volumes, x.trials, x.factors = []string{"data", "log"}, 2, map[string]any{"lab": map[string]any{"iops": 1000,
			"bandwidth": "60MiB/s"}}
	}))
	add("built-in", `{"models": [{"model": "aws-io1", "inputs": {"gib": 100, "iops": 1000}}]}`, holding)
	return out
}
