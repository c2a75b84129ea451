package load

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/histogram"
	engine "github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/kvtest"
	"github.com/scalebench/scalebench/test/loadserver"
	"github.com/scalebench/scalebench/test/servers/s3test"
	"github.com/scalebench/scalebench/test/workloadtest"
)

func TestMain(m *testing.M) {
	if code, is := loadserver.Child(); is {
		os.Exit(code)
	}
	s3test.SetCredentials()
	os.Exit(m.Run())
}

// run executes the task of the first of so many nodes, and reads its summary as others will.
func run(t *testing.T, p *Params, parts int, variables ...string) (engine.Summary, *workloadtest.Record) {
	t.Helper()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	r := &workloadtest.Record{T: t}
	env := &workload.Env{Parts: parts, Environ: append(os.Environ(), variables...), Stdout: io.Discard, Stderr: io.Discard,
		Report: r}
	if err := p.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Cleanup(context.Background(), env); err != nil {
			t.Error(err)
		}
	}()
	if err := p.Run(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	s, err := engine.ReadSummary(r.Result())
	if err != nil {
		t.Fatal(err)
	}
	return s, r
}

// params are those of the kind, for a target, in short.
func params(target string, rate float64) *Params {
	p := Kind().New().(*Params)
	p.Target, p.Duration, p.WarmUp = target, unit.Duration(2*time.Second), unit.Duration(time.Second)
	if rate > 0 {
		p.Rate = &unit.Rate{Value: rate, Base: unit.Operations}
	}
	return p
}

// TestOffer: the load that the step sets goes before what the parameters say.
func TestOffer(t *testing.T) {
	server := loadserver.Start(t, loadserver.Behaviour{})
	p := params(server.URL(), 10)
	env := &workload.Env{Part: 1, Parts: 2, Offer: &model.Offer{Rate: 3.5, Recover: true, Seed: 7, SLA: "p90=1s"}}
	if err := p.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if err := p.Cleanup(context.Background(), env); err != nil {
		t.Error(err)
	}
	if plan := p.plan(); plan.Stages[0] != engine.Hold(3.5, 3*time.Second) || plan.Seed != 7 || !p.Recover || p.drain() != 1350*time.Millisecond {
		t.Errorf("with an offer of 3.5 op/s, after another, the plan is %+v, recover %v, drain %v", plan, p.Recover, p.drain())
	}
}

// TestPrepareAgain: a trial draws from its own seed, however often it is prepared.
func TestPrepareAgain(t *testing.T) {
	server := loadserver.Start(t, loadserver.Behaviour{})
	p := params(server.URL(), 10)
	p.Seed = 7
	env := &workload.Env{Part: 1, Parts: 2, Trial: 3}
	for range 2 {
		if err := p.Prepare(t.Context(), env); err != nil {
			t.Fatal(err)
		}
		if err := p.Cleanup(context.Background(), env); err != nil {
			t.Error(err)
		}
		if got, want := p.plan().Seed, env.Seed(7); got != want || p.Seed != 7 {
			t.Errorf("the plan's seed is %d, that of the file %d; want %d and 7", got, p.Seed, want)
		}
	}
}

// TestRun: what is reported is what the server did in the seconds that are
// scored; two nodes offer the load together.
func TestRun(t *testing.T) {
	t.Parallel()
	const service = 2 * time.Millisecond
	server := loadserver.Start(t, loadserver.Behaviour{Service: service})
	s, r := run(t, params(server.URL(), 200), 2)
	total, err := s.Total()
	if err != nil {
		t.Fatal(err)
	}
	if total.Due != 200 || total.OK != 200 || s.Scored != 2*time.Second {
		t.Errorf("due %d, ok %d in %v; half of 200/s is 200 in 2 s", total.Due, total.OK, s.Scored)
	}
	// Both ends of the connections are of this machine.
	if least := 2 * total.OK; runtime.GOOS == "linux" && s.Segments.In < least {
		t.Errorf("%+v arrived, want %d or more", s.Segments, least)
	}
	if got := time.Duration(total.Service.Min()); got < service {
		t.Errorf("an answer took %v, and the server takes %v", got, service)
	}
	if x := s.Seconds; x.Len() != 2 || x.Index[0] != 1 || x.Due[0] != 100 || x.OK[1] != 100 {
		t.Fatalf("seconds %+v, want those after warming up", x)
	}
	for i, latencies := range s.Seconds.Latencies {
		if h, err := histogram.Decode(latencies[0]); err != nil || h.TotalCount() != s.Seconds.OK[i] {
			t.Errorf("second %d has %d answers, and the latencies of another number: %v", s.Seconds.Index[i], s.Seconds.OK[i], err)
		}
	}
	if len(s.RTT) < 10 {
		t.Errorf("%d handshakes in 2 s, want one every 50 ms", len(s.RTT))
	}
	if got := r.Readings[engine.MetricThroughput]; len(got) < 3 || got[len(got)-1].Value != 300 {
		t.Errorf("progress %v, want up to 300 answers", got)
	}
	if served := len(server.Take().Requests); served != 300 {
		t.Errorf("the server saw %d requests, want 300", served)
	}
}

