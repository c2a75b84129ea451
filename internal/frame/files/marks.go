package files

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
)

// marks is how the numbers of a column are written, as far as its first rows tell.
type marks struct {
	point, comma proof
	spaced       int      // numbers with spaces or apostrophes before thousands
	short, long  int      // numbers without any mark, below 1000 and from there on
	units        []string // in the cells, in the order of their appearance
	unitAt       [][2]int // the line and column of the first cell with each; of a text only
	example      string   // the first of those that are least clear
	line, col    int      // where that is, from 1 on; 0: not in a text
}

// proof is how many numbers show what a mark is: the decimal one (1.5), the one before
// thousands (1.234.567), or either of both (1.234).
type proof struct{ decimal, thousands, either int }

func (p proof) any() bool { return p != proof{} }

// quantity is a number as people write it, perhaps with a unit: sign and digits with
// marks, exponent, unit.
var quantity = regexp.MustCompile(`^([-+]?)(\d[\d.,'’\x{a0}\x{202f} ]*|[.,]\d+)([eE][-+]?\d+)?\s*` +
	`(%|[\pL°][\pL%/°²³·]*)?$`)

var (
	groupedBy = map[byte]*regexp.Regexp{
		'.': regexp.MustCompile(`^[1-9]\d{0,2}(\.\d{3})+$`),
		// As lakhs and crores, too: 12,34,567.
		',': regexp.MustCompile(`^([1-9]\d{0,2}(,\d{3})+|[1-9]\d?(,\d{2})+,\d{3})$`),
	}
	groupSpace = regexp.MustCompile(`^[1-9]\d{0,2}(([ \x{a0}\x{202f}]\d{3})+|(['’]\d{3})+)$`)
)

// mostUnits: a column with more different ones holds texts.
const mostUnits = 16

// plain notes a number that strconv would read.
func (m *marks) plain(cell []byte) {
	switch digits := bytes.TrimLeft(cell, "-+"); {
	case bytes.ContainsAny(digits, "eE"):
	case bytes.IndexByte(cell, '.') < 0 && len(digits) < 4:
		m.short++
	case bytes.IndexByte(cell, '.') < 0:
		m.long++
	case groupedBy['.'].Match(digits):
		if m.point.either++; m.example == "" {
			m.example = string(cell)
		}
	default:
		m.point.decimal++
	}
}

// fewest: so many numbers such as 1.050, and none such as 1.05, beside such as 950 are
// hardly decimal ones.
const fewest = 3

// asThousands reports whether the points may all stand before thousands: 950, 1.050. In
// a table with semicolons that is common; all says that each number has one.
func (m *marks) asThousands(semicolons bool) (may, all bool) {
	if m.point.either == 0 || m.point.decimal > 0 || m.comma.any() || m.long > 0 {
		return false, false
	}
	return semicolons || m.short == 0 || m.point.either >= fewest, m.short == 0
}

// look looks at a cell that is no number with a decimal point; it says whether it may
// be another number, or one with a unit.
func (m *marks) look(cell []byte) kind {
	parts := quantity.FindSubmatch(cell)
	if parts == nil {
		return kindText
	}
	unit := unitName(parts[4])
	if unit != "" && !slices.Contains(m.units, unit) && len(m.units) == mostUnits ||
		!m.lookDigits(parts[2], len(parts[3]) > 0, cell) {
		return kindText
	}
	switch {
	case unit == "":
		return kindNumber
	case !slices.Contains(m.units, unit):
		m.units = append(m.units, unit)
	}
	return kindQuantity
}

// unitName is a unit as package unit knows it.
func unitName(text []byte) string { return strings.Replace(string(text), "μ", "µ", 1) }

// lookDigits notes what marks a number has.
func (m *marks) lookDigits(digits []byte, exponent bool, cell []byte) bool {
	digits = bytes.TrimSpace(digits)
	spaced, ok := grouping(digits)
	if !ok {
		return false
	}
	points, commas := bytes.Count(digits, []byte{'.'}), bytes.Count(digits, []byte{','})
	last := bytes.LastIndexAny(digits, ".,")
	switch {
	case last < 0:
	case last == len(digits)-1:
		return false
	case points > 0 && commas > 0: // the last mark is the decimal one
		decimal, group := digits[last], '.'+','-digits[last]
		if bytes.Count(digits, []byte{decimal}) > 1 || !groupedBy[group].Match(digits[:last]) || spaced {
			return false
		}
		m.mark(decimal).decimal++
		m.mark(group).thousands++
	case points+commas > 1:
		if !groupedBy[digits[last]].Match(digits) || exponent || spaced {
			return false
		}
		m.mark(digits[last]).thousands++
	case exponent || spaced || !groupedBy[digits[last]].Match(digits):
		m.mark(digits[last]).decimal++
	default:
		m.mark(digits[last]).either++
	}
	if spaced {
		m.spaced++
	}
	if m.example == "" && last >= 0 {
		m.example = string(cell)
	}
	return true
}

