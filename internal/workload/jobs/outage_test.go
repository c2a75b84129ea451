package jobs

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/test/servers/s3test"
)

const outageItems = 24

// atWork is a task at work on items of a gateway, when a quarter is done.
type atWork struct {
	*task
	s     *server
	ended chan error
}

func startWork(t *testing.T, url string, g *s3test.Gateway, rest string) *atWork {
	t.Helper()
	w := &atWork{s: newServer(t), ended: make(chan error, 1)}
	names := make([]string, outageItems)
	for i := range names {
		names[i] = fmt.Sprintf("in/%02d", i)
		g.Write(t, names[i], "x")
	}
	rest += `, "get": {}, "put": {"keep": true}, "slots": 3, "lease": "1s"`
	if url == "" {
		rest = fmt.Sprintf(`"items": {"list": ["%s"]}, %s`, strings.Join(names, `", "`), rest)
		w.task = newTask(t, w.s, onGateway(g, rest), 0, 1)
	} else {
		publish(t, openQueue(t, url, time.Second), names...)
		w.task = newTask(t, w.s, natsOnGateway(url, g, rest), 0, 1)
	}
	if err := w.Prepare(t.Context(), w.env); err != nil {
		t.Fatal(err)
	}
	w.Start = time.Now()
	go func() { w.ended <- w.Run(t.Context(), w.env) }()
	w.await(t, func() bool { return len(w.s.records(jobs.Done)) >= outageItems/4 })
	return w
}

func (w *atWork) await(t *testing.T, what func() bool) {
	t.Helper()
	for !what() {
		select {
		case err := <-w.ended:
			t.Fatalf("Run() = %v\n%s", err, w.stderr.String())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// TestStoreComesBack: a store that is away for longer than all retries of a request and a
// lease is no item's fault: none is lost or set aside, and no try is used up.
func TestStoreComesBack(t *testing.T) {
	t.Parallel()
	for name, inNATS := range map[string]bool{"builtin": false, "nats": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := ""
			if inNATS {
				url = startNATS(t)
			}
			g := s3test.Start(t)
			w := startWork(t, url, g, `"command": "sleep 0.05; cat {in} > {out}"`)
			g.End()
			time.Sleep(2 * time.Second) //nolint:forbidigo // the outage
			g.Begin(t)
			if err := <-w.ended; err != nil {
				t.Fatalf("Run() = %v\n%s", err, w.stderr.String())
			}
			done := w.s.records(jobs.Done)
			for _, r := range done {
				if r.Try > 2 || g.Read(t, r.Output) != "x" { // a get that fails as the store comes back is one of its item
					t.Errorf("record %+v", r)
				}
			}
			if v := w.Values(); len(done) != outageItems || v["jobs_set_aside"] != 0 || v["jobs_failed"] > 3 ||
				v["jobs_outage"] < 1 || v["jobs_outage"] > 30 || v["jobs_errors"] <= 0 {
				t.Errorf("%d items are done, samples %v\n%s", len(done), v, w.stderr.String())
			}
			if stages := w.Stages; len(stages) < 2 || !strings.HasPrefix(stages[0], outageStage+" begun: ") {
				t.Errorf("stages %v", stages)
			}
			if said := w.stderr.String(); !strings.Contains(said, "slots wait for up to 5m0s") ||
				!strings.Contains(said, "the store answers again after") {
				t.Errorf("said %s", said)
			}
		})
	}
}

// TestStoreStaysAway: a store that fails as a whole for too long ends the task with clear
// words, and no item is set aside.
func TestStoreStaysAway(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ends func(*testing.T, *s3test.Gateway)
		code string // of the store's answers from then on
		says string
	}{
		"killed": {ends: func(_ *testing.T, g *s3test.Gateway) { g.End() }, says: "check the endpoint and that"},
		"no bucket": {ends: func(t *testing.T, g *s3test.Gateway) {
			if err := os.RemoveAll(filepath.Join(g.Dir, s3test.Bucket)); err != nil {
				t.Error(err)
			}
		}, says: `create bucket "bench"`},
		"expired": {code: "ExpiredToken", says: "session token of the agent's credentials has expired"},
		"denied":  {code: "AccessDenied", says: "the credentials need the rights to list, put, get"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, refuses := s3test.Start(t), new(atomic.Bool)
			front := *g
			front.URL = s3test.Proxy(t, g.URL, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
				if refuses.Load() && c.code != "" {
					refuse(w, c.code)
					return
				}
				pass.ServeHTTP(w, r)
			})
			if c.code == "" {
				front.URL = g.URL
			}
			w := startWork(t, "", &front, `"command": "sleep 0.05; cat {in} > {out}", "outage": "1s", "tries": 1`)
			refuses.Store(true)
			if c.ends != nil {
				c.ends(t, g)
			}
			err := <-w.ended
			for _, says := range []string{"the store has failed for 1", c.says} {
				if err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("Run() = %v, want %q", err, says)
				}
			}
			if aside := w.s.records(jobs.SetAside); len(aside) > 0 {
				t.Errorf("set aside are %v", aside)
			}
			g.End() // what is left need not be removed
		})
	}
}

