package users

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load/session"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/site"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/proof/parts"
	"github.com/scalebench/scalebench/test/siteserver"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// proof is set for the long forms.
var proof = os.Getenv("NTIER_PROOF") != ""

func seconds(n float64) *unit.Duration {
	d := unit.Duration(n * 1e9)
	return &d
}

// serve starts a site.
func serve(t testing.TB, s *siteserver.Server) string {
	t.Helper()
	if s.Site == nil {
		s.Site = site.Board()
	}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return h.URL
}

// params are users for a moment.
func params(url string, users int, think, rampUp, run, rampDown float64) *Params {
	p := Kind().New().(*Params)
	p.URL, p.Users, p.Loops, p.Seed = url, users, 1, 7
	p.Think, p.RampUp, p.Scored, p.RampDown = seconds(think), seconds(rampUp), seconds(run), seconds(rampDown)
	return p
}

// outcome is what a task reports.
type outcome struct {
	*workloadtest.Record
	stderr string
}

func (o outcome) sample(metric string, labels map[string]string) float64 {
	want := model.Sample{Metric: metric, Labels: labels}.Key()
	for _, s := range o.Samples {
		if s.Key() == want {
			return s.Value
		}
	}
	return math.NaN()
}

// visit executes the task of one of so many nodes.
func visit(t testing.TB, p *Params, part, parts int) outcome {
	t.Helper()
	o, err := try(t, p, part, parts)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func try(t testing.TB, p *Params, part, parts int) (outcome, error) {
	t.Helper()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	r := &workloadtest.Record{T: t}
	env := &workload.Env{Part: part, Parts: parts, Stdout: io.Discard, Stderr: &stderr, Report: r}
	defer func() {
		if err := p.Cleanup(context.Background(), env); err != nil {
			t.Error(err)
		}
	}()
	if err := p.Prepare(t.Context(), env); err != nil {
		return outcome{}, err
	}
	r.Start = time.Now()
	if err := p.Run(t.Context(), env); err != nil {
		return outcome{}, err
	}
	return outcome{r, stderr.String()}, nil
}

// check holds a report to what is true of each: every request that was due is in
// exactly one count, by interaction and in all.
func check(t testing.TB, o outcome) {
	t.Helper()
	sums, latencies := make(map[string]float64), make(map[string]int64)
	for _, h := range o.Histograms {
		one, err := histogram.Decode(h.Encoded)
		if err != nil {
			t.Fatal(err)
		}
		latencies[h.Metric] = one.TotalCount()
	}
	for _, due := range o.Samples {
		name := due.Labels[session.LabelInteraction]
		if name == "" || due.Metric != session.MetricDue {
			continue
		}
		settled := 0.0
		for _, metric := range []string{session.MetricOK, session.MetricErrors, session.MetricDropped,
			session.MetricUnfinished} {
			n := o.sample(metric, due.Labels)
			settled, sums[metric] = settled+n, sums[metric]+n
		}
		sums[session.MetricDue] += due.Value
		if n := o.sample(session.MetricOK, due.Labels); settled != due.Value ||
			n != float64(latencies[session.HistogramOf(name)]) {
			t.Errorf("%s: %v due, %v with an end, %d latencies of %v", name, due.Value, settled,
				latencies[session.HistogramOf(name)], n)
		}
	}
	for metric, want := range sums {
		if got := o.sample(metric, nil); got != want {
			t.Errorf("%s is %v, the interactions have %v", metric, got, want)
		}
	}
	if len(sums) != 5 {
		t.Errorf("interactions have %v", sums)
	}
}

// TestVisit: what is reported is what the site has seen; users go through
// sessions, with forms and all; two nodes have all users together.
func TestVisit(t *testing.T) {
	s := &siteserver.Server{Pad: 2000}
	url := serve(t, s)
	asked := 0.
	for part := range 2 {
		p := params(url, 60, .1, 0, 1, 0)
		p.Mix = session.ReadWrite
		o := visit(t, p, part, 2)
		check(t, o)
		if o.sample(session.MetricUsers, nil) != 30 || o.sample(session.MetricErrors, nil) != 0 ||
			o.sample(session.MetricNoLink, nil) != 0 {
			t.Errorf("%v users of 60, %v errors, %v pages without a link\n%s", o.sample(session.MetricUsers, nil),
				o.sample(session.MetricErrors, nil), o.sample(session.MetricNoLink, nil), o.stderr)
		}
		asked += o.sample(session.MetricDue, nil)
		x, r := o.sample(session.MetricThroughput, nil), o.sample(session.MetricResponse, nil)/1e3
		if law := 30 / (r + .1); x < .75*law || x > 1.25*law { // of a second alone, in which thinking varies
			t.Errorf("%v requests a second of 30 users who think for .1 s and wait for %v s, want about %v", x, r, law)
		}
		if u := o.Recordings[0]; u.Metric != session.RecordingUsers || u.Values[0] != 30 || len(u.Values) != 1 {
			t.Errorf("users by second: %+v", u)
		}
	}
	visits := s.Visits()
	total := 0
	for _, n := range visits {
		total += n
	}
	// The first node asks once whether the site answers; what is due as the run
	// ends may not come.
	if float64(total) < asked-10 || float64(total) > asked+1 {
		t.Errorf("the site has seen %d requests, of which %v were due", total, asked)
	}
	if visits["StoreComment"] == 0 || !strings.Contains(s.Form("StoreComment"), "nickname=user") || !strings.Contains(s.Form("StoreComment"), "id=7") {
		t.Errorf("comments: %d, the last is %q", visits["StoreComment"], s.Form("StoreComment"))
	}
}

// TestClosedLoop: X = N/(R+Z) within 2 %, of a site with a response time that is
// known.
func TestClosedLoop(t *testing.T) {
	parts.Begin(t)
	users, run := 400, 4.
	if proof {
		users, run = 1000, 30
	}
	const delay, think = 150 * time.Millisecond, .35
	url := serve(t, &siteserver.Server{Delay: delay})
	var why string
	for range 3 { // another program may have had the processors
		o := visit(t, params(url, users, think, 1, run, 0), 0, 1)
		check(t, o)
		x, r, z := o.sample(session.MetricThroughput, nil), o.sample(session.MetricResponse, nil),
			o.sample(session.MetricThink, nil)
		byLaw := float64(users) / (r/1e3 + z)
		known := float64(users) / (delay.Seconds() + think)
		why = fmt.Sprintf("X = %.1f/s, by the law %.1f/s, by what is known %.1f/s, R = %.2f ms, Z = %.4f s", x, byLaw, known, r, z)
		if math.Abs(x/byLaw-1) < .02 && math.Abs(x/known-1) < .05 && r >= 150 && math.Abs(o.sample(session.MetricLaw, nil)-x/byLaw) < 1e-3 {
			t.Log(why)
			return
		}
		t.Log("again, for", why)
	}
	t.Error(why)
}

// TestStages: only the run is scored. Users come one after the other, and what
// has no end when they leave is counted.
func TestStages(t *testing.T) {
	var slow atomic.Bool
	url := serve(t, &siteserver.Server{Wrong: func(_ http.ResponseWriter, r *http.Request) bool {
		if slow.Load() {
			<-r.Context().Done() // until the user leaves
		}
		return false
	}})
	p := params(url, 40, .05, 2, 1, 1)
	time.AfterFunc(2500*time.Millisecond, func() { slow.Store(true) })
	o := visit(t, p, 0, 1)
	check(t, o)
	unfinished := o.sample(session.MetricUnfinished, nil)
	if unfinished < 35 || unfinished > 40 || o.sample(session.MetricAfter, nil) > 40-unfinished {
		t.Errorf("%v of 40 users have no answer at the end, of the run; %v of the ramp", unfinished, o.sample(session.MetricAfter, nil))
	}
	if got := o.sample(session.MetricScored, nil); got != 1 {
		t.Errorf("%v s are scored, want 1", got)
	}
	if got, want := strings.Join(o.Stages, ", "), "ramp_up begun, ramp_up done, run begun, run done, ramp_down begun, ramp_down done"; got != want {
		t.Errorf("stages %q, want %q", got, want)
	}
	if u := o.Recordings[0].Values; u[0] < 19 || u[0] > 21 || u[1] != 40 {
		t.Errorf("users by second %v, want 20, then 40", u)
	}
}

// TestCutStages: a ramp that was cut short has failed, with the cause, and what would
// have come after it did not begin.
func TestCutStages(t *testing.T) {
	p := params(serve(t, &siteserver.Server{}), 2, .05, 60, 60, 60)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	r := &workloadtest.Record{T: t, Start: time.Now()}
	env := &workload.Env{Parts: 1, Stdout: io.Discard, Stderr: io.Discard, Report: r}
	defer func() {
		if err := p.Cleanup(context.Background(), env); err != nil {
			t.Error(err)
		}
	}()
	if err := p.Prepare(ctx, env); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { cancel(errors.New("called off")) })
	if err := p.Run(ctx, env); err == nil {
		t.Error("Run succeeds though it was called off")
	}
	if got, want := strings.Join(r.Stages, ", "), "ramp_up begun, ramp_up failed: called off"; got != want {
		t.Errorf("stages %q, want %q", got, want)
	}
}

