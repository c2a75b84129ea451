package answer

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
)

// doubt is a warning that the platform adds to what a study says: no study
// needs a line for it.
type doubt struct {
	workload string // that it is about; empty: all
	text     string
}

// opener opens a run by id, unique prefix or "latest".
type opener func(ctx context.Context, name string) (*observe.Run, error)

// reading is the runs that a study reads: the one in question, and those that
// it opens.
type reading struct {
	open   opener
	main   *observe.Run // nil: none
	others []*observe.Run
}

// another is study.Input.Open.
func (r *reading) another(ctx context.Context, name string) (*observe.Run, error) {
	run, err := r.open(ctx, name)
	if err == nil && (r.main == nil || run.Run().ID != r.main.Run().ID) {
		r.others = append(r.others, run)
	}
	return run, err
}

func (r *reading) input() study.Input { return study.Input{Run: r.main, Open: r.another} }

// doubts are what disturbed the nodes of all runs while they were measured.
func (r *reading) doubts() []doubt {
	var out []doubt
	if r.main != nil {
		for _, x := range r.main.Disturbances() {
			out = append(out, doubt{x.Workload, x.Text})
		}
	}
	for _, run := range r.others {
		for _, x := range run.Disturbances() {
			out = append(out, doubt{text: "run " + string(run.Run().ID) + ": " + x.Text})
		}
	}
	return out
}

// err is what could not be read of the runs.
func (r *reading) err() error {
	var errs []error
	if r.main != nil {
		errs = append(errs, r.main.Err())
	}
	for _, run := range r.others {
		errs = append(errs, run.Err())
	}
	return errors.Join(errs...)
}

// withDoubts adds the texts of doubts about a workload to warnings, each once.
func withDoubts(warnings []string, workload string, doubts []doubt) []string {
	for _, d := range doubts {
		about := d.workload == "" || workload == "" || d.workload == workload
		if about && !slices.Contains(warnings, d.text) {
			warnings = append(warnings, d.text)
		}
	}
	return warnings
}

// doubtResult adds doubts to the "warnings" of a result in JSON, or of each of
// its elements where it is an array. One with a "workload" gets those about
// that one.
func doubtResult(result json.RawMessage, doubts []doubt) (json.RawMessage, error) {
	if len(doubts) == 0 {
		return result, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(result, &list) == nil {
		var all []string
		for _, x := range list {
			x, err := doubtResult(x, doubts)
			if err != nil {
				return nil, err
			}
			all = append(all, string(x))
		}
		return json.RawMessage("[" + strings.Join(all, ",") + "]"), nil
	}
	var has struct {
		Workload string   `json:"workload"`
		Warnings []string `json:"warnings"`
	}
	if json.Unmarshal(result, &has) != nil {
		return result, nil //nolint:nilerr // a result of another form has no place for them
	}
	warnings := withDoubts(has.Warnings, has.Workload, doubts)
	if len(warnings) == len(has.Warnings) {
		return result, nil
	}
	texts, err := encode(warnings)
	if err != nil {
		return nil, err
	}
	if from, to := member(result, "warnings"); to > 0 {
		return slices.Concat(result[:from], texts, result[to:]), nil
	}
	before := result[:len(result)-len("}")]
	if len(before) > len("{") {
		before = slices.Concat(before, []byte(","))
	}
	return slices.Concat(before, []byte(`"warnings":`), texts, []byte("}")), nil
}

// member is where the value of a key lies in a JSON object without spaces; 0,
// 0 if the key is missing.
func member(object json.RawMessage, key string) (from, to int) {
	dec := json.NewDecoder(strings.NewReader(string(object)))
	_, _ = dec.Token() // "{"
	for dec.More() {
		name, _ := dec.Token()
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			break
		}
		if name == key {
			return int(dec.InputOffset()) - len(value), int(dec.InputOffset())
		}
	}
	return 0, 0
}

// doubtTable adds doubts to the column "warnings" of a table for programs, if
// it has one: in a row with a "workload" those about that one.
func doubtTable(t *doc.Table, doubts []doubt) {
	if t == nil {
		return
	}
	column := func(key string) int {
		return slices.IndexFunc(t.Columns, func(c doc.Column) bool { return c.Key == key })
	}
	warnings, workload := column("warnings"), column("workload")
	if warnings < 0 {
		return
	}
	for _, row := range t.Rows {
		about, cell := "", &row.Cells[warnings]
		if workload >= 0 {
			about, _ = row.Cells[workload].Value.(string)
		}
		for _, d := range withDoubts(nil, about, doubts) {
			switch text, _ := cell.Value.(string); {
			case text == "":
				cell.Value = d
			case !strings.Contains(text, d):
				cell.Value = text + "; " + d
			}
		}
	}
}

// doubtDocument adds doubts to the warnings of a document and to its table.
func doubtDocument(d *doc.Document, doubts []doubt) {
	for _, x := range doubts {
		warnOnce(d, doc.Warning{Text: x.text})
	}
	doubtTable(d.Table(), doubts)
}

// warnOnce adds a warning unless the document has one of that text.
func warnOnce(d *doc.Document, w doc.Warning) {
	if !slices.ContainsFunc(d.Warnings, func(x doc.Warning) bool { return x.Text == w.Text }) {
		d.Warnings = append(d.Warnings, w)
	}
}
