package report

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/capacity"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/report/figure"
	"github.com/scalebench/scalebench/internal/report/table"
	"github.com/scalebench/scalebench/internal/search"
)

// capacityView is what the page shows of the searches of a run.
type capacityView struct {
	Boxes   *boxesView // nil for a single search
	Targets []targetView
}

// targetView is the searches of one workload.
type targetView struct {
	ID, Name string
	Sub      string // what was asked, and how
	Trials   []searchView
	// Chosen says which of many trials are shown with their figures; "" for all.
	Chosen string
	// Folded says that there are several trials, each to be opened.
	Folded bool
}

// searchView is one search with its figures.
type searchView struct {
	ID, Title string
	Words     string // beside the title
	Answer    []string
	Warnings  []string
	Open      bool
	Boundary  *boundaryView
	Course    *courseView
	Heat      *heatView
	Windows   *tableView
}

// mostDetailed is how many trials of a target are shown with their figures:
// each takes a page or two.
const mostDetailed = 8

// newCapacityView is nil for a run without searches.
func newCapacityView(found []capacity.Found) *capacityView {
	if len(found) == 0 {
		return nil
	}
	v := &capacityView{}
	groups := groupSearches(found)
	if len(found) > 1 {
		v.Boxes = newBoxesView(groups)
	}
	number := 0
	for k, g := range groups {
		t := newTargetView(k, g, len(groups) > 1)
		detailed := g.detailed()
		if len(detailed) < len(g.trials) {
			t.Chosen = g.chosenWords(detailed)
		}
		for i, trial := range detailed {
			s := newSearchView(number, g.trials[trial])
			s.Open = i == 0 && k == 0
			if len(found) == 1 {
				s.Answer = nil // the page begins with it
			}
			t.Trials = append(t.Trials, s)
			number++
		}
		v.Targets = append(v.Targets, t)
	}
	return v
}

func newTargetView(k int, g searchGroup, several bool) targetView {
	x := g.trials[0]
	sub := "The SLA: " + slaWords(x.Config.SLA) + ". Latency counts from when an operation was due; what failed or did not end counts as slower than everything."
	if several && g.workload != g.target {
		sub = "Workload " + g.workload + ". " + sub
	}
	if x.Config.Algorithm == search.Paper {
		sub += " The search is that of the black-box throughput paper, which believes every window."
	}
	return targetView{ID: "target" + strconv.Itoa(k), Name: g.target, Sub: sub, Folded: len(g.trials) > 1}
}

// detailed are the indices of the trials that are shown with their figures,
// ascending: all, or of many those that a reader would look for.
func (g searchGroup) detailed() []int {
	if len(g.trials) <= mostDetailed {
		out := make([]int, len(g.trials))
		for i := range out {
			out[i] = i
		}
		return out
	}
	chosen := []int{0, len(g.trials) - 1}
	var known, unknown []int
	for i, x := range g.trials {
		if x.Result.Estimate == nil || !num.Finite(*x.Result.Estimate) {
			unknown = append(unknown, i)
			continue
		}
		known = append(known, i)
	}
	slices.SortStableFunc(known, func(a, b int) int {
		return compareLoads(*g.trials[a].Result.Estimate, *g.trials[b].Result.Estimate)
	})
	if n := len(known); n > 0 {
		chosen = append(chosen, known[0], known[n/2], known[n-1])
	}
	chosen = append(chosen, unknown...)
	return firstOf(chosen, mostDetailed)
}

// chosenWords say which trials are shown with their figures.
func (g searchGroup) chosenWords(detailed []int) string {
	without := ""
	if len(g.estimates()) < len(g.trials) {
		without = ", and some without any"
	}
	return fmt.Sprintf("Of %d trials these are shown: %s. They are the first and the last, and those with the least, the middle and the greatest estimate%s. The table above has all.",
		len(g.trials), numbersOf(g.trials, detailed), without)
}

