package pressure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/telemetry"
)

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
	return fmt.Sprintf("- {of: %s, ways: %s, %srate: {values: {%s}}}", d.quality, d.ways, unit,
		strings.Join(values, ", "))
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
		own, whole := []drawn{drawLimit(rng, "ops"), drawLimit(rng, "bytes")}, []drawn{drawLimit(rng, "ops"),
			drawLimit(rng, "bytes")}
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