// TestErrors: failures are told by kind, and what a page lacks with an example.
func TestErrors(t *testing.T) {
	n := 0
	url := serve(t, &siteserver.Server{
		Missing: map[[2]string]bool{{"ViewStory", "ViewComment"}: true},
		Wrong: func(w http.ResponseWriter, _ *http.Request) bool {
			switch n++; {
			case n < 10:
			case n%10 == 0:
				http.Error(w, "busy", http.StatusServiceUnavailable)
				return true
			case n%10 == 1:
				_, _ = io.WriteString(w, "<h2>ERROR: no such story</h2>")
				return true
			}
			return false
		},
	})
	p := params(url, 1, .001, 0, 1, 0)
	p.ErrorText = "ERROR:"
	o := visit(t, p, 0, 1)
	check(t, o)
	status, wrong := o.sample(session.MetricErrors, map[string]string{session.LabelKind: "status 503"}), o.sample(session.MetricErrors, map[string]string{session.LabelKind: "wrong"})
	due := o.sample(session.MetricDue, nil)
	if status < .08*due || wrong < .08*due || status+wrong != o.sample(session.MetricErrors, nil) {
		t.Errorf("of %v requests %v are refused, %v wrong, of %v errors", due, status, wrong, o.sample(session.MetricErrors, nil))
	}
	missing := o.sample(session.MetricNoLink, map[string]string{session.LabelFrom: "ViewStory", session.LabelTo: "ViewComment"})
	if missing == 0 || missing != o.sample(session.MetricNoLink, nil) {
		t.Errorf("%v pages lack a link", missing)
	}
	for _, want := range []string{"unexpected status 503", `the page of `, `holds "ERROR:"`, "/ViewStory?id=", "has no link or form to ViewComment (/ViewComment)"} {
		if !strings.Contains(o.stderr, want) {
			t.Errorf("stderr lacks %q:\n%s", want, o.stderr)
		}
	}
}

