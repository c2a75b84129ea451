package pressure

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalebench/scalebench/internal/model"
)

// gp3 reports whether a volume with gib, iops and MiB/s is offered, and has as many operations and bytes.
func gp3(ops, bytes float64) func(v []float64) bool {
	return func(v []float64) bool {
		return v[1] <= max(3000, 500*v[0]) && v[2] <= max(125, v[1]/4) && v[1] >= ops*(1-same) && v[2] >= bytes
	}
}

func TestCheapest(t *testing.T) {
	volume := []Input{{Least: 5, Most: 16384, Price: Price{Unit: .08}},
		{Least: 3000, Most: 80000, Price: Price{Unit: .005, Included: 3000}},
		{Least: 125, Most: 2000, Price: Price{Unit: .04, Included: 125}}}
	golden := []Input{{Least: 300, Most: 20000, Price: Price{Unit: .1}}}
	atLeast := func(x float64) func([]float64) bool {
		return func(v []float64) bool { return v[0] >= x*(1-same) }
	}
	for name, tt := range map[string]struct {
		inputs  []Input
		enough  func([]float64) bool
		values  []float64
		monthly float64
	}{
		"960 of operations":               {golden, atLeast(300 * .92 / .2875), []float64{960}, 96},
		"nothing needed":                  {golden, atLeast(0), []float64{300}, 30},
		"more than there is":              {golden, atLeast(20001), nil, 0},
		"an input that another one needs": {volume, gp3(6000, 0), []float64{12, 6000, 125}, .96 + 15},
		"bytes need operations, and these GiB": {volume, gp3(0, 1000), []float64{8, 4000, 1000},
			.64 + 5 + 35},
	} {
		t.Run(name, func(t *testing.T) {
			values, monthly := cheapest(tt.inputs, tt.enough)
			near(t, "monthly", monthly, tt.monthly)
			if diff := cmp.Diff(tt.values, values, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCheapestIsCheapest looks at all values of small services, whose limits depend on one input each, as those of the
// models that come with the program, or on two.
func TestCheapestIsCheapest(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 15))
	for k := range 300 {
		limits, most := make([][3]float64, 1+rng.IntN(4)), float64(10+rng.IntN(10))
		needed := make([]float64, len(limits))
		for l := range limits {
			limits[l][rng.IntN(2)] = float64(1 + rng.IntN(5))
			if k%2 == 0 { // on both
				limits[l][rng.IntN(2)] = 1 + 4*rng.Float64()
			}
			limits[l][2] = 10 + rng.Float64()*100 // at most
			needed[l] = rng.Float64() * 60
		}
		inputs := []Input{{Most: most, Price: Price{Unit: rng.Float64()}},
			{Most: most, Price: Price{Unit: rng.Float64(), Included: float64(rng.IntN(4))}}}
		enough := func(v []float64) bool {
			for l, f := range limits {
				if min(f[0]*v[0]+f[1]*v[1], f[2]) < needed[l] {
					return false
				}
			}
			return true
		}
		least := math.Inf(1)
		for x := range int(most) + 1 {
			for y := range int(most) + 1 {
				if enough([]float64{float64(x), float64(y)}) {
					least = min(least, inputs[0].Price.Monthly(float64(x))+inputs[1].Price.Monthly(float64(y)))
				}
			}
		}
		values, monthly := cheapest(inputs, enough)
		if (values == nil) != math.IsInf(least, 1) {
			t.Fatalf("%v, and the least price is %g", values, least)
		}
		if values != nil && (!enough(values) || monthly > least+1e-9) {
			t.Errorf("service %d: %v for %g, the least price is %g", k, values, monthly, least)
		}
	}
}

// TestScaleOut: the paper's number for its golden growth is 10, and one more serves it.
func TestScaleOut(t *testing.T) {
	for _, tt := range []struct {
		nodes         int
		growth        float64
		below, enough int
	}{{3, 3.48, 10, 11}, {3, 1 / .2875, 10, 11}, {3, 4, 11, 12}, {3, 1, 3, 3}, {3, .5, 3, 3}, {1, 2, 1, 2}, {1, 2.01, 2,
		3}} {
		if below, enough := ScaleOut(tt.nodes, tt.growth); below != tt.below || enough != tt.enough {
			t.Errorf("ScaleOut(%d, %g) = %d, %d nodes, want %d, %d", tt.nodes, tt.growth, below, enough, tt.below, tt.enough)
		}
	}
	got := NewOption(3, Range{3, 2, 4}, 600, Range{100, 90, 110})
	if diff := cmp.Diff(&Range{2, 600. / 440, 600. / 180}, got.PerRate, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("price of one request a second (-want +got):\n%s", diff)
	}
}

func TestReadPrices(t *testing.T) {
	const head = "model,input,per_month,currency,included\n"
	got, err := ReadPrices(head + "aws-gp3,iops,0.005,USD,3000\naws-gp3,gib,0.08,USD,\nm5.large,node,70,USD,\n")
	want := Prices{Currency: "USD", Inputs: map[Priced]Price{{"aws-gp3", "iops"}: {.005, 3000}, {"aws-gp3",
		"gib"}: {.08, 0}, {"m5.large", "node"}: {70, 0}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for name, tt := range map[string]struct{ text, at string }{
		"no columns":       {"a,b\n1,2\n", "prices:1:"},
		"a negative price": {head + "m,iops,-1,USD,\n", "prices:2:"},
		"no price":         {head + "m,iops,,USD,\n", "prices:2:"},
		"no model":         {head + ",iops,1,USD,\n", "prices:2:"},
		"no input":         {head + "m,,1,USD,\n", "prices:2:"},
		"no currency":      {head + "m,iops,1,,\n", "prices:2:"},
		"two currencies":   {head + "m,iops,1,USD,\nm,gib,1,EUR,\n", "prices:3:"},
		"twice":            {head + "m,iops,1,USD,\nm,iops,2,USD,\n", "prices:3:"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadPrices(tt.text)
			if !errors.Is(err, model.ErrUsage) && !errors.Is(err,
				model.ErrInvalid) || !strings.Contains(err.Error(), tt.at) {
				t.Errorf("error %v, want one at %s", err, tt.at)
			}
		})
	}
}

func FuzzReadPrices(f *testing.F) {
	f.Add("model,input,per_month,currency\naws-gp3,iops,0.005,USD\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ReadPrices(text)
		if err != nil {
			return
		}
		for at, p := range got.Inputs {
			if at.Model == "" || at.Input == "" || got.Currency == "" || !(p.Unit >= 0) || !(p.Included >= 0) {
				t.Errorf("%v costs %v %q", at, p, got.Currency)
			}
		}
	})
}

func TestCaveats(t *testing.T) {
	for _, problem := range Caveats.Check() {
		t.Error(problem)
	}
}
