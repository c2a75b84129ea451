// Package synthetic makes campaigns of known composition, so that what an analysis
// says of them can be held against the truth: bands by processor, effects of day,
// hour and weekday, drift, steps, outliers, noise that remembers. The same seed
// makes the same campaign.
package synthetic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
)

// Campaign is what a campaign is made of. Effects are shares of Mean.
type Campaign struct {
	Seed  uint64
	Begin time.Time     // zero: Monday, 2009-12-14, 00:00 UTC, as the paper's
	Every time.Duration // 0: half an hour
	Times int           // repetitions
	Nodes int           // in each; 0: one
	Mean  float64       // of the upper band, in points; 0: 100
	// Noise is the standard deviation of a value about its level, AR the
	// autocorrelation of neighbours in it.
	Noise, AR float64
	// Bands are processors; none: one without a name.
	Bands []Band
	// Mixed is by how much the share of the first band differs from one repetition
	// to the next (standard deviation), as clusters get more of it or less.
	Mixed float64
	// Zones are shares of each band's nodes by zone: of the zone of that name.
	Zones []Zone
	// Standard deviations of effects that all values of one day, hour of the day or
	// weekday have in common.
	Day, Hour, Weekday float64
	Drift              float64 // from begin to end
	Steps              []Step
	Outliers           float64 // share of values that lie far out
	// Kept says that the nodes stay the same in all repetitions, with their
	// processors; NodeNoise is then how much nodes differ besides.
	Kept      bool
	NodeNoise float64
	// Halved says that half of the nodes have half the level, whatever their
	// processors, and another half has the one and the other of two racks.
	Halved bool
}

// Band is a kind of processor with its share of the nodes, its level relative to
// the mean, and the standard deviation of its values relative to its level.
type Band struct {
	CPU   string
	Share float64
	Level float64
	Noise float64
}

// Zone takes this share of the nodes of each band, by the name of its processor.
type Zone struct {
	Name string
	Of   map[string]float64
}

// Step is a change of the level that lasts, at this share of the time.
type Step struct{ At, By float64 }

// Frame makes the campaign.
func (c Campaign) Frame() frame.Frame {
	c = c.filled()
	rng := rand.New(rand.NewPCG(c.Seed, 0x5c))
	normals := func(n int, sd float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = sd * rng.NormFloat64()
		}
		return out
	}
	days := normals(int(time.Duration(c.Times)*c.Every/(24*time.Hour))+2, c.Day)
	hours, weekdays := normals(24, c.Hour), normals(7, c.Weekday)
	nodes := normals(c.Nodes, c.NodeNoise)
	columns := map[string]*frame.Column{}
	for _, name := range []string{frame.FactRepetition, frame.FactSubject, "cpu_model", "zone", "rack"} {
		columns[name] = frame.NewFact(name)
	}
	slow, racks := make([]bool, c.Nodes), make([]bool, c.Nodes)
	if c.Halved {
		for i, k := range rng.Perm(c.Nodes) {
			slow[k] = 2*i < c.Nodes
		}
		for i, k := range rng.Perm(c.Nodes) {
			racks[k] = 2*i < c.Nodes
		}
	}
	kept := make([]int, c.Nodes)
	for i := range kept {
		kept[i] = c.pick(rng, 0)
	}
	f := frame.Frame{Key: frame.Key{Workload: "bench", Metric: "score", Phase: model.Parallel}, Unit: "points", Better: model.Higher}
	past := make([]float64, c.Nodes)
	for r := range c.Times {
		at := c.Begin.Add(time.Duration(r) * c.Every)
		share := float64(r) / float64(max(1, c.Times-1))
		common := 1 + days[int(at.Sub(c.Begin)/(24*time.Hour))] + hours[at.Hour()] + weekdays[at.Weekday()] + c.Drift*share
		for _, s := range c.Steps {
			if share >= s.At {
				common += s.By
			}
		}
		mixed := c.Mixed * rng.NormFloat64()
		for node := range c.Nodes {
			band := kept[node]
			if !c.Kept {
				band = c.pick(rng, mixed)
			}
			b := c.Bands[band]
			past[node] = c.AR*past[node] + math.Sqrt(1-c.AR*c.AR)*rng.NormFloat64()
			v := c.Mean * b.Level * (common + nodes[node] + b.Noise*past[node])
			if slow[node] {
				v /= 2
			}
			if c.Outliers > 0 && rng.Float64() < c.Outliers {
				v *= 3
			}
			f.Values, f.Times = append(f.Values, v), append(f.Times, at.UnixNano())
			columns[frame.FactRepetition].Append(fmt.Sprint(r + 1))
			columns[frame.FactSubject].Append(fmt.Sprintf("node-%d", node+1))
			columns["cpu_model"].Append(b.CPU)
			columns["zone"].Append(c.zone(rng, b.CPU))
			columns["rack"].Append(map[bool]string{true: "a", false: "b"}[racks[node]])
		}
	}
	for _, name := range []string{"cpu_model", "zone", "rack", frame.FactSubject, frame.FactRepetition} {
		if fact := columns[name].Fact(); len(fact.Levels) > 1 && (name != "rack" || c.Halved) {
			f.Facts = append(f.Facts, fact)
		}
	}
	return f
}

// filled has the defaults.
func (c Campaign) filled() Campaign {
	if c.Begin.IsZero() {
		c.Begin = time.Date(2009, 12, 14, 0, 0, 0, 0, time.UTC)
	}
	if c.Every == 0 {
		c.Every = 30 * time.Minute
	}
	if c.Mean == 0 {
		c.Mean = 100
	}
	c.Nodes = max(1, c.Nodes)
	if len(c.Bands) == 0 {
		c.Bands = []Band{{Share: 1, Level: 1, Noise: c.Noise}}
	}
	return c
}

// pick draws a band, the first of them with a share that differs by so much.
func (c Campaign) pick(rng *rand.Rand, mixed float64) int {
	u := rng.Float64()
	for i, b := range c.Bands {
		share := b.Share
		if i == 0 {
			share += mixed
		}
		if u -= share; u < 0 {
			return i
		}
	}
	return len(c.Bands) - 1
}

func (c Campaign) zone(rng *rand.Rand, cpu string) string {
	u := rng.Float64()
	for _, z := range c.Zones {
		if u -= z.Of[cpu]; u < 0 {
			return z.Name
		}
	}
	if len(c.Zones) > 0 {
		return c.Zones[len(c.Zones)-1].Name
	}
	return ""
}

// Paper is the CPU score of large instances as the paper on runtime variance has
// it (section 6.1, Fig. 2b, Fig. 10): every half hour for 30 days, 22 % of the
// values at half the level, which the processor tells; all of those are in zone
// us-east-1c.
func Paper(seed uint64) Campaign {
	return Campaign{
		Seed: seed, Times: 1440, Mean: 500_000,
		Bands: []Band{{CPU: "Opteron", Share: 0.22, Level: 0.5, Noise: 0.02}, {CPU: "Xeon", Share: 0.78, Level: 1, Noise: 0.01}},
		Zones: []Zone{{Name: "us-east-1c", Of: map[string]float64{"Opteron": 1, "Xeon": 0.45}}, {Name: "us-east-1d", Of: map[string]float64{"Opteron": 0, "Xeon": 0.55}}},
	}
}
