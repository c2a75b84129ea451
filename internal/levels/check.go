package levels

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/unit"
)

// limit is one of a file, ready to compute a [Level] of its own.
type limit struct {
	Level
	ways                    [][]Way // of each level that it becomes
	rate, burst, size, fill rateAt  // fill nil: as rate
	lasts, start            float64
}

// compiler makes the limits of a model, and reports what tags cannot say.
type compiler struct {
	*Model
	report experiment.Report
	used   []string // inputs
}

// below is a path of keys and indices.
func below(at []string, tokens ...any) []string {
	out := slices.Clone(at)
	for _, t := range tokens {
		out = append(out, fmt.Sprint(t))
	}
	return out
}

// Inputs with terms of their own.
const (
	inputGiB  = "gib"
	inputIOPS = "iops"
)

var inputRE = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func (c *compiler) compile() {
	if len(c.Limits)+len(c.Cells) == 0 {
		c.report(nil, "the model has neither limits nor cells", "add limits: [{of: ops, rate: 300}]")
	}
	var all []string
	names := map[string]bool{}
	for i, lim := range c.Limits {
		c.used = nil
		out := c.limit(below(nil, "limits", i), lim)
		c.limits, all = append(c.limits, out), append(all, c.used...)
		for _, ways := range out.ways {
			for _, w := range ways {
				name := Level{Quality: lim.Quality, Ways: []Way{w}, Label: lim.Label}.Name()
				if names[name] {
					c.report(below(nil, "limits", i), "another limit counts the same: "+name, "give each a name")
				}
				names[name] = true
			}
		}
	}
	c.used = all
	for _, name := range c.InputNames() {
		c.Inputs[name] = c.input(below(nil, "inputs", name), name, c.Inputs[name])
	}
	for name := range c.Inputs {
		if !slices.Contains(c.used, name) {
			c.report(below(nil, "inputs", name), "no limit uses it", "remove it")
		}
	}
	for i, cell := range c.Cells {
		same := func(other Cell) bool { return other.Size == cell.Size && other.Reads == cell.Reads }
		if slices.ContainsFunc(c.Cells[:i], same) {
			c.report(below(nil, "cells", i), "another cell has the same size and reads", "put all values into one")
		}
		if cell.Size == 0 {
			c.report(below(nil, "cells", i, "size"), "the size of operations is 0", "use more than 0, such as 4KiB")
		}
	}
}

func (c *compiler) limit(at []string, lim Limit) limit {
	counts := lim.Quality == Ops || lim.Quality == Bytes
	switch {
	case lim.Quality != Metric && counts == (c.Service == Processor):
		c.report(below(at, "of"), fmt.Sprintf("a model of service %s has no limit of %s", c.Service, lim.Quality),
			"use service: cpu with of: cpu, others with ops and bytes")
	case !counts && (lim.Ways.Each != "" || len(lim.Ways.Joint) == 1):
		c.report(below(at, "ways"), "only operations and bytes have ways", "remove it")
	case lim.Unit != 0 && (lim.Unit < smallestUnit || !counts):
		c.report(below(at, "unit"), "it is not possible", "use 512B or more; only operations and bytes have a unit")
	case lim.Unmerged && lim.Quality != Ops:
		c.report(below(at, "unmerged"), "only operations are merged", "remove it")
	case lim.Scope != "" && (c.Service != Volume || c.Scope == OfNode):
		c.report(below(at, "scope"), "only volumes share a limit of their node", "remove it")
	case lim.Quality == Metric && lim.Label == "":
		c.report(at, "the limit has no name", "give it the name of the metric")
	}
	ways := [][]Way{lim.Ways.Joint}
	if lim.Ways.Each != "" {
		ways = [][]Way{{Read}, {Write}}
	} else if lim.Ways.Joint == nil {
		ways[0] = []Way{Read, Write}
	}
	out := limit{Level: Level{Quality: lim.Quality, Ways: ways[0], Label: lim.Label, Unit: float64(lim.Unit),
		Unmerged: lim.Unmerged, Scope: lim.Scope},
		ways: ways, rate: c.rate(below(at, "rate"), lim.Rate, lim.Quality), burst: constant(0)}
	out.Inputs = slices.Compact(slices.Sorted(slices.Values(c.used)))
	if lim.Bucket != nil {
		c.bucket(below(at, "bucket"), *lim.Bucket, &out)
		c.credits(below(at, "bucket"), lim.Rate, *lim.Bucket, out)
	}
	return out
}

// smallestUnit is the size of a sector: nothing counts smaller parts.
const smallestUnit = 512 * unit.Byte

