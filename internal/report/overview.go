package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/table"
)

// overview is one run in brief; its JSON form is that of `scalebench show`.
type overview struct {
	Run    model.Run      `json:"run"`
	Fleet  []model.NodeID `json:"fleet"`
	Steps  []stepView     `json:"steps"`
	Failed []failure      `json:"failed"` // of every attempt, in order
	Events []model.Event  `json:"events"` // warnings and problems
}

// stepView is one step with what became of it.
type stepView struct {
	Number   int                   `json:"number"`
	Phase    model.Phase           `json:"phase"`
	Workload string                `json:"workload"`
	Trial    int                   `json:"trial"`
	State    model.StepState       `json:"state"`
	Reason   string                `json:"reason,omitempty"`
	Attempts int                   `json:"attempts"`
	Tasks    int                   `json:"tasks"`
	Outcomes map[model.Outcome]int `json:"outcomes"` // of the attempts that count
	Started  time.Time             `json:"started,omitzero"`
	Seconds  *float64              `json:"seconds"` // first start to last end; nil when unknown
	SkewMS   *float64              `json:"start_skew_ms"`
	OK       bool                  `json:"-"`
}

// failure is one attempt at a task that did not end as intended.
type failure struct {
	Step     int           `json:"step"`
	Phase    model.Phase   `json:"phase"`
	Workload string        `json:"workload"`
	Trial    int           `json:"trial"`
	Node     model.NodeID  `json:"node"`
	Attempt  int           `json:"attempt"`
	Outcome  model.Outcome `json:"outcome"`
	ExitCode *int          `json:"exit_code"`
	Error    string        `json:"error"`
	// Stderr is the last lines that the workload printed there.
	Stderr []string `json:"stderr"`
	// Retried says that a later attempt of the step took its place.
	Retried bool `json:"retried"`
}

// stderrLines is how much of a failed task's stderr is shown: the end, where
// tools say why they stop.
const stderrLines = 8

// longestLine bounds what one line of output may add to a page or a screen.
const longestLine = 400

func newOverview(d model.RunData) overview {
	v := overview{Run: d.Run, Fleet: []model.NodeID{}, Steps: []stepView{}, Failed: []failure{}, Events: []model.Event{}}
	for _, n := range d.Nodes {
		v.Fleet = append(v.Fleet, n.ID)
	}
	byStep := resultsByStep(d.Results)
	for _, s := range d.Steps {
		v.Steps = append(v.Steps, newStepView(s, byStep[s.ID]))
		v.Failed = append(v.Failed, failures(s, byStep[s.ID])...)
	}
	for _, e := range d.Events {
		if e.Severity != model.Info {
			v.Events = append(v.Events, e)
		}
	}
	return v
}

func resultsByStep(results []model.Result) map[model.StepID][]model.Result {
	out := make(map[model.StepID][]model.Result)
	for _, r := range results {
		out[r.Step] = append(out[r.Step], r)
	}
	return out
}

func newStepView(s model.Step, results []model.Result) stepView {
	v := stepView{
		Number: s.Number, Phase: s.Phase, Workload: s.Workload, Trial: s.Trial, State: s.State, Reason: s.Reason,
		Attempts: s.Attempt, Tasks: len(s.Tasks), Outcomes: map[model.Outcome]int{}, OK: s.State == model.StepComplete,
	}
	var t extent
	serving := make(map[model.TaskID]bool) // they are no part of the overlap
	for _, task := range s.Tasks {
		serving[task.ID] = task.Spec.Role == model.RoleServe
	}
	for _, r := range results {
		if !replaced(s, r, results) {
			v.Outcomes[r.Outcome]++
			if !serving[r.Task] {
				t.add(r)
			}
		}
	}
	if t.n == 0 {
		return v
	}
	v.Started = t.firstStart
	seconds, skew := t.lastEnd.Sub(t.firstStart).Seconds(), millis(t.lastStart.Sub(t.firstStart))
	v.Seconds = &seconds
	if s.Phase == model.Parallel {
		v.SkewMS = &skew
	}
	return v
}

