package program

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/study/servicelevel"
)

// LabVolume is a volume of a lab whose service levels follow from its limits.
type LabVolume struct {
	IOPS, KiB int // operations and KiB a second, of reads and of writes each
	Sizes     []int
	Reads     []int
}

// DrawVolume draws limits, and sizes of operations in KiB. Each cell has 60 operations a
// second or more, so that counting whole ones is no error. The kernel allows whole operations
// in each tenth of a second: of a limit of 258 it gives 250.
func DrawVolume(rng *rand.Rand, sizes int) LabVolume {
	v := LabVolume{IOPS: 250 + 10*rng.IntN(55), KiB: (30 + rng.IntN(31)) << 10, Reads: []int{100, []int{75, 50,
		25}[rng.IntN(3)], 0}}
	all := []int{4, 16, 32, 64, 128, 256, 384, 512}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	v.Sizes = all[:sizes]
	return v
}

// Each is what such a volume gives of operations of so many KiB in one direction, in
// operations a second.
func (v LabVolume) Each(kib int) float64 {
	return min(float64(v.IOPS)/math.Ceil(float64(kib)/256), float64(v.KiB)/float64(kib))
}

// Total is that of a mix: the direction with more operations binds.
func (v LabVolume) Total(kib, reads int) float64 {
	return v.Each(kib) / max(float64(reads)/100, 1-float64(reads)/100)
}

// File is the experiment that measures it; study are further keys of the study.
func (v LabVolume) File(trials int, ramp, duration, study string) string {
	list := func(values []int, unit string) string {
		var texts []string
		for _, x := range values {
			texts = append(texts, fmt.Sprint(x, unit))
		}
		return strings.Join(texts, ", ")
	}
	return fmt.Sprintf(`fleet:
  lab: {nodes: 1, volumes: [{name: data, type: raw, size: 128MiB, iops: %d, bandwidth: %dKiB/s}]}
workloads: [{name: fio, kind: disk, size: 64MiB, layout: false, ramp: %s, duration: %s}]
trials: %d
study: {kind: servicelevel, sizes: [%s], reads: [%s]%s}
`, v.IOPS, v.KiB, ramp, duration, trials, list(v.Sizes, "KiB"), list(v.Reads, ""), study)
}

// MeasuredCell is what tests read of a cell.
type MeasuredCell struct {
	Size         int64
	Reads, Depth int
	Saturated    bool
	Ops          struct{ Mean float64 }
	Expected     *servicelevel.Expected
	Compared     []struct {
		Way                string
		Measured, Expected float64
		Verdict            servicelevel.Verdict
	}
	Verdict servicelevel.Verdict
}

// MeasureVolume runs such a file.
func (w *Installation) MeasureVolume(file string) ([]MeasuredCell, error) {
	out, stderr, err := w.Try("run", w.Write("levels.yaml", file), "--format", "json")
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, stderr)
	}
	var r struct{ Cells []MeasuredCell }
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		w.T.Fatal(err) // again would be no better
	}
	return r.Cells, nil
}

// Judge holds measured cells to arithmetic: within 3 % in one direction, and within 5 %
// in each direction of a mix.
func (v LabVolume) Judge(t *testing.T, cells []MeasuredCell) error {
	t.Helper()
	if want := len(v.Sizes) * len(v.Reads); len(cells) != want {
		return fmt.Errorf("%d cells, want %d", len(cells), want)
	}
	var wrong []string
	for _, c := range cells {
		kib := int(c.Size >> 10)
		total := v.Total(kib, c.Reads)
		if c.Expected == nil || math.Abs(c.Expected.Ops/total-1) > 1e-6 {
			return fmt.Errorf("%d KiB, %d %% reads: the model expects %+v, and arithmetic %g", kib, c.Reads, c.Expected, total)
		}
		within := map[bool]float64{true: .03, false: .05}[c.Reads == 0 || c.Reads == 100]
		for _, x := range c.Compared {
			t.Logf("iops %d, %d KiB/s: %d KiB, %d %% reads, depth %d, %s: %.1f of %.1f (%.3f), %s", v.IOPS, v.KiB, kib,
				c.Reads, c.Depth, x.Way,
				x.Measured, x.Expected, x.Measured/x.Expected, x.Verdict)
			if c.Depth >= 8 && math.Abs(x.Measured/x.Expected-1) > within {
				wrong = append(wrong, fmt.Sprintf("%d KiB, %d %% reads %s: %.1f, want %.1f", kib, c.Reads, x.Way, x.Measured,
					x.Expected))
			}
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("apart from arithmetic: %s", strings.Join(wrong, "; "))
	}
	return nil
}
