//go:build proof

package proof_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
	"github.com/scalebench/scalebench/test/skip"
)

// wholeExperiment is a sweep of configurations, loads and trials that is killed when
// so many of its trials are over.
type wholeExperiment struct {
	configurations []string
	users          []int
	trials         int
	killedAfter    int
	think, scored  string
	binds          *tiersResource // what each configuration must name; nil: too short to name anything
}

// all is how many trials there are.
func (e wholeExperiment) all() int { return len(e.configurations) * len(e.users) * e.trials }

// args are those of run: the example, compressed in time.
func (e wholeExperiment) args(data string) []string {
	args := []string{"run", program.ExampleFile(boardFile)}
	for _, set := range []string{
		data, "fleet.lab.groups.web.nodes=2",
		"study.configurations=[" + strings.Join(e.configurations, ",") + "]",
		"study.users=" + strings.Join(strings.Fields(fmt.Sprint(e.users)), ","),
		"study.order=random", "trials=" + strconv.Itoa(e.trials),
		"workloads.users.think=" + e.think, "workloads.users.ramp_up=1s", "workloads.users.run=" + e.scored, "workloads.users.ramp_down=1s",
	} {
		args = append(args, "--set", set)
	}
	return args
}

// TestNtierWhole: a whole experiment with one command, of which everything is killed in
// the middle; resume does the rest, each trial is there once, nothing is left, and the
// answer is that of an experiment in one piece: of hosts with 0.2 cores for 10 ms one
// ends at 19 pages per second, two at 38, however many web hosts stand before them.
func TestNtierWhole(t *testing.T) {
	parts.Begin(t)
	wholeExperiment{
		configurations: []string{"1-1-1", "1-2-1", "2-1-1", "2-2-1"}, users: []int{3, 6, 9, 18, 30, 45}, trials: 3, killedAfter: 35,
		think: "500ms", scored: "6s", binds: &tiersResource{"app", "cpu"},
	}.run(t)
}

// TestNtierResumed is TestNtierWhole with few trials.
func TestNtierResumed(t *testing.T) {
	skip.UnlessLong(t)
	parts.Begin(t)
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	wholeExperiment{configurations: []string{"1-1-1", "2-1-1"}, users: []int{2, 4}, trials: 1, killedAfter: 2, think: "200ms", scored: "1s"}.run(t)
}

func (e wholeExperiment) run(t *testing.T) {
	w := install(t)
	data := needBoard(t, w)
	began := time.Now()
	p := w.Start(e.args(data)...)
	p.AwaitLong(t, fmt.Sprintf("[%d/%d] ", e.killedAfter, e.all()))
	first := program.LabName(t, p.Log())
	w.Poll("the next one's services", func() bool {
		return slices.ContainsFunc(program.TierGroups(t, ""),
			func(dir string) bool { return strings.Contains(dir, "/"+first+"/") })
	})
	left := w.KillAll(first, p)
	<-p.Ended
	before := w.Data("latest")
	if n := len(completeSteps(before)); n != e.killedAfter {
		t.Fatalf("%d of %d trials were over when it was killed, want %d", n, e.all(), e.killedAfter)
	}
	_, stderr, err := w.Try("resume", "latest")
	if err != nil && !strings.Contains(stderr, "no configuration has a verdict") {
		t.Fatalf("resume: %v\n%s", err, stderr)
	}
	d := w.Data("latest")
	t.Logf("%d trials in %v, killed after %d", e.all(), time.Since(began).Round(time.Second), len(completeSteps(before)))
	program.CheckComplete(t, d)
	e.checkOnce(t, d)
	checkUntouched(t, before, d)
	e.checkAnswer(t, w)
	program.CheckNothing(t, first)
	program.CheckNothing(t, program.LabName(t, stderr))
	program.AwaitNobody(t, w.Dir)
	program.CheckGone(t, left)
}

func completeSteps(d model.RunData) (out []model.StepID) {
	for _, s := range d.Steps {
		if s.State == model.StepComplete {
			out = append(out, s.ID)
		}
	}
	return out
}

// checkOnce fails unless each treatment is there as often as there are trials.
func (e wholeExperiment) checkOnce(t *testing.T, d model.RunData) {
	t.Helper()
	count := make(map[string]int)
	for _, s := range d.Steps {
		count[fmt.Sprintf("%s %v %d", s.Label, s.Levels, s.Trial)]++
	}
	for treatment, n := range count {
		if n != 1 {
			t.Errorf("%s is there %d times, want once", treatment, n)
		}
	}
	if len(d.Steps) != e.all() || len(count) != e.all() {
		t.Errorf("%d steps with %d different treatments, want %d", len(d.Steps), len(count), e.all())
	}
}

// checkUntouched fails unless what counted before still does, and was not repeated.
func checkUntouched(t *testing.T, before, after model.RunData) {
	t.Helper()
	kept := make(map[model.TaskID]model.Result)
	for _, r := range after.Accepted() {
		kept[r.Task] = r
	}
	complete := completeSteps(before)
	for _, r := range before.Accepted() {
		if got := kept[r.Task]; slices.Contains(complete, r.Step) && (got.Attempt != r.Attempt || !got.Started.Equal(r.Started)) {
			t.Errorf("task %s was attempt %d of %v, and is attempt %d of %v", r.Task, r.Attempt, r.Started, got.Attempt, got.Started)
		}
	}
}

// checkAnswer fails unless ntier has all loads with all trials.
func (e wholeExperiment) checkAnswer(t *testing.T, w *installation) {
	t.Helper()
	var r struct {
		Configurations []struct {
			Configuration, Text string
			Bottlenecks         []tiersResource
			Loads               []struct{ Users, Trials int }
		}
	}
	out, _, _ := w.Try("ntier", "latest", "--format", "json") // few loads have no verdict
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Configurations) != len(e.configurations) {
		t.Fatalf("ntier: %d configurations, %v, want %d", len(r.Configurations), err, len(e.configurations))
	}
	for _, c := range r.Configurations {
		t.Logf("%s: %s", c.Configuration, c.Text)
		if e.binds != nil && !slices.Equal(c.Bottlenecks, []tiersResource{*e.binds}) {
			t.Errorf("%s: %v binds, want %v", c.Configuration, c.Bottlenecks, *e.binds)
		}
		if len(c.Loads) != len(e.users) {
			t.Errorf("%s has %d loads, want %d", c.Configuration, len(c.Loads), len(e.users))
		}
		for _, l := range c.Loads {
			if l.Trials != e.trials {
				t.Errorf("%s with %d users has %d trials, want %d", c.Configuration, l.Users, l.Trials, e.trials)
			}
		}
	}
}
