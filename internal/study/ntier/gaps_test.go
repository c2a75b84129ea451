package ntier

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// plateau is a table of a system that does 100 op/s and no more, with other cells of each
// load: of both trials, or of each, with a bar between.
func plateau(columns string, cells ...string) string {
	text := "configuration,users,trial,throughput,response,think," + columns + "\n"
	for i, rows := range [][2]string{{"50,1,49,.02,1,", "50,2,49.3,.02,1,"}, {"100,1,94,.06,1,", "100,2,93,.06,1,"}, {"150,1,100,.5,1,", "150,2,99,.5,1,"},
		{"200,1,100,1,1,", "200,2,101,1,1,"}, {"300,1,100,2,1,", "300,2,100.4,2,1,"}} {
		first, second, two := strings.Cut(cells[i], "|")
		if !two {
			second = first
		}
		text += "1-1-1," + rows[0] + first + "\n1-1-1," + rows[1] + second + "\n"
	}
	return text
}

// TestGaps: what a table leaves out is neither 0 nor well, and what is told of a load
// says what was measured there.
func TestGaps(t *testing.T) {
	for name, c := range map[string]struct {
		table   string
		verdict bottleneck.Verdict
		pattern bottleneck.Pattern
		says    []string // in the text or a doubt
		not     string
	}{
		"one of two at the knee": {plateau("db_cpu,app_cpu", ".48,.48", ".94,.94", ",.99", "1,1", "1,1"), bottleneck.Named, bottleneck.Simultaneous,
			[]string{"The processor of app and the processor of db bind together", "the processor of db was not measured with 150 users: it was full at other loads"}, ""},
		"the only one there": {plateau("db_cpu,app_cpu", ".48,.2", ".94,.4", ",.42", "1,.42", "1,.42"), bottleneck.Named, bottleneck.Single,
			[]string{"The processor of db binds", "100.0 % busy with 200 users", "the processor of db was not measured with 150 users"}, "of the seconds"},
		"in turns, by trial": {plateau("db_cpu,app_cpu", ".48,.48", ".93,.93", ".96,.94|.94,.96", ".96,.94|.94,.96", ".96,.94|.94,.96"), bottleneck.Unknown, "",
			[]string{"the processor of app was 95.0 % busy and the processor of db was 95.0 % busy with 300 users, and not full: measure with more users"}, "binds"},
		"errors of one trial": {plateau("errors,db_cpu", ".4,.48|,.48", ".4,.94|,.94", ".4,.99|,.99", ".4,1|,1", ".4,1|,1"), bottleneck.Unknown, "",
			[]string{"40.0 % of the operations failed", "the share of operations that failed is not known of 5 of 10 trials, first with 50 users"}, ""},
		"busy, and never full": {plateau("app_threads,db_cpu", ".3,.46", ".7,.87", "1,.92", "1,.92", "1,.92"), bottleneck.Named, bottleneck.Single,
			[]string{"The processor of db binds", ": 92.0 % busy with 150 users", "the processor of db was 92.0 % busy, and not full, where the threads of app were: more of the latter may give up to 8.7 % more throughput"}, "full in 0.0 %"},
	} {
		p := &Params{Tiers: []string{"web", "app", "db"}}
		got, err := p.Import(t.Context(), study.Input{}, "own.csv", strings.NewReader(c.table))
		if err != nil {
			t.Fatal(err)
		}
		f := got.(*Result).Configurations[0] //nolint:forcetypeassert // it is
		said := num.Sentence(f.Text) + fmt.Sprint(f.Doubts)
		for _, want := range c.says {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %s, want %q", name, said, want)
			}
		}
		if f.Verdict != c.verdict || f.Pattern != c.pattern || c.not != "" && strings.Contains(said, c.not) {
			t.Errorf("%s: %s %s: %s; want %s %s, and no %q", name, f.Verdict, f.Pattern, said, c.verdict, c.pattern, c.not)
		}
	}
}

// TestColocatedTable: of tiers that share hosts a table has no utilisation of both.
func TestColocatedTable(t *testing.T) {
	p := &Params{Tiers: []string{"web", "app", "db"}}
	table := strings.ReplaceAll(plateau("db_cpu,app_cpu", ".3,.2", ".5,.4", ".5,.5", ".5,.5", ".5,.5"), "1-1-1,", "1-1+1,")
	got, err := p.Import(t.Context(), study.Input{}, "own.csv", strings.NewReader(table))
	if err != nil {
		t.Fatal(err)
	}
	if said := fmt.Sprint(got.(*Result).Warnings); !strings.Contains(said, "1-1+1: app and db share hosts, and a table has no column") || !strings.Contains(said, "does not tell whether the load generator was the limit") { //nolint:forcetypeassert // it is
		t.Errorf("warnings %s", said)
	}
}

// TestKneeWords: both ends may be open.
func TestKneeWords(t *testing.T) {
	k := bottleneck.Knee{Users: 80, AtMost: true}
	k.CI.Lo, k.CI.Hi = 50, 116
	if got := k.Words(); got != "from 116 users on, or from fewer" {
		t.Error(got)
	}
	k.AtLeast = true
	if got := k.Words(); got != "from about 80 users on [50 or fewer .. 116 or more]" {
		t.Error(got)
	}
}

