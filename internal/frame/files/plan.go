package files

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
)

// Columns with these names say what a row is about: rows that differ in one of
// them are measurements of different things. A table of scalebench has them.
const (
	keyWorkload = iota
	keyMetric
	keyLabels
	keyPhase
	keyUnit
	keyBetter
	keyInfo
	keyCounted
	keys
)

var keyNames = [keys]string{"workload", "metric", "labels", "phase", "unit", "better", "info", "counted"}

// Tables of others in long form have other names for the metric of a row, such as
// Prometheus, InfluxDB and pandas' melt; and for what was done, in columns that may as
// well name the rows (rowNames): those count only where they repeat.
var (
	metricNames = []string{"metric_name", "__name__", "_field", "variable", "measure", "counter"}
	rowNames    = []string{"benchmark", "_measurement", "test", "name"}
	// kpiNames are those of the metric alone, where they repeat.
	kpiNames = []string{"kpi", "kpi_name"}
)

// valueNames and timeNames are how columns of measured values and of their times
// are mostly called; the first one is ours.
var (
	valueNames = []string{"value", "_value", "score", "result", "measurement", "time", "duration", "latency",
		"throughput", "bandwidth", "runtime", "elapsed", "elapsed_time", "response_time", "rate", "iops", "seconds",
		"milliseconds", "real", "mean"}
	timeNames = []string{"time", "_time", "timestamp", "datetime", "date_time", "started", "start", "start_time",
		"begin", "at", "when", "date", "ts", "epoch", "unix_time", "unixtime", "measured_at", "created_at", "ended",
		"end"}
	// noFacts are columns of our own tables that name one attempt or say what is
	// known without them.
	noFacts = []string{"task", "attempt", "outcome", "ended", "resource", "info", "counted"}
	// noValues are numbers that tell rows apart.
	noValues = []string{"#", frame.FactTrial, frame.FactBlock, frame.FactRepetition, frame.FactRun, frame.FactSubject, "id", "index", "iteration", "seed", "hour", "weekday", "day", "year", "month"}
)

// plan is which columns of a table are read, and as what: indices of columns; -1
// where there is none.
type plan struct {
	*file
	columns     []column
	byName      [3]map[string]int // the first of each name, plain name, and words
	value, time int
	ofDay       int // times of day beside a column of dates
	keys        [keys]int
	facts       []int
	asked       []int // facts that the study asks for, whatever they hold but times
	chosen      bool  // the facts are those that the user named
	style       style
	semicolons  bool // are between cells
}

// keyed reports whether any column says what a row is about.
func (p *plan) keyed() bool { return slices.Max(p.keys[:]) >= 0 }

// newPlan finds out which columns are meant.
func newPlan(f *file, columns []column, semicolons bool) (*plan, error) {
	choice := f.choice
	p := &plan{file: f, semicolons: semicolons, columns: columns, value: -1, time: -1, ofDay: -1}
	wrong := p.index()
	find := func(flag, wanted string) int {
		i := p.find(wanted)
		switch {
		case wanted == "":
		case i < 0:
			wrong = append(wrong, p.unknown(flag, wanted))
		case columns[i].odd != "":
			wrong = append(wrong, p.wrong(fmt.Sprintf("the column %q %s", columns[i].name, columns[i].odd),
				"choose another with "+flag))
		}
		return i
	}
	if choice.Beside {
		if choice.By = nil; p.find(choice.Time) < 0 {
			choice.Time = ""
		}
	}
	p.value, p.time = find("--value", choice.Value), find("--time", choice.Time)
	if p.time >= 0 && columns[p.time].ofSlashes() {
		wrong = append(wrong, p.wrong(fmt.Sprintf("--time cannot read %s in column %s, as it is not clear "+
			"whether the day or the "+
			"month is first", columns[p.time].slashes, columns[p.time].name), slashesAllowed))
	}
	for _, by := range choice.By {
		if p.find(by) < 0 && slices.Contains(choice.Later, frame.Plain(by)) {
			continue
		}
		if i := find("--by", by); i >= 0 && !slices.Contains(p.facts, i) {
			p.facts = append(p.facts, i)
		}
	}
	p.chosen = len(p.facts) > 0
	p.ask(choice.Facts)
	p.findKeys()
	if len(wrong) > 0 {
		return nil, wrong
	}
	if err := p.guessTime(); err != nil {
		return nil, err
	}
	p.findOfDay()
	if err := p.guessValue(); err != nil {
		return nil, err
	}
	if err := p.checkMarks(); err != nil {
		return nil, err
	}
	p.tellSlashes()
	p.guessFacts()
	return p, nil
}

// ask finds the columns that the study asks for as facts: they are no values, and no
// number of levels is too many. Those of times stay times.
func (p *plan) ask(facts []string) {
	for _, name := range facts {
		i := p.find(name)
		if i < 0 || i == p.value || i == p.time {
			continue
		}
		if c := &p.columns[i]; c.kind != kindTime && (c.kind != kindUnix || !c.named(timeNames)) {
			p.asked = append(p.asked, i)
		}
	}
}

