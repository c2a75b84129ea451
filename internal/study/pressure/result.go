package pressure

import (
	"fmt"
	"math"
	"time"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/internal/telemetry"
)

// Result is how close each service came to what may be expected. Its JSON form is a
// contract.
type Result struct {
	Period float64 `json:"period_s"` // the median, s
	// From and To are when the first period began, and the last one ended.
	From     time.Time  `json:"from"`
	To       time.Time  `json:"to"`
	Critical float64    `json:"critical"` // percent
	Services []*Service `json:"services"`
	Advice   []Advised  `json:"advice"`
	// Sizes are the sizes by which providers count operations, of sources that have
	// their count.
	Sizes []NormalisedOf `json:"normalised_sizes,omitempty"`
	// Raised is what a raise did, of runs that measured before and after it.
	Raised []Raised `json:"raised,omitempty"`
	// Growth is what a growth that was asked for costs; null: none was.
	Growth *Growth `json:"growth_cost,omitempty"`
	caveat.Notes

	title    string
	nodes    int
	zone     string
	sampling Sampling
	used     []Use // of each limit, by the throughput of the busiest window
	absent   bool  // a limit has no pressure
}

// Service is one limit of one service. Pressures are shares: 1 is all that may be
// expected.
type Service struct {
	Node    string `json:"node"`
	Service string `json:"service"` // empty: all volumes of the node
	// Source is where it was recorded, if there are several.
	Source  string `json:"source,omitempty"`
	Quality string `json:"quality"` // ops, bytes; of one way ops.read
	Model   string `json:"model"`
	// Limit is the rate of which the pressure is 1: operations or bytes a second. With a
	// bucket it is the rate while that is empty.
	// Of measured cells it depends on sizes, and is not known (0) without operations.
	Limit float64 `json:"limit,omitzero"`
	SLP   SLP     `json:"slp"`
	// Exceeds is P(s ≤ o), averaged over time: the share in which the service can be
	// expected to deliver no more than what was observed.
	Exceeds float64 `json:"exceeds"`
	TCPT    TCPT    `json:"tcpt"`
	MCPT    MCPT    `json:"mcpt"`
	// Throttled is the share of the time in which the provider says that it held the
	// service back; null: it does not say.
	Throttled *float64 `json:"throttled,omitempty"`
	Credits   *Balance `json:"credits,omitempty"` // of a limit with a bucket

	// Observed is the time of all periods with a value, in s.
	Observed float64 `json:"observed_s"`

	line   *line
	found  Critical
	beyond bool // the pressure was above what an enforced limit allows
}

// SLP is the distribution of a pressure over time.
type SLP struct {
	Mean float64         `json:"mean"`
	CI   *stats.Interval `json:"ci"` // of the mean, 95 %; null: too few periods
	P1   float64         `json:"p1"`
	P25  float64         `json:"p25"`
	P75  float64         `json:"p75"`
	P99  float64         `json:"p99"`
	Max  float64         `json:"max"`
}

// TCPT is the total critical pressure time in percent of the time, with its bounds.
type TCPT struct {
	Percent float64 `json:"percent"`
	Lo      float64 `json:"lo"`
	Hi      float64 `json:"hi"`
}

// MCPT is the longest critical pressure time, with its bounds; Percent of the time.
type MCPT struct {
	Seconds float64 `json:"seconds"`
	Lo      float64 `json:"lo"`
	Hi      float64 `json:"hi"`
	Percent float64 `json:"percent"`
	// Tolerant allows single periods below the critical pressure.
	Tolerant float64 `json:"tolerant"`
}

// Balance is that of a bucket at the end of the data.
type Balance struct {
	Share   stats.Interval  `json:"share"` // of a full bucket
	RunsOut *stats.Interval `json:"runs_out,omitempty"`
}

// service makes the result of a line.
func (p *Params) service(l *line) (*Service, error) {
	summary, err := l.series.Summary()
	if err != nil {
		return nil, fmt.Errorf("the pressure of %s: %w", l.service, err)
	}
	s := &Service{Node: l.node, Service: l.service, Quality: l.level.Name(), Model: l.of.Model, line: l,
		Observed: summary.Seconds, beyond: l.beyond(),
		SLP: SLP{Mean: summary.Mean, P1: summary.P1, P25: summary.P25, P75: summary.P75, P99: summary.P99, Max: summary.Max}}
	if ci, err := l.series.MeanInterval(stats.DefaultLevel); err == nil {
		s.SLP.CI = &ci
	}
	if s.Limit = l.level.Rate.Level(); len(l.of.Cells) > 0 {
		if s.Limit = 0; summary.Mean > 0 {
			s.Limit = l.loads.Mean() / summary.Mean
		}
	}
	s.Exceeds = l.exceeds()
	if err := s.critical(p.samplingOf(s)); err != nil {
		return nil, err
	}
	s.Throttled = l.throttled()
	if c := l.credits; c != nil && len(c.Periods) > 0 {
		last := c.Periods[len(c.Periods)-1].Balance
		s.Credits = &Balance{Share: stats.Interval{Lo: last.Lo / c.Bucket.Size, Hi: last.Hi / c.Bucket.Size},
			RunsOut: c.RunsOut}
	}
	return s, nil
}

