// Package frame is measurements in columns: the values of one metric, when they
// were measured, and the facts that were known of each.
//
//  1. Runs and campaigns become frames by package observe, files by package
//     frame/files: one [Frame] a metric.
//  2. [Join] puts frames of several sources together; [Frame.Where] and
//     [Frame.Groups] take them apart.
//  3. Studies that ask of measurements, wherever they came from, read frames
//     (study.Kind.Takes).
//
// Columns are plain slices, so that ten million rows take some hundred megabytes.
package frame

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// Key is what the rows of a frame have in common.
type Key struct {
	Workload string `json:"workload,omitempty"`
	Metric   string `json:"metric"` // with its labels: "score{test=pipe}"
	// Phase: serial and parallel treatments measure different things.
	Phase model.Phase `json:"phase,omitempty"`
}

// Name is the key for people: "disk write_rate", or the metric alone where the
// workload has its name. The phase is in it unless it is that of all nodes at once.
func (k Key) Name() string {
	name := k.Metric
	if k.Workload != "" && k.Workload != k.Metric {
		name = k.Workload + " " + name
	}
	if k.Phase != "" && k.Phase != model.Parallel {
		name += " (" + string(k.Phase) + ")"
	}
	return name
}

// Matches reports whether people may mean the key by this name: that which it is
// printed by ([Key.Name]), with or without its phase, or its metric, with or
// without the workload ("disk write_rate", "disk/write_rate") and the labels.
func (k Key) Matches(name string) bool {
	bare, _, _ := strings.Cut(k.Metric, "{")
	if name == k.Name() || name == k.Metric || name == bare {
		return true
	}
	metric, of := strings.CutPrefix(name, k.Workload)
	return of && k.Workload != "" && metric != "" && strings.ContainsRune(" /", rune(metric[0])) && slices.Contains([]string{k.Metric, bare}, metric[1:])
}

// Frame is measurements of one metric, a row each. It is to be read only.
type Frame struct {
	Key
	Unit   string       `json:"unit,omitempty"` // of the values
	Better model.Better `json:"better,omitempty"`
	// Info: the metric describes what was measured and is not a capacity.
	Info bool `json:"info,omitempty"`
	// Exact: workload and metric are the whole name of what was measured, so that what is
	// called otherwise elsewhere is something else.
	Exact bool `json:"exact,omitempty"`
	// Values are finite. Rows are in the order of Times; without times in that
	// in which they were measured.
	Values []float64 `json:"values"`
	// Times are when each was measured, in nanoseconds since 1970 (UTC); nil: not
	// known.
	Times []int64 `json:"times,omitempty"`
	Facts []Fact  `json:"facts,omitempty"`
	// Ends are the interval of each value that has one of its own, as what a search
	// found has; the zero value: none. nil: no value has one.
	Ends [][2]float64 `json:"ends,omitempty"`
	// Doubts are what speaks against the rows: what was left out, and why; what
	// disturbed them.
	Doubts []model.Doubt `json:"doubts,omitempty"`
}

// Fact is something known of each row: a level of a factor, such as the zone.
type Fact struct {
	Name string `json:"name"` // "zone", "cpu_model", "node"
	// Levels are the values there are, each once; Levels[0] is "", not known.
	Levels []string `json:"levels"`
	// Codes are one a row: the index of its level.
	Codes []uint16 `json:"codes"`
}

// Facts that frames of runs and campaigns have; others are the nodes' labels.
const (
	FactSubject    = "node" // or the pair of nodes
	FactTrial      = "trial"
	FactBlock      = "block"
	FactRun        = "run"
	FactRepetition = "repetition" // of a campaign, a level each
	FactDisturbed  = "disturbed"  // "no", or by what
	FactVersion    = "version"    // of the scalebench that made the run
	FactFile       = "file"       // a checksum of the experiment file
	FactCensored   = "censored"   // Censored where a value is only a lower bound, or "no"
)

