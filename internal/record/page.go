package record

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// About are the short facts beside the title of a run's page.
func About(run *observe.Run) []doc.Field {
	r := run.Run()
	fleet := ""
	if n := len(run.Nodes()); n > 0 {
		fleet = num.Count(n, "node")
	}
	out := fields("state", string(r.State), "run", string(r.ID), "created", clock(r.Created), "fleet", fleet)
	out[0].Tone = stateTag(r.State).Tone
	return out
}

// State says how a run stands, for one that no study has anything to say of.
func State(run *observe.Run) string {
	r := run.Run()
	if r.Kind == model.KindBatch {
		return batchWords(run)
	}
	switch r.State {
	case model.RunCancelled:
		return "This run was cancelled before it could answer anything."
	case model.RunFailed:
		return "This run failed before it could answer anything."
	case model.RunPending, model.RunRunning:
		return "This run is not over: nothing can be concluded yet."
	case model.RunInterrupted:
		return "This run was interrupted; `scalebench resume` continues it."
	}
	return "This run has no data that a study could use."
}

// batchWords count jobs: a batch is run, not compared.
func batchWords(run *observe.Run) string {
	ok, all := 0, 0
	for _, s := range run.Steps() {
		all += len(s.Tasks)
		for _, r := range run.Accepted(s.ID) {
			if r.Outcome == model.OutcomeOK {
				ok++
			}
		}
	}
	if ok == all {
		return fmt.Sprintf("All %s ended as intended.", num.Count(all, "job"))
	}
	return fmt.Sprintf("%d of %s ended as intended.", ok, num.Count(all, "job"))
}

// Warnings are those of the run as a whole: its state, its steps, its nodes.
// What disturbed them is among the doubts of its Overview.
func Warnings(run *observe.Run) []doc.Warning {
	var out []doc.Warning
	warn := func(text, href, link string) {
		out = append(out, doc.Warning{Text: text, Links: []doc.Link{{Href: href, Text: link}}})
	}
	v := NewOverview(run)
	if v.Run.State != model.RunDone {
		text := "The run is " + string(v.Run.State)
		if v.Run.Reason != "" {
			text += ": " + v.Run.Reason
		}
		warn(text, "#steps", "steps")
	}
	invalid := 0
	for _, s := range v.Steps {
		if s.State == model.StepInvalid {
			invalid++
		}
	}
	if invalid > 0 {
		warn(fmt.Sprintf("%s of %d not valid and not scored", num.Count(invalid, "step"), len(v.Steps)), "#steps", "steps")
	}
	if n := len(v.Failed); n > 0 {
		warn(num.Count(n, "attempt")+" at a task did not end as intended", "#failures", "failures")
	}
	if text := differText(run.Nodes()); text != "" {
		warn(text, "#nodes", "nodes")
	}
	return out
}

// Sections are the parts of a run's page that no question owns.
func Sections(run *observe.Run) []doc.Section {
	out := workloadSections(run)
	out = append(out, setupSection(run))
	if len(run.Nodes()) > 0 {
		out = append(out, nodesSection(run.Nodes()))
	}
	v := NewOverview(run)
	out = append(out, v.trouble()...)
	if len(v.Steps) > 0 {
		out = append(out, doc.Section{ID: "steps", Title: "Steps", Blocks: []doc.Block{{Fold: &doc.Fold{
			Title: "All steps in order", Open: len(v.Steps) <= 24, Blocks: []doc.Block{{Table: stepsTable(v.Steps)}},
		}}}})
	}
	for i := range out {
		out[i].Show = doc.Page
	}
	return out
}

