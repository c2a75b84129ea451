package observe

import (
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// Metrics of tasks that take items from a queue.
const (
	MetricItemsDone     = "jobs_done"
	MetricItemsSetAside = "jobs_set_aside"
	// MetricItemsEarlier counts the items of a step that were over before its attempt
	// began; each of its tasks reports it.
	MetricItemsEarlier = "jobs_earlier"
)

// Items are some of those of a queue: the arguments of caveats.
type Items struct {
	Some int `json:"some"`
	All  int `json:"all"`
	// First is what the server said of the first of them.
	First caveat.Verbatim `json:"first,omitempty"`
}

var (
	setAside = caveat.Define("items_set_aside", func(a Items) string {
		text := fmt.Sprintf("%d of %s got no result", a.Some, num.Count(a.All, "item"))
		if a.First == "" {
			return text
		}
		return text + ": " + string(a.First)
	})
	earlier = caveat.DefineAbout("items_of_earlier_attempt", func(about caveat.Caveat, a Items) string {
		return fmt.Sprintf("%s: %d of %s were over before the attempt that counts began. It has no rate and no makespan. "+
			"Run it again", about.Phase.OfTrial(about.Trial), a.Some, num.Count(a.All, "item"))
	})
)

// itemCaveats are what became of items, where that is no good.
func (r *Run) itemCaveats() (out []caveat.Caveat) {
	aside := make(map[string]*Items)
	var order []string
	for _, s := range r.Steps() {
		x := r.itemsOf(s)
		if x.earlier > 0 {
			out = append(out, earlier.At(model.Warning, caveat.Subject{Workload: s.Workload, Phase: s.Phase, Trial: s.Trial},
				Items{Some: x.earlier, All: x.all()}))
		}
		if aside[s.Workload] == nil {
			aside[s.Workload] = new(Items)
			order = append(order, s.Workload)
		}
		a := aside[s.Workload]
		a.Some, a.All = a.Some+x.aside, a.All+x.all()
		if first := r.firstAside(s); a.First == "" && x.aside > 0 {
			a.First = first
		}
	}
	for _, workload := range order {
		if a := aside[workload]; a.Some > 0 {
			out = append(out, setAside.At(model.Warning, caveat.Subject{Workload: workload}, *a))
		}
	}
	return out
}

// items are those of one step, by what became of them.
type items struct{ done, aside, earlier int }

func (i items) all() int { return i.done + i.aside + i.earlier }

func (r *Run) itemsOf(s model.Step) (out items) {
	for _, x := range r.Accepted(s.ID) {
		for _, v := range x.Samples {
			switch v.Metric {
			case MetricItemsDone:
				out.done += int(v.Value)
			case MetricItemsSetAside:
				out.aside += int(v.Value)
			case MetricItemsEarlier:
				out.earlier = max(out.earlier, int(v.Value))
			}
		}
	}
	return out
}

func (r *Run) firstAside(s model.Step) caveat.Verbatim {
	i := slices.IndexFunc(r.Events(), func(e model.Event) bool {
		return e.Kind == model.EventItemSetAside && e.Step == s.ID
	})
	if i < 0 {
		return ""
	}
	return caveat.Verbatim(r.Events()[i].Text)
}
