package levels

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/tabular"
	"github.com/scalebench/scalebench/internal/unit"
)

// checker reports what tags cannot say of a model.
type checker struct {
	*Model
	report func(path []string, problem, allowed string)
	used   map[string]bool // inputs
}

// path is a list of keys and indices.
func path(tokens ...any) (out []string) {
	for _, t := range tokens {
		out = append(out, fmt.Sprint(t))
	}
	return out
}

func below(at []string, tokens ...any) []string { return slices.Concat(at, path(tokens...)) }

var inputRE = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func (c *checker) check() {
	if len(c.Limits)+len(c.Cells) == 0 {
		c.report(nil, "the model has neither limits nor cells", "add limits: [{of: ops, rate: 300}]")
	}
	names := map[string]bool{}
	for i, lim := range c.Limits {
		c.limit(path("limits", i), lim)
		for _, name := range lim.names() {
			if names[name] {
				c.report(path("limits", i), "another limit counts the same: "+name, "give each a name")
				break
			}
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Inputs)) {
		c.input(name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Inputs)) {
		if !c.used[name] {
			c.report(path("inputs", name), "no limit uses it", "remove it")
		}
	}
	c.cells()
}

// names are those of a limit in each of its ways.
func (l Limit) names() (out []string) {
	for _, w := range []Way{Read, Write} {
		if l.Ways.Joint == nil || slices.Contains(l.Ways.Joint, w) {
			out = append(out, Level{Quality: l.Quality, Ways: []Way{w}, Label: l.Label}.Name())
		}
	}
	return out
}

func (c *checker) limit(at []string, lim Limit) {
	processor := c.Service == Processor
	switch {
	case processor != (lim.Quality == CPU) && lim.Quality != Metric:
		c.report(below(at, "of"), fmt.Sprintf("a model of service %s has no limit of %s", cmp.Or(c.Service, Volume), lim.Quality), "use service: cpu with of: cpu, others with ops and bytes")
	case lim.Unit != 0 && lim.Unit < smallestUnit:
		c.report(below(at, "unit"), lim.Unit.String()+" is too small", "use at least "+smallestUnit.String())
	case lim.Unit != 0 && lim.Quality != Ops && lim.Quality != Bytes:
		c.report(below(at, "unit"), "only operations and bytes have a unit", "remove it")
	case lim.Unmerged && lim.Quality != Ops:
		c.report(below(at, "unmerged"), "only operations are merged", "remove it")
	case lim.Quality == Metric && lim.Label == "":
		c.report(at, "the limit has no name", "give it the name of the metric")
	}
	if !lim.Rate.given() && lim.Rate.Term == (Term{}) {
		c.report(below(at, "rate"), "the rate is empty", "use a number, or per_gib, per_op, steps, choices, values")
	}
	c.rate(below(at, "rate"), lim.Rate, lim.Quality)
	if b := lim.Bucket; b != nil {
		c.bucket(below(at, "bucket"), *b, lim.Quality)
	}
}

// smallestUnit is the size of a sector: nothing counts smaller parts.
const smallestUnit = 512 * unit.Byte

func (c *checker) bucket(at []string, b FileBucket, q Quality) {
	size := b.Size.given() || b.Size.Term != (Term{})
	if size == (b.For != 0) {
		c.report(at, "it must have either size or for", "size: 5.4e6, or for: 30m")
	}
	if b.For < 0 {
		c.report(below(at, "for"), "it must be longer than 0s", "")
	}
	for key, r := range (Limit{Bucket: &b}).rates() {
		if key != "rate" {
			c.rate(below(at, key), r, q)
		}
	}
	if s := b.Start; s.Text != "" && s.Text != full && s.Text != empty || s.Number > 1 {
		c.report(below(at, "start"), "it is no share of the bucket", "use full, empty, or a number from 0 to 1")
	}
}