// setupSection says how the run was made.
func setupSection(run *observe.Run) doc.Section {
	r := run.Run()
	s := doc.Section{ID: "setup", Title: "What was run"}
	s.Blocks = []doc.Block{{Fields: fields("run", string(r.ID), "file", r.SourceName, "kind", string(r.Kind),
		"workloads", strings.Join(workloadWords(run.Steps()), "; "),
		"evaluations", evaluationWords(run.Steps()),
		"order (S serial, P parallel, B batch)", strings.Join(orderWords(run.Steps()), "; "),
		"seed", strconv.FormatInt(r.Seed, 10), "scalebench", r.Version,
		"agents", strings.Join(agentVersions(run.Nodes()), ", "),
		"created", clock(r.Created), "started", clock(r.Started), "finished", clock(r.Finished),
		"took", tookText(r), "clocks", clockWords(run))}}
	if r.Source != "" {
		title := "The experiment file"
		if r.SourceName != "" {
			title += ", " + r.SourceName
		}
		s.Blocks = append(s.Blocks, doc.Block{Fold: &doc.Fold{Title: title, Blocks: []doc.Block{{Code: &doc.Code{Text: r.Source}}}}})
	}
	return s
}

// workloadWords describes each workload once: name, kind, timeout.
func workloadWords(steps []model.Step) []string {
	var out []string
	seen := make(map[string]bool)
	for _, s := range steps {
		if seen[s.Workload] || len(s.Tasks) == 0 {
			continue
		}
		seen[s.Workload] = true
		spec := s.Tasks[0].Spec
		words := s.Workload + " (kind " + spec.Kind
		if spec.Timeout > 0 {
			words += ", at most " + num.Seconds(spec.Timeout.Seconds())
		}
		out = append(out, words+")")
	}
	return out
}

// evaluationWords counts trials: "serial: 3 trials, parallel: 3 trials".
func evaluationWords(steps []model.Step) string {
	var phases []model.Phase
	type trial struct {
		phase    model.Phase
		workload string
		number   int
	}
	seen, trials := make(map[trial]bool), make(map[model.Phase]map[string]int) // by workload
	for _, s := range steps {
		if trials[s.Phase] == nil {
			phases = append(phases, s.Phase)
			trials[s.Phase] = make(map[string]int)
		}
		if t := (trial{s.Phase, s.Workload, s.Trial}); !seen[t] {
			seen[t] = true
			trials[s.Phase][s.Workload]++
		}
	}
	var out []string
	for _, p := range phases {
		counts := slices.Collect(maps.Values(trials[p]))
		words := num.Count(slices.Max(counts), "trial")
		if lo, hi := slices.Min(counts), slices.Max(counts); lo != hi {
			words = fmt.Sprintf("%d to %d trials", lo, hi)
		}
		out = append(out, string(p)+": "+words)
	}
	return strings.Join(out, ", ")
}

// orderWords shows the order of evaluations of each workload, "S P S P". The
// windows of searches are no evaluations of the fleet.
func orderWords(steps []model.Step) []string {
	letters := map[model.Phase]string{model.Serial: "S", model.Parallel: "P", model.Batch: "B"}
	var names []string
	order, last := make(map[string][]string), make(map[string]string)
	for _, s := range steps {
		if s.Phase == model.Search {
			continue
		}
		if last[s.Workload] == "" {
			names = append(names, s.Workload)
		}
		key := fmt.Sprintf("%s %d", s.Phase, s.Trial)
		if last[s.Workload] != key {
			order[s.Workload] = append(order[s.Workload], cmp.Or(letters[s.Phase], string(s.Phase)))
		}
		last[s.Workload] = key
	}
	for i, n := range names {
		names[i] = n + ": " + strings.Join(order[n], " ")
	}
	return names
}

func agentVersions(nodes []model.Node) []string {
	var out []string
	for _, n := range nodes {
		if n.Facts.Agent != "" {
			out = append(out, n.Facts.Agent)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// clockWords says how well the nodes' clocks were known.
func clockWords(run *observe.Run) string {
	worst := 0.0
	for _, r := range run.Results() {
		worst = max(worst, r.ClockError.Seconds())
	}
	if worst == 0 {
		return ""
	}
	return "corrected to server time, off by at most " + num.Seconds(worst)
}
