package levels

import (
	"cmp"
	"embed"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/tabular"
)

//go:embed models/*.yaml
var files embed.FS

// Builtin are the models that come with the program, by name.
func Builtin() (all []*Model) {
	for _, name := range builtinNames() {
		all = append(all, builtin(name))
	}
	return all
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
	allowed := "use one of " + strings.Join(names, ", ") + ", or a file"
	if s := num.Suggest(name, names); s != "" {
		allowed = fmt.Sprintf("did you mean %q?", s)
	}
	return nil, model.Usagef("there is no model %q; %s", name, allowed)
}

// FileText is the text of the model file of this name; empty if the name has neither an extension nor a folder, and so
// is that of a built-in model.
func FileText(name string) (string, error) {
	if filepath.Base(name) == name && filepath.Ext(name) == "" {
		return "", nil
	}
	b, err := os.ReadFile(name)
	return string(b), err
}

// Open is the model of a file's text; without a text, the built-in model of this name.
func Open(name, text string) (*Model, error) {
	if text == "" {
		return Find(name)
	}
	return Parse(name, []byte(text))
}

// Parse reads a model file; its name is used in messages. The error is a
// model.InputErrors with file:line:col of everything that is wrong.
func Parse(name string, src []byte) (*Model, error) {
	m := &Model{}
	err := experiment.ReadFile(name, src, m, func(report experiment.Report) {
		m.Service, m.Scope = cmp.Or(m.Service, Volume), cmp.Or(m.Scope, OfVolume)
		(&compiler{Model: m, report: report}).compile()
	})
	if err != nil {
		return nil, err
	}
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

// text is an input for messages.
func (in inputs) text(name string) string {
	if word, is := in.words[name]; is {
		return name + "=" + word
	}
	return name + "=" + num.Digits(in.number(name), 7)
}

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
		rates := []Rate{lim.Rate}
		if lim.Bucket != nil {
			rates = append(rates, lim.Bucket.Burst, lim.Bucket.Size, lim.Bucket.Fill)
		}
		for _, r := range rates {
			if r.By == input {
				words = slices.AppendSeq(words, maps.Keys(r.Choices))
			}
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// resolve reads the inputs, and takes defaults for those that are not set.
func (m *Model) resolve(set map[string]string) (in inputs, err error) {
	in = inputs{map[string]float64{}, map[string]string{}}
	names := m.InputNames()
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if !slices.Contains(names, key) {
			allowed := "the inputs are " + strings.Join(names, ", ")
			if s := num.Suggest(key, names); s != "" {
				allowed = fmt.Sprintf("did you mean %q? T%s", s, allowed[1:])
			}
			err = refuse(err, key, fmt.Sprintf("%s has no such input", m.Name), allowed)
		}
	}
	for _, name := range names {
		if problem := m.take(in, name, m.text(name, set)); problem != "" {
			err = refuse(err, name, problem, m.allowed(name, in))
		}
	}
	return in, err
}

// text is an input as it was set, or by default.
func (m *Model) text(input string, set map[string]string) string {
	text, given := set[input]
	if !given {
		text = m.Inputs[input].Default.String()
	}
	return strings.TrimSpace(text)
}

// take reads one input; problem says why it cannot be used.
func (m *Model) take(in inputs, name, text string) (problem string) {
	of, words := m.Inputs[name], m.Choices(name)
	switch {
	case text == "":
		return "it is missing"
	case words != nil && slices.Contains(words, text):
		in.words[name] = text
		return ""
	case words != nil:
		return fmt.Sprintf("%q is none of the choices", text)
	case text == none && of.Default.Text == none:
		return ""
	}
	x, problem := of.number(text)
	switch lo, hi := of.low(in), of.high(in); {
	case problem != "":
	case x < lo*(1-Same) && !math.IsInf(lo, 1): // otherwise the bound depends on what is wrong
		problem = of.print(x) + " is too small"
	case x > hi*(1+Same):
		problem = of.print(x) + " is too large"
	default:
		in.numbers[name] = x
	}
	return problem
}

// quality is what the numbers of an input count.
func (i Input) quality() Quality {
	if i.Unit != "" {
		return Bytes
	}
	return Ops
}

// number reads a number above 0; one without a unit is in that of the input.
func (i Input) number(text string) (x float64, problem string) {
	x, problem, _ = quantity(text, i.quality())
	if problem != "" {
		problem = fmt.Sprintf("%q is no amount", text)
	}
	if plain, ok := tabular.Number(text); ok {
		x = plain * i.factor()
	}
	if problem == "" && !(x > 0 && num.Finite(x)) {
		problem = text + " is not greater than 0"
	}
	return x, problem
}

// factor is how many bytes the unit has; 1 without one.
func (i Input) factor() float64 {
	x, _, _ := quantity("1"+i.Unit, i.quality())
	return x
}

func (i Input) print(x float64) string {
	return strings.TrimSuffix(num.Digits(x/i.factor(), 7)+" "+i.Unit, " ")
}

// allowed says which values an input may have, given those before it.
func (m *Model) allowed(name string, in inputs) string {
	of := m.Inputs[name]
	text, words := "use a number", m.Choices(name)
	if words != nil {
		text = "use " + strings.Join(words, ", ")
	}
	if words == nil {
		lo, hi := of.low(in), of.high(in)
		switch {
		case lo == hi:
			text = "use " + of.print(hi)
		case lo > 0 && num.Finite(lo):
			text += " from " + of.print(lo)
		}
		if lo < hi && num.Finite(hi) {
			text += " to " + of.print(hi)
		}
		if num.Finite(hi) {
			text += of.Max.given(in)
		}
	}
	if of.About != "" {
		text += " (" + of.About + ")"
	}
	return text
}

// given are the other inputs by which a bound is what it is: " with gib=100".
func (t Term) given(in inputs) (text string) {
	if t.PerGiB != (Amount{}) {
		text += " with " + inputGiB + "=" + num.Digits(in.numbers[inputGiB], 7)
	}
	if t.PerOp != (Amount{}) {
		text += " with " + inputIOPS + "=" + num.Digits(in.numbers[inputIOPS], 7)
	}
	return text
}

// Levels are those of a service with these inputs, by their keys. Errors: an
// *model.InputError of each input that is unknown, missing or out of range, and of each
// level that is not known; what [Parse] refuses of a model that was made in code.
func (m *Model) Levels(set map[string]string) (Levels, error) {
	if m.Service == "" || len(m.limits) != len(m.Limits) { // made in code
		src, err := WriteModel(m)
		if err != nil {
			return Levels{}, err
		}
		if m, err = Parse(m.Name, src); err != nil {
			return Levels{}, err
		}
	}
	in, err := m.resolve(set)
	out := Levels{Model: m.Name, Cells: m.Cells}
	if err != nil {
		return out, err
	}
	for _, lim := range m.limits {
		level, known := lim.at(in)
		switch {
		case !known:
			problem := "the model does not know the level of " + level.Name()
			for _, name := range level.Inputs {
				problem += ", " + in.text(name)
			}
			err = refuse(err, strings.Join(level.Inputs, ", "), problem, "use other inputs, or a file of your own")
		case math.IsInf(level.Rate[0].Rate, 1): // there is no such limit
		default:
			for _, ways := range lim.ways {
				level.Ways = ways
				out.Limits = append(out.Limits, level)
			}
		}
	}
	if err == nil && len(out.Limits)+len(out.Cells) == 0 {
		err = refuse(nil, strings.Join(m.InputNames(), ", "), "all are none, so that no limit is left", "give one of them")
	}
	return out, err
}

// at is the limit for these inputs; it is not known if a rate is not above 0.
func (l limit) at(in inputs) (out Level, known bool) {
	out = l.Level
	out.Rate = l.rate(in)
	if !(out.Rate[0].Rate > 0) {
		return out, false
	}
	base, burst := out.Rate.Level(), l.burst(in).Level()
	if !(burst > base) || math.IsInf(burst, 1) {
		return out, num.Finite(burst) // or credits would be of no use
	}
	b := Bucket{Burst: burst, Fill: base, Lasts: l.lasts, Start: l.start}
	if l.fill != nil {
		b.Fill = l.fill(in).Level()
	}
	if b.Fill >= burst {
		return out, false // the bucket would never be empty
	}
	b.Size = (burst - b.Fill) * b.Lasts
	if b.Lasts == 0 {
		b.Size = l.size(in).Level()
	}
	out.Bucket = &b
	return out, true
}
