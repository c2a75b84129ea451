package ntier

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/internal/timeline"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/truth/tiersim"
)

// shop is an application of which the database binds, at 100 requests a second.
var shop = tiersim.Net{Think: 1, RampUp: 5, Run: 20, Tiers: []tiersim.Tier{
	{Name: "web", Quota: 1, Work: .002, Threads: 100}, {Name: "app", Hosts: 2, Quota: 1, Work: .008, Threads: 50, Pool: 30}, {Name: "db", Quota: .5, Work: .005},
}}

// recording builds a run as agents record it, from simulated trials.
type recording struct {
	data     model.RunData
	at       time.Time
	services map[string]model.ServiceLevel // of each step
	links    map[model.NodeID]model.Link
}

func newRecording() *recording { return recordingOf("R") }

func recordingOf(id model.RunID) *recording {
	return &recording{at: time.Unix(1_000_000, 0), data: model.RunData{Run: model.Run{ID: id, Name: "shop"}}}
}

// add adds a step with what users and hosts recorded.
func (r *recording) add(label string, x bottleneck.Trial, ramp float64, seconds int) {
	tiersim.Record(&r.data, tiersim.Step{Label: label, At: r.at, RampUp: ramp, Run: seconds, Services: r.services, Links: r.links}, x)
	r.at = r.at.Add(time.Hour)
}

func (r *recording) loads(p *Params, configuration string, n tiersim.Net, trials int, users ...int) {
	c, err := ParseConfiguration(configuration, p.Tiers)
	if err != nil {
		panic(err)
	}
	for trial := 1; trial <= trials; trial++ {
		for _, u := range users {
			r.add(label{configuration: c, users: u}.String(), n.Trial(u, trial, 11), n.RampUp, n.Run)
		}
	}
}

func analyze(t *testing.T, p *Params, r *recording) *Result {
	t.Helper()
	got, err := p.Analyze(t.Context(), study.Input{Run: observe.Of(r.data)})
	if err != nil {
		t.Fatal(err)
	}
	return got.(*Result) //nolint:forcetypeassert // it is
}

func proofLabel(c Configuration, raised string) string {
	return label{configuration: c, users: 160, proof: raised}.String()
}

// TestRun reads a run as agents record it, and says what the simulation is.
func TestRun(t *testing.T) {
	p := &Params{Tiers: []string{"web", "app", "db"}, SLA: "p95=500ms", PriceTable: "type,price_per_hour,currency\nlarge,0.5,USD\n"}
	r := newRecording()
	r.loads(p, "1-2-1-ec2-large", shop, 3, 30, 60, 90, 120, 160, 220)
	faster := shop
	faster.Tiers = slices.Clone(shop.Tiers)
	faster.Tiers[2].Quota *= bottleneck.Quarter
	c, _ := ParseConfiguration("1-2-1-ec2-large", p.Tiers)
	for trial := 1; trial <= 3; trial++ {
		before, after := proofLabel(c, "processor of db ×1"), proofLabel(c, "processor of db ×1.25")
		r.add(before, shop.Trial(160, trial, 12), shop.RampUp, shop.Run)
		r.add(after, faster.Trial(160, trial, 12), shop.RampUp, shop.Run)
	}
	got := analyze(t, p, r)
	f := got.Configurations[0]
	if f.Verdict != bottleneck.Named || len(f.Bottlenecks) != 1 || f.Bottlenecks[0].Resource != (bottleneck.Resource{Tier: "db", Kind: bottleneck.CPU}) {
		t.Fatalf("%s", f.Text)
	}
	if limit := *f.Laws.Limit; math.Abs(limit/100-1) > .05 {
		t.Errorf("limit %v, want 100/s within 5 %%", limit)
	}
	if f.Proof == nil || f.Proof.Outcome != bottleneck.Confirmed {
		t.Errorf("proof %+v, want it confirmed", f.Proof)
	}
	if len(f.Loads) != 6 || f.Loads[0].Law == nil || math.Abs(*f.Loads[2].Law-1) > .03 {
		t.Errorf("loads %+v", f.Loads)
	}
	if row := got.Cost.Rows[0]; row.Hourly == nil || *row.Hourly != 2 || row.Keeps == nil || *row.Keeps {
		t.Errorf("cost %+v, want 2 USD an hour for four hosts, and that 220 users miss the SLA", row)
	}
	at := got.Cost.Rows[0].SLA
	if at == nil || at.Users < 60 || at.Users > 160 || at.PerMillion == nil || math.Abs(*at.PerMillion*at.Throughput-2./3600*1e6) > 1e-6 {
		t.Errorf("at the SLA's load %+v, want 2 USD an hour by the throughput below the knee", at)
	}
	if _, err := json.Marshal(got); err != nil {
		t.Error(err)
	}
	checkInteractions(t, f)
	if err := got.Gate(); err != nil {
		t.Error(err)
	}
	d := got.Document()
	if !strings.Contains(d.Answer, "processor of db binds") || len(d.Sections) < 2 || d.Table() == nil {
		t.Errorf("document %+v", d.Answer)
	}
	checkFigures(t, d)
}

