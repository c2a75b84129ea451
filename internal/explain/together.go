package explain

import (
	"slices"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/stats"
)

// Together compares the metrics of the same repetitions: whether one goes down
// when the other does (the paper, section 7.2). The value of a metric in a
// repetition is the mean of its rows.
type Together struct {
	Fact    string           `json:"fact"` // whose levels are the repetitions
	Metrics []TogetherMetric `json:"metrics"`
	Pairs   []Pair           `json:"pairs"`
	// Omitted is how many more metrics share repetitions and are not compared: all
	// pairs of many are too many to read, and to test.
	Omitted int `json:"omitted,omitempty"`
}

// TogetherMetric is how one metric varies over the repetitions.
type TogetherMetric struct {
	Name string `json:"name"`
	N    int    `json:"n"` // repetitions
	// COV is that of the repetitions' means, its interval wider where these depend on
	// those before them; Within the mean of the COVs within repetitions, null where
	// none has two rows.
	COV    *float64  `json:"cov"`
	COVCI  *Interval `json:"cov_ci"`
	Within *float64  `json:"within"`

	means map[string]float64
	order []string // the repetitions, as they appear
}

// Pair is the rank correlation (Spearman) of two metrics over the repetitions that
// both have, with its interval: null where they are worth fewer than five.
// EffectiveN is how many independent ones they are worth, where both metrics depend
// on their past. Adjusted is its p after Holm, over all pairs.
type Pair struct {
	A           string    `json:"a"`
	B           string    `json:"b"`
	N           int       `json:"n"`
	EffectiveN  float64   `json:"effective_n"`
	Rho         float64   `json:"rho"`
	RhoCI       *Interval `json:"rho_ci"`
	R           *float64  `json:"r"` // Pearson
	P           *float64  `json:"p"`
	Adjusted    *float64  `json:"p_adjusted"`
	Significant bool      `json:"significant"`
}

const (
	leastTogether = 5  // repetitions for a correlation
	mostTogether  = 12 // metrics that are compared
)

// Correlate is nil where fewer than two metrics share repetitions.
func Correlate(frames []frame.Frame, level float64) *Together {
	for _, name := range []string{frame.FactRepetition, frame.FactRun, frame.FactTrial} {
		out := &Together{Fact: name}
		for i := range frames {
			if len(out.Metrics) == mostTogether {
				if frames[i].Fact(name) != nil {
					out.Omitted++
				}
				continue
			}
			if m, ok := overRepetitions(&frames[i], name, level); ok {
				out.Metrics = append(out.Metrics, m)
			}
		}
		if len(out.Metrics) < 2 {
			continue
		}
		for i, a := range out.Metrics {
			for _, b := range out.Metrics[i+1:] {
				if p, ok := correlate(a, b, level); ok {
					out.Pairs = append(out.Pairs, p)
				}
			}
		}
		if len(out.Pairs) > 0 {
			out.correct(1 - level)
			return out
		}
	}
	return nil
}

// overRepetitions are the means of a frame by the levels of a fact.
func overRepetitions(f *frame.Frame, name string, level float64) (m TogetherMetric, ok bool) {
	fact := f.Fact(name)
	if fact == nil || slices.Contains(f.Bounds(), true) { // lower bounds have no COV
		return m, false
	}
	levels, rows := fact.Groups()
	m = TogetherMetric{Name: f.Name(), means: make(map[string]float64), order: levels}
	var means, within []float64
	for i, level := range levels {
		values := make([]float64, len(rows[i]))
		for k, row := range rows[i] {
			values[k] = f.Values[row]
		}
		slices.Sort(values)
		s, err := stats.NewSpread(values)
		if err == nil {
			within = append(within, s.COV)
		}
		m.means[level] = s.Mean
		means = append(means, s.Mean)
	}
	m.N = len(means)
	past := memory{size: float64(m.N)}
	if m.N >= 10 {
		past = remembers(means)
	}
	slices.Sort(means)
	m.COV = covOf(means)
	if factor, ok := covFactor(float64(m.N), past.size, level); ok && m.COV != nil {
		m.COVCI = interval(stats.COVInterval(means, level, 0))
		if past.dependent {
			m.COVCI = widen(m.COVCI, *m.COV, factor)
		}
	}
	if w, err := stats.Mean(within); err == nil {
		m.Within = &w
	}
	return m, m.N >= leastTogether && means[0] < means[len(means)-1]
}

func correlate(a, b TogetherMetric, level float64) (Pair, bool) {
	var xs, ys []float64
	for _, level := range a.order {
		if y, both := b.means[level]; both {
			xs, ys = append(xs, a.means[level]), append(ys, y)
		}
	}
	p := Pair{A: a.Name, B: b.Name, N: len(xs)}
	if p.N < leastTogether {
		return p, false
	}
	rho, chance, effective, err := stats.SpearmanOfSeries(xs, ys)
	if err != nil {
		return p, false
	}
	p.Rho, p.P, p.EffectiveN = rho, &chance, effective
	p.RhoCI = interval(stats.SpearmanInterval(rho, p.N, effective, level))
	if r, _, err := stats.Pearson(xs, ys); err == nil {
		p.R = &r
	}
	return p, true
}

// correct adjusts the p-values of all pairs.
func (t *Together) correct(alpha float64) {
	ps := make([]float64, len(t.Pairs))
	for i, p := range t.Pairs {
		ps[i] = *p.P
	}
	adjusted, err := stats.Holm(ps)
	if err != nil {
		return
	}
	for i := range t.Pairs {
		t.Pairs[i].Adjusted = &adjusted[i]
		t.Pairs[i].Significant = adjusted[i] <= alpha
	}
}
