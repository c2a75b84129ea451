package board_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/board"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/servers"
)

func TestConfigErrors(t *testing.T) {
	const db = "mysql://bench@127.0.0.1:1/board"
	for name, c := range map[string]struct {
		config board.Config
		says   string
	}{
		"no role":         {board.Config{Role: "data"}, "no role is called"},
		"no database":     {board.Config{Role: board.App, Pool: 1}, "needs a database"},
		"no upstream":     {board.Config{Role: board.Web}, "needs upstreams"},
		"app forwards":    {board.Config{Role: board.App, Pool: 1, DB: []string{db}, Upstreams: []string{"a:1"}}, "forwards nothing"},
		"web reads":       {board.Config{Role: board.Web, Upstreams: []string{"a:1"}, ReadDB: []string{db}}, "has no database"},
		"no pool":         {board.Config{Role: board.App, DB: []string{db}}, "at least one connection"},
		"threads":         {board.Config{Role: board.Web, Upstreams: []string{"a:1"}, Threads: -1}, "0 or more"},
		"no URL":          {board.Config{Role: board.App, Pool: 1, DB: []string{"10.0.0.1:3306"}}, "by its URL"},
		"another product": {board.Config{Role: board.App, Pool: 1, DB: []string{"oracle://h/db"}}, "mysql://"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := board.New(t.Context(), c.config)
			if s != nil || !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("New = %v, %v, want an error that says %q", s, err, c.says)
			}
		})
	}
}

