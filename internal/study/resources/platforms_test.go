package resources

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
)

// answerOf asks about a table.
func answerOf(t *testing.T, name, table string) *study.Answer {
	t.Helper()
	in := study.Input{Table: &study.Table{Name: name, Reader: strings.NewReader(table)}}
	a, err := (&Params{}).Answer(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range a.Places {
		Kind().Caveats.FillPlace(p)
	}
	a.Document()
	return a
}

// tableOf is a table of two platforms with two metrics a resource, and what the first metric
// keeps of its capacity, by platform and resource. It keeps least of what comes last.
func tableOf(rng *rand.Rand, resources []string) (text string, kept map[string]float64) {
	var table strings.Builder
	table.WriteString("platform,workload,metric,resource,node,serial,parallel\n")
	kept = make(map[string]float64)
	for _, platform := range []string{"ec2", "gce"} {
		for place, k := range rng.Perm(len(resources)) {
			resource, share := resources[k], .9-.25*float64(place)+.05*rng.Float64()
			kept[platform+resource] = share
			for metric, share := range []float64{share, share + .05} {
				for node := range 6 {
					alone := 100 * (1 + .01*rng.NormFloat64())
					fmt.Fprintf(&table, "%s,w,m%d%s,%s,n%d,%.4f,%.4f\n", platform, metric, resource, resource, node, alone,
						alone*share*(1+.01*rng.NormFloat64()))
				}
			}
		}
	}
	return table.String(), kept
}

// TestTablesOfPlatforms: of each resource the metric speaks that loses most on any of two
// platforms, and the ranking of each follows what was drawn.
func TestTablesOfPlatforms(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 9))
	resources := []string{model.ResourceCPU, model.ResourceMemory, model.ResourceDiskRead,
		model.ResourceNetworkSend}
	for draw := range 20 {
		table, kept := tableOf(rng, resources)
		out, ok := answerOf(t, "t.csv", table).Result.(*Platforms)
		n := len(resources)
		if !ok || len(out.Rankings) != 2 || len(out.Findings) != 2*n || len(out.Differences) != n {
			t.Fatalf("draw %d: %+v", draw, out)
		}
		for _, r := range out.Rankings {
			for i, x := range r.Resources {
				if x.Rank != i+1 || !strings.HasPrefix(x.Finding.Metric, "m0") {
					t.Errorf("draw %d: on %s the rank of %s is %d, at place %d", draw, r.Platform, x.Finding.Metric,
						x.Rank, i)
				}
				truth, cdi := 100*(1-kept[r.Platform+x.Resource]), *x.Finding.CDI
				if cdi < truth-3 || cdi > truth+3 {
					t.Errorf("draw %d: %s of %s has %.1f, want about %.1f", draw, x.Resource, r.Platform, cdi, truth)
				}
			}
		}
	}
}

// TestPublishedPlatforms: means of a table have no verdict and no rank. All metrics are shown.
func TestPublishedPlatforms(t *testing.T) {
	table, err := os.ReadFile("../../../examples/clouds.csv")
	if err != nil {
		t.Fatal(err)
	}
	out, ok := answerOf(t, "clouds.csv", string(table)).Result.(*Platforms)
	if !ok || len(out.Findings) != 16 || len(out.Differences) != 12 || len(out.Rankings) != 4 {
		t.Fatalf("%+v", out)
	}
	for _, r := range out.Rankings {
		if len(r.Resources) > 0 || len(r.Unknown) == 0 {
			t.Errorf("%s: %d resources have a rank without an interval; %d remarks", r.Platform, len(r.Resources),
				len(r.Unknown))
		}
	}
}
