package files

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/frame"
)

// kind is what a column holds, as far as its first rows tell.
type kind uint8

const (
	kindEmpty    kind = iota
	kindNumber        // numbers, perhaps Unix times
	kindUnix          // numbers that would be times after 1973
	kindQuantity      // numbers with their unit in the cell: 982 ms
	kindTime          // dates and times
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

func (k kind) numeric() bool { return k == kindNumber || k == kindUnix }

// column is a column of a table.
type column struct {
	name  string // as the file has it, without its unit
	plain string // the name as names are compared
	words string // as plain, with words in camelCase apart
	unit  string // as in "latency (ms)"
	kind  kind
	seen  [kinds]int // how many cells of each kind are in the first rows
	// odd says why it cannot be read; empty: it can.
	odd   string
	marks marks
	// slashed is how many of the first cells are dates with slashes of which the order
	// is not the year's first; slashes is the first of them. dayFirst and monthFirst are
	// how many can have one order only.
	slashed, dayFirst, monthFirst int
	slashes                       string
	order                         dateOrder
	// dates and clocks are how many of the first cells are dates alone, and times of a
	// day alone.
	dates, clocks int
	// text is the first cell that is neither a number nor a time, and where.
	text     string
	textLine int
	textCol  int
	levels   map[string]struct{} // of a column that may name metrics, in the first rows
	last     float64             // number
	steps    int                 // numbers that are one more than the one before
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
	c.plain, c.words = frame.Plain(c.name), frame.Words(c.name)
	if c.named(rowNames) || c.named(kpiNames) {
		c.levels = make(map[string]struct{})
	}
	return c
}

// named reports whether the column has one of these names.
func (c *column) named(names []string) bool {
	return slices.Contains(names, c.plain) || slices.Contains(names, c.words)
}

// versions are names of columns that say which version of something was measured:
// version, kernel_version, git_commit, buildNumber.
var versions = regexp.MustCompile(`^(\w+_)?(version|ver|build|branch|commit|revision|rev|release|changeset|sha)` +
	`(_(id|no|nr|number|hash|sha|name|date|tag))?$`)

// ofVersion reports whether the column names versions, which may look like numbers or
// times. One with a unit does not, nor has time_per_build.
func (c *column) ofVersion() bool {
	return c.unit == "" && versions.MatchString(c.words) && !strings.Contains(c.words, "per_")
}

// tellsApart reports whether numbers in the column tell rows apart, by its name.
func (c *column) tellsApart() bool { return slices.Contains(noValues, c.plain) || c.ofVersion() }

// slashed is how dates with slashes begin that may have the day or the month
// first.
var slashed = regexp.MustCompile(`^(\d{1,2})/(\d{1,2})/\d{4}\b`)

// look looks at a cell of the column; it reports whether the cell is the first one
// of which its refusal would speak.
func (c *column) look(cell []byte, by *clock) (first bool) {
	k := kindOf(cell, by)
	if c.levels != nil && k != kindEmpty {
		c.levels[string(cell)] = struct{}{}
	}
	switch {
	case k == kindNumber || k == kindUnix:
		c.marks.plain(cell)
		c.step(cell)
	case k == kindTime && !bytes.ContainsRune(cell, ':'):
		c.dates++
	case k == kindText && clockTime.Match(cell):
		c.clocks++
		if first = c.text == ""; first {
			c.text = string(cell)
		}
	case k == kindText && c.lookSlashes(cell):
	case k == kindText:
		k = c.marks.look(cell)
		first = k == kindText && c.text == ""
		if first {
			c.text = string(cell)
		}
	}
	c.seen[k]++
	return first
}

// step notes whether a number is one more than the one before.
func (c *column) step(cell []byte) {
	v, _ := number(cell)
	if v == c.last+1 {
		c.steps++
	}
	c.last = v
}

// leastCounted: fewer numbers one after the other do not show that they count rows.
const leastCounted = 5

// counts reports whether the numbers of the first rows count them, from 0 or 1 on.
func (c *column) counts() bool {
	n := c.numbers()
	begins := c.last - float64(n-1)
	return n >= leastCounted && n == c.cells() && c.steps >= n-1 && (begins == 0 || begins == 1)
}

// lookSlashes looks at a date such as 03/04/2026.
func (c *column) lookSlashes(cell []byte) bool {
	parts := slashed.FindSubmatch(cell)
	if parts == nil {
		return false
	}
	if c.slashed++; c.slashes == "" {
		c.slashes = string(cell)
	}
	if !bytes.ContainsRune(cell, ':') {
		c.dates++
	}
	a, _ := strconv.Atoi(string(parts[1]))
	b, _ := strconv.Atoi(string(parts[2]))
	switch {
	case a > 12 && b <= 12:
		c.dayFirst++
	case b > 12 && a <= 12:
		c.monthFirst++
	}
	return true
}

// mostOdd: of so many cells, one may be of another kind than the column: a mistake,
// which is refused where it is.
const mostOdd = 10

// judge says what the column holds. In one that is named as values or times are,
// half of the cells may be mistakes; in others one in mostOdd.
func (c *column) judge() {
	if c.dayFirst > 0 && c.monthFirst == 0 {
		c.order = dayFirst
	} else if c.monthFirst > 0 && c.dayFirst == 0 {
		c.order = monthFirst
	}
	dates := c.seen[kindTime]
	if c.order != orderUnknown {
		dates += c.slashed
	}
	numbers, all := c.numbers(), c.cells()
	enough := func(names []string) int {
		if c.named(names) {
			return (all + 1) / 2
		}
		return all - all/mostOdd
	}
	switch {
	case all == 0:
		c.kind = kindEmpty
	case dates > 0 && dates+c.seen[kindUnix] >= enough(timeNames):
		c.kind = kindTime
	case c.seen[kindUnix] >= enough(timeNames):
		c.kind = kindUnix
	case c.seen[kindQuantity] > numbers && numbers+c.seen[kindQuantity] >= enough(valueNames):
		c.kind = kindQuantity
	case numbers >= enough(valueNames):
		c.kind = kindNumber
	default:
		c.kind = kindText
	}
}

// up moves what was noted up by a line: the names of the columns are in no row.
func (c *column) up() {
	c.textLine--
	c.marks.line--
	for i := range c.marks.unitAt {
		c.marks.unitAt[i][0]--
	}
}

// ofSlashes reports whether the column has nothing but dates with slashes of which
// the order is not clear.
func (c *column) ofSlashes() bool {
	return c.kind == kindText && c.slashed > 0 && c.slashed == c.seen[kindText] && c.order == orderUnknown
}

// repeats reports whether the cells of the first rows are few different ones: names of
// what rows are about, not of the rows.
func (c *column) repeats() bool {
	return 2*len(c.levels) <= c.cells()
}

// numbers is how many of the first cells are numbers without a unit.
func (c *column) numbers() int { return c.seen[kindNumber] + c.seen[kindUnix] }

// cells is how many of the first cells are not empty.
func (c *column) cells() (n int) {
	for _, seen := range c.seen[kindEmpty+1:] {
		n += seen
	}
	return n
}
