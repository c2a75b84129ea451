package observe

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/model"
)

// TestItemCaveats: items without a result, and those of earlier attempts, are told of.
func TestItemCaveats(t *testing.T) {
	queue := func(node model.NodeID, done, aside, earlier float64) reported {
		return reported{node: node, samples: []model.Sample{
			{Metric: MetricItemsDone, Unit: "1", Value: done, Info: true},
			{Metric: MetricItemsSetAside, Unit: "1", Value: aside, Info: true},
			{Metric: MetricItemsEarlier, Unit: "1", Value: earlier, Info: true}}}
	}
	event := []model.Event{{Step: "b", Kind: model.EventItemSetAside, Text: "item beta is set aside after 3 tries"}}
	for name, c := range map[string]struct {
		run  *Run
		want []caveat.Text
	}{
		"all well":   {measured([]reported{queue("n1", 3, 0, 0)}), []caveat.Text{}},
		"other work": {measured([]reported{{node: "n1", samples: rate(1)}}), []caveat.Text{}},
		"set aside": {measured([]reported{queue("n1", 1, 0, 0)}, []reported{queue("n1", 1, 1, 0), queue("n2", 0, 1, 0)}),
			[]caveat.Text{"w: 2 of 4 items got no result: item beta is set aside after 3 tries"}},
		"resumed": {measured([]reported{queue("n1", 3, 0, 5), queue("n2", 2, 0, 5)}),
			[]caveat.Text{"w: parallel trial 1: 5 of 10 items were over before the attempt that counts began. " +
				"It has no rate and no makespan. Run it again"}},
	} {
		c.run.data.Events = event
		all := c.run.Caveats()
		Caveats.Fill(caveat.Subject{}, all)
		if diff := cmp.Diff(c.want, caveat.List(all).Texts()); diff != "" {
			t.Errorf("%s: caveats (-want +got):\n%s", name, diff)
		}
	}
}
