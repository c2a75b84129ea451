package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/table"
)

// setup says how the run was made.
func (b builder) setup() []field {
	r := b.data.Run
	all := []field{
		{"run", string(r.ID)}, {"file", r.SourceName}, {"kind", string(r.Kind)},
		{"workloads", strings.Join(b.workloadWords(), "; ")},
		{"evaluations", b.evaluationWords()}, {"order (S serial, P parallel, B batch)", strings.Join(b.orderWords(), "; ")},
		{"seed", strconv.FormatInt(r.Seed, 10)}, {"scalebench", r.Version},
		{"agents", strings.Join(agentVersions(b.data.Nodes), ", ")},
		{"created", b.opts.clock(r.Created)}, {"started", b.opts.clock(r.Started)},
		{"finished", b.opts.clock(r.Finished)}, {"took", tookText(r)}, {"clocks", b.clockWords()},
	}
	var out []field
	for _, f := range all {
		if f.Text != "" {
			out = append(out, field{f.Label, table.Clean(f.Text)})
		}
	}
	return out
}

// workloadWords describes each workload once: name, kind, timeout.
func (b builder) workloadWords() []string {
	var out []string
	seen := make(map[string]bool)
	for _, s := range b.data.Steps {
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
func (b builder) evaluationWords() string {
	var out []string
	for _, phase := range []model.Phase{model.Serial, model.Parallel, model.Search, model.Batch} {
		trials := make(map[string]bool)
		perWorkload := make(map[string]int)
		for _, s := range b.data.Steps {
			key := fmt.Sprintf("%s\x00%d", s.Workload, s.Trial)
			if s.Phase == phase && !trials[key] {
				trials[key] = true
				perWorkload[s.Workload]++
			}
		}
		if len(perWorkload) > 0 {
			out = append(out, string(phase)+": "+rangeWords(perWorkload))
		}
	}
	return strings.Join(out, ", ")
}

// rangeWords says "3 trials", or "2 to 3 trials" when workloads differ.
func rangeWords(counts map[string]int) string {
	all := slices.Sorted(maps.Values(counts))
	lo, hi := all[0], all[len(all)-1]
	if lo != hi {
		return fmt.Sprintf("%d to %d trials", lo, hi)
	}
	return count(lo, "trial")
}

// orderWords shows the order of evaluations of each workload, "S P S P". The
// windows of searches are no evaluations of the fleet.
func (b builder) orderWords() []string {
	letters := map[model.Phase]string{model.Serial: "S", model.Parallel: "P", model.Batch: "B"}
	var names []string
	order := make(map[string][]string)
	last := make(map[string]string)
	for _, s := range b.data.Steps {
		if s.Phase == model.Search {
			continue
		}
		if _, ok := order[s.Workload]; !ok {
			names = append(names, s.Workload)
		}
		key := fmt.Sprintf("%s %d", s.Phase, s.Trial)
		if last[s.Workload] != key {
			order[s.Workload] = append(order[s.Workload], letters[s.Phase])
		}
		last[s.Workload] = key
	}
	for i, n := range names {
		names[i] = n + ": " + strings.Join(order[n], " ")
	}
	return names
}

func agentVersions(nodes []model.Node) []string {
	seen := make(map[string]bool)
	for _, n := range nodes {
		if n.Facts.Agent != "" {
			seen[n.Facts.Agent] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// clockWords says how well the nodes' clocks were known.
func (b builder) clockWords() string {
	worst := 0.0
	for _, r := range b.data.Results {
		worst = max(worst, r.ClockError.Seconds())
	}
	if worst == 0 {
		return ""
	}
	return "corrected to server time, off by at most " + num.Seconds(worst)
}