// FactsOfRuns are those of a row itself, and of no node that measured it.
func FactsOfRuns() []string {
	return []string{FactTrial, FactBlock, FactRun, FactRepetition, FactDisturbed, FactVersion, FactFile, FactCensored}
}

// Censored is the level of [FactCensored] of a value that is only a lower bound.
const Censored = "at least"

// Bounds says of each row whether its value is only a lower bound; nil: [FactCensored] does
// not tell. A column of that name with other levels is the user's own.
func (f *Frame) Bounds() []bool {
	x := f.Fact(FactCensored)
	if x == nil || slices.ContainsFunc(x.Levels, func(level string) bool {
		return !slices.Contains([]string{"", "no", Censored}, level)
	}) {
		return nil
	}
	out := make([]bool, f.Len())
	for row := range out {
		out[row] = x.Level(row) == Censored
	}
	return out
}

// MostLevels is how many values a fact may have. A column with more tells rows
// apart and explains none.
const MostLevels = math.MaxUint16

// Len is the number of rows.
func (f *Frame) Len() int { return len(f.Values) }

// Fact finds a fact by its name, or by one that is the same for people ([Plain]);
// nil where the frame has none.
func (f *Frame) Fact(name string) *Fact {
	for i := range f.Facts {
		if f.Facts[i].Name == name {
			return &f.Facts[i]
		}
	}
	for i := range f.Facts {
		if Plain(f.Facts[i].Name) == Plain(name) {
			return &f.Facts[i]
		}
	}
	return nil
}

// Plain is a name as names are compared, and as facts of files are called: "CPU
// model" is cpu_model.
func Plain(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), " ", "_")
}

// Words is Plain of a name that may have its words in camelCase: "elapsedTime" is elapsed_time.
// Names that tables are known to have are compared with it, too.
func Words(name string) string {
	runes := []rune(strings.TrimSpace(name))
	var b strings.Builder
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) {
			before, next := runes[i-1], runes[min(i+1, len(runes)-1)]
			if unicode.IsLower(before) || unicode.IsDigit(before) || unicode.IsUpper(before) && unicode.IsLower(next) {
				b.WriteByte('_')
			}
		}
		b.WriteRune(r)
	}
	return Plain(b.String())
}

// Machines are names that tables have for what was measured, besides node. From
// LeastMachines levels on they are nodes: a server may be one of two products, and an
// instance one of three types.
var Machines = []string{"machine", "host", "hostname", "server", "instance", "vm"}

// LeastMachines is how many levels a column of Machines has at least if it tells nodes.
const LeastMachines = 5

// InWords is what a fact of nodes is called in sentences. A column of a table keeps the
// name that its owner gave it.
func InWords(fact string) string {
	switch fact {
	case "cpu_model":
		return "CPU model"
	case "instance_type":
		return "instance type"
	}
	return fact
}

// WithRuns is the frame with the fact run: of repetitions of a campaign, which are
// runs, by the name that run gives each. Other frames stay as they are.
func (f Frame) WithRuns(run func(repetition string) string) Frame {
	of := f.Fact(FactRepetition)
	if of == nil || f.Fact(FactRun) != nil {
		return f
	}
	x := Fact{Name: FactRun, Levels: slices.Clone(of.Levels), Codes: of.Codes}
	for i := range x.Levels[1:] {
		x.Levels[i+1] = run(of.Levels[i+1])
	}
	f.Facts = append(slices.Clone(f.Facts), x)
	return f
}

// Magnitudes of values that can be computed with: squares of others, and products
// of those with the number of rows, are no longer numbers or have lost their
// digits.
const leastMagnitude, mostMagnitude = 1e-150, 1e150

