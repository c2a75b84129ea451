package explain

import (
	"math"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/stats"
)

// Confounded are two facts that tell (nearly) the same of each row, so that what
// one explains may be due to the other.
type Confounded struct {
	A string  `json:"a"`
	B string  `json:"b"`
	V float64 `json:"cramers_v"`
}

// likeness is the Cramér V from which two facts are said to tell the same.
const likeness = 0.9

const (
	// mostCompared is of how many rows two facts are compared, spread over all.
	mostCompared = 100_000
	// mostPaired is how many rows are looked at for all pairs of facts together: of
	// a thousand facts two are compared over fewer.
	mostPaired = 2_000_000_000
	// leastCompared is of how many rows each pair is compared.
	leastCompared = 2_000
)

// Confounded are the pairs of facts that explain something and tell nearly the
// same of each row. Facts of time are not compared with each other: days tell
// weekdays, and repetitions days.
func (x *Rows) Confounded(effects []Effect) []Confounded {
	var pairs [][2]int
	for i, a := range effects {
		for k, b := range effects[i+1:] {
			if (a.Significant || b.Significant) && (!a.Passes() || !b.Passes()) {
				pairs = append(pairs, [2]int{i, i + 1 + k})
			}
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	rows := max(leastCompared, min(mostCompared, mostPaired/len(pairs)))
	facts := make([]frame.Fact, len(effects))
	InParallel(x.Ended, len(facts), func(i int) { facts[i] = x.Fact(effects[i].Fact).spreadOver(rows) })
	vs := make([]float64, len(pairs))
	InParallel(x.Ended, len(pairs), func(i int) { vs[i] = cramer(&facts[pairs[i][0]], &facts[pairs[i][1]]) })
	var out []Confounded
	for i, v := range vs {
		if v >= likeness {
			out = append(out, Confounded{effects[pairs[i][0]].Fact, effects[pairs[i][1]].Fact, v})
		}
	}
	return out
}

// spreadOver is the fact of about so many rows, spread over all.
func (f *Fact) spreadOver(rows int) frame.Fact {
	out := f.Fact
	if step := len(f.Codes) / rows; step > 1 {
		out.Codes = nil
		for i := 0; i < len(f.Codes); i += step {
			out.Codes = append(out.Codes, f.Codes[min(i+i*31%step, len(f.Codes)-1)]) // not always the same hour
		}
	}
	return out
}

// cramer is Cramér's V of two facts, over rows that know both.
func cramer(a, b *frame.Fact) float64 {
	as, bs := (&Fact{Fact: *a}).spreadOver(mostCompared), (&Fact{Fact: *b}).spreadOver(mostCompared)
	v, _, err := stats.CramersV(as.Codes, bs.Codes, len(a.Levels), len(b.Levels))
	if err != nil {
		return 0 // one of them has one level
	}
	return v
}

// Besides is by how much the mean of a level differs from that of all other levels
// within the levels of another fact, and how likely it is by chance. OK is false
// where no level of that has rows of both.
type Besides struct {
	Fact     string
	Apart, P float64
	OK       bool
}

// Beside compares one level of a fact with the others, stratum by stratum, each with
// the weight that least squares give it; rows of one stratum and side are supposed to
// be independent.
func (x *Rows) Beside(fact *Fact, level string, other *Fact) Besides {
	out := Besides{Fact: other.Name}
	code := uint16(0)
	for c, name := range fact.Levels {
		if c > 0 && name == level {
			code = uint16(c) //nolint:gosec // a code
		}
	}
	sides := make([]uint16, len(fact.Codes)) // twice the stratum, and 1 for the level
	for i, c := range fact.Codes {
		if s := other.Codes[i]; c != 0 && s != 0 && int(s) < math.MaxUint16/2 {
			if sides[i] = 2 * s; c == code {
				sides[i]++
			}
		}
	}
	s := x.sumsOf(sides, 2*len(other.Levels))
	weight, sum := 0.0, 0.0
	for k := 2; k+1 < len(s.N); k += 2 {
		if n, m := s.N[k], s.N[k+1]; n > 0 && m > 0 {
			w := n * m / (n + m)
			weight, sum = weight+w, sum+w*(s.Sum[k+1]/m-s.Sum[k]/n)
		}
	}
	free := s.rows - s.levels
	if !(weight > 0) || free < 1 {
		return out
	}
	out.OK, out.Apart, out.P = true, sum/weight, 0
	if variance := s.within() / free; variance > 0 {
		out.P = stats.FTail(sum*sum/weight/variance, 1, free)
	}
	return out
}