func refuse(w http.ResponseWriter, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(http.StatusForbidden)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code) // who left gets nothing
}

// TestOutageOverDeadline: by time, a task ends at its deadline although the store is away.
func TestOutageOverDeadline(t *testing.T) {
	t.Parallel()
	g := s3test.Start(t)
	w := startWork(t, "", g, `"function": "copy", "duration": "2s"`)
	g.End()
	if err := <-w.ended; err != nil {
		t.Fatalf("Run() = %v\n%s", err, w.stderr.String())
	}
	if v := w.Values(); w.last().After != 2*time.Second || v["jobs_outage"] <= 0 || v["jobs_failed"] != 0 {
		t.Errorf("samples %v", v)
	}
	if state := w.s.q.State(); state.Leased != 0 || state.SetAside != 0 {
		t.Errorf("the queue is %+v", state)
	}
}

// TestOneObjectFails: what a store answers about one object alone uses up tries of its item.
func TestOneObjectFails(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter){
		"denied": func(w http.ResponseWriter) { refuse(w, "AccessDenied") },
		"broken": func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := s3test.Start(t)
			front := *g
			front.URL = s3test.Proxy(t, g.URL, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
				if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/in/20") {
					answer(w)
					return
				}
				pass.ServeHTTP(w, r)
			})
			w := startWork(t, "", &front, `"function": "copy", "tries": 2, "outage": "1s", "retries": 0`)
			if err := <-w.ended; err != nil {
				t.Fatalf("Run() = %v\n%s", err, w.stderr.String())
			}
			aside := w.s.records(jobs.SetAside)
			if r := aside["in/20"]; len(aside) != 1 || r.Try != 2 || len(w.s.stored) != outageItems {
				t.Errorf("set aside are %v; %d items have records", aside, len(w.s.stored))
			}
		})
	}
}

// TestQueueStaysAway: a queue in NATS that does not answer for too long ends the task.
func TestQueueStaysAway(t *testing.T) {
	t.Parallel()
	url, kill, _ := startNATSTwice(t)
	q := openQueue(t, url, time.Second)
	publish(t, q, "a", "b")
	s := newServer(t)
	a := newTask(t, s, natsParams(url, `"command": "true", "slots": 2, "lease": "1s", "outage": "1s"`), 0, 1)
	if err := a.Prepare(t.Context(), a.env); err != nil {
		t.Fatal(err)
	}
	kill()
	err := a.Run(t.Context(), a.env)
	if err == nil || !strings.Contains(err.Error(), "NATS at "+url+" has not answered for 1s") {
		t.Errorf("Run() = %v", err)
	}
}
