package legacy

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/model"
)

// tells reports whether a text says what a doubt does. A finding's own doubts do
// not name its workload.
func tells(text string, d model.Doubt) bool {
	return strings.Contains(text, strings.TrimPrefix(d.Text, d.Workload+": "))
}

// untold are the doubts about a workload that no text tells yet, each once.
// Empty: all workloads.
func untold(texts []string, workload string, doubts []model.Doubt) []model.Doubt {
	var out []model.Doubt
	for _, d := range doubts {
		about := d.Workload == "" || workload == "" || d.Workload == workload
		if about && !slices.ContainsFunc(texts, func(w string) bool { return tells(w, d) }) {
			texts, out = append(texts, d.Text), append(out, d)
		}
	}
	return out
}

// doubtResult adds doubts to a result in JSON, or to each of its elements where
// it is an array: to its "doubts", and their texts to its "warnings". One with a
// "workload" gets those about that one.
func doubtResult(result json.RawMessage, doubts []model.Doubt) (json.RawMessage, error) {
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
		Workload string        `json:"workload"`
		Warnings []string      `json:"warnings"`
		Doubts   []model.Doubt `json:"doubts"`
	}
	if json.Unmarshal(result, &has) != nil {
		return result, nil //nolint:nilerr // a result of another form has no place for them
	}
	more := untold(has.Warnings, has.Workload, doubts)
	if len(more) == 0 {
		return result, nil
	}
	result, err := setKey(result, "warnings", append(has.Warnings, model.Texts(more)...))
	if err != nil {
		return nil, err
	}
	return setKey(result, "doubts", append(has.Doubts, more...))
}

// setKey returns a JSON object in which a key has this value: in its place, or at the
// end where it was missing.
func setKey(object json.RawMessage, key string, value any) (json.RawMessage, error) {
	text, err := encode(value)
	if err != nil {
		return nil, err
	}
	if from, to := member(object, key); to > 0 {
		return slices.Concat(object[:from], text, object[to:]), nil
	}
	before := object[:len(object)-len("}")]
	if len(before) > len("{") {
		before = slices.Concat(before, []byte(","))
	}
	return slices.Concat(before, []byte(`"`+key+`":`), text, []byte("}")), nil
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

// DoubtTable adds doubts to the column "warnings" of a table for programs, if
// it has one: in a row with a "workload" those about that one, in one with the
// "number" of a step those that were seen in it.
func DoubtTable(t *doc.Table, doubts []model.Doubt) {
	if t == nil {
		return
	}
	column := func(key string) int {
		return slices.IndexFunc(t.Columns, func(c doc.Column) bool { return c.Key == key })
	}
	warnings, workload, number := column("warnings"), column("workload"), column("number")
	if warnings < 0 {
		return
	}
	for _, row := range t.Rows {
		about, cell := "", &row.Cells[warnings]
		if workload >= 0 {
			about, _ = row.Cells[workload].Value.(string)
		}
		for _, d := range untold(nil, about, doubts) {
			if number >= 0 && len(d.Steps) > 0 && !slices.ContainsFunc(d.Steps,
				func(n int) bool { return row.Cells[number].Value == n }) {
				continue
			}
			switch text, _ := cell.Value.(string); {
			case text == "":
				cell.Value = d.Text
			case !tells(text, d):
				cell.Value = text + "; " + d.Text
			}
		}
	}
}

// said are the warnings of a document, and what it lists: why a question has no
// answer.
func said(d *doc.Document) []string {
	var out []string
	for _, w := range d.Warnings {
		out = append(out, w.Text)
	}
	for _, s := range d.Sections {
		for _, b := range s.Blocks {
			if b.List != nil {
				out = append(out, b.List.Items...)
			}
		}
	}
	return out
}

// DoubtDocument adds doubts to the warnings of a document and to its table.
func DoubtDocument(d *doc.Document, doubts []model.Doubt) {
	for _, x := range doubts {
		if !slices.ContainsFunc(said(d), func(text string) bool { return tells(text, x) }) {
			d.Warnings = append(d.Warnings, doc.Warning{Text: x.Text})
		}
	}
	DoubtTable(d.Table(), doubts)
}
