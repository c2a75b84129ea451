package analysis

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/frame/files"
	"github.com/scalebench/scalebench/internal/stats"
)

// answer is what every program is asked of a table.
type answer struct {
	Rows      int                              `json:"rows"`
	Mean      float64                          `json:"mean"`
	SD        float64                          `json:"sd"` // of a sample
	Quantiles []float64                        `json:"quantiles"`
	Groups    map[string]map[string][2]float64 `json:"groups"` // by fact and level: mean and SD
	// Seconds are those of the work, without starting the program.
	Seconds float64 `json:"seconds"`
}

var asked = []float64{.05, .25, .5, .75, .95}

// work answers with the packages that studies use.
func work(ctx context.Context, path string) (a answer, err error) {
	begin := time.Now()
	in, err := os.Open(path)
	if err != nil {
		return a, err
	}
	defer func() { _ = in.Close() }()
	frames, _, err := files.Read(ctx, path, in, frame.Choice{}, files.Limits{})
	if err != nil {
		return a, err
	}
	if len(frames) != 1 {
		return a, fmt.Errorf("%d frames in %s, want 1", len(frames), path)
	}
	f := &frames[0]
	a = answer{Rows: f.Len(), Groups: make(map[string]map[string][2]float64)}
	var all errgroup.Group
	all.Go(func() (err error) {
		if a.Mean, err = stats.Mean(f.Values); err == nil {
			a.SD, err = stats.SampleSD(f.Values)
		}
		return err
	})
	groups := make([]map[string][2]float64, len(f.Facts))
	for i := range f.Facts {
		all.Go(func() error {
			groups[i] = byLevel(f, &f.Facts[i])
			return nil
		})
	}
	all.Go(func() (err error) {
		a.Quantiles, err = stats.Quantiles(f.Values, asked...)
		return err
	})
	if err := all.Wait(); err != nil {
		return a, err
	}
	for i, x := range f.Facts {
		a.Groups[x.Name] = groups[i]
	}
	a.Seconds = time.Since(begin).Seconds()
	return a, nil
}

// byLevel is mean and sample SD of each level, in two passes.
func byLevel(f *frame.Frame, x *frame.Fact) map[string][2]float64 {
	n, mean, squares := make([]float64, len(x.Levels)), make([]float64, len(x.Levels)), make([]float64, len(x.Levels))
	for i, c := range x.Codes {
		n[c]++
		mean[c] += f.Values[i]
	}
	for c := range mean {
		mean[c] /= n[c]
	}
	for i, c := range x.Codes {
		d := f.Values[i] - mean[c]
		squares[c] += d * d
	}
	out := make(map[string][2]float64)
	for c, level := range x.Levels {
		if n[c] > 0 {
			out[level] = [2]float64{mean[c], math.Sqrt(squares[c] / (n[c] - 1))}
		}
	}
	return out
}
