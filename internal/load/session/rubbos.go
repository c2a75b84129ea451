package session

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/site"
)

// ParseTable reads a transition table in the format of RUBBoS: fields between
// tabs, a line for each interaction to which users go, then one for Back and one
// for End of Session; a column for each from which they come, in the order of
// the lines, unless a line above them names them; maybe one more with think
// times. Lines that are empty, or begin with # or a quotation mark, are passed over;
// another one without tabs is refused, for it may be meant as one of these.
//
// Probabilities of one column should sum to 1. RUBBoS lets a user stay on the
// page for what is missing, and never does what is beyond. Here each is divided
// by the sum. notes say where, and what else is not as it is written. The error
// is model.ErrUsage.
func ParseTable(text string, s site.Site) (c *Chain, notes []string, err error) {
	t := table{site: s}
	for number, line := range strings.Split(text, "\n") {
		if err := t.line(strings.TrimRight(line, "\r")); err != nil {
			return nil, nil, fmt.Errorf("%w: line %d of the transition table: %w", model.ErrUsage, number+1, err)
		}
	}
	weights, err := t.weights()
	if err != nil {
		return nil, nil, fmt.Errorf("%w: the transition table: %w", model.ErrUsage, err)
	}
	return t.chain(weights)
}

// table is what was read of one.
type table struct {
	site    site.Site
	columns []int  // interactions, as a header names them; nil: none does
	extra   string // what the header calls a last column of no interaction
	rows    []tableRow
}

type tableRow struct {
	to     int // the interaction; after the last of them Back, then End of Session
	values []float64
}

func (t *table) line(line string) error {
	cells := strings.Split(strings.TrimRight(line, "\t "), "\t")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	switch first := cells[0]; {
	case first != "" && first[0] == '#':
		return nil
	case len(cells) < 2 && (first == "" || first[0] == '"'): // RUBBoS has such a line above the names
		return nil
	case len(cells) < 2:
		return fmt.Errorf("no tabs between its fields: %.60q; write one before each of them, or # before a title", first)
	}
	var values []float64
	for _, cell := range cells[1:] {
		v, err := strconv.ParseFloat(cell, 64)
		if err != nil {
			return t.header(cells[0], cells[1:])
		}
		values = append(values, v)
	}
	to := placeOf(cells[0], t.site)
	if to < 0 {
		return fmt.Errorf("%q is no interaction of the site, nor %s, nor %s; the site has %s", cells[0], NameBack, NameEnd, strings.Join(t.site.Names(), ", "))
	}
	t.rows = append(t.rows, tableRow{to, values})
	return nil
}

// header takes the names of the columns, if each has its own. The last may be of no
// interaction: of the think times. Other lines above the table are titles.
func (t *table) header(first string, cells []string) error {
	columns := make([]int, len(cells))
	known := 0
	for k, cell := range cells {
		if columns[k] = t.site.Index(cell); columns[k] >= 0 {
			known++
		}
	}
	switch {
	case len(t.rows) > 0, placeOf(first, t.site) >= 0 && known == 0:
		return fmt.Errorf("a field is no number: a probability is from 0 to 1, with a decimal point")
	case known == 0, known == 1 && len(cells) == 2: // such as "Site", "RUBBoS", "Home"
		return nil
	case t.columns != nil:
		return fmt.Errorf("a line above it names the columns, too: leave one of them out")
	}
	last := len(columns) - 1
	for k, i := range columns {
		switch {
		case i >= 0 && slices.Contains(columns[:k], i):
			return fmt.Errorf("two columns are named %s: give each the name of the interaction that users come from", t.site[i].Name)
		case i < 0 && k < last:
			return fmt.Errorf("column %d is named %q, which is no interaction of the site; the site has %s", k+1, cells[k], strings.Join(t.site.Names(), ", "))
		}
	}
	if columns[last] < 0 {
		columns, t.extra = columns[:last], cells[last]
	}
	t.columns = columns
	return nil
}

// weights are the probabilities by where users come from, then where they go.
func (t *table) weights() ([][]float64, error) {
	columns := t.columns
	seen := make(map[int]bool)
	for _, r := range t.rows {
		if seen[r.to] {
			return nil, fmt.Errorf("two lines are about %s", nameOf(r.to, t.site))
		}
		if seen[r.to] = true; t.columns == nil && r.to < len(t.site) {
			columns = append(columns, r.to)
		}
	}
	if len(columns) == 0 || !seen[0] {
		return nil, fmt.Errorf("it has no line about %s, the home page; is it a table with tabs between its fields?", t.site[0].Name)
	}
	out := make([][]float64, len(t.site))
	for i := range out {
		out[i] = make([]float64, len(t.site)+2)
	}
	for _, r := range t.rows {
		name := nameOf(r.to, t.site)
		// One more column has think times.
		switch n := len(r.values); {
		case n != len(columns) && n != len(columns)+1:
			return nil, fmt.Errorf(
				"the line about %s has %d numbers; it needs one for each of %d columns, and may have a think time", name, n,
				len(columns))
		case t.extra != "" && n == len(columns):
			return nil, fmt.Errorf("the line about %s has %d numbers, and %d columns are named: the last, %q, is no interaction of the site; name it as the site does, or leave it out",
				name, n, n+1, t.extra)
		}
		for k, from := range columns {
			v := r.values[k]
			if !(v >= 0) || v > 1 {
				return nil, fmt.Errorf("from %s to %s it has %v; a probability is from 0 to 1", t.site[from].Name, name, v)
			}
			out[from][r.to] = v
		}
	}
	return out, nil
}