// sampling says what is critical.
func (p *Params) sampling() Sampling {
	return Sampling{Above: float64(p.Critical) / 100, Inclusive: p.OrEqual}
}

// samplingOf says it of a limit, with the ceiling of its pressure.
func (p *Params) samplingOf(s *Service) Sampling {
	l, out := s.line, p.sampling()
	switch n := len(l.level.Rate); {
	case n > 1: // a service may be better than expected
		out.Ceiling = l.series.Ceiling(l.level.Rate[n-1].Rate / l.level.Rate.Level())
	case s.beyond:
		out.Ceiling = math.Inf(1)
	case l.level.Unmerged && l.series.Step() > kernelSlices:
		out.Ceiling = l.series.Ceiling(kernelCeiling)
	}
	return out
}

// beyondPeriods is how many periods are averaged before a pressure counts as above the
// model: the moments of readings shift work between neighbours.
const beyondPeriods = 10

// beyond reports whether the pressure was above what a limit that is enforced allows.
func (l *line) beyond() bool {
	if len(l.level.Rate) != 1 || l.credits != nil || len(l.of.Cells) > 0 {
		return false
	}
	sum, seconds := 0.0, 0.0
	for i, p := range l.series {
		sum, seconds = sum+p.Mean*p.seconds(), seconds+p.seconds()
		if i >= beyondPeriods {
			old := l.series[i-beyondPeriods]
			sum, seconds = sum-old.Mean*old.seconds(), seconds-old.seconds()
		}
		if (i >= beyondPeriods-1 || i == len(l.series)-1) && sum > kernelCeiling*seconds {
			return true
		}
	}
	return false
}

// kernelCeiling is the largest pressure of a second under a limit that the kernel
// enforces, in slices of a tenth of a second. Periods up to kernelSlices, in s, show it.
const kernelCeiling, kernelSlices = 1.1, 2

// critical sets the times at the limit. Where the balance of a bucket is not known the
// bounds are those of both ends.
func (s *Service) critical(o Sampling) error {
	c, err := s.line.series.Critical(o)
	if err != nil {
		return fmt.Errorf("the pressure of %s: %w", s.Service, err)
	}
	s.found = c
	if s.line.most != nil {
		most, err := s.line.most.Critical(o)
		if err != nil {
			return fmt.Errorf("the pressure of %s: %w", s.Service, err)
		}
		c.TCPT.Hi, c.MCPT.Hi = max(c.TCPT.Hi, most.TCPT.Hi), max(c.MCPT.Hi, most.MCPT.Hi)
	}
	s.TCPT = TCPT{c.TCPT.Value, c.TCPT.Lo, c.TCPT.Hi}
	s.MCPT = MCPT{Seconds: c.MCPT.Value, Lo: c.MCPT.Lo, Hi: c.MCPT.Hi, Percent: 100 * c.MCPT.Value / c.Seconds,
		Tolerant: c.Tolerant}
	return nil
}

// peak is the largest mean of a period.
func (s Series) peak() float64 {
	out := 0.0
	for _, p := range s {
		out = max(out, p.Mean)
	}
	return out
}

// exceeds is P(s ≤ o) over time.
func (l *line) exceeds() float64 {
	total := 0.0
	if len(l.of.Cells) > 0 || l.level.Bucket != nil { // a level of the moment
		for _, p := range l.series {
			if p.Mean >= 1 {
				total += p.seconds()
			}
		}
		return total / l.series.Seconds()
	}
	for _, p := range l.loads {
		total += l.level.Rate.Reached(p.Mean) * p.seconds()
	}
	return total / l.loads.Seconds()
}

// throttled is the share of the time in which the provider held the limit back.
func (l *line) throttled() *float64 {
	measure := map[string]telemetry.Measure{"ops": telemetry.ExceededOps, "bytes": telemetry.ExceededBytes}[l.level.Name()]
	if l.service == "" {
		measure = map[string]telemetry.Measure{"ops": telemetry.NodeExceededOps,
			"bytes": telemetry.NodeExceededBytes}[l.level.Name()]
	}
	values := l.recording().Rates[measure]
	if values == nil {
		return nil
	}
	s, _ := NewSeries(l.recording().Begin, l.recording().End, values, nil, nil)
	if len(s) == 0 {
		return nil
	}
	mean := s.Mean()
	return &mean
}

// cover sets the time that recordings span.
func (r *Result) cover(recordings []telemetry.Recording) {
	from, to := math.Inf(1), math.Inf(-1)
	for _, x := range recordings {
		if n := len(x.Begin); n > 0 {
			from, to = min(from, x.Begin[0]), max(to, x.End[n-1])
		}
	}
	if from < to {
		r.From, r.To = time.UnixMilli(int64(1e3*from)).UTC(), time.UnixMilli(int64(1e3*to)).UTC()
	}
}
