package ntier

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/stats"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// mostSettings bounds how many combinations of sizes are tried.
const mostSettings = 256

// firstTrials is how many trials each combination has in the first round of a search.
const firstTrials = 2

// Search is the search for the sizes with which a configuration does most, by sequential
// halving (Z. Karnin, T. Koren, O. Somekh, ICML 2013): each round has as many trials of what
// is left as all rounds before, and the better half stays.
type Search struct {
	Users int `json:"users"`
	// Best are the sizes that stayed to the end, by service and name ("app.pool"); null:
	// the search is not at its end.
	Best map[string]int `json:"best"`
	// Edge are those of Best that are the least or the largest that was tried.
	Edge []string `json:"edge,omitempty"`
	// Measured are the sizes with which the trials were made, where Best are others.
	Measured []string `json:"measured,omitempty"`
	// Tried are all combinations, those that stayed longest first.
	Tried []Tried `json:"tried"`
}

// Tried is a combination of sizes that was measured.
type Tried struct {
	Sizes      string          `json:"sizes"` // "app.pool=8 web.threads=50"
	Trials     int             `json:"trials"`
	Failed     int             `json:"failed,omitempty"` // trials that do not count
	Throughput *float64        `json:"throughput"`       // mean over trials; null: none ended well
	CI         *stats.Interval `json:"ci"`               // null: fewer than two trials
}

// wantedTrial is one that a search needs next.
type wantedTrial struct {
	sizes string
	trial int
}

// sizes are those of the file by service and name: "app.pool".
func (p *Params) sizes() map[string][]int {
	out := make(map[string][]int)
	for service, named := range p.Sizes {
		for name, sizes := range named {
			out[service+"."+name] = sizes
		}
	}
	return out
}

// combinations are all of the sizes that the file names, each as the label has it.
func (p *Params) combinations() []string {
	out, all := []string{""}, p.sizes()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		var longer []string
		for _, before := range out {
			for _, n := range different(all[key]) {
				longer = append(longer, strings.TrimSpace(fmt.Sprintf("%s %s=%d", before, key, n)))
			}
		}
		out = longer
	}
	return out
}

// sizesOf are those of a label.
func sizesOf(text string) map[string]int {
	out := make(map[string]int)
	for part := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(part, "=")
		if n, err := strconv.Atoi(value); err == nil {
			out[key] = n
		}
	}
	return out
}

// search plays the search again from its trials. next are the trials that follow; none: it
// is at its end.
func (p *Params) search(trials []trial) (s Search, next []wantedTrial) {
	s.Users = slices.Max(p.Users)
	of := make(map[string][]trial)
	for _, t := range trials {
		of[t.sizes] = append(of[t.sizes], t)
	}
	left, out, open := p.combinations(), []string(nil), false
	for first, last := 1, firstTrials; len(left) > 1; first, last = last+1, 2*last {
		for _, sizes := range left {
			for number := first; number <= last; number++ {
				i := slices.IndexFunc(of[sizes], func(t trial) bool { return t.of.Trial == number })
				if i < 0 {
					next = append(next, wantedTrial{sizes, number})
				} else {
					open = open || of[sizes][i].open()
				}
			}
		}
		if len(next) > 0 || open {
			break
		}
		score := make(map[string]float64)
		for _, sizes := range left {
			score[sizes] = math.Inf(-1) // if none ended well
			if x := stats.Average(throughputs(of[sizes], last)); num.Finite(x) {
				score[sizes] = x
			}
		}
		slices.SortStableFunc(left, func(a, b string) int { return cmp.Compare(score[b], score[a]) })
		half := (len(left) + 1) / 2
		left, out = left[:half], append(slices.Clone(left[half:]), out...)
	}
	for _, sizes := range slices.Concat(left, out) {
		all := throughputs(of[sizes], math.MaxInt)
		_, ci := stats.MeanWithin(all, stats.DefaultLevel)
		mean := num.IfFinite(stats.Average(all))
		x := Tried{Sizes: sizes, Trials: len(all), Throughput: mean, CI: ci}
		for _, t := range of[sizes] {
			if t.failed && !t.open() {
				x.Failed++
			}
		}
		s.Tried = append(s.Tried, x)
	}
	if len(left) == 1 && s.Tried[0].Throughput != nil {
		s.Best = sizesOf(left[0])
		s.Edge = p.edge(s.Best, s.Tried)
	}
	return s, next
}

