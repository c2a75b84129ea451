package pressure

import (
	"fmt"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/internal/telemetry"
)

// Result is how close each service came to what may be expected. Its JSON form is a
// contract.
type Result struct {
	Period   float64    `json:"period_s"` // the median, s
	Critical float64    `json:"critical"` // percent
	Services []*Service `json:"services"`
	Advice   []Advised  `json:"advice"`
	// Sizes are the sizes by which providers count operations, of sources that have
	// their count.
	Sizes []NormalisedOf `json:"normalised_sizes,omitempty"`
	// Growth is what a growth that was asked for costs; null: none was.
	Growth *Growth `json:"growth,omitempty"`
	caveat.Notes

	title    string
	nodes    int
	zone     string
	sampling Sampling
	untold   []*line // limits of which the load is not known, or not all of it
}

// Service is one limit of one service. Pressures are shares: 1 is all that may be
// expected.
type Service struct {
	Node    string `json:"node"`
	Service string `json:"service"` // empty: all volumes of the node
	Quality string `json:"quality"` // ops, bytes; of one way ops.read
	Model   string `json:"model"`
	// Limit is the rate of which the pressure is 1: operations or bytes a second. Of
	// measured cells it depends on sizes, and is not known (0) without operations.
	Limit float64 `json:"limit,omitzero"`
	SLP   SLP     `json:"slp"`
	// Exceeds is P(s ≤ o), averaged over time: the share in which the service cannot be
	// expected to deliver what was observed.
	Exceeds float64 `json:"exceeds"`
	TCPT    TCPT    `json:"tcpt"`
	MCPT    MCPT    `json:"mcpt"`
	// Throttled is the share of the time in which the provider says that it held the
	// service back; null: it does not say.
	Throttled *float64 `json:"throttled,omitempty"`
	Credits   *Balance `json:"credits,omitempty"` // of a limit with a bucket

	line  *line
	found Critical
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
	if err := s.critical(p.sampling(l)); err != nil {
		return nil, err
	}
	s.Throttled = l.throttled()
	if c := l.credits; c != nil && len(c.Periods) > 0 {
		last := c.Periods[len(c.Periods)-1].Balance
		s.Credits = &Balance{Share: stats.Interval{Lo: last.Lo / c.Bucket.Size, Hi: last.Hi / c.Bucket.Size}, RunsOut: c.RunsOut}
	}
	return s, nil
}

// sampling says what is critical of a line.
func (p *Params) sampling(l *line) Sampling {
	out := Sampling{Above: float64(p.Critical) / 100, Inclusive: p.OrEqual}
	switch n := len(l.level.Rate); {
	case n > 1: // a service may be better than expected
		out.Ceiling = l.series.Ceiling(l.level.Rate[n-1].Rate / l.level.Rate.Level())
	case l.level.Unmerged:
		out.Ceiling = l.series.Ceiling(kernelCeiling)
	}
	return out
}

// kernelCeiling is the largest pressure of a second under a limit that the kernel
// enforces, in slices of a tenth of a second.
const kernelCeiling = 1.1

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
	s.MCPT = MCPT{Seconds: c.MCPT.Value, Lo: c.MCPT.Lo, Hi: c.MCPT.Hi, Percent: 100 * c.MCPT.Value / c.Seconds, Tolerant: c.Tolerant}
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
		measure = map[string]telemetry.Measure{"ops": telemetry.NodeExceededOps, "bytes": telemetry.NodeExceededBytes}[l.level.Name()]
	}
	values := l.recording.Rates[measure]
	if values == nil {
		return nil
	}
	s, _ := NewSeries(l.recording.Begin, l.recording.End, values, nil, nil)
	if len(s) == 0 {
		return nil
	}
	mean := s.Mean()
	return &mean
}