// rate checks the terms of a rate, of which it has one form.
func (c *checker) rate(at []string, r Rate, q Quality) {
	forms := 0
	for _, has := range []bool{r.Term != Term{}, r.Steps != nil, r.Choices != nil, r.Values != nil} {
		forms += map[bool]int{true: 1}[has]
	}
	if forms > 1 || r.By != "" && r.Steps == nil && r.Choices == nil {
		c.report(at, "it has keys of several forms", "use one: base, per_gib, per_op, min, max; by and steps; by and choices; values")
		return
	}
	c.term(at, r.Term, q)
	for _, key := range slices.Sorted(maps.Keys(r.Steps)) {
		if x, ok := tabular.Number(key); key != above && !(ok && x > 0) {
			c.report(below(at, "steps", key), fmt.Sprintf("%q is not the end of a step", key), "use a number above 0, or above for what is beyond the last")
		}
		c.entry(below(at, "steps", key), r.Steps[key], q)
	}
	for _, key := range slices.Sorted(maps.Keys(r.Choices)) {
		c.entry(below(at, "choices", key), r.Choices[key], q)
	}
	c.by(at, r)
	c.values(at, r.Values, q)
}

func (c *checker) entry(at []string, t Term, q Quality) {
	if t == (Term{}) {
		c.report(at, "it is empty", "use a number, or per_gib, per_op")
	}
	c.term(at, t, q)
}

// by checks the input by which there are steps or choices.
func (c *checker) by(at []string, r Rate) {
	if r.Steps == nil && r.Choices == nil {
		return
	}
	name := r.by()
	words := c.Choices(name)
	if r.By != "" {
		at = below(at, "by")
	}
	switch {
	case !c.has(at, name):
	case r.Choices == nil && words != nil:
		c.report(at, name+" is a word", "use choices")
	case r.Choices != nil && len(r.Choices) < len(words):
		c.report(at, fmt.Sprintf("choices lacks %s, which another limit has", strings.Join(slices.DeleteFunc(words, func(w string) bool {
			_, has := r.Choices[w]
			return has
		}), ", ")), "give each limit the same choices")
	}
}

// has notes that an input is used, and reports one that there is not.
func (c *checker) has(at []string, name string) bool {
	c.used[name] = true
	if _, known := c.Inputs[name]; known {
		return true
	}
	c.report(at, fmt.Sprintf("the model has no input %q", name), suggestion(name, slices.Sorted(maps.Keys(c.Inputs))))
	return false
}

func suggestion(name string, names []string) string {
	if s := num.Suggest(name, names); s != "" {
		return fmt.Sprintf("did you mean %q?", s)
	}
	return fmt.Sprintf("add it to the inputs: %s: {}", name)
}

func (c *checker) values(at []string, values map[string]float64, q Quality) {
	if values == nil {
		return
	}
	sum := 0.0
	levels := map[float64]string{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		at, share := below(at, "values", key), values[key]
		x, problem, allowed := quantity(key, q)
		switch was := levels[x]; {
		case problem != "":
			c.report(at, problem, allowed)
		case !(x > 0):
			c.report(at, key+" is no level", "a level must be greater than 0")
		case was != "":
			c.report(at, "it is the same level as "+was, "add their shares")
		case !(share > 0):
			c.report(at, fmt.Sprintf("the share %v is too small", share), "use a share greater than 0; all sum to 1")
		}
		levels[x], sum = key, sum+share
	}
	if math.Abs(sum-1) > sumTolerance {
		c.report(below(at, "values"), fmt.Sprintf("the shares sum to %s", num.Digits(sum, 7)), "they must sum to 1")
	}
}

// sumTolerance leaves room for shares that were rounded.
const sumTolerance = 1e-6

