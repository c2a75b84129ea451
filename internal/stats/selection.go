package stats

import "math"

// pairValues are the values of many pairs, such as all differences x−y, which are
// too many to be listed.
type pairValues interface {
	// size is how many pairs there are, ends their least and largest value.
	size() float64
	ends() (lo, hi float64)
	// count returns how many values are at most v, the largest of those, and the
	// smallest of the others.
	count(v float64) (n, floor, ceil float64)
}

// probe is what one count has told.
type probe struct{ n, floor, ceil float64 }

// selector finds values of pairs by their rank. What it counted for one rank
// serves the next.
type selector struct {
	pairs  pairValues
	probes []probe
}

// exactRanks is up to how many pairs the value of exactly this rank is found.
// Beyond it, one with a rank that differs by less than rankTolerance of their
// number, which is a thousandth of what the rank is known to.
const (
	exactRanks    = 1e9
	rankTolerance = 1e-8
)

// at returns the value of rank k, 1 to the number of pairs. The rank is searched
// between two values by interpolation a little to either side of it, so that
// both ends come nearer; where the values are too uneven for that, by halving
// the floating-point numbers between them (the idea of J. F. Monahan,
// "Algorithm 616: fast computation of the Hodges-Lehmann location estimator",
// ACM Trans. Math. Softw. 10(3), 1984, who partitions at pairs instead).
func (s *selector) at(k float64) float64 {
	lo, hi := s.pairs.ends()
	below, upTo := 0.0, s.pairs.size() // values less than lo, values up to hi
	near := 0.0
	if upTo > exactRanks {
		near = upTo * rankTolerance
	}
	narrow := func(p probe) {
		if p.n >= k && p.floor < hi {
			hi, upTo = p.floor, p.n
		}
		if p.n < k && p.ceil > lo {
			lo, below = p.ceil, p.n
		}
	}
	for _, p := range s.probes {
		narrow(p)
	}
	side, slow := 1.0, false
	for lo < hi && upTo-below > near {
		width := upTo - below
		v := between(lo, hi)
		if !slow {
			share := (k - below + side*width/128) / width
			v = max(lo, min(lo+(hi-lo)*share, math.Nextafter(hi, lo)))
			side = -side
		}
		p := probe{}
		p.n, p.floor, p.ceil = s.pairs.count(v)
		s.probes = append(s.probes, p)
		narrow(p)
		slow = !slow && upTo-below > width/2
	}
	return hi
}

// middle returns the median: the mean of the two values in the middle where
// their number is even.
func (s *selector) middle() float64 {
	n := s.pairs.size()
	if math.Mod(n, 2) == 1 || n > exactRanks {
		return s.at(math.Ceil(n / 2))
	}
	a, b := s.at(n/2), s.at(n/2+1)
	return a + (b-a)/2
}

// between returns a number halfway from lo to hi in the order of floating-point
// numbers, lo ≤ v < hi: at most 64 steps part any two.
func between(lo, hi float64) float64 {
	a, b := ordinal(int64(math.Float64bits(lo))), ordinal(int64(math.Float64bits(hi)))
	// The difference may not fit a signed number.
	return math.Float64frombits(uint64(ordinal(a + int64(uint64(b-a)/2))))
}

// ordinal numbers the finite floating-point numbers in their order, and takes a number back to its bits.
func ordinal(bits int64) int64 {
	if bits < 0 {
		return math.MinInt64 - bits
	}
	return bits
}

// differences are all x−y of two ascending samples.
type differences struct{ x, y []float64 }

func (d differences) size() float64 { return float64(len(d.x)) * float64(len(d.y)) }

func (d differences) ends() (lo, hi float64) {
	return d.x[0] - d.y[len(d.y)-1], d.x[len(d.x)-1] - d.y[0]
}

// count walks along the border between the differences up to v and the others:
// x − y[j] ≤ v from some j on, which moves up with x. Rounded differences are
// ordered as exact ones are.
func (d differences) count(v float64) (n, floor, ceil float64) {
	floor, ceil = math.Inf(-1), math.Inf(1)
	j, m := 0, len(d.y)
	for _, x := range d.x {
		for j < m && x-d.y[j] > v {
			j++
		}
		if j < m && x-d.y[j] > floor {
			floor = x - d.y[j]
		}
		if j > 0 && x-d.y[j-1] < ceil {
			ceil = x - d.y[j-1]
		}
		n += float64(m - j)
	}
	return n, floor, ceil
}
