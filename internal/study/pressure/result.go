package pressure

import (
	"fmt"
	"math"
	"time"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/levels"
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
	Critical
	// Throttled is the share of the time in which the provider says that it held the
	// service back; null: it does not say.
	Throttled *float64 `json:"throttled,omitempty"`
	Credits   *Balance `json:"credits,omitempty"` // of a limit with a bucket

	// Observed is the time of all periods with a value, in s.
	Observed float64 `json:"observed_s"`

	line   *line
	offer  *offer
	beyond bool // the pressure was above what an enforced limit allows
}

// Balance is that of a bucket at the end of the data.
type Balance struct {
	Share   stats.Interval  `json:"share"` // of a full bucket
	RunsOut *stats.Interval `json:"runs_out,omitempty"`
}

// service makes the result of a line.
func (p *Params) service(l *line) (*Service, error) {
	slp, err := l.series.Summary()
	if err != nil {
		return nil, fmt.Errorf("the pressure of %s: %w", l.service, err)
	}
	s := &Service{Node: l.node, Service: l.service, Quality: l.level.Name(), Model: l.of.Model, SLP: slp,
		Limit: l.level.Rate.Level(), Exceeds: l.exceeds(), Throttled: l.throttled(), Observed: l.series.Seconds(), line: l,
		beyond: l.beyond()}
	if len(l.of.Cells) > 0 {
		if s.Limit = 0; slp.Mean > 0 {
			s.Limit = l.loads.Mean() / slp.Mean
		}
	}
	sampling := p.samplingOf(s)
	s.Critical = l.series.Critical(sampling)
	if l.credits == nil {
		return s, nil
	}
	// Where the balance is not known the bounds are those of both ends.
	most := l.most.Critical(sampling)
	s.TCPT.Hi, s.MCPT.Hi = max(s.TCPT.Hi, most.TCPT.Hi), max(s.MCPT.Hi, most.MCPT.Hi)
	last, full := l.credits.Periods[len(l.credits.Periods)-1].Balance, l.level.Bucket.Size
	s.Credits = &Balance{Share: stats.Interval{Lo: last.Lo / full, Hi: last.Hi / full}, RunsOut: l.credits.RunsOut}
	return s, nil
}

func (s *Service) limit() LimitOf { return LimitOf{s.Node, s.Service, s.Quality} }

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
// model, or how many seconds: the moments of readings shift work between neighbours.
const beyondPeriods, beyondSeconds = 10, 60

// beyond reports whether the pressure was above what a limit that is enforced allows.
func (l *line) beyond() bool {
	if len(l.level.Rate) != 1 || l.level.Bucket != nil || len(l.of.Cells) > 0 {
		return false
	}
	enough := func(s Series) bool { return len(s) >= beyondPeriods || s.Seconds() >= beyondSeconds }
	from := 0
	for to := range l.series {
		for from < to && enough(l.series[from+1:to+1]) {
			from++
		}
		averaged := l.series[from : to+1]
		if (enough(averaged) || to == len(l.series)-1 && from == 0) && averaged.Mean() > kernelCeiling {
			return true
		}
	}
	return false
}

// kernelCeiling is the largest pressure of a second under a limit that the kernel
// enforces, in slices of a tenth of a second. Periods up to kernelSlices, in s, show it.
const kernelCeiling, kernelSlices = 1.1, 2

// exceeds is P(s ≤ o) over time.
func (l *line) exceeds() float64 {
	if len(l.of.Cells) > 0 || l.level.Bucket != nil { // a level of the moment
		return l.series.each(levels.Distribution{{Rate: 1, Share: 1}}.Reached).Mean()
	}
	return l.loads.each(l.level.Rate.Reached).Mean()
}

// throttled is the share of the time in which the provider held the limit back.
func (l *line) throttled() *float64 {
	measure := "exceeded_" + l.level.Name()
	if l.service == "" {
		measure = "node_" + measure
	}
	s, _ := NewSeries(l.recording(), l.recording().Rates[telemetry.Measure(measure)])
	return num.IfFinite(s.Mean())
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