// TestRefuted: a processor that is full and of which more brings nothing is not named.
// Its throughput stays, with what a request costs.
func TestRefuted(t *testing.T) {
	p := &Params{Tiers: []string{"web", "app", "db"}, SLA: "p95=2s", PriceTable: "type,price_per_hour,currency\nlarge,0.5,USD\n"}
	r := newRecording()
	r.loads(p, "1-2-1-ec2-large", shop, 3, 30, 60, 90, 120, 160, 220)
	c, _ := ParseConfiguration("1-2-1-ec2-large", p.Tiers)
	for trial := 1; trial <= 3; trial++ {
		x := shop.Trial(160, trial, 12)
		r.add(proofLabel(c, "processor of db ×1"), x, shop.RampUp, shop.Run)
		// The limit is raised, and what hides behind it does as much as before.
		x = shop.Trial(160, trial+10, 12)
		for i := range x.Services {
			if s := &x.Services[i]; s.Tier == "db" {
				s.Signals = maps.Clone(s.Signals)
				s.Signals[bottleneck.SignalQuota] = slices.Repeat([]float64{.5 * bottleneck.Quarter}, len(s.Signals[bottleneck.SignalQuota]))
			}
		}
		r.add(proofLabel(c, "processor of db ×1.25"), x, shop.RampUp, shop.Run)
	}
	got := analyze(t, p, r)
	f := got.Configurations[0]
	if f.Proof == nil || f.Proof.Outcome != bottleneck.Refuted {
		t.Fatalf("proof %+v, want it refuted", f.Proof)
	}
	if f.Verdict != bottleneck.Unknown || len(f.Bottlenecks) != 0 || !strings.Contains(f.Why, "something else binds") ||
		f.ExcludedFromRanking != "" {
		t.Errorf("verdict %s, %s, uncounted %q; want unknown, and its throughput counts", f.Verdict, f.Text,
			f.ExcludedFromRanking)
	}
	if err := got.Gate(); !errors.Is(err, model.ErrInvalid) {
		t.Errorf("Gate() = %v, want model.ErrInvalid, which is an exit code", err)
	}
	if text := strings.Join(got.Warnings, "\n"); !strings.Contains(text, "refutes that it binds") || got.Cost.Rows[0].Peak == nil || got.Cost.Rows[0].SLA == nil {
		t.Errorf("warnings %s, cost %+v", text, got.Cost.Rows[0])
	}
	if d := got.Document(); d.Verdict.Word != "unknown" || strings.Contains(d.Answer, "binds,") {
		t.Errorf("document %s: %s", d.Verdict.Word, d.Answer)
	}
}

