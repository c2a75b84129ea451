package plan

import (
	"bytes"
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// SearchPlan is what is known of a workload's searches before they begin: their
// loads follow from what the windows before have shown.
type SearchPlan struct {
	Workload string `json:"workload"`
	Trials   int    `json:"trials"`
	// Windows is how many count at most in each trial; some may be repeated.
	Windows int `json:"windows"`
	// Window is how long one takes, in nanoseconds, without preparation.
	Window time.Duration `json:"window"`
}

// searchPlans are those of an experiment; none without the evaluation "search".
func searchPlans(exp *experiment.Experiment) (plans []SearchPlan, err error) {
	if !exp.Has(model.Search) {
		return nil, nil
	}
	for _, w := range exp.Workloads {
		searched, ok := w.Bench.(Searched)
		if !ok {
			continue // the file's check has refused it
		}
		cfg, err := searched.Search()
		if err != nil {
			return nil, fmt.Errorf("workload %s: %w", w.Name, err)
		}
		plans = append(plans, SearchPlan{Workload: w.Name, Trials: exp.Trials, Windows: cfg.MaxWindows, Window: w.Bench.Estimate()})
	}
	return plans, nil
}

// searchLines write the searches for people. Writing to a buffer cannot fail.
func (p Plan) searchLines(b *bytes.Buffer) {
	for _, s := range p.Searches {
		most := time.Duration(s.Trials*s.Windows) * s.Window
		fmt.Fprintf(b, "search    %s, %s: at most %d windows each that count, of about %s, at loads that follow from those before; %s at most, and the time to prepare and repeat\n",
			s.Workload, count(s.Trials, "trial"), s.Windows, unit.Duration(s.Window.Round(time.Second)), unit.Duration(most.Round(time.Second)))
	}
}
