package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// corner is how sharply a closed network turns from growth to its limit: users share so
// many stations that are equally busy, and group users act as one. One station and a
// group of one is a single server with users who think. Groups below one stand for
// several servers, groups above one for stations beside the busiest that are busy, too;
// a group of 0 does not round the corner at all.
type corner struct{ stations, group float64 }

// cornerShapes are the shapes that are tried. Which one it is the observations say, as
// closely as they can (docs/ntier.md has how often the knee is where it should be).
var cornerShapes = [...]corner{
	{1, 0}, {1, .25}, {1, .5}, {1, 1}, {1, 2}, {1, 4},
	{2, .25}, {2, .5}, {2, 1}, {3, .25}, {3, 1}, {4, 1},
}

// served is the throughput with so many users in units of what a user brings alone: x far
// below the knee, and the knee far beyond it. The knee is where these two lines meet.
func (c corner) served(x, knee float64) float64 {
	if x <= c.group || knee <= c.group || c.group == 0 { // nobody to wait for
		return min(x, knee)
	}
	users, most := x/c.group, knee/c.group
	if c.stations == 1 {
		if idle := erlangLoss(users, most-1); !math.IsNaN(idle) {
			return knee * (1 - idle)
		}
	}
	return knee * c.balanced(users, most)
}

// balanced is the utilisation of equal stations by approximate mean value analysis: an
// arrival meets what is there with one user less (P. Schweitzer, 1979; E. D. Lazowska et
// al., Quantitative System Performance, 1984, section 6.4.2), which is a quadratic here.
func (c corner) balanced(users, knee float64) float64 {
	thinking, others := knee-min(c.stations, knee), 1-1/users
	cycle := knee + others*users
	return 2 * users / (cycle + math.Sqrt(max(0, cycle*cycle-4*others*thinking*users)))
}

// erlangLoss is Erlang's loss formula for a number of lines that need not be whole, with
// so much offered: the share of time in which a single server has nothing to do, where as
// many users as there are lines think (machine repair). It is a term of the incomplete
// gamma function over that function (D. L. Jagerman, "Some properties of the Erlang loss
// function", Bell System Technical Journal 53(3), 1974). NaN: so many less lines are there
// than offered that both vanish.
func erlangLoss(lines, offered float64) float64 {
	rest := mathext.GammaIncRegComp(lines+1, offered)
	if rest < vanishes {
		return math.NaN()
	}
	factorial, _ := math.Lgamma(lines + 1)
	return min(1, math.Exp(lines*math.Log(offered)-offered-factorial)/rest)
}

// vanishes is from where on digits are lost.
const vanishes = 1e-280
