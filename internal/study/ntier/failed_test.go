package ntier

import (
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// fail makes steps of a recording invalid.
func (r *recording) fail(which func(model.Step) bool) {
	for i := range r.data.Steps {
		if which(r.data.Steps[i]) {
			r.data.Steps[i].State = model.StepInvalid
		}
	}
}

// TestFailedTrials: what failed is told, and no throughput is said to grow up to the end
// where larger loads failed.
func TestFailedTrials(t *testing.T) {
	p := &Params{Tiers: []string{"web", "app", "db"}}
	for name, c := range map[string]struct {
		fails         func(users, trial int) bool
		verdict       bottleneck.Verdict
		why, warnings string // the latter one after the other
	}{
		"none":             {func(int, int) bool { return false }, bottleneck.None, "", ""},
		"the largest":      {func(users, _ int) bool { return users == 60 }, bottleneck.Unknown, "grew up to 50 users, and no trial with 60 ended well", "the load of 60 users failed in trial 1 to 3, and what"},
		"the two largest":  {func(users, _ int) bool { return users >= 50 }, bottleneck.Unknown, "grew up to 40 users, and no trial with 50 ended well", "the load of 50 users failed in trial 1 to 3, that of 60 users in trial 1 to 3, and what"},
		"one between":      {func(users, _ int) bool { return users == 30 }, bottleneck.None, "", "the load of 30 users failed in trial 1 to 3"},
		"one of its three": {func(users, trial int) bool { return users == 60 && trial == 2 }, bottleneck.None, "", "the load of 60 users failed in trial 2, and what was measured there is left out; `scalebench show R` says why"},
	} {
		r := newRecording()
		r.loads(p, "1-2-1", shop, 3, 10, 20, 30, 40, 50, 60)
		r.fail(func(s model.Step) bool { return c.fails(usersOf(s), s.Trial) })
		got := analyze(t, p, r)
		f, warnings := got.Configurations[0], strings.Join(got.Warnings, "\n")
		if f.Verdict != c.verdict || !strings.Contains(f.Why, c.why) {
			t.Errorf("%s: %s, %q, want %s, %q", name, f.Verdict, f.Why, c.verdict, c.why)
		}
		for want := range strings.SplitSeq(c.warnings, "|") {
			_, rest, ok := strings.Cut(warnings, want)
			if !ok {
				t.Errorf("%s: warnings %v, want %q", name, got.Warnings, want)
			}
			warnings = rest
		}
		if (c.warnings == "") != (len(got.Warnings) == 0) {
			t.Errorf("%s: warnings %v", name, got.Warnings)
		}
	}
}

// TestNotMeasured: what a run that was interrupted has not measured is told, and ends no
// growth.
func TestNotMeasured(t *testing.T) {
	p := &Params{Tiers: []string{"web", "app", "db"}}
	for _, state := range []model.StepState{model.StepPending, model.StepRunning} {
		r := newRecording()
		r.loads(p, "1-2-1", shop, 3, 10, 20, 30, 40, 50, 60)
		for i := range r.data.Steps {
			if s := &r.data.Steps[i]; usersOf(*s) == 60 || usersOf(*s) == 20 && s.Trial == 3 {
				s.State = state
			}
		}
		f := analyze(t, p, r).Configurations[0]
		if f.Verdict != bottleneck.Unknown || f.Why != "the throughput grew up to 50 users, and 60 were not measured: resume the run" {
			t.Errorf("%s: %s, %q", state, f.Verdict, f.Why)
		}
		if text := model.Texts(f.Doubts); !slices.Contains(text, "the load of 20 users was not measured in trial 3, that of 60 users in trial 1 to 3: the run is not at its end; `scalebench resume R` goes on") {
			t.Errorf("%s: doubts %q", state, text)
		}
	}
}

// TestAllFailed: a configuration of which every trial failed is there, as unknown, and
// leaves what is said of others as it is.
func TestAllFailed(t *testing.T) {
	p := &Params{Tiers: []string{"web", "app", "db"}, SLA: "p95=2s", PriceTable: "type,price_per_hour,currency\nlarge,0.5,USD\n"}
	r := newRecording()
	r.loads(p, "1-1-1-ec2-large", shop, 2, 20, 30, 40, 50)
	r.fail(func(model.Step) bool { return true })
	if _, err := p.Analyze(t.Context(), study.Input{Run: observe.Of(r.data)}); err == nil || !strings.Contains(err.Error(), "no trial that counts") {
		t.Errorf("Analyze() = %v, want that there is no trial", err)
	}
	r.loads(p, "1-2-1-ec2-large", shop, 4, 20, 30, 40, 50)
	got := analyze(t, p, r)
	if len(got.Configurations) != 2 {
		t.Fatalf("configurations %+v, want both", got.Configurations)
	}
	if f := got.Configurations[0]; f.Verdict != bottleneck.Unknown || len(f.Loads) != 0 || strings.Count(strings.Join(model.Texts(f.Doubts), "\n"), " in trial 1, 2,") != 4 || f.Why != "no trial ended well" {
		t.Errorf("%s %+v, doubts %+v, want unknown, and a doubt for each load", f.Verdict, f.Loads, f.Doubts)
	}
	if c := got.Cost; c.At != 50 || !slices.Equal(c.Cheapest, []string{"1-2-1-ec2-large"}) {
		t.Errorf("with %d users %v is the cheapest, want 1-2-1-ec2-large with 50", c.At, c.Cheapest)
	}
	d := got.Document()
	if !strings.Contains(strings.Join(d.More, " "), "1-1-1-ec2-large: no trial ended well") {
		t.Errorf("document says %q", d.More)
	}
	if row := rowsOf(got, "1-1-1-ec2-large"); len(row) != 1 || row[0]["throughput"] != nil || row[0]["trials"] != 0 || row[0]["verdict"] != "unknown" || !strings.Contains(row[0]["warnings"].(string), "the load of 20 users failed") {
		t.Errorf("rows for programs %v, want one without a throughput", row)
	}
}

// rowsOf are the rows for programs of a configuration, by column.
func rowsOf(r *Result, configuration string) (out []map[string]any) {
	data := r.data()
	for _, row := range data.Rows {
		cells := make(map[string]any)
		for i, c := range data.Columns {
			cells[c.Key] = row.Cells[i].Value
		}
		if cells["configuration"] == configuration {
			out = append(out, cells)
		}
	}
	return out
}

// TestProgramsDoubt: who reads the table for programs alone learns what speaks against a
// configuration, and nothing of another's.
func TestProgramsDoubt(t *testing.T) {
	a := Finding{Configuration: "1-1-1", Proof: &bottleneck.Proof{Outcome: bottleneck.Unclear}}
	a.Uncounted, a.Loads = "the load generator binds", []bottleneck.Load{{Users: 10, Trials: 1, Unfinished: 3}}
	b := Finding{Configuration: "1-1-1-ec2"}
	b.Loads = []bottleneck.Load{{Users: 10}}
	r := &Result{Configurations: []Finding{a, b}, Warnings: []string{"1-1-1: cost is not known", "1-1-1-ec2: other: nodes", "a table: has no seconds"}}
	for name, want := range map[string]map[string]any{
		"1-1-1":     {"unfinished": 3, "proof": "unclear", "uncounted": "the load generator binds", "warnings": "cost is not known; a table: has no seconds"},
		"1-1-1-ec2": {"unfinished": 0, "proof": "", "uncounted": "", "warnings": "other: nodes; a table: has no seconds"},
	} {
		row := rowsOf(r, name)[0]
		for key, v := range want {
			if row[key] != v {
				t.Errorf("%s: %s is %v, want %v", name, key, row[key], v)
			}
		}
	}
}

// TestRefusedOnce: that the generator binds from a load on is said once; the interactions
// are those of a load at which it does not.
func TestRefusedOnce(t *testing.T) {
	f := Finding{Configuration: "1-1-1"}
	f.Doubts = []model.Doubt{{Code: "generator", Text: "from 200 users on the load generator binds: it was late"}}
	f.Loads = []bottleneck.Load{{Users: 100}, {Users: 200, Refused: "it was late"}, {Users: 400, Refused: "the generator binds from 200 users on"}}
	if got := (&Result{Configurations: []Finding{f}}).warnings(); len(got) != 1 {
		t.Errorf("warnings %q, want one", got)
	}
	p, r, starved := &Params{Tiers: []string{"web", "app", "db"}}, newRecording(), shop
	starved.Generator = 1. / 60
	r.loads(p, "1-2-1", starved, 2, 30, 40, 50, 90, 140)
	got := analyze(t, p, r).Configurations[0]
	if i := slices.IndexFunc(got.Loads, func(l bottleneck.Load) bool { return l.Users == got.At }); !strings.Contains(got.Why, "generator binds") || got.Loads[i].Refused != "" {
		t.Errorf("%s: interactions of %d users, want those of a load that counts", got.Why, got.At)
	}
}

// TestProofWithoutTrials: a proof that was asked for, and of which trials failed or were
// not begun, is told.
func TestProofWithoutTrials(t *testing.T) {
	p := params()
	p.Configurations, p.Users, p.Proof = []string{"1-2-1-em"}, []int{30, 60, 90, 120, 160, 220}, true
	d, err := p.Design(setup(2))
	if err != nil {
		t.Fatal(err)
	}
	r := newRecording()
	add := func() []study.Treatment {
		all, err := d.Next(observe.Of(r.data))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range all {
			r.add(x.Label, shop.Trial(x.Levels["users"].(int), x.Trial, 3), shop.RampUp, shop.Run) //nolint:forcetypeassert // set by the design
		}
		return all
	}
	add()
	check := func(name, doubt string) {
		t.Helper()
		f := analyze(t, p, r).Configurations[0]
		if f.Verdict != bottleneck.Named || f.Proof == nil || f.Proof.Outcome != bottleneck.NotMade || !strings.Contains(f.Text, "no proof was made: its trials failed, or were not begun") {
			t.Errorf("%s: %s, proof %+v", name, f.Text, f.Proof)
		}
		if text := strings.Join(model.Texts(f.Doubts), "\n"); !strings.Contains(text, "was not made") || !strings.Contains(text, doubt) {
			t.Errorf("%s: doubts %s, want %q", name, text, doubt)
		}
	}
	check("not begun", "")
	first := len(r.data.Steps)
	proof := add()
	r.fail(func(s model.Step) bool { return s.Number >= first && proof[s.Number-first].Services["db"].CPU > .5 })
	check("the faster ones failed", "the proof with 120 users failed in trial 1, 2")
}

// TestProbeFailed: a probe that failed while it was scored is told, be it once in many
// seconds as one that hangs.
func TestProbeFailed(t *testing.T) {
	for name, c := range map[string]struct {
		at   int64 // when the probe failed, since the ramp-up began
		want bool
	}{"in the run": {15, true}, "before it": {1, false}} {
		p, r := &Params{Tiers: []string{"web", "app", "db"}}, newRecording()
		r.loads(p, "1-2-1", shop, 2, 30, 60, 90, 120, 160)
		db := r.node("db")
		for i := range r.data.Results {
			x := &r.data.Results[i]
			if s := r.data.Steps[slices.IndexFunc(r.data.Steps, func(s model.Step) bool { return s.ID == x.Step })]; x.Node != db || usersOf(s) < 120 {
				continue
			}
			const early, second = 3, 1_000_000_000
			x.Host = append(x.Host, model.HostSeries{Metric: "db:" + bottleneck.SignalProbeFailed, Unit: "1", Counter: true, Offsets: []int64{0, (early + c.at) * second, 60 * second}, Values: []float64{0, 1, 1}})
		}
		f := analyze(t, p, r).Configurations[0]
		if text := strings.Join(model.Texts(f.Doubts), "\n"); strings.Contains(text, "db did not always tell about itself, first with 120 users") != c.want {
			t.Errorf("failed %s: doubts %q", name, text)
		}
	}
}

// TestUnproved: a verdict without a proof says how one is made, once; a proof of any
// outcome, and a table, need no such note.
func TestUnproved(t *testing.T) {
	p, r := &Params{Tiers: []string{"web", "app", "db"}}, newRecording()
	r.loads(p, "1-2-1-em", shop, 2, 40, 80, 120, 180)
	r.loads(p, "1-2-1-oc", shop, 2, 40, 80, 120, 180)
	got := analyze(t, p, r)
	if text := strings.Join(got.Document().More, " "); len(got.Notes) != 1 || strings.Count(text, "study.proof=true") != 1 || got.Gate() != nil || strings.Contains(strings.Join(got.Warnings, " "), "proof") {
		t.Errorf("notes %q, warnings %q, %s", got.Notes, got.Warnings, text)
	}
	p.Proof = true
	if got := analyze(t, p, r); len(got.Notes) != 0 || got.Configurations[0].Proof == nil {
		t.Errorf("notes %q of a proof that was not made", got.Notes)
	}
	p, r = &Params{Tiers: []string{"web", "app", "db"}}, newRecording()
	r.loads(p, "1-2-1-em", shop, 2, 10, 20, 30, 40)
	if got := analyze(t, p, r); len(got.Notes) != 0 || got.Configurations[0].Verdict != bottleneck.None {
		t.Errorf("notes %q where nothing binds", got.Notes)
	}
}
