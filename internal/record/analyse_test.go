package record

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// TestAnalyse: how a run was analysed at its end is its last stage, with its times and,
// where it failed, why; once more where the run was resumed since.
func TestAnalyse(t *testing.T) {
	d := quarter().build()
	at := func(s float64) time.Time { return d.Run.Started.Add(time.Duration(s * 1e9)) }
	add := func(began, ended float64, s model.Severity, text string) {
		d.Events = append(d.Events, model.Event{Run: testRun, Time: at(began), Kind: model.EventAnalysisStarted, Severity: model.Info, Text: "analysis began"},
			model.Event{Run: testRun, Time: at(ended), Kind: model.EventAnalysisEnded, Severity: s, Text: text})
	}
	add(300, 302.5, model.Warning, "the analysis failed: no trial counts")
	add(400, 401, model.Info, "analysed by cdi")
	v := NewOverview(observe.Of(d))
	js, err := json.Marshal(v.Stages)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"step":null,"node":"","stage":"analyse","at":300,"seconds":2.5,"error":"the analysis failed: no trial counts"},` +
		`{"step":null,"node":"","stage":"analyse","at":400,"seconds":1,"note":"analysed by cdi"}]`
	if string(js) != want {
		t.Errorf("stages %s, want %s", js, want)
	}
	if len(v.Events) != 1 {
		t.Errorf("events that matter: %v, want the analysis that failed", v.Events)
	}
	var text strings.Builder
	if err := render.Text(&text, v.Document(), render.TextOptions{Width: 120}); err != nil {
		t.Fatal(err)
	}
	if line := fmt.Sprintf("%4s  %+.1f s", "run", 400.0); !strings.Contains(text.String(), line) || !strings.Contains(text.String(), "analysed by cdi") {
		t.Errorf("no line %q in\n%s", line, text.String())
	}
}
