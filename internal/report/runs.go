package report

import (
	"io"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/table"
)

// Runs prints a list of runs in the order given. JSON and CSV leave out the
// experiment files; `scalebench export` has them.
func Runs(w io.Writer, runs []model.Run, f Format, o Options) error {
	if f == Text && len(runs) == 0 {
		return writeLines(w, "No runs yet. `scalebench demo` makes one in about a minute.")
	}
	if f == Text {
		return writeTable(w, runsForPeople(runs, o), f, o)
	}
	return writeTable(w, runsForPrograms(runs), f, o)
}

func runsForPeople(runs []model.Run, o Options) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Key: "id", Head: "run"}, {Key: "name", Head: "name"}, {Key: "state", Head: "state"},
		{Key: "created", Head: "created"}, {Key: "seconds", Head: "took", Align: table.Right},
		{Key: "source_name", Head: "file"}, {Key: "reason", Head: "reason"},
	}}
	for _, r := range runs {
		reason := table.Text(r.Reason)
		reason.Lines = table.Wrap(reason.Lines[0], 40)
		t.Add(table.Text(string(r.ID)), table.Text(r.Name), stateCell(r.State),
			table.Of(r.Created, o.clock(r.Created)), table.Of(nil, tookText(r)),
			table.Text(r.SourceName), reason)
	}
	return t
}

func runsForPrograms(runs []model.Run) *table.Table {
	t := &table.Table{}
	for _, key := range []string{
		"id", "name", "kind", "state", "reason", "source_name", "seed", "version",
		"created", "started", "finished", "seconds",
	} {
		t.Columns = append(t.Columns, table.Column{Key: key, Head: key})
	}
	for _, r := range runs {
		var seconds any
		if d, ok := took(r); ok {
			seconds = d.Seconds()
		}
		t.Add(table.Text(string(r.ID)), table.Text(r.Name), table.Text(string(r.Kind)), table.Text(string(r.State)),
			table.Text(r.Reason), table.Text(r.SourceName), table.Of(r.Seed), table.Text(r.Version),
			table.Of(r.Created), table.Of(r.Started), table.Of(r.Finished), table.Of(seconds))
	}
	return t
}

// took is how long a run ran; ok is false while it does or if it never began.
func took(r model.Run) (time.Duration, bool) {
	if r.Started.IsZero() || r.Finished.Before(r.Started) {
		return 0, false
	}
	return r.Finished.Sub(r.Started), true
}

func tookText(r model.Run) string {
	if d, ok := took(r); ok {
		return num.Seconds(d.Seconds())
	}
	return ""
}

func stateCell(s model.RunState) table.Cell {
	style := table.Plain
	switch s {
	case model.RunFailed, model.RunIncomplete, model.RunInterrupted:
		style = table.Bad
	case model.RunCancelled:
		style = table.Note
	case model.RunRunning:
		style = table.Good
	}
	return table.Text(string(s)).As(style)
}
