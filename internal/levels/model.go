package levels

import (
	"cmp"
	"embed"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/tabular"
	"github.com/scalebench/scalebench/internal/unit"
)

//go:embed models/*.yaml
var files embed.FS

// Builtin are the models that come with the program, by name.
func Builtin() []*Model {
	names := builtinNames()
	out := make([]*Model, len(names))
	for i, name := range names {
		out[i] = builtin(name)
	}
	return out
}

func builtinNames() (names []string) {
	entries, _ := files.ReadDir("models") // it is embedded
	for _, f := range entries {
		names = append(names, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return names
}

func builtin(name string) *Model {
	src, _ := files.ReadFile("models/" + name + ".yaml") // the name is one of builtinNames
	m, err := Parse(name+".yaml", src)
	if err != nil {
		panic(err) // a test reads all of them
	}
	return m
}

// Find is the built-in model of this name. The error is a model.ErrUsage that says which
// names there are.
func Find(name string) (*Model, error) {
	names := builtinNames()
	if slices.Contains(names, name) {
		return builtin(name), nil
	}
	if s := num.Suggest(name, names); s != "" {
		return nil, model.Usagef("there is no model %q; did you mean %q? `scalebench servicelevel models` lists them", name, s)
	}
	return nil, model.Usagef("there is no model %q; use one of %s, or a file", name, strings.Join(names, ", "))
}

// Parse reads a model file; its name is used in messages. The error is a
// model.InputErrors with file:line:col of everything that is wrong.
func Parse(name string, src []byte) (*Model, error) {
	m := &Model{}
	err := experiment.ReadFile(name, src, m, func(report func([]string, string, string)) {
		c := checker{Model: m, report: report, used: map[string]bool{}}
		c.check()
	})
	if err != nil {
		return nil, err
	}
	m.Service, m.Scope = cmp.Or(m.Service, Volume), cmp.Or(m.Scope, OfVolume)
	return m, nil
}

// WriteModel is a model as a file, which [Parse] reads back.
func WriteModel(m *Model) ([]byte, error) { return experiment.WriteFile(m) }

// inputs are the values of a model's inputs. An input that is none has no number.
type inputs struct {
	numbers map[string]float64
	words   map[string]string
}

// number is that of an input; +Inf: it is none.
func (in inputs) number(name string) float64 {
	if x, known := in.numbers[name]; known {
		return x
	}
	return math.Inf(1)
}

// Inputs with terms of their own.
const (
	inputGiB  = "gib"
	inputIOPS = "iops"
)

// InputNames are the inputs in an order in which each needs only those before it.
func (m *Model) InputNames() []string {
	names := slices.Sorted(maps.Keys(m.Inputs))
	rank := map[string]int{inputGiB: -2, inputIOPS: -1}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(rank[a], rank[b]) })
	return names
}

