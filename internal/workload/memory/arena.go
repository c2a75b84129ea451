package memory

import (
	"fmt"
	"math/rand/v2"
)

// lineWords is the number of 8-byte words in a cache line of 64 bytes. On
// machines with longer lines the random walk touches each line more than once,
// far apart in time.
const lineWords = 8

// blockWords is how much is done between two looks at the clock: 256 KiB of
// each vector, some 20 to 100 µs.
const blockWords = 32 << 10

// hops is how many random accesses are done between two looks at the clock:
// some 50 to 300 µs.
const hops = 512

// arena is the memory of one thread. Everything is laid out before the start,
// so that nothing has to be prepared between two tests: nodes that work at the
// same time stay in the same test.
type arena struct {
	// a, b and c are a third of the working set each: copy writes b = a,
	// triad c = a + scalar·b. Nil when neither is wanted.
	a, b, c []float64
	// links is the working set of the random walk: word 0 of each line is the
	// index of the next line's word 0, word 1 the line's place in the cycle.
	// Nil when latency is not wanted.
	links []uint64

	next int // element at which copy or triad goes on
	at   int // index in links to which the walk has come
	// copied and added are the elements that copy and triad have written in
	// all rounds; before is what copied was when triad began.
	copied, added, before uint64
}

// newVectors allocates, touches and fills the vectors.
func (a *arena) newVectors(size int64) {
	n := int(size / 8 / 3)
	a.a, a.b, a.c = make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range a.a {
		a.a[i], a.b[i], a.c[i] = pattern(0, i), pattern(1, i), pattern(2, i)
	}
}

// pattern is the initial i-th element of the k-th vector. All values and
// results are whole numbers below 2⁵³, so floating point is exact.
func pattern(k, i int) float64 { return float64(k*1_000_003 + i%65_521) }

// copyBlock copies the next block and returns the number of elements.
func (a *arena) copyBlock() uint64 {
	from, to := a.block()
	copy(a.b[from:to], a.a[from:to])
	a.copied += uint64(to - from)
	return uint64(to - from)
}

// triadBlock computes the next block and returns the number of elements.
func (a *arena) triadBlock() uint64 {
	from, to := a.block()
	triad(a.c[from:to], a.a[from:to], a.b[from:to])
	a.added += uint64(to - from)
	return uint64(to - from)
}

// block is the next block of the vectors, after the last one the first.
func (a *arena) block() (from, to int) {
	from, to = a.next, min(a.next+blockWords, len(a.a))
	a.next = to % len(a.a)
	return from, to
}

// scalar is the factor of the triad.
const scalar = 3

// triad is c = a + scalar·b, four elements a turn; the slices have one length.
func triad(c, a, b []float64) {
	for len(c) >= 4 && len(a) >= 4 && len(b) >= 4 {
		c[0] = a[0] + scalar*b[0]
		c[1] = a[1] + scalar*b[1]
		c[2] = a[2] + scalar*b[2]
		c[3] = a[3] + scalar*b[3]
		c, a, b = c[4:], a[4:], b[4:]
	}
	for i := range c {
		c[i] = a[i] + scalar*b[i]
	}
}

// check compares all memory with what the tests must have left in it.
func (a *arena) check(walked uint64) error {
	for i := range a.b {
		if err := a.checkElement(i); err != nil {
			return err
		}
	}
	if a.links == nil {
		return nil
	}
	lines := uint64(len(a.links) / lineWords)
	if got, want := a.links[a.at+1], walked%lines; got != want {
		return fmt.Errorf("after %d random accesses the walk is at place %d instead of %d: %s", walked, got, want, broken)
	}
	return nil
}

const broken = "this machine's memory or processor makes errors, so its results are worthless"

func (a *arena) checkElement(i int) error {
	b := pattern(1, i)
	if uint64(i) < a.copied {
		b = pattern(0, i)
	}
	c := pattern(2, i)
	if uint64(i) < a.added {
		read := pattern(1, i) // what the triad read as b[i]
		if uint64(i) < a.before {
			read = pattern(0, i)
		}
		c = pattern(0, i) + scalar*read
	}
	if a.b[i] != b || a.c[i] != c {
		return fmt.Errorf("element %d holds %v, %v instead of %v, %v: %s", i, a.b[i], a.c[i], b, c, broken)
	}
	return nil
}

// newLinks makes one random cycle through all lines (Sattolo 1986, "An
// algorithm to generate a random cyclic permutation"): line i is followed by
// line order[i].
func (a *arena) newLinks(size int64, seed uint64) {
	lines := int(size / 8 / lineWords)
	order := make([]uint32, lines) // maxSize keeps lines below 2³²
	for i := range order {
		order[i] = uint32(i)
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := lines - 1; i > 0; i-- {
		j := rng.IntN(i)
		order[i], order[j] = order[j], order[i]
	}
	a.links = make([]uint64, lines*lineWords)
	line := uint32(0)
	for place := range lines {
		at := int(line) * lineWords
		line = order[line]
		a.links[at], a.links[at+1] = uint64(line)*lineWords, uint64(place)
	}
}

// walk follows the links for some hops and returns their number.
func (a *arena) walk() uint64 {
	at, links := uint64(a.at), a.links
	for range hops {
		at = links[at]
	}
	a.at = int(at)
	return hops
}