// firstOf are the first n different numbers, ascending.
func firstOf(numbers []int, n int) []int {
	var out []int
	for _, x := range numbers {
		if len(out) < n && !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	slices.Sort(out)
	return out
}

// capacityAlerts tell at the top which of several searches have warnings, one
// line a target; those of a single search stand right below.
func capacityAlerts(found []capacity.Found) []alert {
	if len(found) < 2 {
		return nil
	}
	var out []alert
	for k, g := range groupSearches(found) {
		warned, warnings := 0, 0
		for _, x := range g.trials {
			warned, warnings = warned+one(len(x.Result.Warnings) > 0), warnings+len(x.Result.Warnings)
		}
		if warned > 0 {
			text := fmt.Sprintf("%s: %s in %s", g.target, count(warnings, "warning"), count(warned, "search"))
			if warned > 1 {
				text = fmt.Sprintf("%s: %s in %d searches", g.target, count(warnings, "warning"), warned)
			}
			out = append(out, alert{Text: text, Links: []link{{"#target" + strconv.Itoa(k), g.workload}}})
		}
	}
	return out
}

func numbersOf(trials []capacity.Found, chosen []int) string {
	var out []string
	for _, i := range chosen {
		out = append(out, strconv.Itoa(trials[i].Trial))
	}
	return strings.Join(out, ", ")
}

func newSearchView(number int, x capacity.Found) searchView {
	loads := loadsTried(x.Result.Windows)
	v := searchView{
		ID: "search" + strconv.Itoa(number), Title: fmt.Sprintf("Trial %d: %s", x.Trial, shortAnswer(x.Result)),
		Words:    count(len(x.Result.Windows), "window"),
		Answer:   []string{sentence(answerWords(x.Result))},
		Boundary: newBoundaryView(x, loads), Course: newCourseView(x), Heat: newHeatView(x, loads),
	}
	v.Warnings = furtherWarnings(x.Result)
	if len(x.Result.Windows) > 0 {
		v.Windows = newTableView(windowsTable(x, verdictWithReasons), windowsFlat([]capacity.Found{x}))
	}
	return v
}

// boxesView compares targets, or the trials of one of them.
type boxesView struct {
	Title string
	Rows  []boxRow
	Axis  template.HTML
	Unit  string
	Notes []string
	Table *tableView
	// Folded says that the table is long.
	Folded bool
}

type boxRow struct {
	Href, Name, Workload string
	Figure               template.HTML
	Value, Count         string
	Missing              string // the trials without an estimate
}

// mostTrialRows is how long the table of trials may be without being folded.
const mostTrialRows = 12

func newBoxesView(groups []searchGroup) *boxesView {
	v := &boxesView{Title: "Capacity over trials"}
	if len(groups) > 1 {
		v.Title = "Capacity by target"
	}
	v.Table = newTableView(trialsTable(groups), trialsFlat(groups))
	v.Folded = len(v.Table.Rows) > mostTrialRows
	rows := make([]figure.BoxRow, len(groups))
	for i, g := range groups {
		rows[i] = boxRowOf(g)
	}
	chart, ok := figure.Boxes("op/s", rows)
	if !ok {
		v.Notes = []string{"No trial has an estimate: the table says why."}
		return v
	}
	v.Axis, v.Unit = chart.Axis, chart.Unit
	for i, g := range groups {
		v.Rows = append(v.Rows, newBoxRow(i, g, chart.Rows[i]))
	}
	v.Notes = boxNotes(groups, chart)
	return v
}

// boxNotes say how to read the boxes.
func boxNotes(groups []searchGroup, chart figure.BoxChart) []string {
	boxes, loose := false, false
	for _, g := range groups {
		boxes = boxes || len(g.estimates()) >= figure.BoxFrom
		for _, x := range g.trials {
			loose = loose || x.Result.Estimate != nil && !x.Result.Confirmed
		}
	}
	text := "Each point is the estimate of one trial; the line is their median."
	if boxes {
		text += fmt.Sprintf(" Boxes, from %d estimates on: the middle half of them. Whiskers: the farthest that are no more than 1.5 times the box away from it.", figure.BoxFrom)
	}
	if loose {
		text += " Hollow: not confirmed."
	}
	switch {
	case chart.Relative:
		text += " The targets are far apart: each row is drawn around its own median, which stands beside it, and all in the same measure."
	case !chart.FromZero:
		text += " The axis does not begin at 0."
	}
	return []string{text}
}

func boxRowOf(g searchGroup) figure.BoxRow {
	values := g.estimates()
	r := figure.BoxRow{Name: g.target + ": no estimate"}
	if len(values) > 0 {
		r.Name = fmt.Sprintf("%s: median %s of %s", g.target, opRate(ptrTo(medianOf(values))), count(len(values), "trial"))
	}
	for _, x := range g.trials {
		if e := x.Result.Estimate; e != nil {
			tip := fmt.Sprintf("trial %d: %s", x.Trial, opRate(e))
			if !x.Result.Confirmed {
				tip += ", not confirmed"
			}
			r.Values = append(r.Values, figure.BoxValue{Value: *e, Firm: x.Result.Confirmed, Tip: tip})
		}
	}
	return r
}

func newBoxRow(k int, g searchGroup, drawing template.HTML) boxRow {
	values := g.estimates()
	r := boxRow{Href: "#target" + strconv.Itoa(k), Name: g.target, Figure: drawing, Value: num.Missing, Count: "n = " + strconv.Itoa(len(values))}
	if g.workload != g.target {
		r.Workload = g.workload
	}
	if len(values) > 0 {
		r.Value = opRate(ptrTo(medianOf(values)))
	}
	r.Missing = missingWords(g)
	return r
}

// mostNamed is how many trials without an estimate are named.
const mostNamed = 6

// missingWords count the trials without an estimate, and name them.
func missingWords(g searchGroup) string {
	var named []string
	n := 0
	for _, x := range g.trials {
		if e := x.Result.Estimate; e != nil && num.Finite(*e) {
			continue
		}
		if n++; n <= mostNamed {
			named = append(named, fmt.Sprintf("trial %d (%s)", x.Trial, shortAnswer(x.Result)))
		}
	}
	if n == 0 {
		return ""
	}
	text := count(n, "trial") + " without an estimate: " + strings.Join(named, ", ")
	if n > mostNamed {
		text += fmt.Sprintf(" and %d more", n-mostNamed)
	}
	return text
}

// trialsTable has a line for each search.
func trialsTable(groups []searchGroup) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Key: "target", Head: "target"}, {Key: "trial", Head: "trial", Align: table.Right},
		{Key: "passed", Head: "passed", Align: table.Right}, {Key: "failed", Head: "failed", Align: table.Right},
		{Key: "estimate", Head: "estimate\n[95 %]", Align: table.Right}, {Key: "limit", Head: "at its limit"},
		{Key: "windows", Head: "windows", Align: table.Right},
	}}
	for _, g := range groups {
		for _, x := range g.trials {
			r := x.Result
			t.Add(table.Text(g.target), table.Of(x.Trial, strconv.Itoa(x.Trial)), loadCell(r.Passed), loadCell(r.Failed),
				estimateCell(r), limitCell(r), table.Of(len(r.Windows), strconv.Itoa(len(r.Windows))))
		}
	}
	return t
}