// index notes the columns by their names, and refuses those that appear twice.
func (p *plan) index() (wrong model.InputErrors) {
	for k := range p.byName {
		p.byName[k] = make(map[string]int, len(p.columns))
	}
	for i := range p.columns {
		c := &p.columns[i]
		if _, twice := p.byName[1][c.plain]; twice {
			wrong = append(wrong, p.wrong(fmt.Sprintf("the column %q appears twice", c.name), "rename one of them"))
		}
		for k, name := range []string{c.name, c.plain, c.words} {
			if _, there := p.byName[k][name]; !there {
				p.byName[k][name] = i
			}
		}
	}
	return wrong
}

// findKeys finds the columns that say what a row is about. Some have that meaning
// only in our own tables.
func (p *plan) findKeys() {
	ours := p.find(keyNames[keyMetric]) >= 0
	for k, key := range keyNames {
		i := p.find(key)
		if i >= 0 && (i == p.value || i == p.time || p.columns[i].odd != "" || !ours && (k == keyLabels || k == keyInfo || k == keyCounted)) {
			i = -1
		}
		p.keys[k] = i
	}
	p.findNames(metricNames, keyMetric)
	p.findNames(kpiNames, keyMetric)
	p.findNames(rowNames, keyWorkload, keyMetric)
}

// findNames finds columns that have other names for what keys are about, and tells.
func (p *plan) findNames(names []string, keys ...int) {
	for _, name := range names {
		free := slices.IndexFunc(keys, func(k int) bool { return p.keys[k] < 0 })
		i := p.known(name)
		if free < 0 || i < 0 || !p.free(i) || slices.Contains(p.facts, i) {
			continue
		}
		c := &p.columns[i]
		if c.kind != kindText || c.levels != nil && !c.repeats() {
			continue
		}
		p.keys[keys[free]] = i
		p.say("rows that differ in column %s are different metrics%s", c.name,
			p.advice("; --by %s makes it a fact", c.name))
	}
}