// TestUnreachable: a site that is not there is told before the ramp.
func TestUnreachable(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	for name, c := range map[string]struct{ url, want string }{
		"another site": {gone.URL, "unexpected status 404"},
		"no site":      {"http://127.0.0.1:1", "refused"},
	} {
		_, err := try(t, params(c.url, 10, 1, 60, 60, 0), 0, 1)
		if !errors.Is(err, model.ErrUnavailable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	gone.Close()
}

const table = "\tStoriesOfTheDay\tViewStory\nStoriesOfTheDay\t0\t.6\nViewStory\t.5\t0\nBack\t0\t.3\nEnd of Session\t.5\t.2\n"

// TestTables: a user's tables and properties, from files and from the
// experiment, with what is done about sums; keys take precedence.
func TestTables(t *testing.T) {
	s := &siteserver.Server{}
	url, dir := serve(t, s), t.TempDir()
	for name, text := range map[string]string{
		"users.txt": table, "authors.txt": strings.Replace(table, "\t.3\n", "\t.2\n", 1),
		"rubbos.properties": "workload_number_of_clients_per_node = 500\nworkload_user_transition_table = users.txt\nworkload_author_transition_table = authors.txt\n" +
			"workload_percentage_of_author = 50\nworkload_up_ramp_time_in_ms = 0\nworkload_session_run_time_in_ms = 900000\nworkload_down_ramp_time_in_ms = 0\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := params(url, 20, .05, 0, 1, 0)
	p.RampUp, p.RampDown, p.Properties = nil, nil, filepath.Join(dir, "rubbos.properties")
	o := visit(t, p, 0, 1)
	check(t, o)
	if v := s.Visits(); len(v) != 2 || v["ViewStory"] == 0 || o.sample(session.MetricUsers, nil) != 20 {
		t.Errorf("visits %v of %v users, want two interactions, 20 users", v, o.sample(session.MetricUsers, nil))
	}
	if want := "transitions: column ViewStory sums to 1.1 instead of 1: each of its probabilities is divided by that"; !strings.Contains(o.stderr, want) {
		t.Errorf("stderr lacks %q:\n%s", want, o.stderr)
	}
	if !slices.ContainsFunc(o.Stages, func(s string) bool {
		return strings.HasPrefix(s, "tables done: transitions: column ViewStory sums to 1.1 instead of 1")
	}) {
		t.Errorf("the result lacks what was done about sums: %q", o.Stages)
	}
	if notes := p.Notes(); !strings.Contains(strings.Join(notes, "\n"), "transitions: column ViewStory sums to 1.1 instead of 1") {
		t.Errorf("Notes = %q, want what is done about sums", notes)
	}
	if strings.Contains(o.stderr, "author_transitions: column") {
		t.Errorf("stderr complains of sums that are 1:\n%s", o.stderr)
	}
	p = params(url, 20, .05, 0, 1, 0)
	p.Transitions = filepath.Join(dir, "none.txt")
	if _, err := try(t, p, 0, 1); err == nil || !strings.Contains(err.Error(), "none.txt") {
		t.Errorf("a table that is not there: %v", err)
	}
}

func TestValidate(t *testing.T) {
	js := func(text string) string { return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(text) }
	workloadtest.Validate(t, Kind(), [][2]string{
		{`{"url": "http://h", "users": 10}`, ""},
		{`{"url": "http://h/app", "users": 10, "mix": "read_write", "author_share": 0.2}`, ""},
		{`{"url": "https://h", "users": 10}`, "url"},
		{`{"url": "h:80", "users": 10}`, "url"},
		{`{"url": "http://u:p@h", "users": 10}`, "url"},
		{`{"url": "http://h"}`, ""},
		{`{"url": "http://h", "properties": "/etc/rubbos.properties"}`, ""},
		{`{"url": "http://h", "properties": "` + js("workload_number_of_clients_per_node = 5\n#\n") + `"}`, ""},
		{`{"url": "http://h", "properties": "` + js("workload_number_of_clients_per_node = x\n#\n") + `"}`, "properties"},
		{`{"url": "http://h", "users": 10, "run": "0s"}`, "run"},
		{`{"url": "http://h", "users": 10, "run": "1500ms"}`, "run"},
		{`{"url": "http://h", "users": 10, "ramp_up": "1500ms"}`, "ramp_up"},
		{`{"url": "http://h", "users": 10, "ramp_down": "1ms"}`, "ramp_down"},
		{`{"url": "http://h", "users": 10, "run": "60000d", "ramp_up": "60000d"}`, "ramp_up"},
		{`{"url": "http://h", "users": 10, "run": "30d", "ramp_up": "31d"}`, "ramp_up"},
		{`{"url": "http://h", "users": 10, "run": "30d", "ramp_up": "30d", "ramp_down": "30d"}`, ""},
		{`{"url": "http://h", "users": 10, "think_spread": 0.5}`, "think_spread"},
		{`{"url": "http://h", "users": 10, "request_timeout": "0s"}`, "request_timeout"},
		{`{"url": "http://h", "users": 10, "authors": 2000}`, "authors"},
		{`{"url": "http://h", "users": 10, "headers": {"Connection": "close"}}`, "headers.Connection"},
		{`{"url": "http://h", "users": 10, "site": [{"name": "a"}, {"name": "A"}]}`, "site"},
		{`{"url": "http://h", "users": 10, "site": [{"name": "a"}]}`, "site"},
		{`{"url": "http://h", "users": 10, "site": [{"name": "a"}], "transitions": "a\t0\nEnd\t1\n"}`, ""},
		{`{"url": "http://h", "users": 10, "transitions": "table.txt"}`, "transitions"},
		{`{"url": "http://h", "users": 10, "transitions": "/table.txt"}`, ""},
		{`{"url": "http://h", "users": 10, "mix": "browse_only", "transitions": "/table.txt"}`, "mix"},
		{`{"url": "http://h", "users": 10, "transitions": "/table.txt", "author_share": 0.1}`, "author_share"},
		{`{"url": "http://h", "users": 10, "transitions": "` + js(table) + `"}`, ""},
		{`{"url": "http://h", "users": 10, "transitions": "` + js(strings.Replace(table, ".6", "6", 1)) + `"}`, "transitions"},
	})
	if got := Kind().New().(*Params); got.SharesLoad() != true {
		t.Error("nodes do not share the users")
	}
	p := workloadtest.Parse(t, Kind(), `{"url": "http://h", "users": 10}`)
	if got := p.Estimate(); got != 8*time.Minute+12*time.Minute+30*time.Second {
		t.Errorf("Estimate = %v", got)
	}
}

// TestAuthorShare: a share of the properties holds for mixes with authors, too, and is
// told where nothing says what authors do.
func TestAuthorShare(t *testing.T) {
	some, none, own := "workload_percentage_of_author = 30\n", "workload_percentage_of_author = 0\n", .2
	for name, c := range map[string]struct {
		p    Params
		want float64
		told bool
	}{
		"a mix with authors":          {Params{Mix: session.ReadWrite, Properties: some}, .3, false},
		"a mix without its authors":   {Params{Mix: session.ReadWrite, Properties: none}, 0, false},
		"a mix, nothing is said":      {Params{Mix: session.ReadWrite}, .1, false},
		"a mix without authors":       {Params{Mix: session.BrowseOnly, Properties: some}, 0, true},
		"a table, no table of theirs": {Params{Transitions: table, Properties: some}, 0, true},
		"a table, none are wanted":    {Params{Transitions: table, Properties: none}, 0, false},
		"both tables":                 {Params{Transitions: table, AuthorTransitions: table, Properties: some}, .3, false},
		"a key comes first":           {Params{Mix: session.BrowseOnly, Properties: some, AuthorShare: &own}, .2, false},
	} {
		p := params("http://h", 10, 1, 0, 1, 0)
		p.Mix, p.Transitions, p.AuthorTransitions, p.Properties, p.AuthorShare = c.p.Mix, c.p.Transitions, c.p.AuthorTransitions, c.p.Properties, c.p.AuthorShare
		got, err := p.config(noFiles)
		if err != nil || got.AuthorShare != c.want || (got.AuthorChain != nil) != (c.want > 0) {
			t.Errorf("%s: share %v, authors %t, %v; want %v", name, got.AuthorShare, got.AuthorChain != nil, err, c.want)
		}
		if told := strings.Contains(strings.Join(p.Notes(), "\n"), "workload_percentage_of_author: nothing says what the 30 % do"); told != c.told {
			t.Errorf("%s: notes %q, want it told: %t", name, p.Notes(), c.told)
		}
	}
}

// TestSiteWithoutAuthors: who are authors, and which page they miss, is told at the site.
func TestSiteWithoutAuthors(t *testing.T) {
	p := params("http://h", 10, 1, 0, 1, 0)
	p.Mix = session.ReadWrite
	p.Site = slices.DeleteFunc(site.Board(), func(i site.Interaction) bool { return strings.HasPrefix(i.Name, "Author") })
	want := "site: 10 % of the users are authors: the mix author visits what the site does not have: AuthorLogin, AuthorTasks; give"
	if err := p.Validate(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "author_share: 0") {
		t.Errorf("Validate = %v, want %q", err, want)
	}
	p.Properties = "workload_percentage_of_author = 0\n"
	if err := p.Validate(); err != nil {
		t.Errorf("Validate = %v, though there are no authors", err)
	}
}

// TestComplete: where no study sets them, the parameters say how many users there are.
func TestComplete(t *testing.T) {
	for params, want := range map[string]string{
		`{"url": "http://h"}`:                                                               "there are no users",
		`{"url": "http://h", "users": 10}`:                                                  "",
		`{"url": "http://h", "properties": "/etc/rubbos.properties"}`:                       "",
		`{"url": "http://h", "properties": "workload_number_of_clients_per_node = 5\n#\n"}`: "",
	} {
		p := workloadtest.Parse(t, Kind(), params).(*Params)
		if err := p.Complete(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Complete = %v, want %q", params, err, want)
		}
	}
}

// TestCanceled: a task that is told to stop stops.
func TestCanceled(t *testing.T) {
	p := params(serve(t, &siteserver.Server{}), 10, .1, 0, 60, 0)
	env := &workload.Env{Parts: 1, Stdout: io.Discard, Stderr: io.Discard}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("called off")
	env.Report = &workloadtest.Record{T: t, Seen: func(string, float64) { cancel(why) }}
	if err := p.Prepare(ctx, env); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := p.Run(ctx, env); !errors.Is(err, why) || time.Since(begin) > 10*time.Second {
		t.Errorf("Run = %v after %v", err, time.Since(begin))
	}
	if err := p.Cleanup(context.Background(), env); err != nil {
		t.Error(err)
	}
}

// TestTrials: users of another trial draw other times and ways; with the same ones the
// scatter over trials would say nothing. Nodes of one trial share the draws.
func TestTrials(t *testing.T) {
	p := params(serve(t, &siteserver.Server{}), 3, 0, 0, 1, 0)
	seeds := make(map[int]uint64)
	for _, trial := range []int{0, 1, 2, 3} {
		env := &workload.Env{Trial: trial, Part: 1, Parts: 2, Stdout: io.Discard, Stderr: io.Discard, Report: &workloadtest.Record{T: t}}
		if err := errors.Join(p.Prepare(t.Context(), env), p.Cleanup(t.Context(), env)); err != nil {
			t.Fatal(err)
		}
		seeds[trial] = p.visitors.Seed
	}
	if seeds[0] != 7 || seeds[1] != 7 || seeds[2] == 7 || seeds[3] == 7 || seeds[2] == seeds[3] {
		t.Errorf("seeds of trials are %v, want 7 in the first, and others in each other", seeds)
	}
}
