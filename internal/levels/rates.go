package levels

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/tabular"
	"github.com/scalebench/scalebench/internal/unit"
)

// amountAt and rateAt compute a value for inputs. NaN: it is not known; +Inf: there is no
// limit.
type (
	amountAt func(inputs) float64
	rateAt   func(inputs) Distribution
)

// form is how many forms a rate has; it must be one.
func (r Rate) form() (n int) {
	for _, has := range []bool{r.Term != Term{}, r.Steps != nil, r.Choices != nil, r.Values != nil} {
		if has {
			n++
		}
	}
	return n
}

func constant(x float64) rateAt { return func(inputs) Distribution { return Distribution{{x, 1}} } }

func (c *compiler) rate(at []string, r Rate, q Quality) rateAt {
	by := r.By
	if by == "" && r.Steps != nil {
		by = inputGiB
	}
	switch isTable := r.Steps != nil || r.Choices != nil; {
	case r.form() != 1 || (by != "") != isTable:
		c.report(at, "it must have one form", "use one of these: a number; base, per_gib, per_op with min, max; by "+
			"and steps; by and choices; values")
		return constant(0)
	case r.Values != nil:
		d := c.values(below(at, "values"), r.Values, q)
		return func(inputs) Distribution { return d }
	case !isTable:
		term := c.term(at, r.Term, q)
		return func(in inputs) Distribution { return Distribution{{term(in), 1}} }
	}
	if c.use(at, by) && r.Steps != nil && c.Choices(by) != nil {
		c.report(at, by+" is a word", "use choices")
	}
	if len(r.Steps)+len(r.Choices) == 0 {
		c.report(at, "it is empty", "give a rate for each step or choice")
	}
	if r.Steps != nil {
		return c.steps(below(at, "steps"), by, r.Steps, q)
	}
	for _, word := range c.Choices(by) {
		if _, has := r.Choices[word]; !has {
			c.report(at, fmt.Sprintf("choices lacks %s, which another limit has", word), "give each limit the same choices")
		}
	}
	table := map[string]amountAt{}
	for word, t := range r.Choices {
		table[word] = c.term(below(at, "choices", word), t, q)
	}
	return func(in inputs) Distribution {
		if term := table[in.words[by]]; term != nil {
			return Distribution{{term(in), 1}}
		}
		return Distribution{{math.NaN(), 1}}
	}
}

// steps are rates up to numbers of an input, which are in its unit.
func (c *compiler) steps(at []string, by string, steps map[string]Term, q Quality) rateAt {
	terms := map[float64]amountAt{}
	for _, name := range slices.Sorted(maps.Keys(steps)) {
		end, problem := math.Inf(1), ""
		if name != above {
			end, problem = c.Inputs[by].number(name)
		}
		switch {
		case problem != "":
			c.report(below(at, name), fmt.Sprintf("%q is not the end of a step", name),
				"use a number above 0, or above for what is beyond the last")
		case terms[end] != nil:
			c.report(below(at, name), "another step ends there, too", "remove one of them")
		}
		terms[end] = c.term(below(at, name), steps[name], q)
	}
	ends := slices.Sorted(maps.Keys(terms))
	return func(in inputs) Distribution {
		x := in.number(by)
		switch i, _ := slices.BinarySearch(ends, x); {
		case math.IsInf(x, 1): // it is none
			return Distribution{{x, 1}}
		case i == len(ends):
			return Distribution{{math.NaN(), 1}}
		default:
			return Distribution{{terms[ends[i]](in), 1}}
		}
	}
}

// use notes that an input is used, and reports one that there is not.
func (c *compiler) use(at []string, name string) bool {
	c.used = append(c.used, name)
	if _, known := c.Inputs[name]; known {
		return true
	}
	allowed := fmt.Sprintf("add it to the inputs: %s: {}", name)
	if s := num.Suggest(name, c.InputNames()); s != "" {
		allowed = fmt.Sprintf("did you mean %q?", s)
	}
	c.report(at, fmt.Sprintf("the model has no input %q", name), allowed)
	return false
}

// sumTolerance leaves room for shares that were rounded.
const sumTolerance = 1e-6

