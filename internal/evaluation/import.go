package evaluation

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/tabular"
)

// The three forms of a table, told apart by their header (docs/methods.md has
// an example of each).
const (
	formLong      = iota // one value a line
	formWide             // one node a line
	formPublished        // means over nodes, as papers have them
)

var forms = []tabular.Form{
	{Required: []string{"node", "phase", "value"}, Optional: slices.Concat(described, []string{"trial", "better"})},
	{Required: []string{"node", "serial", "parallel"}, Optional: slices.Concat(described, []string{"trial", "better"})},
	{Required: []string{"nodes", "serial_mean", "parallel_mean"}, Optional: slices.Concat(described, []string{"better"})},
}

// described are the columns that say what was measured.
var described = []string{"platform", "workload", "metric", "unit", "resource"}

const formsAllowed = "the first line must name the columns: node,phase,value or node,serial,parallel or " +
	"nodes,serial_mean,parallel_mean; and any of platform, workload, metric, unit, resource, better and (with node) trial"

// Import returns a finding for each platform, workload and metric of the user's own
// numbers, in the order of the file. name is the file's name, for messages and
// for the workload where the file names none.
//
// Published means have no nodes to compute an interval from: their verdict is
// always unknown. Everything that is wrong with the file is reported at once as
// a model.ErrUsage.
func Import(ctx context.Context, name string, table io.Reader, opt Options) ([]Finding, error) {
	tables, err := readTables(ctx, name, table)
	if err != nil {
		return nil, err
	}
	var out []Finding
	for _, t := range tables {
		f := t.Finding(opt)
		f.Platform = t.platform
		out = append(out, f)
	}
	return out, nil
}

// importer reads a table into one Table a workload and metric.
type importer struct {
	*tabular.Reader
	form                             int
	workload, metric, unit, better   tabular.Column
	platform, resource               tabular.Column
	node, phase, trial, value        tabular.Column
	nodes, serial, parallel          tabular.Column
	name                             string // of the workload where the file does not say
	tables                           []*group
	byName                           map[[3]string]*group
	last                             *group
	trialText, betterText, phaseText string // as they were before, and what they mean
	trialNumber                      int
	betterMeans                      model.Better
	phaseMeans                       model.Phase
}

// group is a table with the line of its first row.
type group struct {
	Table
	platform string
	line     int
}

// readTables reads everything. Rows are dropped as soon as their values are
// kept.
func readTables(ctx context.Context, name string, table io.Reader) ([]*group, error) {
	reader, err := tabular.Open(name, table)
	if err != nil {
		return nil, err
	}
	im := &importer{Reader: reader, name: tabular.BaseName(name), byName: make(map[[3]string]*group)}
	if im.form, err = reader.Use(forms, formsAllowed); err != nil {
		return nil, err
	}
	im.columns()
	for im.Next() {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		g := im.group()
		switch im.form {
		case formLong:
			im.long(g)
		case formWide:
			im.wide(g)
		case formPublished:
			im.published(g)
		}
	}
	return im.tables, im.Err()
}

func (im *importer) columns() {
	im.workload, im.metric, im.unit, im.better = im.Column("workload"), im.Column("metric"), im.Column("unit"), im.Column("better")
	im.platform, im.resource = im.Column("platform"), im.Column("resource")
	im.node, im.phase, im.trial, im.value = im.Column("node"), im.Column("phase"), im.Column("trial"), im.Column("value")
	im.nodes, im.serial, im.parallel = im.Column("nodes"), im.Column("serial"), im.Column("parallel")
	if im.form == formPublished {
		im.serial, im.parallel = im.Column("serial_mean"), im.Column("parallel_mean")
	}
}

// group finds the table of the current row. Unit and direction are those of
// its first row, for all of them.
func (im *importer) group() *group {
	workload, metric, unit := im.text(im.workload, im.name), im.text(im.metric, "capacity"), im.Text(im.unit)
	if text := im.Text(im.better); text != im.betterText || im.betterMeans == "" {
		im.betterText, im.betterMeans = strings.Clone(text), model.Better(strings.ToLower(im.text(im.better, string(model.Higher))))
	}
	platform := im.Text(im.platform)
	g := im.last
	if g == nil || g.platform != platform || g.Workload != workload || g.Metric != metric {
		g = im.byName[[3]string{platform, workload, metric}]
	}
	if g == nil {
		platform, workload, metric = strings.Clone(platform), strings.Clone(workload), strings.Clone(metric)
		of := Table{Workload: workload, Metric: metric, Unit: strings.Clone(unit), Better: im.betterMeans,
			Resource: strings.Clone(im.Text(im.resource))}
		g = &group{of, platform, im.Line()}
		if g.Better != model.Higher && g.Better != model.Lower {
			im.RefuseCell(im.better, "better", `higher (throughputs, scores) or lower (durations)`)
		}
		im.tables, im.byName[[3]string{platform, workload, metric}] = append(im.tables, g), g
	}
	im.last = g
	if unit != g.Unit {
		im.RefuseCell(im.unit, "unit", fmt.Sprintf("%q as in line %d, for all of %s of %s", g.Unit, g.line, g.Metric, g.Workload))
	}
	if text := im.Text(im.resource); text != g.Resource {
		im.RefuseCell(im.resource, "resource",
			fmt.Sprintf("%q as in line %d, for all of %s of %s", g.Resource, g.line, g.Metric, g.Workload))
	}
	if im.betterMeans != g.Better {
		im.RefuseCell(im.better, "better", fmt.Sprintf("%q as in line %d, for all of %s of %s", g.Better, g.line, g.Metric, g.Workload))
	}
	return g
}

