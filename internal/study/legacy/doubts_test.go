package legacy

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/model"
)

var someDoubts = []model.Doubt{
	{Code: "steal", Severity: model.Warning, Text: "w: 4 % <stolen>", Workload: "w"},
	{Code: "swap", Severity: model.Warning, Text: "v: swapped", Workload: "v"},
	{Code: "swap", Severity: model.Warning, Text: "run X: swapped"},
}

// The same in JSON.
const (
	steal   = `{"code":"steal","severity":"warning","text":"w: 4 % <stolen>","workload":"w"}`
	swap    = `{"code":"swap","severity":"warning","text":"v: swapped","workload":"v"}`
	another = `{"code":"swap","severity":"warning","text":"run X: swapped"}`
)

// TestDoubtResult: warnings are added to results of every form, each once, and
// nothing else of them changes.
func TestDoubtResult(t *testing.T) {
	for _, c := range []struct{ name, result, want string }{
		{"an object without warnings", `{"b":1.50,"a":"<x>"}`, `{"b":1.50,"a":"<x>","warnings":["w: 4 % <stolen>","v: swapped","run X: swapped"],"doubts":[` + steal + `,` + swap + `,` + another + `]}`},
		{"an empty one", `{}`, `{"warnings":["w: 4 % <stolen>","v: swapped","run X: swapped"],"doubts":[` + steal + `,` + swap + `,` + another + `]}`},
		{"one with some", `{"warnings":["few","v: swapped"],"doubts":[` + swap + `],"a":{"warnings":[]}}`, `{"warnings":["few","v: swapped","w: 4 % <stolen>","run X: swapped"],"doubts":[` + swap + `,` + steal + `,` + another + `],"a":{"warnings":[]}}`},
		{"none yet", `{"a":1,"warnings":null}`, `{"a":1,"warnings":["w: 4 % <stolen>","v: swapped","run X: swapped"],"doubts":[` + steal + `,` + swap + `,` + another + `]}`},
		{"of one workload", `{"workload":"v","warnings":[]}`, `{"workload":"v","warnings":["v: swapped","run X: swapped"],"doubts":[` + swap + `,` + another + `]}`},
		{"a list", `[{"workload":"w","warnings":["few"]},{"workload":"u"}]`, `[{"workload":"w","warnings":["few","w: 4 % <stolen>","run X: swapped"],"doubts":[` + steal + `,` + another + `]},{"workload":"u","warnings":["run X: swapped"],"doubts":[` + another + `]}]`},
		{"an empty list", `[]`, `[]`},
		{"warnings of another form", `{"warnings":[{"code":1}]}`, `{"warnings":[{"code":1}]}`},
		{"a number", `17`, `17`},
	} {
		got, err := doubtResult(json.RawMessage(c.result), someDoubts)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: doubtResult(%s) = %s, %v, want %s", c.name, c.result, got, err, c.want)
		}
		if got, err := doubtResult(json.RawMessage(c.result), nil); err != nil || string(got) != c.result {
			t.Errorf("%s: without doubts it becomes %s, %v", c.name, got, err)
		}
	}
}

// TestDoubtTable: the column of warnings has what concerns the row's workload.
func TestDoubtTable(t *testing.T) {
	table := &doc.Table{Columns: doc.ForPrograms("workload", "warnings")}
	table.Add(doc.Values("w", "few; run X: swapped")...)
	table.Add(doc.Values("v", "")...)
	DoubtTable(table, someDoubts)
	var got []any
	for _, r := range table.Rows {
		got = append(got, r.Cells[1].Value)
	}
	if diff := cmp.Diff([]any{"few; run X: swapped; w: 4 % <stolen>", "v: swapped; run X: swapped"}, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	steps := &doc.Table{Columns: doc.ForPrograms("number", "workload", "warnings")}
	for n := range 3 {
		steps.Add(doc.Values(n, "w", "")...)
	}
	DoubtTable(steps, []model.Doubt{{Text: "w: stolen", Workload: "w", Steps: []int{0, 2}}, {Text: "few"}})
	for n, want := range []string{"w: stolen; few", "few", "w: stolen; few"} {
		if got := steps.Rows[n].Cells[2].Value; got != want {
			t.Errorf("step %d has the warnings %q, want %q", n, got, want)
		}
	}
	DoubtTable(nil, someDoubts)
	DoubtTable(&doc.Table{Columns: doc.ForPrograms("a")}, someDoubts)
}
