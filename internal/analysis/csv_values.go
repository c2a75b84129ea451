package analysis

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// groups reads the values of all rows. The error is a CSVErrors.
func (s *sheet) groups() ([]*group, error) {
	var order []*group
	byName := make(map[[2]string]*group)
	for _, r := range s.rows {
		key := [2]string{s.text(r, "workload", s.workloadName()), s.text(r, "metric", "capacity")}
		g, ok := byName[key]
		if !ok {
			g = s.newGroup(r, key)
			byName[key] = g
			order = append(order, g)
		}
		s.checkGroup(r, g)
		s.readRow(r, g)
	}
	if len(s.errs) > 0 {
		slices.SortStableFunc(s.errs, (*CSVError).compare)
		return nil, s.errs
	}
	return order, nil
}

// newGroup takes unit and direction from the first row of a group.
func (s *sheet) newGroup(r row, key [2]string) *group {
	g := &group{workload: key[0], metric: key[1], unit: s.text(r, "unit", ""), line: r.at[0].line, seen: make(map[cellKey]int)}
	g.better = model.Better(strings.ToLower(s.text(r, "better", string(model.Higher))))
	if g.better != model.Higher && g.better != model.Lower {
		s.failCell(r, "better", `higher (throughputs, scores) or lower (durations)`)
	}
	return g
}

// checkGroup holds a row to its group's unit and direction.
func (s *sheet) checkGroup(r row, g *group) {
	if unit := s.text(r, "unit", ""); unit != g.unit {
		s.failCell(r, "unit", fmt.Sprintf("%q as in line %d, for all of %s of %s", g.unit, g.line, g.metric, g.workload))
	}
	if better := strings.ToLower(s.text(r, "better", string(model.Higher))); better != string(g.better) {
		s.failCell(r, "better", fmt.Sprintf("%q as in line %d, for all of %s of %s", g.better, g.line, g.metric, g.workload))
	}
}

// readRow files the row's values in its group.
func (s *sheet) readRow(r row, g *group) {
	switch s.form {
	case formLong:
		s.readLong(r, g)
	case formWide:
		s.readWide(r, g)
	case formPublished:
		s.readPublished(r, g)
	}
}

// readLong reads node, phase, value.
func (s *sheet) readLong(r row, g *group) {
	phase := model.Phase(strings.ToLower(s.text(r, "phase", "")))
	if phase != model.Serial && phase != model.Parallel {
		s.failCell(r, "phase", "serial or parallel")
		return
	}
	s.put(r, g, phase, "value")
}

// readWide reads node, serial, parallel; one of the two may be missing.
func (s *sheet) readWide(r row, g *group) {
	if s.text(r, "serial", "") == "" && s.text(r, "parallel", "") == "" {
		s.failCell(r, "serial", "a value in at least one of serial and parallel")
		return
	}
	for _, phase := range []model.Phase{model.Serial, model.Parallel} {
		if s.text(r, string(phase), "") != "" {
			s.put(r, g, phase, string(phase))
		}
	}
}

// put files the value of one column.
func (s *sheet) put(r row, g *group, phase model.Phase, column string) {
	node := model.NodeID(s.text(r, "node", ""))
	if node == "" {
		s.failCell(r, "node", "the name of the node, or of the pair of nodes")
		return
	}
	trial, okTrial := s.count(r, "trial", 1)
	value, okValue := s.value(r, column)
	if !okTrial || !okValue {
		return
	}
	if line := g.put(cellKey{node, phase, trial}, value, r.at[0].line); line > 0 {
		s.failAt(r.at[s.columns["node"]],
			fmt.Sprintf("node %s has a %s value of %s in trial %d already, in line %d", node, phase, g.metric, trial, line),
			"one value a node, phase and trial; number repetitions in a column trial")
	}
}

// readPublished reads nodes, serial_mean, parallel_mean.
func (s *sheet) readPublished(r row, g *group) {
	nodes, okNodes := s.count(r, "nodes", 0)
	serial, okSerial := s.capacity(r, g, "serial_mean")
	parallel, okParallel := s.capacity(r, g, "parallel_mean")
	switch {
	case !okNodes || !okSerial || !okParallel:
	case g.published != nil:
		s.failAt(r.at[0], fmt.Sprintf("%s of %s has its means in line %d already", g.metric, g.workload, g.line), "one line for each workload and metric")
	default:
		g.published = &published{nodes, serial, parallel}
	}
}

// decimal is a number as people and spreadsheets write it, unlike what
// strconv takes: no hexadecimal, no underscores, no infinity.
var decimal = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// capacity reads a cell that holds a capacity, or, where lower is better, a
// duration T whose capacity is 1/T.
func (s *sheet) capacity(r row, g *group, column string) (float64, bool) {
	v, ok := s.value(r, column)
	return capacityOf(v, g.better == model.Lower), ok
}

// value reads a cell that holds a number above 0.
func (s *sheet) value(r row, column string) (float64, bool) {
	text := s.text(r, column, "")
	v, err := strconv.ParseFloat(text, 64)
	if !decimal.MatchString(text) || err != nil || !isCapacity(v) {
		s.failCell(r, column, "a number above 0, without unit or thousands separators, like 1234.5 or 1.2e9")
		return 0, false
	}
	return v, true
}

// count reads a cell that holds a whole number of at least 1. An empty cell
// gives the default, if that is one.
func (s *sheet) count(r row, column string, ifEmpty int) (int, bool) {
	text := s.text(r, column, strconv.Itoa(ifEmpty))
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 1_000_000 {
		s.failCell(r, column, "a whole number from 1 to 1000000")
		return 0, false
	}
	return n, true
}

// text returns a cell, or what holds where the column or its content is
// missing.
func (s *sheet) text(r row, column, ifEmpty string) string {
	if i, ok := s.columns[column]; ok && r.cells[i] != "" {
		return r.cells[i]
	}
	return ifEmpty
}

// failCell reports a value that is not allowed.
func (s *sheet) failCell(r row, column, allowed string) {
	i, ok := s.columns[column]
	if !ok { // a value that the file leaves out
		s.failAt(r.at[0], "there is no "+column, "allowed is "+allowed)
		return
	}
	problem := fmt.Sprintf("%s is %q", column, r.cells[i])
	if r.cells[i] == "" {
		problem = column + " is empty"
	}
	s.failAt(r.at[i], problem, "allowed is "+allowed)
}
