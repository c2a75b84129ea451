package board

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/site"
)

// tierDB can have work, as the roles can but All.
const tierDB = "db"

// Work is how much processor time an interaction takes in each tier, beside what
// the page itself costs. Keys are TIER, for all interactions, or
// TIER:INTERACTION, for one.
type Work map[string]time.Duration

// maxWork bounds what one request may be told to compute.
const maxWork = 10 * time.Second

// ParseWork reads texts of the form app=5ms,app:ViewStory=8ms,db=3ms. The error
// is model.ErrUsage.
func ParseWork(texts []string) (Work, error) {
	w := Work{}
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			if err := w.add(strings.TrimSpace(part)); err != nil {
				return nil, model.Usagef("work %q: %w; write TIER=TIME or TIER:INTERACTION=TIME, as in app=5ms,app:ViewStory=8ms",
					part, err)
			}
		}
	}
	return w, nil
}

func (w Work) add(part string) error {
	key, value, ok := strings.Cut(part, "=")
	if !ok {
		return fmt.Errorf("it has no =")
	}
	tier, interaction, one := strings.Cut(key, ":")
	if !slices.Contains([]string{string(Web), string(App), tierDB, string(Router)}, tier) {
		return fmt.Errorf("no tier is called %q: there are web, app, db and router", tier)
	}
	if one && !slices.Contains(site.Board().Names(), interaction) {
		return fmt.Errorf("no interaction is called %q", interaction)
	}
	if _, twice := w[key]; twice {
		return fmt.Errorf("%s has a time already", key)
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 || d > maxWork {
		return fmt.Errorf("%q is no time from 0 to %s", value, maxWork)
	}
	w[key] = d
	return nil
}

// of is the work of each interaction in some tiers together.
func (w Work) of(all []interaction, tiers ...string) []time.Duration {
	sum := make([]time.Duration, len(all))
	for i, interaction := range all {
		for _, tier := range tiers {
			d, own := w[tier+":"+interaction.Name]
			if !own {
				d = w[tier]
			}
			sum[i] += d
		}
	}
	return sum
}
