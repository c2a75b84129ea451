package capacity

import (
	"encoding/json"
	"fmt"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	work "github.com/scalebench/scalebench/internal/workload/load"
)

// Config is a search.
type Config struct{ work.Search }

// configOf reads the search, and what it is of, from the task of a window.
func configOf(spec model.Spec) (c Config, target string, err error) {
	p, ok := work.Kind().New().(*work.Params)
	if !ok || spec.Kind != work.Kind().Name {
		return Config{}, "", fmt.Errorf("%w: kind %s offers no load that a search could vary", model.ErrUsage, spec.Kind)
	}
	raw, err := json.Marshal(spec.Params)
	if err == nil {
		err = json.Unmarshal(raw, p)
	}
	if err != nil {
		return Config{}, "", fmt.Errorf("reading the parameters of workload %s: %w", spec.Workload, err)
	}
	c.Search, err = work.SearchOf(p)
	return c, p.Target, err
}

// unnoticed is the overload that this search's windows fail to notice; 0 where
// their length is not known.
func (c Config) unnoticed() float64 {
	if c.Scored <= 0 {
		return 0
	}
	return c.SLA.Unnoticed(c.WarmUp, c.Scored)
}

// tooShort warns of windows that cannot tell what a server sustains.
func (c Config) tooShort() []string {
	x := c.unnoticed()
	if x <= load.Tolerable {
		return nil
	}
	return []string{fmt.Sprintf("windows of %v are short for %v: an overload of up to %s can stay unnoticed until a window ends, so the sustained capacity may be lower by as much; use windows of %v",
		c.Scored, c.SLA, unit.Share(x), c.SLA.Scored(c.WarmUp))}
}