// throughputs are those of the trials up to one that ended well.
func throughputs(trials []trial, last int) (out []float64) {
	for _, t := range trials {
		if t.of.Trial <= last && !t.failed {
			out = append(out, t.Throughput)
		}
	}
	return out
}

// edge are the sizes that are the least or the largest of several that were measured. Nothing
// lies below 1.
func (p *Params) edge(best map[string]int, tried []Tried) (out []string) {
	measured := make(map[string][]int)
	for _, x := range tried {
		for key, n := range sizesOf(x.Sizes) {
			if x.Trials > 0 {
				measured[key] = append(measured[key], n)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(best)) {
		n, least, most := best[key], slices.Min(measured[key]), slices.Max(measured[key])
		if len(p.sizes()[key]) > 1 && (n == least && n > 1 || n == most) {
			out = append(out, key)
		}
	}
	return out
}

// searchTrials is how many trials a search takes.
func (p *Params) searchTrials() (n int) {
	left := 1
	for _, sizes := range p.sizes() {
		left *= len(sizes)
	}
	for first, last := 1, firstTrials; left > 1; first, last, left = last+1, 2*last, (left+1)/2 {
		n += left * (last - first + 1)
	}
	return n
}

// checkSizes holds sizes to what a search can do.
func (p *Params) checkSizes() error {
	all, named := 1, p.sizes()
	for _, key := range slices.Sorted(maps.Keys(named)) {
		sizes := named[key]
		if len(sizes) == 0 || slices.Min(sizes) < 1 || len(different(sizes)) < len(sizes) {
			return refuse("sizes."+key, "a value is there twice, or is below 1, or there is none", "[2, 4, 8, 16]")
		}
		if all *= len(sizes); all > mostSettings {
			return refuse("sizes."+key, fmt.Sprintf("there are more than %d combinations", mostSettings), "name fewer sizes")
		}
	}
	if len(p.Sizes) > 0 && all < 2 {
		return refuse("sizes", "there is one combination, and nothing to search for", "{app: {pool: [2, 4, 8, 16]}}")
	}
	return nil
}

func different(sizes []int) []int { return slices.Compact(slices.Sorted(slices.Values(sizes))) }

// setSizes gives the services of a treatment these sizes.
func setSizes(services map[string]study.ServiceLevel, sizes map[string]int) {
	for key, n := range sizes {
		service, name, _ := strings.Cut(key, ".")
		level := services[service]
		level.Sizes = maps.Clone(level.Sizes)
		if level.Sizes == nil {
			level.Sizes = make(map[string]int)
		}
		if _, raised := level.Sizes[name]; !raised { // by a proof
			level.Sizes[name] = n
		}
		services[service] = level
	}
}

// asked are the trials of configurations that were not measured yet: those of their
// searches, and when these are at their ends, those with the best sizes.
func (p *Params) asked(workload string, setup study.Setup, all []measured, configurations []string) []study.Treatment {
	var searches []study.Treatment
	var ready []string
	for _, name := range configurations {
		c, _ := ParseConfiguration(name, p.Tiers) // validated
		i := slices.IndexFunc(all, func(m measured) bool { return m.configuration.String() == c.String() })
		m := measured{configuration: c}
		if i >= 0 {
			m = all[i]
		}
		s, next := p.searchOf(m)
		for _, x := range next {
			t := p.treatment(workload, c, s.Users, x.trial)
			t.Label = label{configuration: c, users: s.Users, sizes: x.sizes}.String()
			setSizes(t.Services, sizesOf(x.sizes))
			searches = append(searches, t)
		}
		open := slices.ContainsFunc(m.searches, trial.open)
		if len(next) == 0 && !open && len(m.trials)+len(m.failed) == 0 {
			ready = append(ready, name)
		}
	}
	if len(searches) > 0 {
		rng := rand.New(rand.NewPCG(uint64(setup.Seed), uint64(len(searches)))) //nolint:gosec // repeatable on purpose
		rng.Shuffle(len(searches), func(i, j int) { searches[i], searches[j] = searches[j], searches[i] })
		slices.SortStableFunc(searches, func(a, b study.Treatment) int { return cmp.Compare(a.Trial, b.Trial) })
		return searches
	}
	return p.withBest(all, p.treatments(workload, setup, ready))
}

// searchOf is that of a configuration; without sizes there is nothing to search.
func (p *Params) searchOf(m measured) (s Search, next []wantedTrial) {
	if len(p.Sizes) == 0 {
		return s, nil
	}
	return p.search(m.searches)
}

// withBest gives the treatments of each configuration its best sizes.
func (p *Params) withBest(all []measured, treatments []study.Treatment) []study.Treatment {
	for _, m := range all {
		s, _ := p.searchOf(m)
		for _, t := range treatments {
			if name, _, _ := strings.Cut(t.Label, ", "); name == m.configuration.String() {
				setSizes(t.Services, s.Best)
			}
		}
	}
	return treatments
}

// otherSizes are those with which trials were made, where the best are others: trials of the
// search that were repeated later may have changed it.
func (m measured) otherSizes(best map[string]int) (out []string) {
	for _, key := range slices.Sorted(maps.Keys(best)) {
		service, name, _ := strings.Cut(key, ".")
		for _, t := range m.trials {
			if n := t.of.Services[service].Sizes[name]; n > 0 && n != best[key] {
				out = append(out, fmt.Sprintf("%s=%d", key, n))
				break
			}
		}
	}
	return out
}

// words say what a search found, in sentences; none: it is not at its end.
func (s *Search) words(configuration string) []string {
	if s == nil || s.Best == nil {
		return nil
	}
	best := s.Tried[0]
	return []string{fmt.Sprintf("%s does most with %s: %s with %s.", configuration, best.Sizes, rate(*best.Throughput),
		num.Count(s.Users, "user"))}
}

// sizesTable is a row for each combination, those that stayed longest first.
func (s *Search) sizesTable() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{doc.Label("sizes", "sizes"), doc.Number("trials", "trials"),
		doc.Interval("throughput", "throughput [95 %]")}}
	for _, x := range s.Tried {
		t.Add(doc.Say(x.Sizes), doc.Int(x.Trials), doc.Ranged(x.Throughput, x.CI, rate))
	}
	return t
}

