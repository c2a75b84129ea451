package files

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/perf/benchfmt"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
)

// benchLine is a result as `go test -bench` prints it: golang.org/design/14313.
var benchLine = regexp.MustCompile(`(?m)^Benchmark[^\s,;]*[ \t]+[0-9]+[ \t]+[-+0-9.eEinfNaI]+[ \t]+\S`)

// factProcs is the fact that a benchmark's name ends with: "-8" is GOMAXPROCS.
const factProcs = "gomaxprocs"

// factPkg is the line of configuration that names the package of what follows.
const factPkg = "pkg"

// bench reads what `go test -bench` prints: a frame a benchmark and unit, without
// times. A benchmark is called by its package, its name and GOMAXPROCS, whatever else is
// in the file: "example.com/x.Encode-8". Lines of configuration and parts of names such
// as /size=1k are facts.
func (f *file) bench(ctx context.Context) ([]frame.Frame, error) {
	in := benchfmt.NewReader(f.in, f.name)
	b := &benchmarks{file: f, series: make(map[benchKey]*series)}
	for in.Scan() && b.rows <= f.limits.Rows && ctx.Err() == nil {
		switch r := in.Result().(type) {
		case *benchfmt.SyntaxError:
			b.wrong = append(b.wrong, f.wrongAt(r.Line, 1, r.Msg, "give the output of `go test -bench` as it was printed"))
		case *benchfmt.Result:
			b.add(r)
		}
	}
	switch err := in.Err(); {
	case err != nil || ctx.Err() != nil:
		return nil, f.damaged(cmp.Or(ctx.Err(), err))
	case b.rows > f.limits.Rows:
		b.wrong = append(b.wrong, f.wrong(fmt.Sprintf("there are more than %s values",
			num.Grouped(int64(f.limits.Rows))), "give a part of it"))
	}
	if len(b.wrong) > 0 {
		return nil, b.wrong
	}
	return b.frames(in.Units())
}

// benchKey tells results apart that are not measurements of the same.
type benchKey struct{ name, unit string }

// series are the results of one benchmark in one unit.
type series struct {
	benchKey
	values  []float64
	missing noted
	rows    int
	facts   []*frame.Column
	names   []string // of the facts
}

type benchmarks struct {
	file   *file
	keys   []benchKey // in the order of the file
	series map[benchKey]*series
	rows   int
	wrong  model.InputErrors
}

// add adds the values of one line.
func (b *benchmarks) add(r *benchfmt.Result) {
	_, parts := r.Name.Parts()
	key := benchKey{name: inPackage(r.GetConfig(factPkg)) + string(r.Name.Full())}
	var facts [][2]string
	fact := func(name, level string) { // the first of a name, as the file's cpu and not that of /cpu=4
		name = frame.Plain(name)
		if !slices.ContainsFunc(facts, func(f [2]string) bool { return f[0] == name }) {
			facts = append(facts, [2]string{name, level})
		}
	}
	for _, c := range r.Config {
		if c.File {
			fact(c.Key, string(c.Value))
		}
	}
	for _, part := range parts {
		if part[0] == '-' {
			fact(factProcs, string(part[1:]))
		} else if k, v, ok := strings.Cut(string(part[1:]), "="); ok {
			fact(k, v)
		}
	}
	_, line := r.Pos()
	for _, v := range r.Values {
		value := v.Value
		if key.unit = v.Unit; v.OrigUnit != "" {
			key.unit, value = v.OrigUnit, v.OrigValue
		}
		b.value(key, value, line, facts)
	}
}

// value adds one value.
func (b *benchmarks) value(key benchKey, v float64, line int, facts [][2]string) {
	s := b.series[key]
	if s == nil {
		s = &series{benchKey: key}
		b.series[key], b.keys = s, append(b.keys, key)
	}
	b.rows++
	s.rows++
	switch {
	case math.IsNaN(v):
		s.missing.add(func() int { return line })
		return
	case math.IsInf(v, 0):
		if len(b.wrong) < model.MaxInputErrors {
			b.wrong = append(b.wrong, b.file.wrongAt(line, 1, fmt.Sprintf("the value in %s is infinite", key.unit),
				"a measured value is finite"))
		}
		return
	}
	for _, f := range facts {
		s.fact(f[0]).Append(f[1])
	}
	s.values = append(s.values, v)
	s.align()
}

// fact is the column of that name; the rows before have none of it.
func (s *series) fact(name string) *frame.Column {
	i := slices.Index(s.names, name)
	if i < 0 {
		i = len(s.names)
		s.names, s.facts = append(s.names, name), append(s.facts, frame.NewFact(name))
		for range s.values {
			s.facts[i].Append("")
		}
	}
	return s.facts[i]
}

// align gives the facts that the last row does not have an empty level.
func (s *series) align() {
	for _, c := range s.facts {
		if len(c.Fact().Codes) < len(s.values) {
			c.Append("")
		}
	}
}

// inPackage is what the name of a benchmark of that package begins with.
func inPackage(pkg string) string {
	if pkg == "" {
		return ""
	}
	return pkg + "."
}