// checkInteractions: what each does is that of all trials at the load that decided.
func checkInteractions(t *testing.T, f Finding) {
	t.Helper()
	at := slices.IndexFunc(f.Loads, func(l bottleneck.Load) bool { return l.Users == f.At })
	if len(f.Interactions) != 2 || at < 0 || f.Interactions[0].Interaction != "Home" {
		t.Fatalf("interactions %+v with %d users, want Home before Search", f.Interactions, f.At)
	}
	home, search := f.Interactions[0], f.Interactions[1]
	if math.Abs(home.Share-.75) > .001 || math.Abs(home.Rate/f.Loads[at].Throughput-.75) > .001 || home.Errors != 0 {
		t.Errorf("%+v, want three of four of %v/s and no errors", home, f.Loads[at].Throughput)
	}
	if home.Served == nil || math.Abs(*home.Served-.04) > 1e-6 || search.Served != nil {
		t.Errorf("served %v and %v, want 40 ms of Home, and that web tells nothing of Search", home.Served, search.Served)
	}
	if columns := f.interactionsTable().Columns; columns[4].Key != "served" || len(f.interactionsTable().Rows[0].Cells) != len(columns) {
		t.Errorf("columns %+v, want that of the first tier beside the users'", columns)
	}
	if want := 3 * 2 / float64(search.Due); math.Abs(search.Errors-want) > 1e-9 || math.Abs(*search.Mean / *home.Mean - 5) > .2 || *search.P95 < *search.Mean*.9 {
		t.Errorf("%+v, want %v of errors and five times the response time", search, want)
	}
}

// checkFigures: throughput, response time, heat map and timeline are there.
func checkFigures(t *testing.T, d *doc.Document) {
	t.Helper()
	var titles []string
	for _, s := range d.Sections {
		for _, b := range s.Blocks {
			if b.Figure != nil {
				titles = append(titles, b.Figure.Title+b.Figure.Panels[0].Chart.Title)
			}
		}
	}
	for _, want := range []string{"Throughput of", "Mean response time", "Utilisation by tier", "One trial through its stages"} {
		if !slices.ContainsFunc(titles, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("no figure %q among %q", want, titles)
		}
	}
}

// TestReversal: the ranking of two shapes turns over on another platform.
func TestReversal(t *testing.T) {
	p := &Params{Tiers: []string{"web", "app", "db"}}
	r := newRecording()
	slower := shop
	slower.Tiers = slices.Clone(shop.Tiers)
	slower.Tiers[2].Quota *= .8
	for _, x := range []struct {
		name string
		net  tiersim.Net
	}{{"1-2-1-em", shop}, {"1-2-2-em", slower}, {"1-2-1-ec2", slower}, {"1-2-2-ec2", shop}} {
		r.loads(p, x.name, x.net, 4, 40, 80, 120, 180)
	}
	got := analyze(t, p, r)
	if len(got.Reversals) != 1 || got.Reversals[0].A != "1-2-1" || got.Reversals[0].First != "em" || got.Reversals[0].Second != "ec2" || got.Rankings != (Rankings{Pairs: 1}) {
		t.Fatalf("reversals %+v of %+v, want 1-2-1 ahead on em, 1-2-2 on ec2", got.Reversals, got.Rankings)
	}
	// Where users do something else on one of them there is no ranking.
	for i := range r.data.Steps {
		if s := &r.data.Steps[i]; strings.Contains(s.Label, "ec2") {
			s.Tasks[0].Spec.Params = map[string]any{"mix": "read_write"}
		}
	}
	if got := analyze(t, p, r); len(got.Reversals) != 0 || got.Rankings.Pairs != 0 || strings.Count(strings.Join(got.Warnings, "\n"), "its users do something else than those of 1-2-1-ec2") != 2 {
		t.Errorf("reversals %+v, warnings %q, want none of other operations", got.Reversals, got.Warnings)
	}
	// Where both platforms rank alike there is none, however the values scatter.
	same := newRecording()
	for _, name := range []string{"1-2-1-em", "1-2-2-em", "1-2-1-ec2", "1-2-2-ec2"} {
		same.loads(p, name, shop, 4, 40, 80, 120, 180)
	}
	if got := analyze(t, p, same); len(got.Reversals) != 0 || !strings.Contains(strings.Join(got.Document().More, " "), "Of 1 ranking of two configurations on two platforms, turned over: 0; the same on both: 0; not told from chance or 1 %: 1.") {
		t.Errorf("reversals %+v of systems alike, want none; %q", got.Reversals, got.Document().More)
	}
}