func (c *compiler) values(at []string, shares map[string]float64, q Quality) Distribution {
	var all []Value
	sum := 0.0
	for _, key := range slices.Sorted(maps.Keys(shares)) {
		share, rate := shares[key], c.amount(below(at, key), Amount{Text: key}, q)
		if slices.ContainsFunc(all, func(v Value) bool { return v.Rate == rate }) {
			c.report(below(at, key), "another level is the same", "write one with the sum of both shares")
		}
		all = append(all, Value{rate, share})
		if sum += share; !(share > 0) {
			c.report(below(at, key), fmt.Sprintf("the share %v is too small", share), "use a share greater than 0; all sum to 1")
		}
	}
	if math.Abs(sum-1) > sumTolerance {
		c.report(at, fmt.Sprintf("the shares sum to %s", num.Digits(sum, 7)), "they must sum to 1")
	}
	return distribution(all)
}

func (c *compiler) term(at []string, t Term, q Quality) amountAt {
	fixed := func(x float64) amountAt { return func(inputs) float64 { return x } }
	switch name := t.Value.Text; {
	case name == none:
		return fixed(math.Inf(1))
	case name == unknown:
		return fixed(math.NaN())
	case t.Value.isWord():
		if of := c.Inputs[name]; c.use(at, name) && (c.Choices(name) != nil || (of.quality() == Bytes) != (q == Bytes)) {
			c.report(at, fmt.Sprintf("the input %s does not count %s", name, q),
				"an input of bytes has a unit, such as unit: MiB; others have none")
		}
		return func(in inputs) float64 { return in.number(name) }
	case t.Value != Amount{}:
		return fixed(c.amount(at, t.Value, q))
	case t.Base == Amount{} && t.PerGiB == Amount{} && t.PerOp == Amount{}:
		c.report(at, "it is empty", "use a number, or base, per_gib, per_op")
	}
	part := func(key string, a Amount, input string) float64 {
		switch at := below(at, key); {
		case a == (Amount{}) || input != "" && !c.use(at, input):
			return 0
		case input != "" && (c.Choices(input) != nil || c.Inputs[input].Unit != ""):
			c.report(at, fmt.Sprintf("the input %s is a word, or in bytes", input), "it must be a plain number")
		}
		return c.amount(below(at, key), a, q)
	}
	base, gib, op := part("base", t.Base, ""), part("per_gib", t.PerGiB, inputGiB), part("per_op", t.PerOp, inputIOPS)
	lo, hi := part("min", t.Min, ""), part("max", t.Max, "")
	if hi > 0 && lo > hi {
		c.report(below(at, "max"), "it is less than min", "")
	}
	return func(in inputs) float64 {
		x := base
		if gib > 0 {
			x += gib * in.number(inputGiB)
		}
		if op > 0 {
			x += op * in.number(inputIOPS)
		}
		if hi > 0 && !math.IsInf(x, 1) { // an input is none
			x = min(x, hi)
		}
		return max(x, lo)
	}
}

// amount is one that is not a word.
func (c *compiler) amount(at []string, a Amount, q Quality) float64 {
	x, problem, allowed := quantity(a.String(), q)
	if problem == "" && !(x > 0) {
		problem, allowed = a.Text+" is too small", "use more than 0"
	}
	if problem != "" {
		c.report(at, problem, allowed)
	}
	return x
}

// isWord reports whether the amount is a text that begins with a letter.
func (a Amount) isWord() bool {
	return a.Text != "" && (a.Text[0]|0x20 >= 'a' && a.Text[0]|0x20 <= 'z')
}

// Bounds of amounts: their products are finite.
const leastAmount, mostAmount = 1e-30, 1e30

// quantity reads an amount, perhaps a second: a number, or one with a unit of the quality.
func quantity(text string, q Quality) (x float64, problem, allowed string) {
	if x, ok := tabular.Number(text); ok {
		if x > 0 && (x < leastAmount || x > mostAmount) {
			return math.NaN(), text + " is out of range", "use 1e-30 to 1e30"
		}
		return x, "", ""
	}
	rate, err := unit.ParseRate(strings.TrimSuffix(text, "/s") + "/s")
	perSecond, notBytes := rate.BytesPerSecond()
	switch {
	case q == Bytes && err == nil && notBytes == nil:
		return perSecond, "", ""
	case q == Ops && err == nil && rate.Base == unit.Operations:
		return rate.Value, "", ""
	case q == Bytes:
		allowed = ", or one with a unit: 60MiB/s, 128MiB"
	case q == Ops:
		allowed = ", or one with a unit: 300op/s"
	}
	return math.NaN(), fmt.Sprintf("%q is not a level of %s", text, q), "use a number" + allowed
}