// frames makes a frame of each benchmark and unit.
func (b *benchmarks) frames(units benchfmt.UnitMetadataMap) (out []frame.Frame, err error) {
	for _, key := range b.keys {
		s := b.series[key]
		f := frame.Frame{Key: frame.Key{Workload: key.name, Metric: key.unit}, Unit: key.unit, Exact: true,
			Values: s.values}
		f.Better = betterOf(units, key.unit)
		for _, c := range s.facts {
			if c.Full() {
				f.Doubts = append(f.Doubts, frame.TooManyLevels(c.Fact().Name))
				continue
			}
			f.Facts = append(f.Facts, c.Fact())
		}
		if s.missing.count > 0 {
			t := table{file: b.file}
			f.Doubts = append(f.Doubts, t.doubtOf(noValue, s.missing, s.rows, f.Workload))
		}
		if f.Len() == 0 {
			b.file.say("%s is left out: no line has a value", f.Name())
			continue
		}
		out = append(out, f)
	}
	if len(out) == 0 {
		return nil, b.file.wrong("no benchmark has a value", "give the output of `go test -bench` as it was printed")
	}
	b.file.say("%s of Go benchmarks", num.Count(b.rows, "value"))
	return out, nil
}

// WriteBench writes frames as `go test -bench` prints results, for benchstat and
// its relatives: a benchmark a workload, metric and phase. Facts that all rows
// share are lines of configuration, as is the package of each benchmark; others are left
// out, as benchstat makes a table of every configuration. Times have no place in the format.
func WriteBench(w io.Writer, frames []frame.Frame) error {
	out := benchfmt.NewWriter(w)
	if err := writeUnits(out, frames); err != nil {
		return fmt.Errorf("writing benchmarks: %w", err)
	}
	config := shared(frames)
	for i := range frames {
		f := &frames[i]
		r := benchfmt.Result{Config: withPackage(config, f), Name: benchfmt.Name(benchName(f)), Iters: 1,
			Values: make([]benchfmt.Value, 1)}
		for _, v := range f.Values {
			r.Values[0] = benchfmt.Value{Value: v, Unit: benchUnit(f)}
			if err := out.Write(&r); err != nil {
				return fmt.Errorf("writing benchmarks: %w", err)
			}
		}
	}
	return nil
}

// writeUnits says which values are better, of units in which all metrics agree.
func writeUnits(out *benchfmt.Writer, frames []frame.Frame) error {
	var units []string
	better := make(map[string]model.Better)
	for i := range frames {
		unit := benchUnit(&frames[i])
		if b, known := better[unit]; !known {
			units, better[unit] = append(units, unit), frames[i].Better
		} else if b != frames[i].Better {
			better[unit] = ""
		}
	}
	var known benchfmt.UnitMetadataMap
	for _, unit := range units {
		b := better[unit]
		if b == "" || b == betterOf(known, unit) {
			continue
		}
		err := out.Write(&benchfmt.UnitMetadata{UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: unit, Key: "better"}, OrigUnit: unit, Value: string(b)})
		if err != nil {
			return err
		}
	}
	return nil
}

func betterOf(units benchfmt.UnitMetadataMap, unit string) model.Better {
	return map[int]model.Better{1: model.Higher, -1: model.Lower}[units.GetBetter(unit)]
}

// shared are the facts that are the same for all rows of all frames.
func shared(frames []frame.Frame) (config []benchfmt.Config) {
	if len(frames) == 0 {
		return nil
	}
	for _, x := range frames[0].Facts {
		level := single(&x)
		differs := func(f frame.Frame) bool { o := f.Fact(x.Name); return o == nil || single(o) != level }
		key := configKey(x.Name)
		if level != "" && key != "" && x.Name != factProcs && x.Name != factPkg &&
			!slices.ContainsFunc(frames, differs) {
			config = append(config, benchfmt.Config{Key: key, Value: []byte(strings.Join(strings.Fields(level), " ")), File: true})
		}
	}
	return config
}

// withPackage is the configuration of a frame's results: the shared one, and the package.
func withPackage(shared []benchfmt.Config, f *frame.Frame) []benchfmt.Config {
	x := f.Fact(factPkg)
	if x == nil || single(x) == "" {
		return shared
	}
	return append(slices.Clone(shared), benchfmt.Config{Key: factPkg, Value: []byte(single(x)), File: true})
}

// single is the level that all rows have; empty where there are several.
func single(x *frame.Fact) string {
	for _, c := range x.Codes {
		if c != x.Codes[0] {
			return ""
		}
	}
	if len(x.Codes) == 0 {
		return ""
	}
	return x.Level(0)
}

// configKey is a fact's name as a key of configuration: it begins with a small
// letter and has neither spaces nor capitals nor colons.
func configKey(name string) string {
	key := strings.ReplaceAll(frame.Plain(name), ":", "_")
	if key = word(key); key != "" && !unicode.IsLower([]rune(key)[0]) {
		key = "fact_" + key
	}
	return key
}

// benchName is the name of a benchmark without "Benchmark".
func benchName(f *frame.Frame) string {
	name := f.Workload
	if x := f.Fact(factPkg); x != nil {
		name = strings.TrimPrefix(name, inPackage(single(x)))
	}
	if name == "" {
		name = f.Metric
	} else if f.Metric != benchUnit(f) {
		name += "/metric=" + f.Metric
	}
	if f.Phase != "" && f.Phase != model.Parallel {
		name += "/phase=" + string(f.Phase)
	}
	letters := []rune(cmp.Or(word(name), "Value"))
	letters[0] = unicode.ToUpper(letters[0])
	name = string(letters)
	if x := f.Fact(factProcs); x != nil && !strings.HasSuffix(name, "-"+single(x)) && single(x) != "" {
		name += "-" + single(x)
	}
	return name
}

// benchUnit is the unit of a frame; one is needed.
func benchUnit(f *frame.Frame) string { return word(cmp.Or(f.Unit, f.Metric)) }

// word is text without spaces.
func word(text string) string { return strings.Join(strings.Fields(text), "_") }

// isBench reports whether a file begins as the output of Go benchmarks does.
func isBench(beginning []byte) bool {
	return benchLine.Match(beginning) || bytes.HasPrefix(beginning, []byte("goos: "))
}