// forwarding: two application processes behind a web process, behind a
// router: pages come through whole, requests are spread evenly, and a process
// that has gone is left out.
func forwarding(t *testing.T, b postgres) {
	first := start(t, board.Config{Role: board.App, DB: []string{b.url}, Pool: 4})
	ctx, stop := context.WithCancel(t.Context())
	second, err := board.New(ctx, board.Config{Role: board.App, DB: []string{b.url}, Pool: 4, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- second.Serve(ctx) }()
	web := start(t, board.Config{Role: board.Web, Upstreams: []string{first.Address(), second.Address()}, RoundRobin: true, Threads: 50})
	router := start(t, board.Config{Role: board.Router, Upstreams: []string{web.Address()}})
	u := newUser(t, router.Address())

	t.Run("crawl", func(t *testing.T) { crawl(t, u) })
	t.Run("errors", func(t *testing.T) { wrong(t, u) })
	before := []board.Status{first.Status(), second.Status()}
	atOnce(20, func(int) {
		for range 20 {
			u.page("GET", "/ViewStory?story=150", nil)
		}
	})
	for i, s := range []*board.Server{first, second} {
		if n := s.Status().Interactions["ViewStory"].Count - before[i].Interactions["ViewStory"].Count; n < 198 || n > 202 {
			t.Errorf("application %d got %d of 400 requests, want 200", i, n)
		}
	}
	if _, text := u.get(board.HealthPath); text != "ok\n" {
		t.Errorf("health: %q", text)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for range 20 {
		u.page("GET", "/ViewStory?story=150", nil)
	}
	up := web.Status().Upstreams
	if up[0].Down || !up[1].Down || up[0].Outstanding != 0 {
		t.Errorf("upstreams: %+v, want the second one down", up)
	}
}

// TestNoUpstream: without any tier behind it, a web process says so.
func TestNoUpstream(t *testing.T) {
	s := start(t, board.Config{Role: board.Web, Upstreams: []string{servers.FreeAddress(t)}})
	u := newUser(t, s.Address())
	for _, path := range []string{"/Browse", board.HealthPath} {
		if status, text := u.get(path); status != http.StatusServiceUnavailable || !strings.Contains(text, "connection refused") {
			t.Errorf("%s: %d, %s", path, status, text)
		}
	}
	if n := s.Status().Interactions["Browse"]; n.Count != 1 || n.Errors != 1 {
		t.Errorf("counted: %+v", n)
	}
}

// leastOutstanding: an upstream that answers nothing gets no more requests
// than it has.
func leastOutstanding(t *testing.T, b postgres) {
	app := start(t, board.Config{Role: board.App, DB: []string{b.url}, Pool: 4})
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan net.Conn, 10)
	go func() {
		for {
			c, err := silent.Accept()
			if err != nil {
				close(got)
				return
			}
			got <- c
		}
	}()
	router := start(t, board.Config{Role: board.Router, Upstreams: []string{silent.Addr().String(), app.Address()}})
	u := newUser(t, router.Address())
	hanging := make(chan int)
	ctx, give := context.WithCancel(t.Context())
	go func() {
		defer close(hanging)
		for { // until one hangs
			r, _ := http.NewRequestWithContext(ctx, "GET", u.base+"/Browse", nil)
			answer, err := u.Do(r)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		}
	}()
	held := <-got
	for range 50 {
		u.page("GET", "/Browse", nil)
	}
	if up := router.Status().Upstreams; up[0].Outstanding != 1 || up[0].Requests != 0 {
		t.Errorf("upstreams: %+v, want one request with the first", up)
	}
	give() // the router gives up with its user
	<-hanging
	if _, err := io.Copy(io.Discard, held); err != nil {
		t.Error(err)
	}
	_, _ = held.Close(), silent.Close()
	for c := range got {
		_ = c.Close()
	}
}

// end: a request that has begun is answered after the server was told to end.
func end(t *testing.T, b postgres) {
	ctx, stop := context.WithCancel(t.Context())
	s, err := board.New(ctx, board.Config{Role: board.All, DB: []string{b.url}, Pool: 1, Listen: "127.0.0.1:0",
		Work: board.Work{"app": 300 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx) }()
	u := newUser(t, s.Address())
	answered := make(chan string)
	go func() {
		_, page := u.get("/Browse")
		answered <- page
	}()
	for s.Status().Threads.Busy == 0 { // it polls: there is no other sign
	}
	stop()
	if page := <-answered; !strings.Contains(page, "</html>") {
		t.Errorf("the last page is %q", page)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// databaseAway: while the database is away its users are told so, and
// afterwards all is as before, without a restart.
func databaseAway(t *testing.T, server postgres) {
	s := start(t, board.Config{Role: board.All, DB: []string{server.url}, Pool: 5})
	u := newUser(t, s.Address())
	atOnce(5, func(int) { u.page("GET", "/", nil) })
	server.Stop()
	for range 10 {
		if status, _ := u.get("/"); status != http.StatusServiceUnavailable {
			t.Errorf("without a database: %d, want 503", status)
		}
	}
	if status, text := u.get(board.HealthPath); status != 503 || !strings.Contains(text, "the database") {
		t.Errorf("health without a database: %d, %s", status, text)
	}
	server.Restart()
	atOnce(5, func(int) { u.page("GET", "/", nil) })
	if st := s.Status(); st.Pool.Active != 0 || st.Pool.Max != 5 {
		t.Errorf("pool: %+v, want none active of 5", st.Pool)
	}
}

// replicas: what only reads goes to the replicas, in turn, and what writes to
// the primary. Here two databases stand for them, which differ.
func replicas(t *testing.T, server postgres) {
	other, primary := base{url: server.Database()}, base{url: server.Database()}
	other.load(t)
	primary.load(t)
	s := start(t, board.Config{Role: board.All, DB: []string{primary.url}, ReadDB: []string{other.url, other.url}, Pool: 2})
	u := newUser(t, s.Address())
	u.page("POST", "/RegisterUser", values("nickname", "zoe", "password", "p"))
	has(t, u.page("GET", "/SearchInUsers?search=zoe", nil), "Nothing begins like that")
	checkDifferences(t, primary.url, 1)
	checkDifferences(t, other.url, 0)
	if pools := s.Status().Pools; len(pools) != 3 || pools[0].Name != "db[0]" || pools[2].Name != "read[1]" {
		t.Errorf("pools: %+v", pools)
	}
}

// broken is an answer that cannot be written.
type broken struct{ http.ResponseWriter }

func (broken) Write([]byte) (int, error) { panic("broken") }

// TestPanicFreesThread: a page that panics does not keep its worker thread.
func TestPanicFreesThread(t *testing.T) {
	s, err := board.New(t.Context(), board.Config{Role: board.Web, Upstreams: []string{"127.0.0.1:1"}, Threads: 1, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // it served nothing
	for i := range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("request %d found no worker thread", i)
				}
			}()
			s.ServeHTTP(broken{httptest.NewRecorder()}, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
		}()
		cancel()
	}
}
