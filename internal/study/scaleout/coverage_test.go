package scaleout

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/test/skip"
)

// labs are drawn as the labs in which real fleets transcode: the store's link has 16 to 40
// Mbit/s, which TCP shares more or less evenly, a node does 10 to 20 jobs in a step, and is not
// as fast in each.
func labs(rng *rand.Rand) site {
	s := transcoding((16 + 24*rng.Float64()) * 1e6 / 8)
	s.compute, s.unfair, s.uneven = .3+.5*rng.Float64(), .5*rng.Float64(), .08*rng.Float64()
	scale := lasts.Seconds() / (10 + 10*rng.Float64()) / (s.compute + (s.get+s.put)/s.link)
	s.compute, s.get, s.put = s.compute*scale, s.get*scale, s.put*scale
	return s
}

// anyFleet has one to four slots, jobs that are all alike or exponential or between, by
// computing and by bytes, and a link that two to eight of its nodes saturate. A node does 10
// to 30 jobs in a step.
func anyFleet(rng *rand.Rand) site {
	pick := func(of ...int) int { return of[rng.IntN(len(of))] }
	s := site{slots: pick(1, 1, 2, 3, 4), stages: pick(0, 25, 25, 4, 2, 1), parts: pick(0, 0, 25, 4, 1),
		fifo: rng.IntN(3) == 0, unfair: .5 * rng.Float64(), link: 1e6 * (2 + 8*rng.Float64())}
	rate := (10 + 20*rng.Float64()) / lasts.Seconds()
	cycle := float64(s.slots) / rate
	most := 1 / (rate * 1.5 * math.Pow(8/1.5, rng.Float64())) // s of a job on the busier way
	least := min(most, .9*(cycle-most)) * rng.Float64()
	s.get, s.put, s.compute = most*s.link, least*s.link, cycle-most-least
	if rng.IntN(2) == 0 {
		s.get, s.put = s.put, s.get
	}
	if !s.fifo && rng.IntN(2) == 0 {
		s.own = s.link * (.5 + 3*rng.Float64())
	}
	return s
}

// steady is what so many nodes do in the long run.
func (s *site) steady(rng *rand.Rand, nodes int) (rate float64) {
	const many, warm = 2000, .1 // jobs, and the part of them that does not count
	slots := float64(nodes * max(1, s.slots))
	long := many / min(slots/(s.compute+(s.get+s.put)/s.link), s.link/max(s.get, s.put))
	for _, j := range s.jobs(rng, nodes, long, 0) {
		rate += (done(j, long) - done(j, warm*long)) / ((1 - warm) * long)
	}
	return rate
}

// tally counts sizes.
type tally struct {
	sizes, held         int // of the long run
	long, inside        int // measured, in steps in which a slot does five jobs or more
	error, boundedError float64
}

func (c *tally) String() string {
	share := func(k, n int) string {
		ci, _ := stats.Wilson(k, n, stats.DefaultLevel)
		return fmt.Sprintf("%d of %d (%.1f %%: %.1f to %.1f)", k, n, 100*float64(k)/float64(max(n, 1)), 100*ci.Lo, 100*ci.Hi)
	}
	n := float64(max(c.sizes, 1))
	return fmt.Sprintf("the truth is inside: %s; what was measured: %s; the truth is off the middle by %.1f %%, off "+
		"min(N·r, C/d) by %.1f %%", share(c.held, c.sizes), share(c.inside, c.long), 100*c.error/n, 100*c.boundedError/n)
}

// drawn measures fleets of a site that is drawn from a source; seed is that of its jobs.
func drawn(t *testing.T, draw func(*rand.Rand) site, from rand.Source, seed uint64) (*world, *rand.Rand, *Result) {
	rng := rand.New(from)
	w, p := newWorld(draw(rng), 8, 3), params(2, 3, 4, 6, 8)
	w.seed = seed
	w.run(t, p)
	r, _ := w.result(t, p)
	return w, rng, r
}

// alone counts plateaus by the curve alone, which no capacity has clipped: where the kind of the
// curve is unclear their value may lie far above.
type alone struct{ overlaps, inside int }