func loadCell(v *float64) table.Cell {
	if v == nil || !num.Finite(*v) {
		return table.Of(nil, num.Missing)
	}
	return rateCell(*v)
}

func estimateCell(r capacity.Result) table.Cell {
	if r.Estimate == nil || !num.Finite(*r.Estimate) {
		return table.Of(nil, num.Missing)
	}
	lines := []string{opRate(r.Estimate)}
	if r.CI != nil {
		lines = append(lines, opRange(*r.CI, " .. "))
	}
	return table.Of(*r.Estimate, lines...).As(table.Strong)
}

// limitCell names what was at its limit, and marks what is no capacity of the
// target.
func limitCell(r capacity.Result) table.Cell {
	text := map[capacity.Limit]string{
		capacity.LimitTarget: "target", capacity.LimitPath: "path", capacity.LimitGenerator: "generators",
		capacity.LimitCap: "largest load allowed", capacity.LimitFloor: "smallest load allowed", capacity.LimitNone: "not over",
		capacity.LimitUnknown: "unknown",
	}[r.Limit]
	if text == "" {
		text = table.Clean(string(r.Limit))
	}
	if r.Limit != capacity.LimitTarget {
		return table.Of(string(r.Limit), text).As(table.Note)
	}
	if !r.Confirmed {
		return table.Of(string(r.Limit), text, "not confirmed").As(table.Note)
	}
	return table.Of(string(r.Limit), text)
}

// trialsFlat is the same for programs, with all digits.
func trialsFlat(groups []searchGroup) *table.Table {
	t := &table.Table{}
	for _, key := range []string{"workload", "target", "trial", "passed", "failed", "estimate", "ci_lo", "ci_hi", "limit", "confirmed", "windows"} {
		t.Columns = append(t.Columns, table.Column{Key: key, Head: key})
	}
	for _, g := range groups {
		for _, x := range g.trials {
			r := x.Result
			var lo, hi *float64
			if r.CI != nil {
				lo, hi = &r.CI[0], &r.CI[1]
			}
			t.Add(table.Text(g.workload), table.Text(g.target), table.Of(x.Trial), table.Of(r.Passed), table.Of(r.Failed), table.Of(r.Estimate),
				table.Of(lo), table.Of(hi), table.Text(string(r.Limit)), table.Of(r.Confirmed), table.Of(len(r.Windows)))
		}
	}
	return t
}