// TestSpin: loops that never sleep do the same.
func TestSpin(t *testing.T) {
	p := params(loadserver.Start(t, loadserver.Behaviour{}).URL(), 50)
	p.Spin, p.Loops = true, 1
	p.Duration, p.WarmUp = unit.Duration(time.Second), 0
	s, _ := run(t, p, 1)
	if total, err := s.Total(); err != nil || total.OK != 50 {
		t.Errorf("%+v, %v; want 50 answers", total.Counts, err)
	}
}

// TestTLS: https goes through the standard library's client.
func TestTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/a" || r.Header.Get("X-Key") != "1" {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	for _, http2 := range []bool{false, true} {
		p := params(server.URL+"/a", 50)
		p.Insecure, p.HTTP2, p.Headers = true, http2, map[string]string{"X-Key": "1"}
		p.Duration, p.WarmUp = unit.Duration(time.Second), 0
		s, _ := run(t, p, 1)
		if total, err := s.Total(); err != nil || total.OK != 50 {
			t.Errorf("http2 %v: %+v, %v; want 50 answers", http2, total.Counts, err)
		}
	}
}

// TestMixAndErrors: kinds of requests are told apart, and what fails is no
// answer.
func TestMixAndErrors(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/broken" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	p, three := params(server.URL, 200), 3.0
	p.Requests = []Request{{Name: "good", Path: "/good", Weight: &three}, {Path: "/broken", Method: "POST", Body: "x"}}
	s, _ := run(t, p, 1)
	if len(s.Names) != 2 || s.Names[0] != "good" || s.Names[1] != "post2" {
		t.Fatalf("operations %v", s.Names)
	}
	good, bad := s.Ops[0], s.Ops[1]
	if good.OK != good.Due || bad.OK != 0 || bad.Errors[engine.ErrStatus] != bad.Due || good.Due+bad.Due != 400 {
		t.Errorf("good %+v, bad %+v", good.Counts, bad.Counts)
	}
	if good.Due < 250 || good.Due > 350 {
		t.Errorf("%d of 400 are good, want about three quarters", good.Due)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		field  string
		change func(*Params)
	}{
		{"target", func(p *Params) { p.Target = "ftp://x/" }},
		{"target", func(p *Params) { p.Requests = []Request{{Path: "https://other/"}} }},
		{"duration", func(p *Params) { p.Duration = unit.Duration(1500 * time.Millisecond) }},
		{"duration", func(p *Params) { p.Duration = unit.Duration(-time.Second) }},
		{"users", func(p *Params) { p.Users = 3 }},
		{"rate", func(p *Params) { p.Rate = &unit.Rate{Value: 5, Base: unit.Bits} }},
		{"rate", func(p *Params) { p.Rate.Value = 2e9 }},
		{"think", func(p *Params) { p.Rate, p.Users, p.Think = nil, 3, unit.Duration(-time.Second) }},
		{"target", func(p *Params) { p.Target = "redis://user:secret@host/" }},
		{"target", func(p *Params) { p.Target, p.HTTP2 = "redis://host/", true }},
		{"data", func(p *Params) { p.Target, p.Data = "redis://host/", &Data{Workload: "e"} }},
		{"http2", func(p *Params) { p.HTTP2 = true }},
		{"spin", func(p *Params) { p.Target, p.Spin = "https://127.0.0.1:1/", true }},
		{"spin", func(p *Params) { p.Target, p.Spin = "redis://host/", true }},
		{"data", func(p *Params) { p.Data = defaultData() }},
		{"password_env", func(p *Params) { p.PasswordEnv = "SECRET" }},
	} {
		p := params("http://127.0.0.1:1/", 10)
		c.change(p)
		var field *model.InputError
		if err := p.Validate(); !errors.As(err, &field) || field.Path != c.field {
			t.Errorf("Validate = %v, want an error of %s", err, c.field)
		}
	}
}

// sla is one that is possible.
func sla(text string) engine.SLA {
	s, err := engine.ParseSLA(text)
	if err != nil {
		panic(err)
	}
	return s
}