// Choices are the words that an input may have; none of a number.
func (m *Model) Choices(input string) (words []string) {
	for _, lim := range m.Limits {
		for _, r := range lim.rates() {
			if r.By == input && r.Choices != nil {
				words = append(words, slices.Collect(maps.Keys(r.Choices))...)
			}
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// rates are the rates of a limit, by their keys.
func (l Limit) rates() map[string]Rate {
	out := map[string]Rate{"rate": l.Rate}
	if b := l.Bucket; b != nil {
		out["burst"], out["size"], out["fill"] = b.Burst, b.Size, b.Fill
	}
	return out
}

// resolve reads the inputs, and takes defaults for those that are not set.
func (m *Model) resolve(set map[string]string) (in inputs, err error) {
	in = inputs{map[string]float64{}, map[string]string{}}
	names := m.InputNames()
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if _, known := m.Inputs[key]; !known {
			allowed := "the model has no inputs"
			if len(names) > 0 {
				allowed = "the inputs are " + strings.Join(names, ", ")
			}
			if s := num.Suggest(key, names); s != "" {
				allowed = fmt.Sprintf("did you mean %q? T%s", s, allowed[1:])
			}
			err = refuse(err, key, fmt.Sprintf("%s has no such input", m.Name), allowed)
		}
	}
	for _, name := range names {
		text, given := set[name]
		if problem := m.take(&in, name, strings.TrimSpace(text), given); problem != "" {
			err = refuse(err, name, problem, m.allowed(name, in))
		}
	}
	return in, err
}

// take reads one input; problem says why it cannot be used.
func (m *Model) take(in *inputs, name, text string, given bool) (problem string) {
	of, words := m.Inputs[name], m.Choices(name)
	if !given {
		text = of.Default.Text
	}
	switch {
	case !given && of.Default == Amount{}:
		return "it is missing"
	case words != nil:
		if !slices.Contains(words, text) {
			return fmt.Sprintf("%q is not one of its words", text)
		}
		in.words[name] = text
		return ""
	case text == none && of.Default.Text == none:
		return ""
	}
	if !given && text == "" {
		text = num.Digits(of.Default.Number, 15)
	}
	x, problem := of.number(text)
	if problem != "" {
		return problem
	}
	lo, hi := of.bounds(*in)
	switch {
	case x < lo*(1-same):
		return of.print(x) + " is too small"
	case x > hi*(1+same):
		return of.print(x) + " is too large"
	}
	in.numbers[name] = x
	return ""
}

// quality is what the numbers of an input are.
func (i Input) quality() Quality {
	if i.Unit != "" {
		return Bytes
	}
	return Ops
}

func (i Input) bounds(in inputs) (lo, hi float64) {
	lo, hi = 0, math.Inf(1)
	if i.Min != (Term{}) {
		lo = i.Min.at(in, i.quality())
	}
	if math.IsInf(lo, 1) { // it depends on an input that is wrong
		lo = 0
	}
	if i.Max != (Term{}) {
		hi = i.Max.at(in, i.quality())
	}
	return lo, hi
}

// number reads a number above 0; one without a unit is in that of the input.
func (i Input) number(text string) (x float64, problem string) {
	x, problem, _ = quantity(text, i.quality())
	if plain, ok := tabular.Number(text); ok && i.Unit != "" {
		x = plain * i.factor()
	}
	if problem == "" && !(x > 0 && num.Finite(x)) {
		problem = text + " is not greater than 0"
	}
	return x, problem
}

// factor is how many bytes the unit has.
func (i Input) factor() float64 {
	x, _, _ := quantity("1"+i.Unit, Bytes)
	return x
}

func (i Input) print(x float64) string {
	if i.Unit == "" {
		return num.Digits(x, 7)
	}
	return num.Digits(x/i.factor(), 7) + " " + i.Unit
}

// allowed says which values an input may have, given those before it.
func (m *Model) allowed(name string, in inputs) string {
	of := m.Inputs[name]
	text := "use a number"
	lo, hi := of.bounds(in)
	switch words := m.Choices(name); {
	case words != nil:
		text = "use " + strings.Join(words, ", ")
	case lo > 0 && num.Finite(hi):
		text += fmt.Sprintf(" from %s to %s", of.print(lo), of.print(hi))
	case lo > 0:
		text += " of at least " + of.print(lo)
	case num.Finite(hi):
		text += " of at most " + of.print(hi)
	}
	if of.About != "" {
		text += ": " + of.About
	}
	return text
}

// Levels are those of a service with these inputs, by their keys. Errors: an
// *model.InputError of each input that is unknown, missing or out of range, and of each
// level that is not known.
func (m *Model) Levels(set map[string]string) (Levels, error) {
	in, err := m.resolve(set)
	out := Levels{Model: m.Name, Service: m.Service, Scope: m.Scope, Kept: m.Kept, Cells: m.Cells}
	if err != nil {
		return out, err
	}
	for _, lim := range m.Limits {
		level, problem := lim.at(in)
		switch {
		case problem != "":
			err = refuse(err, strings.Join(lim.inputs(), ", "), "the model does not know the level of "+level.Name()+": "+problem, "use other inputs, or a file of your own")
		case math.IsInf(level.Rate[0].Rate, 1): // none
		case lim.Ways.Each != "":
			for _, w := range []Way{Read, Write} {
				level.Ways = []Way{w}
				out.Limits = append(out.Limits, level)
			}
		default:
			out.Limits = append(out.Limits, level)
		}
	}
	if err == nil && len(out.Limits)+len(out.Cells) == 0 {
		err = refuse(nil, strings.Join(m.InputNames(), ", "), "all are none, so that no limit is left", "give one of them")
	}
	return out, err
}

// at is the limit for these inputs; problem says why it is not known.
func (l Limit) at(in inputs) (out Level, problem string) {
	out = Level{Quality: l.Quality, Ways: l.Ways.Joint, Label: l.Label, Unit: float64(l.Unit), Unmerged: l.Unmerged, Inputs: l.inputs()}
	if out.Ways == nil {
		out.Ways = []Way{Read, Write}
	}
	out.Rate = l.Rate.at(in, l.Quality)
	for _, v := range out.Rate {
		if !(v.Rate > 0) {
			return out, cmp.Or(l.Rate.why(in), fmt.Sprintf("it would be %s", num.Digits(v.Rate, 4)))
		}
	}
	b := l.Bucket
	if b == nil {
		return out, ""
	}
	base, burst := out.Rate.Level(), b.Burst.at(in, l.Quality).Level()
	if !(burst > base) || math.IsInf(burst, 1) {
		if math.IsNaN(burst) {
			return out, cmp.Or(b.Burst.why(in), "its burst is not known")
		}
		return out, "" // credits would be of no use
	}
	out.Bucket = &Bucket{Burst: burst, Fill: base, Lasts: b.For.Seconds(), Start: b.Start.start()}
	if b.Fill.given() || b.Fill.Term != (Term{}) {
		out.Bucket.Fill = b.Fill.at(in, l.Quality).Level()
	}
	if out.Bucket.Size = (burst - out.Bucket.Fill) * out.Bucket.Lasts; b.For == 0 {
		out.Bucket.Size = b.Size.at(in, l.Quality).Level()
	}
	return out, ""
}

// inputs are those on which the rate depends, sorted.
func (l Limit) inputs() (names []string) {
	r := l.Rate
	terms := slices.Concat([]Term{r.Term}, slices.Collect(maps.Values(r.Steps)), slices.Collect(maps.Values(r.Choices)))
	for _, t := range terms {
		if t.PerGiB != (Amount{}) {
			names = append(names, inputGiB)
		}
		if t.PerOp != (Amount{}) {
			names = append(names, inputIOPS)
		}
		if t.Value.isWord() && t.Value.Text != none && t.Value.Text != unknown {
			names = append(names, t.Value.Text)
		}
	}
	if r.Steps != nil || r.Choices != nil {
		names = append(names, r.by())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (t Table) by() string { return cmp.Or(t.By, inputGiB) }

// at is the distribution for these inputs; one value of NaN: it is not known, of +Inf:
// there is no limit.
func (r Rate) at(in inputs, q Quality) Distribution {
	switch {
	case r.Values != nil:
		var values []Value
		for text, share := range r.Values {
			values = append(values, Value{(Amount{Text: text}).at(in, q), share})
		}
		return distribution(values)
	case r.Choices != nil:
		return Distribution{{r.Choices[in.words[r.By]].at(in, q), 1}}
	case r.Steps == nil:
		return Distribution{{r.Term.at(in, q), 1}}
	}
	x, step, end := in.number(r.by()), r.Steps[above], math.Inf(1)
	for text, t := range r.Steps {
		if upTo, ok := tabular.Number(text); ok && x <= upTo && upTo < end {
			step, end = t, upTo
		}
	}
	switch {
	case math.IsInf(x, 1):
		return Distribution{{x, 1}}
	case step == Term{}:
		return Distribution{{math.NaN(), 1}}
	}
	return Distribution{{step.at(in, q), 1}}
}

// why says of which input a rate is not known.
func (r Rate) why(in inputs) string {
	switch {
	case r.Steps != nil:
		return fmt.Sprintf("%s is %s", r.by(), num.Digits(in.numbers[r.by()], 7))
	case r.Choices != nil:
		return fmt.Sprintf("%s is %s", r.By, in.words[r.By])
	}
	return ""
}

// at is the value for these inputs.
func (t Term) at(in inputs, q Quality) float64 {
	if t.Value != (Amount{}) {
		return t.Value.at(in, q)
	}
	x := t.Base.at(in, q)
	if t.PerGiB != (Amount{}) {
		x += t.PerGiB.at(in, q) * in.number(inputGiB)
	}
	if t.PerOp != (Amount{}) {
		x += t.PerOp.at(in, q) * in.number(inputIOPS)
	}
	if t.Min != (Amount{}) {
		x = max(x, t.Min.at(in, q))
	}
	if t.Max != (Amount{}) {
		x = min(x, t.Max.at(in, q))
	}
	return x
}

// at is the value for these inputs, in bytes where it has a unit of these.
func (a Amount) at(in inputs, q Quality) float64 {
	switch {
	case a.Text == "":
		return a.Number
	case a.Text == unknown:
		return math.NaN()
	case a.isWord():
		return in.number(a.Text)
	}
	x, _, _ := quantity(a.Text, q)
	return x
}

// isWord reports whether the amount is a text that begins with a letter.
func (a Amount) isWord() bool {
	return a.Text != "" && (a.Text[0]|0x20 >= 'a' && a.Text[0]|0x20 <= 'z')
}

// start is the share of a bucket with which a service begins.
func (a Amount) start() float64 {
	switch {
	case a.Text == full:
		return 1
	case a.Text == empty:
		return 0
	case a == Amount{}:
		return math.NaN()
	}
	return a.Number
}

// quantity reads an amount, perhaps a second: a number, or one with a unit of the quality.
func quantity(text string, q Quality) (x float64, problem, allowed string) {
	if x, ok := tabular.Number(text); ok {
		return x, "", ""
	}
	allowed = "use a number, or one with a unit: 300op/s"
	if q == Bytes {
		allowed = "use a number of bytes, or one with a unit: 60MiB/s, 128MiB"
	} else if q != Ops {
		return math.NaN(), fmt.Sprintf("%q is not a number", text), "use a number"
	}
	rate, err := unit.ParseRate(strings.TrimSuffix(text, "/s") + "/s")
	if err != nil || (rate.Base == unit.Operations) != (q == Ops) {
		return math.NaN(), fmt.Sprintf("%q is not a level of %s", text, q), allowed
	}
	if q == Ops {
		return rate.Value, "", ""
	}
	x, _ = rate.BytesPerSecond() // it is no rate of operations
	return x, "", ""
}
