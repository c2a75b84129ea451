package capacity

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/search"
	"github.com/scalebench/scalebench/internal/unit"
	work "github.com/scalebench/scalebench/internal/workload/load"
)

// Config is the search for the load that the target of one workload takes.
type Config struct {
	SLA load.SLA
	// Options are those of the algorithm; loads are in operations per second.
	// A search that has not ended after MaxWindows windows that count is not
	// confirmed.
	search.Options
	// Scored is how long a window is scored, after WarmUp; 0: not known.
	WarmUp, Scored time.Duration
	// Given says that the user chose Scored: windows are not made longer, but for one
	// that shows whether the load passed is sustained where another has missed more.
	Given bool
	// Most is how long the search may make a window; 0: longest.
	Most time.Duration
	// Connections is how many one generator may have at a time; 0: not known.
	Connections int
	// Fraction is for the paper's algorithm: a second of its ramp passes if the
	// median latency exceeds the round-trip time by no more than Fraction of it.
	Fraction float64
}

// configFor is the search with a workload, and what a generator does in it.
// entry are the parameters of the workload as a file or a task has them: keys
// of the study in them hold for this workload alone. The error is a
// [*model.InputError] with the key as its path.
func (s *Study) configFor(entry map[string]any, kind string) (c Config, p *work.Params, err error) {
	p, ok := work.Kind().New().(*work.Params)
	if !ok || kind != work.Kind().Name {
		return c, p, &model.InputError{Path: "kind", Problem: "it offers no load that a search could vary", Allowed: "a search for a capacity needs workloads of kind " + work.Kind().Name}
	}
	own := &Study{}
	for _, from := range []any{s, entry} {
		if err := throughJSON(from, own); err != nil {
			return c, p, err
		}
	}
	if err := throughJSON(entry, p); err != nil {
		return c, p, err
	}
	if c, err = own.config(); err != nil {
		return c, p, err
	}
	if len(c.SLA.Terms) == 0 {
		return c, p, &model.InputError{Path: "sla", Problem: "a search needs an SLA", Allowed: "write study: {kind: capacity, sla: p90=150ms}"}
	}
	p.Agreement = c.SLA
	c.WarmUp, c.Scored, c.Given = p.WarmUp.Std(), p.Scored(), p.Duration > 0
	c.Connections = p.ConnectionLimit()
	return c, p, nil
}

// throughJSON sets what from has in its JSON form, and leaves the rest.
func throughJSON(from, into any) error {
	b, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		return fmt.Errorf("reading the parameters: %w", err)
	}
	return nil
}

// suits refuses what a generator does and a search cannot use.
func (c Config) suits(p *work.Params) error {
	slowest := c.SLA.Slowest()
	switch {
	case p.Users > 0:
		return &model.InputError{Path: "users", Problem: "a search chooses its own load (open loop)", Allowed: "leave users out"}
	case p.Timeout.Std() <= slowest:
		// What takes longer than the timeout is an error, so that the timeout
		// would be the SLA.
		return &model.InputError{Path: "request_timeout", Problem: fmt.Sprintf("requests are given up after %s, and the SLA allows %v", p.Timeout, slowest),
			Allowed: fmt.Sprintf("set request_timeout (--timeout) above %v", slowest)}
	}
	return nil
}

// config is the search that the parameters ask for, as far as it does not depend
// on the workload.
func (s *Study) config() (c Config, err error) {
	if s.SLA != "" {
		if c.SLA, err = load.ParseSLA(s.SLA); err != nil {
			return c, &model.InputError{Path: "sla", Problem: err.Error()}
		}
	}
	c.Options = search.Options{Resolution: s.Resolution, MaxWindows: s.Windows, Algorithm: search.Algorithm(s.Algorithm), Rate: s.Step}
	c.Fraction = s.Fraction
	s.bounds(&c.Options)
	for _, x := range []struct {
		key, than   string
		small, more float64
	}{{"min", "max", c.Min, c.Max}, {"min", "start", c.Min, c.Start}, {"start", "max", c.Start, c.Max}} {
		if !(x.small <= x.more) {
			return c, &model.InputError{Path: x.key, Problem: fmt.Sprintf("%v exceeds %s %v", x.small, x.than, x.more)}
		}
	}
	if _, err := search.New(c.Options); err != nil {
		return c, &model.InputError{Problem: err.Error()}
	}
	return c, nil
}