// doubts say of which sizes others may be as good or better, and where none was found.
func (s *Search) doubts() (out []string) {
	switch {
	case s == nil:
		return nil
	case s.Best != nil:
		var alike []string
		for _, x := range s.Tried[1:] {
			if a := s.Tried[0].CI; a == nil || x.CI == nil || x.CI.Hi >= a.Lo {
				alike = append(alike, x.Sizes)
			}
		}
		if len(alike) > 0 {
			out = append(out, fmt.Sprintf("the search cannot tell %s from %s: intervals overlap, or there are none",
				s.Tried[0].Sizes, num.List(alike)))
		}
	case !slices.ContainsFunc(s.Tried, func(x Tried) bool { return x.Trials > 0 }):
		return []string{"no trial of the search for sizes ended well: the sizes of the file hold"}
	}
	for _, x := range s.Tried {
		if x.Failed > 0 {
			out = append(out, fmt.Sprintf("%s with %s failed in the search: these sizes may be better than the search shows",
				num.Count(x.Failed, "trial"), x.Sizes))
		}
	}
	if len(s.Measured) > 0 {
		out = append(out, fmt.Sprintf("this configuration was measured with %s; after repeated trials the search prefers "+
			"other sizes: measure it again", num.List(s.Measured)))
	}
	for _, key := range s.Edge {
		out = append(out, fmt.Sprintf("the best size of %s lies at the edge of those that were tried, %d: try more beyond it",
			key, s.Best[key]))
	}
	return out
}
