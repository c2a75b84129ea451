package board_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/board"
	"github.com/scalebench/scalebench/test/kvtest"
	"github.com/scalebench/scalebench/test/servers"
	"github.com/scalebench/scalebench/test/servers/pgtest"
)

// childVariable makes the test binary a process of the application: its value is
// the configuration.
const childVariable = "BOARD_TEST_CHILD"

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		os.Exit(child(text))
	}
	goleak.VerifyTestMain(m)
}

// child serves until its standard input ends, and says where.
func child(text string) int {
	board.Calm()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }()
	var config board.Config
	err := json.Unmarshal([]byte(text), &config)
	var s *board.Server
	if err == nil {
		s, err = board.New(ctx, config)
	}
	if err == nil {
		fmt.Println(s.Address())
		err = s.Serve(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// startChild starts a process of the application of its own, so that its
// processor time is known. It returns its address.
func startChild(t testing.TB, config board.Config) string {
	t.Helper()
	config.Listen = "127.0.0.1:0"
	config.Pool = max(config.Pool, 1)
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	in, inErr := cmd.StdinPipe()
	out, write, outErr := os.Pipe()
	if inErr != nil || outErr != nil {
		t.Fatal(inErr, outErr)
	}
	cmd.Stdout = write
	p, err := servers.Start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // which ends it
		<-p.Done()
		if p.Err() != nil {
			t.Errorf("the application ended with %v", p.Err())
		}
		_ = out.Close()
	})
	_ = write.Close() // the child's own remains
	address := ""
	if _, err := fmt.Fscanln(out, &address); err != nil {
		t.Fatalf("the application does not say where it serves: %v", err)
	}
	return address
}

// start serves in the test's own process.
func start(t testing.TB, config board.Config) *board.Server {
	t.Helper()
	config.Listen = "127.0.0.1:0"
	config.Pool = max(config.Pool, 1)
	s, err := board.New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// user asks a board, over connections of its own.
type user struct {
	t    testing.TB
	base string
	*http.Client
}

func newUser(t testing.TB, address string) *user {
	tr := &http.Transport{MaxIdleConnsPerHost: 100}
	t.Cleanup(tr.CloseIdleConnections)
	return &user{t, "http://" + address, &http.Client{Transport: tr, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return fmt.Errorf("there are no redirects") }}}
}

// do asks, and returns status and page.
func (u *user) do(method, path string, form url.Values) (int, string) {
	u.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, u.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		u.t.Error(err)
		return 0, ""
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := u.Do(r)
	if err != nil {
		u.t.Error(err)
		return 0, ""
	}
	body, err := io.ReadAll(answer.Body)
	if err == nil {
		err = answer.Body.Close()
	}
	if err != nil {
		u.t.Error(err)
	}
	return answer.StatusCode, string(body)
}

func (u *user) get(path string) (int, string) { u.t.Helper(); return u.do("GET", path, nil) }

// page asks for a page that must be there, and returns it.
func (u *user) page(method, path string, form url.Values) string {
	u.t.Helper()
	status, text := u.do(method, path, form)
	if status != http.StatusOK {
		u.t.Fatalf("%s %s answers %d:\n%s", method, path, status, text)
	}
	return text
}

// status reads the counters.
func (u *user) status() board.Status {
	u.t.Helper()
	var st board.Status
	if err := json.Unmarshal([]byte(u.page("GET", board.StatusPath, nil)), &st); err != nil {
		u.t.Fatal(err)
	}
	return st
}

// small is a board that is loaded in a second.
func small() board.Sizes {
	s := board.DefaultSizes()
	s.Users, s.Authors, s.Stories, s.OldStories, s.Submissions = 300, 10, 60, 100, 60
	return s
}

// base is a database that is filled.
type base struct {
	url string
	pid int // of its server
}

func (b base) load(t testing.TB) {
	t.Helper()
	if err := board.Load(t.Context(), board.Loading{DB: []string{b.url}, Sizes: small()}); err != nil {
		t.Fatal(err)
	}
}

func mariaDB(t testing.TB) base {
	server := kvtest.StartMariaDB(t, 1, "secret")
	b := base{"mysql://bench:secret@" + server.Addr + "/test0", server.Process.PID()}
	b.load(t)
	return b
}

// postgres is a server with a board.
type postgres struct {
	*pgtest.Server
	base
}

func postgreSQL(t testing.TB) postgres {
	server := pgtest.Start(t)
	b := base{server.Database(), server.Process.PID()}
	b.load(t)
	return postgres{server, b}
}

// TestMariaDB is what needs a server of it, which takes seconds to start.
func TestMariaDB(t *testing.T) {
	b := mariaDB(t)
	t.Run("pages", func(t *testing.T) { pages(t, b) })
	t.Run("demand", func(t *testing.T) { databaseDemand(t, b) })
	t.Run("metered demand", func(t *testing.T) { meteredDemand(t, b) })
	t.Run("waits", func(t *testing.T) { waits(t, b) })
	t.Run("metered elsewhere", func(t *testing.T) { meteredElsewhere(t, b) })
}

// TestPostgreSQL is all that needs a database, of either kind.
func TestPostgreSQL(t *testing.T) {
	p := postgreSQL(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, postgres)
	}{
		{"check", check},
		{"refusals of load", loadRefuses},
		{"pages", func(t *testing.T, p postgres) { pages(t, p.base) }},
		{"demand of the database", func(t *testing.T, p postgres) { databaseDemand(t, p.base) }},
		{"metered demand", func(t *testing.T, p postgres) { meteredDemand(t, p.base) }},
		{"waits", func(t *testing.T, p postgres) { waits(t, p.base) }},
		{"demand", demandOfWork},
		{"threads", threads},
		{"pool", pool},
		{"forwarding", forwarding},
		{"least outstanding", leastOutstanding},
		{"replicas", replicas},
		{"end", end},
		{"database away", databaseAway},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, p) })
	}
}
