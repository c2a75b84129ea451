package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// stages are those that tasks of a step are in now, in the order in which they
// began.
type stages []under

// under is a stage that so many tasks are in.
type under struct {
	service, name, reason string
	tasks                 map[model.TaskID]bool
}

// stage notes a stage that begins or ends. Of what failed the task tells; a
// change of a limit is a line of its own.
func (v *liveView) stage(ev model.Event) {
	s := ev.Stage
	if s == nil {
		return
	}
	i := slices.IndexFunc(v.stages, func(u under) bool { return u.service == s.Service && u.name == s.Name })
	if s.State != model.StageBegun {
		if i >= 0 {
			delete(v.stages[i].tasks, ev.Task)
			if len(v.stages[i].tasks) == 0 {
				v.stages = slices.Delete(v.stages, i, i+1)
			}
		} else if s.State == model.StageDone && s.Reason != "" {
			v.line(ev.Text)
		}
		return
	}
	if i < 0 {
		i = len(v.stages)
		v.stages = append(v.stages, under{service: s.Service, name: s.Name, tasks: make(map[model.TaskID]bool)})
	}
	v.stages[i].reason, v.stages[i].tasks[ev.Task] = s.Reason, true
}

// without is what is left when a task has ended.
func (s stages) without(task model.TaskID) stages {
	return slices.DeleteFunc(s, func(u under) bool {
		delete(u.tasks, task)
		return len(u.tasks) == 0
	})
}

// String says what goes on: "; db reset, web start". What all services do while it
// is measured is what the workload does, which has stages of its own.
func (s stages) String() string {
	var all []string
	for _, u := range s {
		if u.service != "" && u.name == "run" {
			continue
		}
		text := strings.ReplaceAll(u.name, "_", " ")
		if u.service != "" {
			text = u.service + " " + text
		}
		if n := len(u.tasks); n > 1 && u.service != "" {
			text = fmt.Sprintf("%s (%d)", text, n)
		}
		if u.reason != "" {
			text += " " + u.reason
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "; " + strings.Join(all, ", ")
}
