// Package session is what users of a site do: they visit pages, think, and go
// on. It makes the requests of a closed loop for the event loops of package
// load/http1.
//
//  1. A [Chain] is a Markov chain over the interactions of a site: what a user
//     does after each, with Back and End of Session. There are some of our own
//     ([BrowseOnly], [ReadWrite], [Author]), and a user's tables in the format
//     of RUBBoS are read ([ParseTable], [ParseProperties]).
//  2. [Users] are those of one loop. User number i draws from random numbers of
//     its own, so that it is the same user whatever the number of generators and
//     loops.
//  3. When a page has come, its user draws what comes next, finds on the page
//     the link or the form that leads there (package site), and thinks ([Think]).
//     Then the next request is due: what the generator is late counts as
//     latency.
//  4. A [Report] is what became of all that was due in the time that is scored.
//
// Back asks for the page before again, from the history of the session. The
// history is emptied on pages from which the chain has no way back, as RUBBoS
// does it; pages that wrote something are not in it, so that going back repeats
// no write. With an empty history, without a link to where the user wants to go,
// and after an error, the user goes to the home page. After the end of a session
// the same user begins another one, after a think time.
package session

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/site"
)

// Chain says what users do after each interaction of a site.
type Chain struct {
	site site.Site
	// rows are probabilities: of going from an interaction to each, then Back,
	// then End of Session. Each row sums to 1.
	rows [][]float64
	// draws are the same, without what never comes, as sums from 0 to 1.
	draws [][]draw
}

// draw is where to go if a random number is below a limit.
type draw struct {
	upTo float64
	to   int
}

// Names of what is no interaction.
const (
	NameBack = "Back"
	NameEnd  = "End of Session"
)

// back and end are the places of these, after the interactions.
func back(s site.Site) int { return len(s) }
func end(s site.Site) int  { return len(s) + 1 }

// placeOf is that of an interaction, or of Back or End of Session, by its name; -1: it is
// none.
func placeOf(name string, s site.Site) int {
	if i := s.Index(name); i >= 0 {
		return i
	}
	switch word, _, _ := strings.Cut(strings.ToLower(name), " "); word {
	case "back":
		return back(s)
	case "end", "endofsession":
		return end(s)
	}
	return -1
}

// nameOf is the name of a place.
func nameOf(to int, s site.Site) string { return append(s.Names(), NameBack, NameEnd)[to] }

// hasBack reports whether users may go back from an interaction.
func (c *Chain) hasBack(from int) bool { return c.rows[from][back(c.site)] > 0 }

// newChain takes rows of weights, which may have any sum above 0.
func newChain(s site.Site, weights [][]float64) (*Chain, error) {
	c := &Chain{site: s}
	for from, row := range weights {
		sum, last := 0.0, -1
		for to, w := range row {
			if !(w >= 0) || math.IsInf(w, 0) {
				return nil, fmt.Errorf("%w: from %s to %s: %v is no probability; use 0 to 1", model.ErrUsage, s[from].Name,
					nameOf(to, s), w)
			}
			if sum += w; w > 0 {
				last = to
			}
		}
		if sum == 0 {
			return nil, fmt.Errorf("%w: nothing follows %s: all its probabilities are 0; let it lead somewhere, if only to %s", model.ErrUsage, s[from].Name, NameEnd)
		}
		var draws []draw
		probabilities, upTo := make([]float64, len(row)), 0.0
		for to, w := range row {
			if probabilities[to] = w / sum; w > 0 {
				upTo += w
				draws = append(draws, draw{upTo / sum, to})
			}
		}
		draws[len(draws)-1] = draw{1, last}
		c.rows, c.draws = append(c.rows, probabilities), append(c.draws, draws)
	}
	return c, nil
}

// next draws what follows.
func (c *Chain) next(from int, rng *rand.Rand) int {
	x, draws := rng.Float64(), c.draws[from]
	i, _ := slices.BinarySearchFunc(draws, x, func(d draw, x float64) int {
		if d.upTo <= x {
			return -1
		}
		return 1
	})
	return draws[min(i, len(draws)-1)].to
}

// reached says of each interaction whether a session can come to it.
func (c *Chain) reached() []bool {
	seen := make([]bool, len(c.site))
	var visit func(of int)
	visit = func(of int) {
		if of < len(seen) && !seen[of] {
			seen[of] = true
			for _, d := range c.draws[of] {
				visit(d.to)
			}
		}
	}
	visit(0)
	return seen
}