// tolerance is by how much a sum may differ from 1 for rounding alone.
const tolerance = 1e-6

// chain is the table as it is used.
func (t *table) chain(weights [][]float64) (*Chain, []string, error) {
	sums := make([]float64, len(weights))
	for from, row := range weights {
		for _, w := range row {
			sums[from] += w
		}
		if sums[from] == 0 {
			row[end(t.site)] = 1 // if a session comes there, which is refused below
		}
	}
	c, err := newChain(t.site, weights)
	if err != nil {
		return nil, nil, err
	}
	var notes []string
	reached, never := c.reached(), 0
	for from, sum := range sums {
		name := t.site[from].Name
		switch {
		case !reached[from]:
			never++
		case sum == 0:
			return nil, nil, fmt.Errorf("%w: the transition table: column %s sums to 0, and sessions come there: let it lead somewhere, if only to %s", model.ErrUsage, name, NameEnd)
		case math.Abs(sum-1) > tolerance:
			rubbos := fmt.Sprintf("let the user stay there for the missing %.3g", 1-sum)
			if sum > 1 {
				rubbos = fmt.Sprintf("cut %.3g off the last lines", sum-1)
			}
			notes = append(notes, fmt.Sprintf(
				"column %s sums to %.4g instead of 1: each of its probabilities is divided by that (RUBBoS would %s)", name, sum,
				rubbos))
		}
	}
	if never > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d interactions are never reached from %s", never, len(t.site),
			t.site[0].Name))
	}
	return c, notes, nil
}

// Properties are what a file of properties of RUBBoS says of users; what it does
// not say is 0, nil or empty.
type Properties struct {
	Users                  int
	UserTable, AuthorTable string // names of files
	MaxSteps               int
	RampUp, Run, RampDown  *time.Duration
	AuthorShare            *float64
	Accounts, Authors      int
}

// ParseProperties reads it: lines of the form "key = value", and comments behind #.
// notes say what is not done as it asks for. The error is model.ErrUsage.
func ParseProperties(text string) (p Properties, notes []string, err error) {
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if key = strings.TrimSpace(key); !ok || strings.ContainsAny(key, " \t:") {
			return Properties{}, nil, fmt.Errorf("%w: line %d of the properties: %.60q is not of the form key = value", model.ErrUsage, number+1, line)
		}
		note, err := p.take(key, strings.TrimSpace(value))
		if err != nil {
			return Properties{}, nil, fmt.Errorf("%w: line %d of the properties: %s: %w", model.ErrUsage, number+1, key, err)
		}
		if note != "" {
			notes = append(notes, key+": "+note)
		}
	}
	return p, notes, nil
}

// take takes one property. The note is what is not done as it asks for; empty where it
// asks for what is done, or has nothing to do with users.
func (p *Properties) take(key, value string) (note string, err error) {
	number := func(most int) int {
		n, failed := strconv.Atoi(value)
		if failed != nil || n < 0 || n > most {
			err = fmt.Errorf("%q must be a number from 0 to %d", value, most)
		}
		return n
	}
	const most = 1_000_000_000 // users, accounts, milliseconds
	span := func() *time.Duration {
		d := time.Duration(number(most)) * time.Millisecond
		return &d
	}
	counts := map[string]*int{
		"workload_number_of_clients_per_node": &p.Users, "workload_maximum_number_of_transitions": &p.MaxSteps,
		"database_number_of_authors": &p.Authors, "database_number_of_users": &p.Accounts,
	}
	if count := counts[key]; count != nil {
		*count = number(most)
	}
	switch key {
	case "workload_user_transition_table":
		p.UserTable = value
	case "workload_author_transition_table":
		p.AuthorTable = value
	case "workload_up_ramp_time_in_ms":
		p.RampUp = span()
	case "workload_session_run_time_in_ms":
		p.Run = span()
	case "workload_down_ramp_time_in_ms":
		p.RampDown = span()
	case "workload_percentage_of_author":
		share := float64(number(100)) / 100
		p.AuthorShare = &share
	case "workload_remote_client_nodes":
		if value != "" {
			note = "the nodes of the fleet share the users of one generator's number; set users for more"
		}
	case "workload_use_tpcw_think_time":
		if value != "yes" {
			note = "the think times of the table are not used; think, think_distribution and think_spread say how long users " +
				"think"
		}
	case "workload_up_ramp_slowdown_factor", "workload_down_ramp_slowdown_factor":
		if factor, err := strconv.ParseFloat(value, 64); err != nil || factor != 1 {
			note = "users think as long in ramps as in the run"
		}
	}
	return note, err
}