// TestKeysOfSearch: tasks may have keys of a search beside their own. The generator
// takes the SLA of them.
func TestKeysOfSearch(t *testing.T) {
	p := Kind().New().(*Params)
	err := json.Unmarshal([]byte(`{"target": "http://a/", "warm_up": "1s", "sla": "p90=8s", "start": "5op/s", "min": "1op/s", "max": "9op/s",
		"resolution": 0.1, "windows": 9, "algorithm": "paper", "fraction": 2, "step": 0.3}`), p)
	if err != nil || p.Agreement.String() != "p90=8s,errors=1%" || p.drain() != 10*time.Second || p.Scored() != p.Agreement.Scored(time.Second) {
		t.Errorf("%+v, %v; want the SLA, and its times", p, err)
	}
	if err := json.Unmarshal([]byte(`{"target": "http://a/", "slo": "p90=8s"}`), p); err == nil {
		t.Error("a key that nothing knows is taken")
	}
}

// TestNoRate: without a rate there is nothing to offer, and the error says what
// to do.
func TestNoRate(t *testing.T) {
	err := params("http://127.0.0.1:1/", 0).Prepare(t.Context(), &workload.Env{Parts: 1})
	if !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), "the study capacity") {
		t.Errorf("Prepare = %v", err)
	}
}

// TestRecover: after an overload the server is let go of its backlog. A machine
// that is busy with other things is slow, too: then it is tried again.
func TestRecover(t *testing.T) {
	server := loadserver.Start(t, loadserver.Behaviour{Workers: 1, Service: 5 * time.Millisecond})
	const limit = 100 * time.Millisecond
	for try := 1; ; try++ {
		flood := params(server.URL(), 600)
		flood.Agreement, flood.Duration, flood.WarmUp = sla("p90=100ms"), unit.Duration(time.Second), 0
		run(t, flood, 1)
		gentle := params(server.URL(), 50)
		gentle.Agreement, gentle.Recover, gentle.WarmUp = sla("p90=100ms"), true, 0
		s, _ := run(t, gentle, 1)
		total, err := s.Total()
		if err != nil {
			t.Fatal(err)
		}
		p90 := time.Duration(total.Latency.ValueAtPercentile(90))
		if total.OK == total.Due && p90 <= limit {
			return
		}
		if try == 3 {
			t.Fatalf("after recovering: %+v, p90 %v; want all within %v", total.Counts, p90, limit)
		}
	}
}

// TestRecoverGivesUp: a server that does not come back is waited for no longer
// than agreed, however slow the SLA lets it be.
func TestRecoverGivesUp(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	p := params("http://"+l.Addr().String(), 100)
	p.Timeout = unit.Duration(2 * time.Minute)
	var said strings.Builder
	env := &workload.Env{Parts: 1, Stderr: &said}
	if err := p.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	p.Agreement = sla("p90=1m") // not before: Prepare would notice that nobody answers
	defer func() {
		if err := p.Cleanup(context.Background(), env); err != nil {
			t.Error(err)
		}
	}()
	begin := time.Now()
	p.recover(t.Context(), env, 500*time.Millisecond)
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("it took %v, want little more than 500ms", took)
	}
	if !strings.Contains(said.String(), "did not keep the SLA under a light load within 500ms") {
		t.Errorf("it said %q", said.String())
	}
}

// TestUsesEnviron: a target gets the variables that it needs, and no other.
func TestUsesEnviron(t *testing.T) {
	for target, want := range map[string][]string{
		"http://host/": nil, "redis://host": nil, "mysql://user@host/db": nil, "cassandra://host/k": nil,
		"postgres://user@host/db": {"PG*"}, "postgresql://user@host/db": {"PG*"},
		"s3://host:80/bucket": objectstore.Variables(), "s3s://host/bucket": objectstore.Variables(),
	} {
		p := params(target, 1)
		p.PasswordEnv = "KEY"
		names, patterns := p.UsesEnviron()
		if diff := cmp.Diff([][]string{{"KEY"}, want}, [][]string{names, patterns}); diff != "" {
			t.Errorf("%s: names and patterns (-want +got):\n%s", target, diff)
		}
	}
}

// TestStore: a data store is loaded and asked; what comes back is verified.
func TestStore(t *testing.T) {
	t.Parallel()
	server := kvtest.StartRedis(t, "secret")
	p := params("redis://"+server.Addr, 500)
	p.PasswordEnv, p.Data = "LOAD_TEST_PASSWORD", defaultData()
	p.Data.Workload = "w3"
	s, _ := run(t, p, 1, "LOAD_TEST_PASSWORD=secret")
	total, err := s.Total()
	if err != nil {
		t.Fatal(err)
	}
	if total.OK != 1000 || len(s.Names) != 2 {
		t.Errorf("%+v of %v, want 1000 reads and updates", total.Counts, s.Names)
	}
	if share := float64(s.Ops[1].Due) / 1000; share < .02 || share > .09 {
		t.Errorf("%v are %.3f, want about .05", s.Names[1], share)
	}
}

