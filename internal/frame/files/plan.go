package files

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
)

// kind is what a column holds, as far as its first rows tell.
type kind uint8

const (
	kindEmpty  kind = iota
	kindNumber      // numbers, perhaps Unix times
	kindUnix        // numbers that would be times after 1973
	kindTime        // dates and times
	kindText
	kinds int = iota
)

// kindOf is what a cell holds.
func kindOf(cell []byte, c *clock) kind {
	if missing(cell) {
		return kindEmpty
	} else if v, ok := number(cell); ok {
		if v >= 1e8 && v < 9.2e18 {
			return kindUnix
		}
		return kindNumber
	} else if _, _, _, ok := c.read(cell); ok {
		return kindTime
	} else if infinite(cell) {
		return kindNumber
	}
	return kindText
}

// look looks at a cell of the column.
func (c *column) look(cell []byte, by *clock) {
	k := kindOf(cell, by)
	switch {
	case k == kindNumber && bytes.IndexByte(cell, '.') >= 0:
		c.marks.points++
	case k == kindText && slashed.Match(cell):
		if c.slashed++; c.slashes == "" {
			c.slashes = string(cell)
		}
	case k == kindText && c.commas && c.marks.look(cell):
		k = kindNumber
	}
	c.seen[k]++
}

// slashed is how dates with slashes begin that may have the day or the month
// first.
var slashed = regexp.MustCompile(`^\d{1,2}/\d{1,2}/\d{2,4}\b`)

// judge says what the column holds. In one that is named as values or times are,
// few cells of another kind are mistakes, to be refused where they are.
func (c *column) judge() {
	numbers, times := c.seen[kindNumber]+c.seen[kindUnix], c.seen[kindUnix]+c.seen[kindTime]
	all := numbers + c.seen[kindTime] + c.seen[kindText]
	enough := func(names []string) int {
		if slices.Contains(names, frame.Plain(c.name)) {
			return (all + 1) / 2
		}
		return all
	}
	switch {
	case all == 0:
		c.kind = kindEmpty
	case c.seen[kindTime] > 0 && times >= enough(timeNames):
		c.kind = kindTime
	case c.seen[kindUnix] >= enough(timeNames):
		c.kind = kindUnix
	case numbers >= enough(valueNames):
		c.kind = kindNumber
	default:
		c.kind = kindText
	}
}

// ofSlashes reports whether the column has nothing but dates with slashes.
func (c *column) ofSlashes() bool {
	return c.kind == kindText && c.slashed > 0 && c.slashed == c.seen[kindText]
}

func (k kind) numeric() bool { return k == kindNumber || k == kindUnix }

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

// valueNames and timeNames are how columns of measured values and of their times
// are mostly called; the first one is ours.
var (
	valueNames = []string{"value", "score", "result", "measurement", "time", "duration", "latency", "throughput", "bandwidth",
		"runtime", "elapsed", "elapsed_time", "response_time", "rate", "iops", "seconds", "milliseconds", "real", "mean"}
	timeNames = []string{"time", "timestamp", "datetime", "date_time", "started", "start", "start_time", "begin", "at", "when", "date", "ts", "epoch", "unix_time", "unixtime", "measured_at", "created_at", "ended", "end"}
	// noFacts are columns of our own tables that name one attempt or say what is
	// known without them.
	noFacts = []string{"task", "attempt", "outcome", "ended", "resource", "info", "counted"}
	// noValues are numbers that tell rows apart.
	noValues = []string{frame.FactTrial, frame.FactBlock, frame.FactRepetition, frame.FactRun, frame.FactSubject, "id", "index", "iteration", "seed", "hour", "weekday", "day", "year", "month"}
)

// column is a column of a table.
type column struct {
	name string // as the file has it, without its unit
	unit string // as in "latency (ms)"
	kind kind
	seen [kinds]int // how many cells of each kind are in the first rows
	// odd says why it cannot be read; empty: it can.
	odd string
	// commas: numbers may have decimal commas, for no comma separates cells.
	commas  bool
	marks   marks
	slashed int // how many of the first cells are dates with slashes, such as slashes
	slashes string
}

