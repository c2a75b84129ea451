package files

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
)

// mostNumbers: a column of numbers with more different ones is a measurement
// itself, or counts rows; it is no fact.
const mostNumbers = 64

// together are columns of which the numbers say what belongs together, however many
// there are: without them rows of one node would count as independent.
var together = append([]string{frame.FactSubject, frame.FactTrial, frame.FactBlock, frame.FactRun, frame.FactRepetition}, frame.Machines...)

// mostTogether is how many different numbers a column of those may have: with more,
// it counts rows. Of several metrics each may have a number once, as of a repetition
// that measured all of them.
func (t *table) mostTogether(of []target) int {
	rows := make(map[int]int)
	for g, x := range of {
		if x.frame >= 0 {
			rows[x.frame] += t.groups[g].rows
		}
	}
	most := max(2, t.rows/2)
	if len(rows) > 1 {
		most = max(most, slices.Max(slices.Collect(maps.Values(rows))))
	}
	return most
}

// tellFacts decides which columns are no facts after all, and tells.
func (t *table) tellFacts(of []target) {
	for i, c := range t.plan.facts {
		name, levels := t.plan.columns[c].name, t.facts[i].Fact().Levels[1:]
		if t.full[i] || t.plan.chosen || slices.Contains(t.plan.asked, c) {
			continue
		}
		most := min(max(2, t.rows/2), mostNumbers)
		if slices.Contains(together, frame.Plain(name)) {
			most = t.mostTogether(of)
		}
		if len(levels) > most && !slices.ContainsFunc(levels, noNumber) {
			t.full[i] = true
			maybeTimes := ""
			if t.plan.time < 0 && t.plan.columns[c].kind == kindUnix {
				maybeTimes = fmt.Sprintf(", and --time %s if they are times", name)
			}
			t.say("column %s is left out: it has %s different numbers, too many for a fact%s%s", name,
				num.Grouped(int64(len(levels))), t.advice("; --by %s takes it nevertheless", name), maybeTimes)
			t.facts[i] = nil
		}
	}
}

func noNumber(level string) bool {
	_, ok := number([]byte(level))
	return !ok && !missing([]byte(level))
}

// tellHashes tells of lines that begin as comments do.
func (t *table) tellHashes() {
	if n := t.comments; n.count > 0 {
		t.say("%s with # at the beginning and not as many values as the header, left out as comments: %s",
			num.Count(n.count, "line"), t.where(n))
	}
	if n := t.hashes; n.count > 0 && t.row == "line" {
		t.say("%s with # at the beginning, taken as values, as comments stand before the header: %s",
			num.Count(n.count, "row"), t.where(n))
	}
}

// tellForms tells how the times are written, unless there is one way that says
// all.
func (t *table) tellForms() {
	var used []string
	for f, n := range t.forms {
		if n.count > 0 {
			used = append(used, fmt.Sprintf("%s (%s, the first in %s %d)", formNames[f], num.Grouped(int64(n.count)), t.row, n.lines[0]))
		}
	}
	for f := formSeconds; int(f) < forms; f++ {
		if t.forms[f].count > 0 && len(used) == 1 {
			t.say("the times are %s", formNames[f])
		}
	}
	if len(used) > 1 {
		t.say("the times are written in several ways: %s", strings.Join(used, ", "))
	}
	if t.forms[formLocal].count+t.forms[formDate].count > 0 && t.choice.Zone == "" {
		t.say("times that name no zone are taken as UTC; --zone chooses another")
	}
}

// manyMissing: above this share, what is missing could change the answer.
const manyMissing = .1

// doubt says of each frame what was left out of it, and what is in doubt.
func (t *table) doubt(of []target, out []frame.Frame) {
	all := make([]map[remark]noted, len(out))
	for _, n := range sortedNotes(t.notes) {
		f := of[n.group].frame
		if f < 0 {
			continue
		}
		if all[f] == nil {
			all[f] = make(map[remark]noted)
		}
		sum := all[f][n.what]
		sum.join(t.notes[n], 0)
		all[f][n.what] = sum
	}
	for f := range out {
		total := out[f].Len() + all[f][noValue].count + all[f][noTime].count
		for what := noValue; what <= twiceTime; what++ {
			if n := all[f][what]; n.count > 0 {
				out[f].Doubts = append(out[f].Doubts, t.doubtOf(what, n, total, out[f].Workload))
			}
		}
	}
	for i, c := range t.plan.facts {
		if t.full[i] && t.facts[i] != nil {
			for f := range out {
				out[f].Doubts = append(out[f].Doubts, frame.TooManyLevels(frame.Plain(t.plan.columns[c].name)))
			}
		}
	}
}

func (t *table) doubtOf(what remark, n noted, total int, workload string) model.Doubt {
	d := model.Doubt{Severity: model.Warning, Workload: workload}
	have, are := "have", "are"
	if n.count == 1 {
		have, are = "has", "is"
	}
	rows := fmt.Sprintf("%s of %s %s", num.Grouped(int64(n.count)), num.Count(total, "row"), have)
	switch what {
	case noValue:
		d.Code, d.Text = "missing_values", fmt.Sprintf("%s no value and %s left out (%s)", rows, are, t.where(n))
	case noTime:
		d.Code, d.Text = "missing_times", fmt.Sprintf("%s no time and %s left out (%s)", rows, are, t.where(n))
	case gapTime:
		d.Code, d.Text = "clock_forward", fmt.Sprintf("%s a time that no clock in %s showed, as clocks were put "+
			"forward over it (%s); it is read as if they had not been", rows, t.choice.Zone, t.where(n))
	case twiceTime:
		d.Code, d.Text = "clock_back", fmt.Sprintf("%s a time that clocks in %s showed twice, as they were put "+
			"back (%s); it is read as the first of the two", rows, t.choice.Zone, t.where(n))
	}
	if what <= noTime && float64(n.count) > manyMissing*float64(total) {
		d.Severity = model.Problem
	}
	return d
}

// where names the first rows: "lines 5, 9 and 12", "lines 5, 6, 7, 8, 9 and more".
func (t *table) where(n noted) string {
	lines := slices.Sorted(slices.Values(n.lines))
	if n.count == 1 {
		return fmt.Sprintf("%s %d", t.row, lines[0])
	}
	var texts []string
	for _, l := range lines {
		texts = append(texts, strconv.Itoa(l))
	}
	last := "more"
	if n.count == len(texts) {
		last, texts = texts[len(texts)-1], texts[:len(texts)-1]
	}
	return fmt.Sprintf("%ss %s and %s", t.row, strings.Join(texts, ", "), last)
}