// grouping reports whether there are spaces or apostrophes before thousands, and whether
// they are right.
func grouping(digits []byte) (spaced, ok bool) {
	if !bytes.ContainsAny(digits, "'’\u00a0\u202f ") {
		return false, true
	}
	before := digits
	if i := bytes.LastIndexAny(digits, ".,"); i >= 0 {
		before = digits[:i]
		if bytes.ContainsAny(digits[i:], "'’\u00a0\u202f ") {
			return true, false
		}
	}
	return true, groupSpace.Match(before)
}

func (m *marks) mark(c byte) *proof {
	if c == ',' {
		return &m.comma
	}
	return &m.point
}

// unclear: one column in which a mark has two meanings, or may have, or in which
// nothing shows which one it has, is refused.
func (m *marks) unclear() bool {
	_, _, ok := m.meaning()
	return !ok
}

// meaning is which mark is the decimal one, and which stands before thousands; 0: none
// does. A mark is taken to stand before thousands only where a number shows it, for a
// column may have been put together from tables in two languages.
func (m *marks) meaning() (decimal, group byte, ok bool) {
	point, comma := m.point, m.comma
	switch {
	case !comma.any() && point.thousands == 0:
		return '.', 0, true
	case comma.thousands > 0:
		return '.', ',', comma.decimal == 0 && point.thousands == 0
	case point.thousands > 0:
		return ',', '.', point.decimal == 0
	}
	return ',', 0, comma.decimal > 0 && !point.any()
}

// problem says what is not clear, and allowed what to do.
func (m *marks) problem(column string) (problem, allowed string) {
	problem = fmt.Sprintf("%s is %q, and it is not clear which mark is the decimal one", column, m.example)
	if n := m.point.decimal + m.point.either; n > 0 {
		problem += fmt.Sprintf("; %s of the column with a decimal point",
			map[bool]string{true: "there is 1 number", false: fmt.Sprintf("there are %d numbers", n)}[n == 1])
	}
	return problem, "write all as 1234.5, or all as 1234,5, without a mark for thousands"
}

// style is how the numbers of the column of values are read.
type style struct {
	decimal, group byte
	marked         bool // some have other marks than a decimal point, or units
	units          bool // each has a unit in its cell
	to             string
	scales         map[string]ratio // of units, to that one; those that do not convert are 0
}

// styleOf is how the column of values is read; the unit of its values is
// that of the header, or else the first one.
func (p *plan) styleOf(c *column) (s style) {
	s.decimal, s.group, _ = c.marks.meaning()
	if s.marked = c.marks.comma.decimal > 0; s.marked {
		p.say("numbers in column %s have decimal commas", c.name)
	}
	if c.marks.spaced > 0 || s.group != 0 {
		s.marked = true
		p.say("numbers in column %s have marks before thousands", c.name)
	}
	if c.kind != kindQuantity {
		return s
	}
	s.marked, s.units, s.scales = true, true, make(map[string]ratio)
	if s.to = c.unit; s.to == "" {
		s.to = c.marks.units[0]
	}
	if len(c.marks.units) == 1 && c.marks.units[0] == s.to {
		p.say("the cells of column %s have the unit %s", c.name, s.to)
	} else {
		p.say("the cells of column %s have units (%s); all are converted to %s", c.name, num.List(c.marks.units), s.to)
	}
	return s
}

// own is the style for one worker, which adds units to it.
func (s style) own() style {
	s.scales = maps.Clone(s.scales)
	return s
}

// number reads a number of the column of values.
func (w *worker) number(text []byte) (float64, bool) {
	s := &w.style
	if !s.marked {
		return number(text)
	}
	parts := quantity.FindSubmatch(text)
	if parts == nil || len(parts[4]) > 0 != s.units {
		return 0, false
	}
	w.key = append(w.key[:0], parts[1]...)
	if !w.digits(bytes.TrimSpace(parts[2]), len(parts[3]) > 0) {
		return 0, false
	}
	w.key = append(w.key, parts[3]...)
	v, ok := number(w.key)
	if !s.units || !ok {
		return v, ok
	}
	scale, known := s.scales[string(parts[4])]
	if !known {
		if scale, known = convert(unitName(parts[4]), s.to); !known {
			scale = ratio{}
		}
		s.scales[string(parts[4])] = scale
	}
	return scale.times(v), scale != ratio{}
}

// digits appends the digits of a number with a decimal point and no other mark.
func (w *worker) digits(digits []byte, exponent bool) bool {
	s := &w.style
	whole, fraction := digits, []byte(nil)
	if i := bytes.IndexByte(digits, s.decimal); i >= 0 {
		whole, fraction = digits[:i], digits[i+1:]
	}
	switch {
	case fraction != nil && len(fraction) == 0 && s.decimal == ',':
		return false
	case bytes.IndexFunc(whole, func(r rune) bool { return r < '0' || r > '9' }) < 0:
		w.key = append(w.key, whole...)
	case exponent || !groupSpace.Match(whole) && (s.group == 0 || !groupedBy[s.group].Match(whole)):
		return false // is it a decimal mark, or one for thousands?
	default:
		for _, c := range whole {
			if c >= '0' && c <= '9' {
				w.key = append(w.key, c)
			}
		}
	}
	if fraction != nil {
		w.key = append(append(w.key, '.'), fraction...)
	}
	return true
}