// covered draws fleets, predicts and measures them, and holds bands to the long run.
func covered(t *testing.T, name string, draws int, draw func(*rand.Rand) site) (
	all, plateaus tally, fitted alone, wide int,
) {
	const exact = .01 // of the long run, which is simulated, too
	classes := []string{"below 0.5 of the knee", "0.5 to 0.8", "0.8 to 1.25", "1.25 to 2", "2 and more"}
	tallies := make([]tally, len(classes))
	var widths []float64
	for i := range draws {
		w, rng, r := drawn(t, draw, rand.NewPCG(29, uint64(i)), uint64(100_000+i))
		width := r.Predicted.widest().HalfWidth
		if widths = append(widths, width); width > .2 {
			wide++
		}
		if marked := slices.Contains(codes(r.Doubts), "wide_band"); marked != (width > .2) {
			t.Errorf("%s %d: the half-width is %.3f, and the doubt: %v", name, i, width, marked)
		}
		if b := r.largest(); r.PlateauFitted != nil {
			if r.PlateauFittedCI.Overlaps(*b.Lower, *b.Upper) {
				fitted.overlaps++
			}
			if *b.Lower <= *r.PlateauFitted && *r.PlateauFitted <= *b.Upper {
				fitted.inside++
			}
		}
		knee := w.link / max(w.get, w.put) / w.steady(rng, 1)
		for _, s := range r.Sizes {
			truth, n := w.steady(rng, s.Nodes), float64(s.Nodes)
			class, _ := slices.BinarySearch([]float64{.5, .8, 1.25, 2}, n/knee)
			into := []*tally{&all, &tallies[class]}
			if s.Nodes == r.largest().Nodes {
				into = append(into, &plateaus)
			}
			for _, c := range into {
				c.sizes++
				c.error += math.Abs(truth/((*s.Lower+*s.Upper)/2) - 1)
				c.boundedError += math.Abs(truth / *s.Bound - 1)
				if *s.Lower*(1-exact) <= truth && truth <= *s.Upper*(1+exact) {
					c.held++
				}
				if truth*lasts.Seconds() >= 5*n*float64(r.Predicted.Slots) {
					if c.long++; *s.Inside {
						c.inside++
					}
				}
			}
		}
	}
	slices.Sort(widths)
	t.Logf("%s: %d of %d draws have a band of more than ±20 %%; the widest is ±%.1f %%, the median ±%.1f %%", name, wide,
		draws, 100*widths[draws-1], 100*widths[draws/2])
	t.Logf("%s, all sizes: %v\nthe largest: %v", name, &all, &plateaus)
	for i, c := range tallies {
		t.Logf("%s, %s: %v", name, classes[i], &c)
	}
	t.Logf("%s, by the curve alone: the interval of the plateau overlaps the band in %d of %d, its value is inside in %d",
		name, fitted.overlaps, draws, fitted.inside)
	return all, plateaus, fitted, wide
}

// judge wants bands that are narrow in labs and hold the truth in all fleets.
func judge(t *testing.T, draws int) {
	t.Helper()
	all, plateaus, fitted, wide := covered(t, "labs", draws, labs)
	if all.held < all.sizes*95/100 || plateaus.held < plateaus.sizes*95/100 || all.inside < all.long*93/100 {
		t.Errorf("labs: %v, want 95 %%; of the largest: %v", &all, &plateaus)
	}
	if wide > max(1, draws/100) {
		t.Errorf("labs: %d of %d draws have a band that is too wide, want 1 %%", wide, draws)
	}
	if fitted.overlaps < draws*95/100 || fitted.inside < draws*2/3 {
		t.Errorf("labs, by the curve alone: %+v of %d", fitted, draws)
	}
	all, plateaus, _, _ = covered(t, "any fleet", draws, anyFleet)
	if all.held < all.sizes*95/100 || plateaus.held < plateaus.sizes*95/100 {
		t.Errorf("any fleet: %v, want 95 %%; of the largest: %v", &all, &plateaus)
	}
}

// TestUnbiased: the steps of a lab do what its fleets do in the long run, at every size.
func TestUnbiased(t *testing.T) {
	t.Parallel()
	const draws = 40
	shares := map[int]float64{}
	for i := range draws {
		w, rng, r := drawn(t, labs, rand.NewPCG(31, uint64(i)), uint64(200_000+i))
		for _, s := range r.Sizes {
			shares[s.Nodes] += s.Rate / w.steady(rng, s.Nodes) / draws
		}
	}
	for nodes, share := range shares {
		if math.Abs(share-1) > .025 {
			t.Errorf("steps of %d nodes do %.3f of the long run on average", nodes, share)
		}
	}
}

// TestCoverage: bands hold what fleets do in the long run, and in labs they are narrow.
func TestCoverage(t *testing.T) {
	t.Parallel()
	judge(t, 30)
}

// TestCoverageOfMany draws as many as it takes for the figures of docs/methods.md.
func TestCoverageOfMany(t *testing.T) {
	skip.UnlessLong(t)
	t.Parallel()
	judge(t, 400)
}