// bounds sets where a search begins and how far it goes. What was not given
// makes room for what was, so that one bound alone is never out of order.
func (s *Study) bounds(to *search.Options) {
	of := func(r *unit.Rate, otherwise float64) float64 {
		if r == nil {
			return otherwise
		}
		return r.Value
	}
	to.Min = of(s.Min, 1)
	to.Max = of(s.Max, max(1e6, to.Min, of(s.Start, 0)))
	to.Start = of(s.Start, min(max(100, to.Min), to.Max))
	if s.Min == nil {
		to.Min = min(to.Min, to.Start, to.Max)
	}
}

// unnoticed is the overload that this search's windows fail to notice; 0 where
// their length is not known.
func (c Config) unnoticed() float64 {
	if c.Scored <= 0 {
		return 0
	}
	return c.SLA.Unnoticed(c.WarmUp, c.Scored)
}

// longest is how long a window is made at most, so that it has enough operations
// for its SLA.
const longest = time.Minute

// bound keeps windows that the search makes longer within the timeout of their
// tasks, of which a window of the usual length takes so much.
func (c *Config) bound(timeout, usual time.Duration) {
	if timeout > 0 {
		c.Most = min(longest, max(timeout-usual+c.Scored-time.Second, time.Second).Truncate(time.Second))
	}
}

// most is how long a window may be.
func (c Config) most() time.Duration { return max(cmp.Or(c.Most, longest), c.Scored) }

// lasts is how long the window of a load is scored: a light load needs longer to
// show what the SLA allows.
func (c Config) lasts(rate float64) time.Duration {
	if c.Given || c.Scored <= 0 {
		return c.Scored
	}
	seconds := math.Ceil(float64(c.SLA.Enough()) / rate)
	return min(max(c.Scored, time.Duration(min(seconds, longest.Seconds()))*time.Second), c.most())
}

// tooFew counts the windows that passed with so few operations that this may
// have been luck.
func (c Config) tooFew(windows []Assessment, d *model.Doubts) {
	few := only(windows, func(w Assessment) bool { return w.Verdict == Passed && w.Counts.Due < c.SLA.Enough() })
	if len(few) == 0 {
		return
	}
	fewest := slices.MinFunc(few, func(a, b Assessment) int { return cmp.Compare(a.Counts.Due, b.Counts.Due) })
	d.Warn("few_operations",
		"%s passed with as few as %d operations, where %v needs %d to be told from luck; use longer windows",
		num.Count(len(few), "window"), fewest.Counts.Due, c.SLA, c.SLA.Enough())
}

// tooShort warns of windows that cannot tell what a server sustains.
func (c Config) tooShort(d *model.Doubts) {
	x, chosen := c.unnoticed(), c.SLA.Scored(c.WarmUp)
	if x <= load.Tolerable {
		if c.Given && c.Scored < chosen {
			d.Warn("short_windows", "windows of %v are shorter than the %v that the search would choose: what the target does less often, such as collecting garbage or writing to disk, is missing in most of them, so the sustained capacity may be lower; an overload of up to %s can stay unnoticed, in place of %s; leave out --window (duration in a file) where the result counts",
				c.Scored, chosen, num.Share(x), num.Share(c.SLA.Unnoticed(c.WarmUp, chosen)))
		}
		return
	}
	d.Warn("short_windows", "windows of %v are short for %v: an overload of up to %s can stay unnoticed until a window ends, so the sustained capacity may be lower by as much; use windows of %v",
		c.Scored, c.SLA, num.Share(x), c.SLA.Scored(c.WarmUp))
}