// advice is what the user may do with --by; empty where the command has none.
func (f *file) advice(format string, args ...any) string {
	if f.choice.NoBy {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// find is the column of that name; -1 where there is none.
func (p *plan) find(name string) int {
	if i, there := p.byName[0][name]; there {
		return i
	}
	if i, there := p.byName[1][frame.Plain(name)]; there {
		return i
	}
	return -1
}

// known is the column of a name that tables are known to have, perhaps in camelCase.
func (p *plan) known(name string) int {
	if i := p.find(name); i >= 0 {
		return i
	}
	if i, there := p.byName[2][name]; there {
		return i
	}
	return -1
}

func (p *plan) names(these func(i int) bool) (names []string) {
	for i := range p.columns {
		if these(i) {
			names = append(names, p.columns[i].name)
		}
	}
	return names
}

func (p *plan) unknown(flag, wanted string) *model.InputError {
	all := p.names(func(int) bool { return true })
	allowed := "the columns are " + num.List(all)
	if near := num.Suggest(wanted, all); near != "" {
		allowed = fmt.Sprintf("did you mean %q? The columns are %s", near, num.List(all))
	}
	return p.wrong(fmt.Sprintf("there is no column %q for %s", wanted, flag), allowed)
}

// free reports whether a column may be guessed to be something.
func (p *plan) free(i int) bool {
	return i != p.value && i != p.time && i != p.ofDay && !slices.Contains(p.keys[:], i) &&
		!slices.Contains(p.asked, i) && (!p.chosen || !slices.Contains(p.facts, i)) && p.columns[i].odd == ""
}

// guessTime looks for the column of times, unless it is chosen.
func (p *plan) guessTime() error {
	if p.time >= 0 {
		return nil
	}
	isTime := func(i int) bool {
		c := &p.columns[i]
		return p.free(i) && (c.kind == kindTime && !c.ofVersion() || c.kind == kindUnix && c.named(timeNames))
	}
	for _, name := range timeNames {
		if i := p.known(name); i >= 0 && isTime(i) {
			p.time = i
			break
		}
	}
	if all := p.names(isTime); p.time < 0 && len(all) > 1 {
		return p.wrong("it is not clear which column has the times: "+num.List(all), "choose one with --time")
	} else if p.time < 0 && len(all) == 1 {
		p.time = p.find(all[0])
	}
	if p.time >= 0 {
		c := &p.columns[p.time]
		p.say("the times are in column %s; --time chooses another", c.name)
		if c.slashed > 0 {
			p.say("dates in column %s have the %s", c.name, c.order)
		}
		return nil
	}
	for i := range p.columns {
		c := &p.columns[i]
		if p.free(i) && c.kind == kindText && !c.ofSlashes() && c.named(timeNames) {
			p.say("column %s has texts that are not read as times, and the order of the rows counts; write them "+
				"as 2026-01-31T12:00:00Z or 2026-01-31 12:00", c.name)
		}
	}
	return nil
}

// findOfDay finds the column of times of day, where that of the times has dates.
func (p *plan) findOfDay() {
	if p.time < 0 || p.columns[p.time].dates == 0 || p.columns[p.time].dates < p.columns[p.time].cells() {
		return
	}
	all := p.names(func(i int) bool { c := &p.columns[i]; return p.free(i) && c.clocks > 0 && c.clocks == c.cells() })
	if len(all) == 1 {
		p.ofDay = p.find(all[0])
		p.say("the times of day are in column %s", all[0])
	}
}

// guessValue looks for the column of measured values, unless it is chosen: by
// its name, or as the only one with numbers.
func (p *plan) guessValue() error {
	if p.value >= 0 {
		return nil
	}
	// Cells with units are measured values if nothing else is: sizes and speeds of
	// machines are written like that, too.
	var named []string
	for _, is := range []func(c *column) bool{
		func(c *column) bool {
			return (c.kind.numeric() || c.kind == kindQuantity) && c.named(valueNames)
		},
		func(c *column) bool { return c.kind.numeric() && !c.tellsApart() },
		func(c *column) bool { return c.kind == kindQuantity && !c.tellsApart() },
	} {
		if len(named) == 0 || p.count(named) {
			if better := p.names(func(i int) bool { return p.free(i) && is(&p.columns[i]) }); len(better) > 0 {
				named = better
			}
		}
	}
	if p.count(named) && p.durations(false) >= 0 {
		return p.noValues()
	}
	if i := p.find(valueNames[0]); i >= 0 && p.free(i) {
		named = []string{p.columns[i].name} // whatever it holds: cells that are no numbers are refused
	}
	switch len(named) {
	case 1:
		p.value = p.find(named[0])
		p.say("the values are in column %s; --value chooses another", named[0])
		return nil
	case 0:
		return p.noValues()
	}
	allowed := "choose one with --value"
	for _, name := range named {
		if p.time < 0 && p.columns[p.find(name)].kind == kindUnix {
			allowed += fmt.Sprintf(", and the times with --time %s if these are", name)
			break
		}
	}
	return p.wrong("it is not clear which column has the measured values: "+num.List(named), allowed)
}

// count reports whether columns do nothing but count the rows.
func (p *plan) count(named []string) bool {
	return len(named) > 0 && !slices.ContainsFunc(named, func(name string) bool {
		c := &p.columns[p.find(name)]
		return !c.counts() || c.named(valueNames)
	})
}

// checkMarks refuses values of which it is not clear what their marks or units mean.
func (p *plan) checkMarks() error {
	c := &p.columns[p.value]
	may, all := c.marks.asThousands(p.semicolons)
	if may && all {
		p.say("the points in column %s are taken as decimal marks: %s is a little "+
			"more than %s", c.name, c.marks.example, strings.Split(c.marks.example, ".")[0])
	}
	if c.marks.unclear() || may && !all {
		problem, allowed := c.marks.problem(c.name)
		if may {
			allowed += "; 1.0500 is clear where 1.050 is not"
		}
		return p.wrongAt(c.marks.line, c.marks.col, problem, allowed)
	}
	p.style = p.styleOf(c)
	s := &p.style
	if !s.units {
		return nil
	}
	if p.keys[keyUnit] >= 0 {
		return p.wrong(fmt.Sprintf("there are units in the cells of column %s and in column %s", c.name,
			p.columns[p.keys[keyUnit]].name), "leave one of them out")
	}
	for i, u := range c.marks.units {
		if _, ok := convert(u, s.to); !ok {
			var at [2]int
			if i < len(c.marks.unitAt) {
				at = c.marks.unitAt[i]
			}
			return p.wrongAt(at[0], at[1], fmt.Sprintf("column %s has values in %q and in %q", c.name, s.to, u),
				"give all in one unit, or in units that convert, such as ms and s")
		}
	}
	c.unit = s.to
	return nil
}

// tellSlashes tells which columns may be times and are not read.
func (p *plan) tellSlashes() {
	for i, c := range p.columns {
		if p.time < 0 && p.free(i) && c.ofSlashes() {
			p.say("column %s is left out: it looks like dates, and in %s it is not clear whether the day or the "+
				"month is first; write 2026-04-03 to have times", c.name, c.slashes)
		}
	}
}

// mostFacts are taken unless they are named: each pair of them is looked at.
const mostFacts = 1000

// guessFacts takes all other columns as facts, unless some are chosen. Those with
// too many different values show themselves only when all is read.
func (p *plan) guessFacts() {
	if p.chosen {
		return
	}
	ours, left := p.keys[keyMetric] >= 0, 0
	for i, c := range p.columns {
		switch {
		case i == p.value || i == p.time || i == p.ofDay || slices.Contains(p.keys[:], i) ||
			ours && slices.Contains(noFacts, c.plain):
		case c.odd != "":
			p.say("column %s is left out: it %s", c.name, c.odd)
		case p.time < 0 && c.ofSlashes():
		case c.kind == kindTime && !c.ofVersion():
			p.say("column %s is left out: it has times, which are no fact%s", c.name,
				p.advice("; --by %s takes it nevertheless", c.name))
		case len(p.facts) == mostFacts:
			left++
		default:
			p.facts = append(p.facts, i)
		}
	}
	if left > 0 {
		p.say("left out: %s after the first %d that may be facts%s", num.Count(left, "column"), mostFacts,
			p.advice("; --by takes those that it names"))
	}
}