// replaced reports whether a later attempt took the place of this result. A
// step is tried again as a whole, but the jobs of a batch each by itself.
func replaced(s model.Step, r model.Result, all []model.Result) bool {
	if s.Phase != model.Batch {
		return r.Attempt < s.Attempt
	}
	for _, other := range all {
		if other.Task == r.Task && other.Attempt > r.Attempt {
			return true
		}
	}
	return false
}

// extent is when the tasks of one attempt began and ended.
type extent struct {
	n                                        int
	firstStart, lastStart, firstEnd, lastEnd time.Time
}

// add takes in a result; one that never started says nothing about time.
func (e *extent) add(r model.Result) {
	if r.Started.IsZero() || r.Ended.Before(r.Started) {
		return
	}
	if e.n == 0 || r.Started.Before(e.firstStart) {
		e.firstStart = r.Started
	}
	if r.Started.After(e.lastStart) {
		e.lastStart = r.Started
	}
	if e.n == 0 || r.Ended.Before(e.firstEnd) {
		e.firstEnd = r.Ended
	}
	if r.Ended.After(e.lastEnd) {
		e.lastEnd = r.Ended
	}
	e.n++
}

// overlap is the common window over the whole span, 0 to 1 (model.Finding).
func (e *extent) overlap() float64 {
	span := e.lastEnd.Sub(e.firstStart)
	if e.n == 0 || span <= 0 {
		return math.NaN()
	}
	return max(0, float64(e.firstEnd.Sub(e.lastStart))/float64(span))
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func failures(s model.Step, results []model.Result) []failure {
	var out []failure
	for _, r := range results {
		if r.Outcome == model.OutcomeOK {
			continue
		}
		out = append(out, failure{
			Step: s.Number, Phase: s.Phase, Workload: s.Workload, Trial: s.Trial, Node: r.Node, Attempt: r.Attempt,
			Outcome: r.Outcome, ExitCode: r.ExitCode, Error: r.Error, Stderr: tail(r.Stderr.Text),
			Retried: replaced(s, r, results),
		})
	}
	return out
}

// tail returns the last lines of an output, made safe; never nil.
func tail(text string) []string {
	if strings.TrimSpace(text) == "" {
		return []string{}
	}
	lines := table.CleanLines(text)
	lines = lines[max(0, len(lines)-stderrLines):]
	for i, l := range lines {
		if r := []rune(l); len(r) > longestLine {
			lines[i] = string(r[:longestLine]) + "…"
		}
	}
	return lines
}

// where says which attempt a failure is, e.g. "step 3: cpu parallel trial 1 on
// n2, attempt 2". Steps count from 1 for people.
func (f failure) where() string {
	return table.Clean(fmt.Sprintf("step %d: %s %s trial %d on %s, attempt %d",
		f.Step+1, f.Workload, f.Phase, f.Trial, f.Node, f.Attempt))
}

// what says how it ended.
func (f failure) what() string {
	s := string(f.Outcome)
	if f.ExitCode != nil {
		s += fmt.Sprintf(", exit code %d", *f.ExitCode)
	}
	switch {
	case s == string(model.OutcomeCancelled) && strings.HasPrefix(f.Error, s):
		s = f.Error // "cancelled by the user"
	case f.Error != "":
		s += ": " + f.Error
	}
	if f.Retried {
		s += " (tried again)"
	}
	return table.Clean(s)
}

// outcomesText counts outcomes, the good ones first: "3 ok, 1 timeout".
func outcomesText(v stepView) string {
	var out []string
	for _, o := range outcomeColumns {
		if n := v.Outcomes[o]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, o))
		}
	}
	if len(out) == 0 {
		return fmt.Sprintf("none of %d", v.Tasks)
	}
	return strings.Join(out, ", ")
}