// text returns a cell, or what holds where the column or its content is
// missing.
func (im *importer) text(c tabular.Column, ifEmpty string) string {
	if t := im.Text(c); t != "" {
		return t
	}
	return ifEmpty
}

// long reads node, phase, value.
func (im *importer) long(g *group) {
	if text := im.Text(im.phase); text != im.phaseText || im.phaseMeans == "" {
		im.phaseText, im.phaseMeans = strings.Clone(text), model.Phase(strings.ToLower(text))
	}
	if im.phaseMeans != model.Serial && im.phaseMeans != model.Parallel {
		im.RefuseCell(im.phase, "phase", "serial or parallel")
		return
	}
	im.put(g, im.phaseMeans, im.value, "value")
}

// wide reads node, serial, parallel; one of the two may be missing.
func (im *importer) wide(g *group) {
	if im.Text(im.serial) == "" && im.Text(im.parallel) == "" {
		im.RefuseCell(im.serial, "serial", "a number in at least one of serial and parallel")
		return
	}
	if im.Text(im.serial) != "" {
		im.put(g, model.Serial, im.serial, "serial")
	}
	if im.Text(im.parallel) != "" {
		im.put(g, model.Parallel, im.parallel, "parallel")
	}
}

// put keeps the value of one column.
func (im *importer) put(g *group, phase model.Phase, column tabular.Column, name string) {
	node := im.Text(im.node)
	if node == "" {
		im.RefuseCell(im.node, "node", "the name of the node, or of the pair of nodes")
		return
	}
	trial, okTrial := im.trialOf()
	value, okValue := im.capacity(column, name)
	if !okTrial || !okValue {
		return
	}
	if line := g.Add(node, phase, trial, value, im.Line()); line > 0 {
		im.RefuseRow(im.node,
			fmt.Sprintf("node %s has a %s value of %s in trial %d already in line %d", node, phase, g.Metric, trial, line),
			"give one value per node, phase and trial; number repetitions in a column trial")
	}
}

// trialOf reads the trial; most rows have that of the row before.
func (im *importer) trialOf() (int, bool) {
	text := im.Text(im.trial)
	if im.trialNumber > 0 && text == im.trialText {
		return im.trialNumber, true
	}
	n, ok := im.count(im.trial, "trial", 1)
	if ok {
		im.trialText, im.trialNumber = strings.Clone(text), n
	}
	return n, ok
}

// published reads nodes, serial_mean, parallel_mean.
func (im *importer) published(g *group) {
	nodes, okNodes := im.count(im.nodes, "nodes", 0)
	serial, okSerial := im.capacity(im.serial, "serial_mean")
	parallel, okParallel := im.capacity(im.parallel, "parallel_mean")
	if okNodes && okSerial && okParallel && !g.Publish(nodes, serial, parallel) {
		im.RefuseRow(tabular.Absent, fmt.Sprintf("%s of %s already has its means in line %d", g.Metric, g.Workload, g.line), "give one line for each workload and metric")
	}
}

// capacity reads a cell that holds a number above 0.
func (im *importer) capacity(c tabular.Column, name string) (float64, bool) {
	v, ok := tabular.Number(im.Text(c))
	if !ok || !IsCapacity(v) {
		im.RefuseCell(c, name, "a number above 0, without unit or thousands separators, like 1234.5 or 1.2e9")
		return 0, false
	}
	return v, true
}

// count reads a cell that holds a whole number of at least 1. An empty cell
// gives the default, if that is one.
func (im *importer) count(c tabular.Column, name string, ifEmpty int) (int, bool) {
	n, err := strconv.Atoi(im.text(c, strconv.Itoa(ifEmpty)))
	if err != nil || n < 1 || n > mostCounted {
		im.RefuseCell(c, name, fmt.Sprintf("a whole number from 1 to %d", mostCounted))
		return 0, false
	}
	return n, true
}

// mostCounted bounds trials, and the nodes of published means.
const mostCounted = 1_000_000