// term checks the amounts of a term, and which inputs it needs.
func (c *checker) term(at []string, t Term, q Quality) {
	if a := t.Value; a.isWord() && a.Text != none && a.Text != unknown {
		of := c.Inputs[a.Text]
		switch {
		case !c.has(at, a.Text):
		case c.Choices(a.Text) != nil:
			c.report(at, a.Text+" is a word", "use choices by it")
		case (of.quality() == Bytes) != (q == Bytes):
			c.report(at, fmt.Sprintf("the input %s does not count %s", a.Text, q), "an input of bytes has a unit, such as unit: MiB; others have none")
		}
	} else if !a.isWord() {
		c.amount(at, a, q)
	}
	for key, a := range map[string]Amount{"base": t.Base, "per_gib": t.PerGiB, "per_op": t.PerOp, "min": t.Min, "max": t.Max} {
		at := below(at, key)
		input := map[string]string{"per_gib": inputGiB, "per_op": inputIOPS}[key]
		if a != (Amount{}) && (input == "" || c.has(at, input)) {
			c.amount(at, a, q)
		}
	}
	if lo, hi := t.Min.at(inputs{}, q), t.Max.at(inputs{}, q); t.Max != (Amount{}) && lo > hi {
		c.report(below(at, "max"), "it is less than min", "")
	}
}

// amount checks one that is not a word.
func (c *checker) amount(at []string, a Amount, q Quality) {
	if a.Text == "" {
		return // tags checked the number
	}
	x, problem, allowed := quantity(a.Text, q)
	if problem == "" && !(x > 0) {
		problem, allowed = a.Text+" is too small", "use more than 0"
	}
	if problem != "" {
		c.report(at, problem, allowed)
	}
}

func (c *checker) input(name string) {
	at, of := path("inputs", name), c.Inputs[name]
	words := c.Choices(name)
	switch {
	case !inputRE.MatchString(name) || name == none || name == unknown:
		c.report(at, fmt.Sprintf("%q cannot be the name of an input", name), "use small letters, digits and _, beginning with a letter")
	case words != nil && (of.Unit != "" || of.Min != Term{} || of.Max != Term{}):
		c.report(at, "it is a word, by which choices are made", "remove unit, min and max")
	case words != nil && of.Default != (Amount{}) && !slices.Contains(words, of.Default.Text):
		c.report(below(at, "default"), "it is no choice", "use "+strings.Join(words, ", "))
	}
	if of.Unit != "" {
		if _, ok := tabular.Number(of.Unit); ok || !(of.factor() > 0) {
			c.report(below(at, "unit"), fmt.Sprintf("%q is not a unit of bytes", of.Unit), "use MiB, MB, GiB, GB, KiB, kB")
			return
		}
	}
	for key, t := range map[string]Term{"min": of.Min, "max": of.Max, "default": {Value: of.Default}} {
		at := below(at, key)
		switch {
		case words != nil || t.Value.Text == none && key == "default":
		case t.Value.isWord():
			c.report(at, fmt.Sprintf("%q is no amount", t.Value.Text), "use a number")
		case of.Unit != "" && t.Value.Number != 0:
			c.report(at, num.Digits(t.Value.Number, 7)+" has no unit", "write "+num.Digits(t.Value.Number, 7)+of.Unit)
		case name == inputGiB && t.PerGiB != Amount{}, t.PerOp != Amount{} && (name == inputGiB || name == inputIOPS):
			c.report(at, "the bound depends on the input itself, or on one that depends on it", "use numbers")
		default:
			c.term(at, t, of.quality())
		}
	}
}

func (c *checker) cells() {
	type place struct {
		size  unit.Size
		reads float64
	}
	seen := map[place]int{}
	for i, cell := range c.Cells {
		at := place{cell.Size, cell.Reads}
		if was, twice := seen[at]; twice {
			c.report(path("cells", i), "cell "+strconv.Itoa(was+1)+" has the same size and reads", "put all values into one")
		}
		if cell.Size == 0 {
			c.report(path("cells", i, "size"), "operations have more than 0 bytes", "")
		}
		seen[at] = i
	}
}
