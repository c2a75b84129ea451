package variability

import (
	"errors"
	"fmt"
	"math"

	"github.com/scalebench/scalebench/internal/explain"
	"github.com/scalebench/scalebench/internal/model"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// Gate implements study.Result: fail_above, fail_on and fail_unless_within, for
// every metric. A metric with a problem, so that its verdict is unknown, passes
// none of them.
func (r *Result) Gate() error {
	var errs []error
	for i := range r.Metrics {
		m := &r.Metrics[i]
		errs = append(errs, r.params.covGate(m), r.params.verdictGate(m), r.params.medianGate(m))
	}
	return errors.Join(errs...)
}

func (p *Params) covGate(m *Metric) error {
	if p.FailAbove == nil {
		return nil
	}
	limit := study.Limit{Most: float64(*p.FailAbove), Unit: "%", By: "--fail-above, or fail_above in the file"}
	switch {
	case m.Verdict == Unknown:
		return limit.Unknown(m.Name() + ": the verdict is unknown")
	case m.COVCI == nil && m.Equal():
		return limit.Check(m.Name()+": the COV, by the digits of equal values,", 0, 100*m.Resolution())
	case m.COVCI == nil:
		return limit.Unknown(m.Name() + ": the COV has no interval")
	}
	err := limit.Check(m.Name()+": the COV", 100*m.COVCI[0], 100*m.COVCI[1])
	if most, known := m.mostCOV(); err == nil && !(known && 100*most <= limit.Most) {
		return limit.Unknown(fmt.Sprintf("%s: the COV is %.4g to %.4g %%, but %s", m.Name(), 100*m.COVCI[0], 100*m.COVCI[1], m.doubted(doubtAlike, doubtTail)))
	}
	return err
}

func (p *Params) verdictGate(m *Metric) error {
	if len(p.FailOn) > 0 && m.Verdict == Unknown {
		return fmt.Errorf("%w: %s: the verdict is unknown, so that --fail-on (fail_on in a file) cannot be checked", model.ErrInvalid, m.Name())
	}
	var unknown error
	for _, v := range p.FailOn {
		found, known := m.finds(v)
		if !known {
			unknown = fmt.Errorf("%w: %s: whether it varies by more than %v %% is unclear, so that --fail-on "+
				"(fail_on in a file) cannot be checked", model.ErrInvalid, m.Name(), 100*steadyCOV)
		}
		if found {
			also := ""
			if v != m.Verdict {
				also = ", and it also " + plural(v, 1)
			}
			return fmt.Errorf("%w: %s: the verdict is %s%s: %s", model.ErrThreshold, m.Name(), m.Verdict, also, m.Text)
		}
	}
	return unknown
}

// finds reports whether a metric has what a verdict says, also where its own, one
// word for all, says what matters more; known is false where the interval of the COV
// does not tell.
func (m *Metric) finds(v Verdict) (found, known bool) {
	switch {
	case v == Changes:
		return m.Course.Changed(), true
	case v == Bands:
		return m.Bands.Found, true
	case v != Varies || m.Equal():
		return m.Verdict == v, true
	case m.COVCI == nil:
		return false, false
	}
	found = m.COVCI[0] > steadyCOV
	return found, found || m.COVCI[1] <= steadyCOV
}

func (p *Params) medianGate(m *Metric) error {
	switch {
	case p.FailUnlessWithin == nil:
		return nil
	case m.Verdict != Unknown && m.moreNodes(float64(*p.FailUnlessWithin)/100) != "":
		return fmt.Errorf("%w: %s: %s", model.ErrInvalid, m.Name(), m.moreNodes(float64(*p.FailUnlessWithin)/100))
	case m.Verdict == Unknown || m.MedianCI == nil || !(m.Median > 0):
		return fmt.Errorf("%w: %s: the median has no interval, so that --fail-unless-within (fail_unless_within in a file) cannot be checked", model.ErrInvalid, m.Name())
	}
	most := float64(*p.FailUnlessWithin) * (1 + 1e-9)
	if far := reach(m.Median, m.MedianCI); far > most {
		return fmt.Errorf("%w: %s: the median is known within %.3g %%, not %v %%", model.ErrThreshold, m.Name(), far, math.Abs(float64(*p.FailUnlessWithin)))
	}
	if m.sample != nil && (m.sample.MedianCI == nil || reach(m.Median, m.sample.MedianCI) > most) {
		return fmt.Errorf("%w: %s: it is not known whether the median is known within %v %%: %s", model.ErrInvalid, m.Name(), math.Abs(float64(*p.FailUnlessWithin)), m.doubted(doubtAlike))
	}
	return nil
}

// reach is how far an interval of a median above 0 reaches from it, in percent of it.
func reach(median float64, ci *explain.Interval) float64 {
	return 100 * max(median-ci[0], ci[1]-median) / median
}