func (c *compiler) bucket(at []string, b FileBucket, out *limit) {
	out.lasts, out.start = b.For.Seconds(), b.Start.Number
	switch sized := b.Size.form() > 0; {
	case sized == (b.For != 0):
		c.report(at, "it must have either size or for", "size: 5.4e6, or for: 30m")
	case sized:
		out.size = c.rate(below(at, "size"), b.Size, out.Quality)
	}
	out.burst = c.rate(below(at, "burst"), b.Burst, out.Quality)
	if b.Fill.form() > 0 {
		out.fill = c.rate(below(at, "fill"), b.Fill, out.Quality)
	}
	switch s := b.Start; {
	case s == Amount{}:
		out.start = math.NaN()
	case s.Text == full:
		out.start = 1
	case s.Text != empty && s.Text != "" || s.Number > 1:
		c.report(below(at, "start"), "it is no share of the bucket", "use full, empty, or a number from 0 to 1")
	}
	for key, rate := range map[string]rateAt{"burst": out.burst, "size": out.size, "fill": out.fill} {
		if rate != nil && math.IsInf(rate(c.numbers(anyMost)).Level(), 1) {
			c.report(below(at, key), "it must have a limit", "use a number")
		}
	}
}

// anyMost is more than any input, and finite in products with amounts.
const anyMost = 1e100

// numbers are inputs of which every number is x.
func (c *compiler) numbers(x float64) inputs {
	in := inputs{map[string]float64{}, map[string]string{}}
	for name := range c.Inputs {
		in.numbers[name] = x
	}
	return in
}

// credits reports a bucket that is of no use whatever the inputs are, or never empty. Rates do not fall with
// inputs that are numbers, unless they have steps.
func (c *compiler) credits(at []string, rate Rate, b FileBucket, out limit) {
	by := cmp.Or(b.Burst.By, rate.By, b.Fill.By)
	if rate.Steps != nil || b.Burst.Steps != nil || b.Fill.Steps != nil {
		return
	}
	words, useless := c.Choices(by), 0
	if words == nil {
		words = []string{""}
	}
	for _, word := range words {
		least, most := c.numbers(0), c.numbers(anyMost)
		least.words[by], most.words[by] = word, word
		burst := out.burst(most).Level()
		switch low := out.rate(least).Level(); {
		case burst < low && b.Burst.By != "":
			c.report(below(at, "burst", "choices", word), "it is below the rate of "+word, "use a burst above it")
		case burst < low:
			useless++
		case out.fill != nil && out.fill(least).Level() >= burst:
			c.report(below(at, "fill"), "it is not below the burst: the bucket is never empty", "use a fill below the burst")
			return
		}
	}
	if useless == len(words) {
		c.report(below(at, "burst"), "it is below the rate", "use a burst above it")
	}
}

// input makes the bounds of an input.
func (c *compiler) input(at []string, name string, of Input) Input {
	words := c.Choices(name)
	switch {
	case !inputRE.MatchString(name) || name == none || name == unknown:
		c.report(at, fmt.Sprintf("%q cannot be the name of an input", name),
			"use small letters, digits and _, beginning with a letter")
	case !(of.factor() > 0):
		c.report(below(at, "unit"), fmt.Sprintf("%q is not a unit of bytes", of.Unit), "use MiB, MB, GiB, GB, KiB, kB")
		return of
	case words != nil && (of.Unit != "" || of.Min != Term{} || of.Max != Term{}):
		c.report(at, "it is a word, by which choices are made", "remove unit, min and max")
	case words != nil && of.Default != (Amount{}) && !slices.Contains(words, of.Default.Text):
		c.report(below(at, "default"), "it is not one of the choices", "use "+strings.Join(words, ", "))
	}
	if words != nil {
		return of
	}
	bound := func(key string, t Term, missing float64) amountAt {
		at, used := below(at, key), len(c.used)
		switch {
		case t == Term{}:
			return func(inputs) float64 { return missing }
		case t.Value.isWord():
			c.report(at, fmt.Sprintf("%q is no amount", t.Value.Text), "use a number")
		case of.Unit != "" && t.Value.Number != 0:
			c.report(at, t.Value.String()+" has no unit", "write "+t.Value.String()+of.Unit)
		}
		out := c.term(at, t, of.quality())
		if needs := c.used[used:]; slices.Contains(needs, name) || len(needs) > 0 && name == inputGiB {
			c.report(at, "the bound depends on the input itself, or on one that depends on it", "use numbers")
		}
		return out
	}
	of.low, of.high = bound("min", of.Min, 0), bound("max", of.Max, math.Inf(1))
	least, most := of.low(c.numbers(0)), of.high(c.numbers(anyMost))
	fixed := of.Default
	if fixed.Text == none {
		fixed = Amount{}
	}
	switch x := bound("default", Term{Value: fixed}, least)(inputs{}); {
	case least > most:
		c.report(below(at, "max"), "it is less than min", "")
	case x < least || x > most:
		c.report(below(at, "default"), "it is not between min and max", "")
	}
	return of
}