// TestEvidence: of several, each is named in full, and in turns it is told how often one
// of them was full, whatever else was.
func TestEvidence(t *testing.T) {
	share := .91
	f := Finding{Answer: bottleneck.Answer{Pattern: bottleneck.Oscillating, Load: 100, OneFull: &share, Knee: &bottleneck.Knee{}, Loads: []bottleneck.Load{{Users: 100, Throughput: 80, Any: .99}}}}
	for _, kind := range []bottleneck.Kind{bottleneck.CPU, bottleneck.LinkOut} {
		f.Bottlenecks = append(f.Bottlenecks, bottleneck.Evidence{Usage: bottleneck.Usage{Resource: bottleneck.Resource{Tier: "db", Kind: kind}, Share: .5}})
	}
	if got, want := evidence(f), "the processor of db full in 50.0 % of the seconds; the outgoing link of db full in 50.0 % of the seconds with 100 users, 80.0 op/s; one of them in 91.0 %"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestFallWords: a fall that is no chance is told, whatever binds.
func TestFallWords(t *testing.T) {
	k := &bottleneck.Knee{Fall: &bottleneck.Fall{Peak: 100, Last: 300, Lost: .25, CI: &stats.Interval{Lo: .2, Hi: .3}, Sure: true}}
	f := Finding{Answer: bottleneck.Answer{Verdict: bottleneck.Unknown, Why: "nothing was full", Knee: k, Loads: make([]bottleneck.Load, 1)}}
	if got := words(f); got != "unknown: nothing was full; from 100 users to 300 the throughput falls by 25.0 % [20.0, 30.0]" {
		t.Error(got)
	}
	if k.Fall.Sure = false; strings.Contains(words(f), "falls") {
		t.Error("a fall that may be chance is told")
	}
}

// TestUnevenShown: a host that is full alone is in the table of loads and the heat map.
func TestUnevenShown(t *testing.T) {
	db := bottleneck.Resource{Tier: "db", Kind: bottleneck.CPU}
	host := db
	host.Node = "db-1"
	l := bottleneck.Load{Users: 100, Usage: []bottleneck.Usage{{Resource: db, Mean: .6}, {Resource: host, Mean: 1, Share: 1, Full: true}}}
	f := &Finding{Answer: bottleneck.Answer{Loads: []bottleneck.Load{l}}}
	if got := fullWords(l); got != "processor of db host db-1" {
		t.Errorf("full: %q", got)
	}
	if rows := fmt.Sprint(f.heatMap([]string{"db"}).Figure.Panels[0].Chart.Y.Rows); !strings.Contains(rows, "db cpu") || !strings.Contains(rows, "db-1 cpu") {
		t.Errorf("rows %s, want the tier and its host", rows)
	}
	l.Usage[0].Full = true
	if got := fullWords(l); got != "processor of db" {
		t.Errorf("full where the whole tier is: %q", got)
	}
}

// TestNoSuchTier: a tier that is no service of the run is refused.
func TestNoSuchTier(t *testing.T) {
	p, r := params(), newRecording()
	r.services = map[string]model.ServiceLevel{"web": {}, "app": {}, "db": {}}
	r.loads(p, "1-2-1-em", shop, 2, 30, 60, 90, 120, 160)
	p.Tiers = []string{"web", "app", "database"}
	if _, err := p.Analyze(t.Context(), study.Input{Run: observe.Of(r.data)}); err == nil || !strings.Contains(err.Error(), `the run has no service "database"`) {
		t.Errorf("Analyze: %v, want that there is no such service", err)
	}
}

// TestSilentHost: a host that recorded nothing is a part of its tier, of which then not
// all is known.
func TestSilentHost(t *testing.T) {
	for _, silent := range []model.NodeID{"", "app-2"} {
		p, r := params(), newRecording()
		r.loads(p, "1-2-1-em", shop, 2, 30, 60, 90, 120, 160)
		for i := range r.data.Steps {
			r.data.Steps[i].Services = map[string]model.ServiceLevel{"web": {}, "app": {Nodes: []model.NodeID{"app-1", "app-2"}}, "db": {}}
		}
		for i := range r.data.Results {
			if x := &r.data.Results[i]; x.Node == silent {
				x.Host = nil
			}
		}
		said := fmt.Sprint(analyze(t, p, r).Warnings)
		if strings.Contains(said, "the processor of app was not measured on all of its hosts") != (silent != "") {
			t.Errorf("silent %q: warnings %s", silent, said)
		}
	}
}

// TestFrontService: the address of the users says what they reach first, where it names a
// service.
func TestFrontService(t *testing.T) {
	for url, front := range map[string]string{
		"http://${service.router}:8080": "router", "http://${service.router[0]}/shop": "router",
		"http://${service.app}:8080": "", "http://10.0.0.3:8080": "", "": "",
	} {
		p, r := &Params{Tiers: []string{"app", "db"}}, newRecording()
		n := shop
		n.Tiers = slices.Clone(shop.Tiers[1:])
		r.loads(p, "2-1", n, 2, 30, 60, 90, 120, 160)
		for i := range r.data.Steps {
			for j, task := range r.data.Steps[i].Tasks {
				if task.Spec.Kind == WorkloadKind {
					r.data.Steps[i].Tasks[j].Spec.Params = map[string]any{"url": url}
				}
			}
		}
		trials, err := p.read(observe.Of(r.data))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.group(trials)[0].system.Front; got != front {
			t.Errorf("%q: users reach %q first, want %q", url, got, front)
		}
	}
}