// Check refuses values with which nothing can be computed: *model.InputError.
func (f *Frame) Check() error {
	top := 0.0
	for _, v := range f.Values {
		top = max(top, math.Abs(v))
	}
	if top == 0 || top >= leastMagnitude && top <= mostMagnitude {
		return nil
	}
	return &model.InputError{
		Problem: fmt.Sprintf("the largest value of %s is %.4g, and only values from %.0e to %.0e can be computed with", f.Name(), top, leastMagnitude, mostMagnitude),
		Allowed: "give the values in another unit, or leave out what is no measurement",
	}
}

// Level is the level of a row.
func (x *Fact) Level(row int) string { return x.Levels[x.Codes[row]] }

// Groups are the rows of each level that has any, by the order of the levels.
// Rows of which the level is not known are in none.
func (x *Fact) Groups() (levels []string, rows [][]int32) {
	count := make([]int, len(x.Levels))
	for _, c := range x.Codes {
		count[c]++
	}
	all := make([][]int32, len(x.Levels))
	for i, c := range x.Codes {
		if c == 0 {
			continue
		}
		if all[c] == nil {
			all[c] = make([]int32, 0, count[c])
		}
		all[c] = append(all[c], int32(i)) //nolint:gosec // fewer rows than that
	}
	for c, r := range all {
		if len(r) > 0 {
			levels, rows = append(levels, x.Levels[c]), append(rows, r)
		}
	}
	return levels, rows
}

// Where is the rows for which keep is true.
func (f *Frame) Where(keep func(row int) bool) *Frame {
	var rows []int32
	for i := range f.Len() {
		if keep(i) {
			rows = append(rows, int32(i)) //nolint:gosec // fewer rows than that
		}
	}
	return f.take(rows)
}

// take is these rows, in their order.
func (f *Frame) take(rows []int32) *Frame {
	out := *f
	out.Values = pick(f.Values, rows)
	out.Times = pick(f.Times, rows)
	out.Ends = pick(f.Ends, rows)
	out.Facts = slices.Clone(f.Facts)
	for i, x := range f.Facts {
		out.Facts[i].Codes = pick(x.Codes, rows)
	}
	return &out
}

// pick is the values of these rows; nil of no column.
func pick[T any](column []T, rows []int32) []T {
	if column == nil {
		return nil
	}
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = column[r]
	}
	return out
}

// ByTime is the rows in the order of their times; those of one time stay in
// theirs.
func (f *Frame) ByTime() *Frame {
	if f.Times == nil || slices.IsSorted(f.Times) {
		return f
	}
	keys := make([]uint64, f.Len())
	for i, t := range f.Times {
		keys[i] = uint64(t) ^ 1<<63 // the sign last
	}
	return f.take(stats.Order(keys))
}

// Distinct reports whether times, nodes, trials or runs tell rows apart, so that equal
// values are not copies of one.
func (f *Frame) Distinct() bool {
	if f.Times != nil && slices.Min(f.Times) != slices.Max(f.Times) {
		return true
	}
	return slices.ContainsFunc(f.Facts, func(x Fact) bool {
		return slices.Contains([]string{FactSubject, FactTrial, FactBlock, FactRun, FactRepetition}, x.Name) &&
			slices.Min(x.Codes) != slices.Max(x.Codes)
	})
}

// Choice is which columns of a file a user means.
type Choice struct {
	// Value is the column of the measured values, Time that of the times; empty:
	// guessed, and said.
	Value, Time string
	// By are the columns that are facts; none: all with few enough values.
	By []string
	// Later are facts that By may name although no column has them: the study adds them,
	// such as the source or the hour.
	Later []string
	// NoBy: the command has no --by, so that nothing advises it.
	NoBy bool
	// Facts are further columns that a study asks for as facts, whatever else their
	// names may mean.
	Facts []string
	// Beside: the file is only compared with, such as a baseline. What is chosen
	// beside the values it need not have.
	Beside bool
	// Zone is the name of the time zone of times that do not say theirs, such as
	// "Europe/Berlin"; empty: UTC.
	Zone string
}