// TestStoreOfFewConnections: a server that allows few connections keeps some for
// others; how many there were and what was loaded is with the result.
func TestStoreOfFewConnections(t *testing.T) {
	t.Parallel()
	server := kvtest.StartRedis(t, "")
	if err := server.Says("CONFIG SET maxclients 12\r\n", "+OK"); err != nil {
		t.Fatal(err)
	}
	for _, loaded := range []int64{1000, 1} {
		p := params("redis://"+server.Addr, 200)
		p.WarmUp, p.Duration = 0, unit.Duration(time.Second)
		s, _ := run(t, p, 1)
		// The server may not have noticed yet that the test's own connection is closed.
		c := s.Usage.Connections
		want := engine.ConnectionUse{Room: engine.Room{Limit: 12, Others: c.Others, Setting: "maxclients"}, Asked: 64, Allowed: 11 - c.Others, Open: 11 - c.Others}
		if c != want || c.Others > 2 || s.RecordsLoaded != loaded {
			t.Errorf("%+v and %d records loaded, want %+v and %d", c, s.RecordsLoaded, want, loaded)
		}
		if err := server.Says("DEL scalebench:"+kv.DefaultDataset().Key(7)+"\r\n", ":1"); err != nil {
			t.Fatal(err)
		}
	}
}

// bounded is a store in this process that says how many connections it allows.
type bounded struct {
	*kvtest.Memory
	room engine.Room
}

type boundedAdmin struct {
	kv.Admin
	room engine.Room
}

func (s bounded) Admin(ctx context.Context) (kv.Admin, error) {
	a, err := s.Memory.Admin(ctx)
	return boundedAdmin{a, s.room}, err
}

func (a boundedAdmin) Room(context.Context) (engine.Room, error) { return a.room, nil }

// TestRoomOfStore: a generator never takes what is left to others: where there is not one
// connection for each of them, none of them begins.
func TestRoomOfStore(t *testing.T) {
	for name, c := range map[string]struct {
		limit, others, parts, allowed int // 0: it is refused
	}{
		"plenty":                             {500, 20, 4, 64},
		"not known":                          {0, 0, 4, 64},
		"some":                               {12, 3, 1, 8},
		"some for each":                      {12, 3, 4, 2},
		"one":                                {8, 6, 1, 1},
		"the last":                           {8, 7, 1, 0},
		"none":                               {8, 8, 1, 0},
		"more are held than are allowed":     {8, 12, 2, 0},
		"one for each of four":               {8, 3, 4, 1},
		"fewer than generators":              {8, 4, 4, 0},
		"of many, a twentieth is for others": {200, 185, 5, 1},
		"less than that":                     {200, 186, 5, 0},
	} {
		var said strings.Builder
		p, room := params("redis://a/", 10), engine.Room{Limit: c.limit, Others: c.others, Setting: "most"}
		err := p.findRoom(t.Context(), &workload.Env{Parts: c.parts, Stderr: &said}, bounded{kvtest.NewMemory(), room})
		refused := errors.Is(err, model.ErrUnavailable) && strings.Contains(err.Error(), "use fewer generators")
		switch {
		case c.allowed == 0 && !refused:
			t.Errorf("%s: allowed %d, %v, want ErrUnavailable", name, p.uses.Allowed, err)
		case c.allowed > 0 && (err != nil || p.uses.Allowed != c.allowed || (said.Len() > 0) != (c.allowed < 64)):
			t.Errorf("%s: allowed %d, %v, %q, want %d", name, p.uses.Allowed, err, said.String(), c.allowed)
		}
	}
}

// TestLatencies: a load at a fixed rate reports within which latency each share of
// what was due was answered; in a search, or of users, that says nothing.
func TestLatencies(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	for name, c := range map[string]struct {
		change func(*Params)
		want   int
	}{
		"a rate":   {func(*Params) {}, len([]string{"p50", "p90", "p95", "p99"})},
		"a search": {func(p *Params) { p.Agreement = sla("p90=1s") }, 0},
		"users":    {func(p *Params) { p.Rate, p.Users = nil, 2 }, 0},
	} {
		p := params(server.URL, 100)
		p.Duration, p.WarmUp = unit.Duration(time.Second), 0
		c.change(p)
		_, record := run(t, p, 1)
		var last float64
		n := 0
		for _, s := range record.Result().Samples {
			if s.Metric == model.MetricLoadLatency {
				if n++; s.Value < last || s.Better != model.Lower || !s.Info || s.Labels["percentile"] == "" {
					t.Errorf("%s: %+v after %v", name, s, last)
				}
				last = s.Value
			}
		}
		if n != c.want {
			t.Errorf("%s: %d percentiles, want %d", name, n, c.want)
		}
	}
}