// newColumn takes a name apart.
func newColumn(number int, header string) column {
	c := column{name: strings.TrimSpace(header)}
	for _, brackets := range []string{"()", "[]"} {
		begin := strings.IndexByte(c.name, brackets[0])
		if begin > 0 && strings.HasSuffix(c.name, brackets[1:]) {
			c.name, c.unit = strings.TrimSpace(c.name[:begin]), strings.TrimSpace(c.name[begin+1:len(c.name)-1])
		}
	}
	if c.name == "" {
		c.name = fmt.Sprintf("column %d", number)
	}
	return c
}

// plan is which columns of a table are read, and as what: indices of columns; -1
// where there is none.
type plan struct {
	columns     []column
	value, time int
	keys        [keys]int
	facts       []int
	chosen      bool // the facts are those that the user named
	told        []string
}

// keyed reports whether any column says what a row is about.
func (p *plan) keyed() bool { return slices.Max(p.keys[:]) >= 0 }

// newPlan finds out which columns are meant.
func newPlan(name string, columns []column, choice frame.Choice) (*plan, error) {
	p := &plan{columns: columns, value: -1, time: -1}
	var wrong model.InputErrors
	for i, c := range columns {
		if slices.ContainsFunc(columns[:i], func(o column) bool { return frame.Plain(o.name) == frame.Plain(c.name) }) {
			wrong = append(wrong, &model.InputError{File: name, Problem: fmt.Sprintf("the column %q appears twice", c.name), Allowed: "rename one of them"})
		}
	}
	find := func(flag, wanted string) int {
		i := p.find(wanted)
		switch {
		case wanted == "":
		case i < 0:
			wrong = append(wrong, p.unknown(name, flag, wanted))
		case columns[i].odd != "":
			wrong = append(wrong, &model.InputError{File: name, Problem: fmt.Sprintf("the column %q %s", columns[i].name, columns[i].odd), Allowed: "choose another with " + flag})
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
		wrong = append(wrong, &model.InputError{File: name, Problem: fmt.Sprintf("--time cannot read %s in column %s, as it is not clear whether the day or the month is first", columns[p.time].slashes, columns[p.time].name), Allowed: "write 2026-04-03"})
	}
	p.chosen = len(choice.By) > 0
	for _, by := range choice.By {
		if i := find("--by", by); i >= 0 && !slices.Contains(p.facts, i) {
			p.facts = append(p.facts, i)
		}
	}
	p.findKeys()
	if len(wrong) > 0 {
		return nil, wrong
	}
	if err := cmp.Or(p.guessTime(name), p.guessValue(name)); err != nil {
		return nil, err
	}
	if err := p.checkMarks(name); err != nil {
		return nil, err
	}
	p.tellSlashes()
	p.guessFacts()
	return p, nil
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
}

// find is the column of that name; -1 where there is none.
func (p *plan) find(name string) int {
	for _, same := range []func(c column) bool{
		func(c column) bool { return c.name == name },
		func(c column) bool { return frame.Plain(c.name) == frame.Plain(name) },
	} {
		if i := slices.IndexFunc(p.columns, same); i >= 0 {
			return i
		}
	}
	return -1
}

func (p *plan) names(these func(i int) bool) (names []string) {
	for i, c := range p.columns {
		if these(i) {
			names = append(names, c.name)
		}
	}
	return names
}

func (p *plan) unknown(file, flag, wanted string) *model.InputError {
	all := p.names(func(int) bool { return true })
	allowed := "the columns are " + num.List(all)
	if near := num.Suggest(wanted, all); near != "" {
		allowed = fmt.Sprintf("did you mean %q? The columns are %s", near, num.List(all))
	}
	return &model.InputError{File: file, Problem: fmt.Sprintf("there is no column %q for %s", wanted, flag), Allowed: allowed}
}

// free reports whether a column may be guessed to be something.
func (p *plan) free(i int) bool {
	return i != p.value && i != p.time && !slices.Contains(p.keys[:], i) && (!p.chosen || !slices.Contains(p.facts, i)) && p.columns[i].odd == ""
}

// guessTime looks for the column of times, unless it is chosen.
func (p *plan) guessTime(file string) error {
	if p.time >= 0 {
		return nil
	}
	isTime := func(i int) bool {
		c := p.columns[i]
		return p.free(i) && (c.kind == kindTime || c.kind == kindUnix && slices.Contains(timeNames, frame.Plain(c.name)))
	}
	for _, name := range timeNames {
		if i := p.find(name); i >= 0 && isTime(i) {
			p.time = i
			break
		}
	}
	if all := p.names(isTime); p.time < 0 && len(all) > 1 {
		return &model.InputError{File: file, Problem: "it is not clear which column has the times: " + num.List(all), Allowed: "choose one with --time"}
	} else if p.time < 0 && len(all) == 1 {
		p.time = p.find(all[0])
	}
	if p.time >= 0 {
		p.told = append(p.told, fmt.Sprintf("the times are in column %s; --time chooses another", p.columns[p.time].name))
		return nil
	}
	for i, c := range p.columns {
		if p.free(i) && c.kind == kindText && !c.ofSlashes() && slices.Contains(timeNames, frame.Plain(c.name)) {
			p.told = append(p.told, fmt.Sprintf("column %s has texts that are not read as times, and the order of the rows counts; write them as 2026-01-31T12:00:00Z or 2026-01-31 12:00", c.name))
		}
	}
	return nil
}

// guessValue looks for the column of measured values, unless it is chosen: by
// its name, or as the only one with numbers.
func (p *plan) guessValue(file string) error {
	if p.value >= 0 {
		return nil
	}
	numeric := func(i int) bool { return p.free(i) && p.columns[i].kind.numeric() }
	named := p.names(func(i int) bool { return numeric(i) && slices.Contains(valueNames, frame.Plain(p.columns[i].name)) })
	if i := p.find(valueNames[0]); i >= 0 && p.free(i) {
		named = []string{p.columns[i].name} // whatever it holds: cells that are no numbers are refused
	}
	if len(named) == 0 {
		named = p.names(func(i int) bool { return numeric(i) && !slices.Contains(noValues, frame.Plain(p.columns[i].name)) })
	}
	switch len(named) {
	case 1:
		p.value = p.find(named[0])
		p.told = append(p.told, fmt.Sprintf("the values are in column %s; --value chooses another", named[0]))
		return nil
	case 0:
		return &model.InputError{File: file, Problem: "no column has the measured values: none has numbers in its first rows", Allowed: "the columns are " + num.List(p.names(func(int) bool { return true })) + "; choose one with --value"}
	}
	allowed := "choose one with --value"
	for _, name := range named {
		if p.time < 0 && p.columns[p.find(name)].kind == kindUnix {
			allowed += fmt.Sprintf(", and the times with --time %s if these are", name)
			break
		}
	}
	return &model.InputError{File: file, Problem: "it is not clear which column has the measured values: " + num.List(named), Allowed: allowed}
}

// checkMarks refuses values of which it is not clear what their marks mean, and
// tells of decimal commas.
func (p *plan) checkMarks(file string) error {
	switch c := &p.columns[p.value]; {
	case c.marks.unclear():
		problem, allowed := c.marks.problem(c.name)
		return &model.InputError{File: file, Line: c.marks.line, Col: c.marks.col, Problem: problem, Allowed: allowed}
	case c.marks.commas > 0:
		p.told = append(p.told, fmt.Sprintf("numbers in column %s have decimal commas", c.name))
	}
	return nil
}

// tellSlashes tells which columns may be times and are not read.
func (p *plan) tellSlashes() {
	for i, c := range p.columns {
		if p.time < 0 && p.free(i) && c.ofSlashes() {
			p.told = append(p.told, fmt.Sprintf("column %s is left out: it looks like dates, and in %s it is not clear whether the day or the month is first; write 2026-04-03 to have times", c.name, c.slashes))
		}
	}
}

// guessFacts takes all other columns as facts, unless some are chosen. Those with
// too many different values show themselves only when all is read.
func (p *plan) guessFacts() {
	if p.chosen {
		return
	}
	ours := p.keys[keyMetric] >= 0
	for i, c := range p.columns {
		switch {
		case i == p.value || i == p.time || slices.Contains(p.keys[:], i) || ours && slices.Contains(noFacts, frame.Plain(c.name)):
		case c.odd != "":
			p.told = append(p.told, fmt.Sprintf("column %s is left out: it %s", c.name, c.odd))
		case p.time < 0 && c.ofSlashes():
		case c.kind == kindTime:
			p.told = append(p.told, fmt.Sprintf("column %s is left out: it has times, which are no fact; --by %s takes it nevertheless", c.name, c.name))
		default:
			p.facts = append(p.facts, i)
		}
	}
}