// TestReversalUncounted: what the generator held back carries no ranking.
func TestReversalUncounted(t *testing.T) {
	p := &Params{Tiers: []string{"web", "app", "db"}}
	r := newRecording()
	starved := shop
	starved.Generator = 1. / 60
	for _, x := range []struct {
		name string
		net  tiersim.Net
	}{{"1-2-1-em", shop}, {"1-2-2-em", starved}, {"1-2-1-ec2", starved}, {"1-2-2-ec2", shop}} {
		r.loads(p, x.name, x.net, 3, 30, 50, 70, 90, 140)
	}
	got := analyze(t, p, r)
	if len(got.Reversals) != 0 {
		t.Errorf("reversals %+v, want none of throughputs that the generator ended", got.Reversals)
	}
	for i := range got.Configurations { // also where no end of the growth is in doubt
		got.Configurations[i].Knee = &bottleneck.Knee{}
	}
	if _, of := reversals(got.Configurations); of != (Rankings{}) {
		t.Errorf("rankings %+v, want none", of)
	}
	if text := strings.Join(got.Warnings, "\n"); strings.Count(text, "takes no part in rankings") != 2 {
		t.Errorf("warnings %s, want that two take no part in rankings", text)
	}
}

// TestProofNotMade: a node that has no quarter more is told, and not tried.
func TestProofNotMade(t *testing.T) {
	p := params()
	p.Configurations, p.Users, p.Proof = []string{"1-2-1-em"}, []int{30, 60, 90, 120, 160, 220}, true
	r := newRecording()
	r.data.Nodes = []model.Node{
		{ID: "db-1", Labels: map[string]string{"platform": "em"}, Facts: model.Facts{Cores: 8, CPULimit: .5}},
		{ID: "other", Labels: map[string]string{"site": "virginia"}, Facts: model.Facts{Cores: 64}}, // of another platform
	}
	before := setup(2)
	before.Nodes, before.Services[0].CPU, before.Services[1].CPU, before.Services[2].CPU = r.data.Nodes, .1, .4, .5
	d, err := p.Design(before)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.(study.Forecaster).Outlook()[0].Note; strings.Count(got, ";") != 1 || !strings.HasPrefix(got, "if a link binds") || !strings.Contains(got, "processor of db binds, no proof can be made: its nodes on em have 0.5 processors") {
		t.Errorf("note before the run %q, want one of db", got)
	}
	first, err := d.Next(observe.Of(model.RunData{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range first {
		r.add(x.Label, shop.Trial(x.Levels["users"].(int), x.Trial, 3), shop.RampUp, shop.Run) //nolint:forcetypeassert // set by the design
	}
	if proof, err := d.Next(observe.Of(r.data)); err != nil || len(proof) != 0 {
		t.Errorf("%d trials of a proof, %v, want none: the node has half a core", len(proof), err)
	}
	f := analyze(t, p, r).Configurations[0]
	if f.Proof == nil || f.Proof.Outcome != bottleneck.NotMade || !strings.Contains(f.Text, "no proof was made: node db-1 has 0.5 processors, and 0.625 would be needed") {
		t.Errorf("proof %+v, %s", f.Proof, f.Text)
	}
}

// lasting takes as long as it is.
type lasting struct {
	workload.Workload
	time.Duration
}

func (l lasting) Estimate() time.Duration { return l.Duration }

// TestProvingTime: microbenchmarks beside the trials take their own time.
func TestProvingTime(t *testing.T) {
	p := params()
	p.Configurations, p.Users, p.Proof = []string{"1-2-1-em"}, []int{30, 60, 90}, true
	before := setup(2)
	before.Workloads = []study.Workload{{Name: "visitors", Kind: WorkloadKind, Bench: lasting{nil, time.Hour}}, {Name: "switches", Kind: "context_switch", Subjects: 5, Bench: lasting{nil, time.Second}}}
	d, err := p.Design(before)
	if err != nil {
		t.Fatal(err)
	}
	steps, all := d.(study.Bounded).AtMost()
	if want := 2*(3+2)*time.Hour + 2*5*time.Second; steps != 2*(3+2)+2*5 || all != want {
		t.Errorf("%d steps in %v, want 20 in %v", steps, all, want)
	}
	o := d.(study.Forecaster).Outlook()
	if len(o) != 2 || o[0].Steps != 5 || o[0].Step != time.Hour || o[1].Workload != "switches" || o[1].Steps != 5 || o[1].Step != time.Second {
		t.Errorf("outlook %+v, want five trials of an hour and five of a second", o)
	}
}

// TestShared: tiers that share hosts; what they have together is named, and machines
// count once.
func TestShared(t *testing.T) {
	p := &Params{Tiers: []string{"web", "app", "db"}}
	shared := shop
	shared.Tiers = slices.Clone(shop.Tiers)
	shared.Tiers[1].Quota, shared.Tiers[2].Shares, shared.Tiers[2].Hosts = .65, true, 2
	r := newRecording()
	for _, id := range []model.NodeID{"app-1", "app-2"} {
		r.data.Nodes = append(r.data.Nodes, model.Node{ID: id, Facts: model.Facts{Cores: 2, CPULimit: .65}})
	}
	r.loads(p, "1-2+2", shared, 2, 30, 60, 90, 120, 160, 220)
	got := analyze(t, p, r)
	f := got.Configurations[0]
	if f.Verdict != bottleneck.Named || len(f.Bottlenecks) != 1 || f.Bottlenecks[0].Resource != (bottleneck.Resource{Tier: "app+db", Kind: bottleneck.CPU}) {
		t.Fatalf("%s", f.Text)
	}
	if limit := *f.Laws.Limit; math.Abs(limit/100-1) > .05 || f.Hosts != 3 {
		t.Errorf("limit %v of %d hosts, want 100/s of 3: 1.3 cores for 13 ms", limit, f.Hosts)
	}
	if !strings.HasPrefix(f.Text, "the processor of the host of app and db binds") {
		t.Error(f.Text)
	}
}

// TestProving: the design adds trials of the suspect, as it is and faster, in turns;
// a run that is resumed gets no others.
func TestProving(t *testing.T) {
	p := params()
	p.Configurations, p.Users, p.Proof = []string{"1-2-1-em"}, []int{30, 60, 90, 120, 160, 220}, true
	d, err := p.Design(setup(2))
	if err != nil {
		t.Fatal(err)
	}
	first, err := d.Next(observe.Of(model.RunData{}))
	if err != nil || len(first) != 12 {
		t.Fatalf("%d treatments, %v, want 12", len(first), err)
	}
	r := newRecording()
	for _, x := range first {
		r.add(x.Label, shop.Trial(x.Levels["users"].(int), x.Trial, 3), shop.RampUp, shop.Run) //nolint:forcetypeassert // set by the design
	}
	proof, err := d.Next(observe.Of(r.data))
	if err != nil || len(proof) != 4 {
		t.Fatalf("%d treatments of the proof, %v, want 4", len(proof), err)
	}
	var cpus []float64
	for _, x := range proof {
		if !strings.Contains(x.Label, ", proof: processor of db ×1") {
			t.Errorf("label %s", x.Label)
		}
		cpus = append(cpus, x.Services["db"].CPU)
	}
	if !slices.Equal(cpus, []float64{.5, .625, .625, .5}) {
		t.Errorf("processors %v, want .5 and .625 in turns", cpus)
	}
	more, err := d.Next(observe.Of(model.RunData{}))
	if err != nil || len(more) != 0 {
		t.Errorf("%d treatments more, %v, want none", len(more), err)
	}
	for _, x := range proof[:1] {
		r.add(x.Label, shop.Trial(x.Levels["users"].(int), x.Trial, 4), shop.RampUp, shop.Run) //nolint:forcetypeassert // set by the design
	}
	resumed, err := p.Design(setup(2))
	if err != nil {
		t.Fatal(err)
	}
	if more, err := resumed.Next(observe.Of(r.data)); err != nil || len(more) != 0 {
		t.Errorf("a resumed run gets %d treatments, %v, want none", len(more), err)
	}
}

// TestProvingSize: a pool that binds is made larger, to the next whole number, where its
// service names the variable with its size.
func TestProvingSize(t *testing.T) {
	narrow := shop
	narrow.Tiers = slices.Clone(shop.Tiers)
	narrow.Tiers[1].Hosts, narrow.Tiers[1].Quota, narrow.Tiers[1].Pool = 1, 2, 5
	narrow.Tiers[2].Quota, narrow.Tiers[2].Delay = 2, .045 // a connection is held for 50 ms
	p := params()
	p.Configurations, p.Users, p.Proof = []string{"1-1-1-em"}, []int{30, 60, 90, 150, 200, 260}, true
	d, err := p.Design(setup(3))
	if err != nil {
		t.Fatal(err)
	}
	r := newRecording()
	r.services = map[string]model.ServiceLevel{"web": {}, "app": {Sizes: map[string]int{"pool": 5}}, "db": {}}
	measure := func() (sizes []int) {
		all, err := d.Next(observe.Of(r.data))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range all {
			n := narrow
			if size := x.Services["app"].Sizes["pool"]; size > 0 {
				n.Tiers = slices.Clone(narrow.Tiers)
				n.Tiers[1].Pool, sizes = size, append(sizes, size)
			}
			r.add(x.Label, n.Trial(x.Levels["users"].(int), x.Trial, 3), n.RampUp, n.Run) //nolint:forcetypeassert // set by the design
		}
		return sizes
	}
	measure()
	measured := r.data
	r.data.Steps = slices.Clone(r.data.Steps)
	if sizes := measure(); !slices.Equal(sizes, []int{5, 7, 7, 5, 5, 7}) {
		t.Fatalf("sizes %v, want 5 and 7 in turns", sizes)
	}
	f := analyze(t, p, r).Configurations[0]
	if f.Proof == nil || f.Proof.Outcome != bottleneck.Confirmed || f.Proof.Raised[0].Factor != 1.4 || !strings.Contains(f.Text, "1.4 times as much of it gave 1.") {
		t.Errorf("proof %+v, want it confirmed with 1.4 times as much; %s", f.Proof, f.Text)
	}
	// Without the name of the variable there is none.
	for i := range measured.Steps {
		measured.Steps[i].Services = nil
	}
	f = analyze(t, p, &recording{data: measured}).Configurations[0]
	if f.Proof == nil || f.Proof.Outcome != bottleneck.NotMade || !strings.Contains(f.Text, "sizes: {pool: NAME}") {
		t.Errorf("proof %+v, want that it could not be made; %s", f.Proof, f.Text)
	}
}

// TestProvingLink: of a link that binds there is a quarter more, in that direction, where
// the fleet sets its rate.
func TestProvingLink(t *testing.T) {
	narrow := shop
	narrow.Tiers = slices.Clone(shop.Tiers)
	narrow.Tiers[2].Quota, narrow.Tiers[2].Bytes, narrow.Tiers[2].Link = 2, 5000, 100*5000
	p := params()
	p.Configurations, p.Users, p.Proof = []string{"1-2-1-em"}, []int{30, 60, 90, 120, 160, 220}, true
	before := setup(3)
	before.Links, before.Nodes = map[model.NodeID]float64{"db-1": 5e5}, []model.Node{{ID: "web-1", Labels: map[string]string{"tier": "web", "platform": "em"}}, {ID: "db-1", Labels: map[string]string{"tier": "db", "platform": "em"}}}
	before.Services[0].On, before.Services[1].On, before.Services[2].On = map[string]string{"tier": "web"}, map[string]string{"tier": "app"}, map[string]string{"tier": "db"}
	d, err := p.Design(before)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.(study.Forecaster).Outlook()[0].Note; !strings.HasPrefix(got, "if a link of web binds, or threads or a pool") {
		t.Errorf("note before the run %q, want that the link of web cannot be raised", got)
	}
	r := newRecording()
	r.services = map[string]model.ServiceLevel{"web": {}, "app": {}, "db": {Nodes: []model.NodeID{"db-1"}}}
	r.links = map[model.NodeID]model.Link{"db-1": {Out: 5e5, In: 5e5}}
	var raised []float64
	measure := func() {
		all, err := d.Next(observe.Of(r.data))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range all {
			n := narrow
			if by := x.Services["db"].LinkOut; by > 0 {
				n.Tiers = slices.Clone(narrow.Tiers)
				n.Tiers[2].Link *= by
				raised = append(raised, by, x.Services["db"].LinkIn)
			}
			r.add(x.Label, n.Trial(x.Levels["users"].(int), x.Trial, 3), n.RampUp, n.Run) //nolint:forcetypeassert // set by the design
		}
	}
	measure()
	measured := r.data
	r.data.Steps = slices.Clone(r.data.Steps)
	measure()
	if !slices.Equal(raised, []float64{1, 0, 1.25, 0, 1.25, 0, 1, 0, 1, 0, 1.25, 0}) {
		t.Errorf("links raised by %v, want 1 and 1.25 in turns, of what is sent", raised)
	}
	f := analyze(t, p, r).Configurations[0]
	if f.Proof == nil || f.Proof.Outcome != bottleneck.Confirmed || !strings.Contains(f.Text, "1.25 times as much of it gave 1.") {
		t.Errorf("proof %+v, want it confirmed; %s", f.Proof, f.Text)
	}
	for i := range measured.Steps { // a fleet that does not set it
		measured.Steps[i].Links = nil
	}
	f = analyze(t, p, &recording{data: measured}).Configurations[0]
	if f.Proof == nil || f.Proof.Outcome != bottleneck.NotMade || !strings.Contains(f.Text, "the rate of a link is changed where a lab sets it") {
		t.Errorf("proof %+v, want that it could not be made; %s", f.Proof, f.Text)
	}
}

// TestImport: a table of the user's own.
func TestImport(t *testing.T) {
	table := "configuration,users,trial,throughput,response,think,db_cpu,app_cpu\n"
	for _, row := range []string{"50,1,49,.02,1,.48,.2", "50,2,49.2,.02,1,.49,.2", "100,1,94,.06,1,.94,.4", "100,2,93,.06,1,.93,.4", "150,1,100,.5,1,.99,.42", "150,2,99,.5,1,1,.42", "200,1,100,1,1,1,.42", "200,2,101,1,1,100%,.42", "300,1,100,2,1,1,.42", "300,2,100.5,2,1,1,.42"} {
		table += "1-1-4," + row + "\n"
	}
	p := &Params{Tiers: []string{"[web, app, db]"}} // as a file has them
	got, err := p.Import(t.Context(), study.Input{}, "own.csv", strings.NewReader(table))
	if err != nil {
		t.Fatal(err)
	}
	f := got.(*Result).Configurations[0] //nolint:forcetypeassert // it is
	if f.Verdict != bottleneck.Named || f.Bottlenecks[0].Resource != (bottleneck.Resource{Tier: "db", Kind: bottleneck.CPU}) {
		t.Errorf("%s", f.Text)
	}
	// What is a share is none of a core, and the tier has as many hosts as its name says.
	d := f.Laws.Demands
	if i := slices.IndexFunc(d, func(d bottleneck.Demand) bool { return d.Tier == "db" }); i < 0 || d[i].Unit != bottleneck.UnitShare || d[i].Hosts != 4 || math.Abs(*d[i].Below*100-1) > .02 {
		t.Errorf("demands %+v, want 1/100 s of the tier db, of four hosts", d)
	}
	if text := fmt.Sprint(f.demandsTable().Rows); !strings.Contains(text, "(whole tier)") {
		t.Errorf("demands %s, want them of the tier", text)
	}
	for want, bad := range map[string]string{
		`own.csv:2:1: "1-1" has 2 numbers, and there are 3 tiers; one number for`:     "configuration,users,throughput\n1-1,50,49\n",
		`own.csv:2:1: "0-1-1" has a tier without a host; one`:                         "configuration,users,throughput\n0-1-1,50,49\n",
		`own.csv:2:1: "1-1-1-EC2" is no configuration; one number`:                    "configuration,users,throughput\n1-1-1-EC2,50,49\n",
		`own.csv:2:10: throughput is "1e308"; use 0, or a number from 1e-15 to 1e15`:  "configuration,users,throughput\n1-1-1,50,1e308\n",
		`own.csv:2:10: throughput is "49,1"; use a number of 0 or more, with a dec`:   "configuration;users;throughput\n1-1-1;50;49,1\n",
		`db_cpu is "145%"; use a share such as 0.85 or 85%, of all that the tier has`: "configuration,users,throughput,db_cpu\n1-1-1,50,49,145%\n",
		`own.csv:2:7: users is "x"`:                                           "configuration,users,throughput\n1-1-1,x,49\n",
		`own.csv:2:10: throughput is empty`:                                   "configuration,users,throughput\n1-1-1,50,\n",
		`own.csv:2:13: db_cpu is "95"; use 95% if it is in percent`:           "configuration,users,throughput,db_cpu\n1-1-1,50,49,95\n",
		`a second line of 1-1-1, 50 users, trial 1; give each trial a number`: "configuration,users,trial,throughput\n1-1-1,50,1,49\n1-1-1,100,1,94\n1-1-1,50,1,49\n",
		`own.csv:2:13: errors is "1.2"; use a share such`:                     "configuration,users,throughput,errors\n1-1-1,50,49,1.2\n",
		`unknown column "memory"`:                                             "configuration,users,throughput,memory\n1-1-1,50,49,1\n",
	} {
		if _, err := p.Import(t.Context(), study.Input{}, "own.csv", strings.NewReader(bad)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Import = %v, want %s", err, want)
		}
	}
}

// TestAboveAll: a utilisation that is a little above all there is is told.
func TestAboveAll(t *testing.T) {
	for cell, want := range map[string]int{"1.02": 0, "103%": 1} {
		table := "configuration,users,throughput,db_cpu\n1,50,49,.48\n1,100,95," + cell + "\n1,150,95," + cell + "\n"
		got, err := (&Params{Tiers: []string{"db"}}).Import(t.Context(), study.Input{}, "own.csv", strings.NewReader(table))
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(got.(*Result).Warnings, "\n"); strings.Count(said, "1: db_cpu is above 102 %: ") != want { //nolint:forcetypeassert // it is
			t.Errorf("%s: %s, want it told %d times", cell, said, want)
		}
	}
}

// TestLongTable: what a line of a table costs does not grow with the lines before it.
func TestLongTable(t *testing.T) {
	cost := func(rows int) float64 {
		table := "configuration,users,trial,throughput\n"
		for i := range rows {
			table += fmt.Sprintf("1-1,%d,%d,%d\n", 50*(1+i%4), 1+i/4, 50*(1+i%4))
		}
		return testing.AllocsPerRun(1, func() {
			if _, err := (&Params{Tiers: []string{"web", "db"}}).Import(t.Context(), study.Input{}, "own.csv", strings.NewReader(table)); err != nil {
				t.Error(err)
			}
		})
	}
	if short, long := cost(500), cost(2000); long > 6*short {
		t.Errorf("2,000 lines take %.0f allocations, and 500 %.0f: more than four times as many", long, short)
	}
}

// TestNotesOfTables: what users did otherwise than their tables say is a doubt of the
// configuration, once for all trials.
func TestNotesOfTables(t *testing.T) {
	x := model.Result{Stages: []model.Stage{{Name: timeline.StageRun, Note: "a"}, {Name: model.StageTables, Note: "sums to 1.1"}, {Name: model.StageTables, Service: "web", Note: "b"}}}
	var one trial
	one.takeNotes(x)
	m := measured{trials: []trial{one, one}}
	got := m.doubts()
	if len(got) != 1 || got[0].Text != "sums to 1.1" || got[0].Severity != model.Warning || got[0].Code != "tables" {
		t.Errorf("doubts = %+v, want one of the sum", got)
	}
}
