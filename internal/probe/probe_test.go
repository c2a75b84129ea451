package probe

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// read asks once, and fails the test if there is no answer, or a value that the
// kind of server does not tell.
func read(t *testing.T, s *Session, p Probe) map[string]float64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	values, err := s.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for name := range values {
		if !slices.Contains(p.Tells(), Pattern(name)) {
			t.Errorf("%s tells %s, which is not listed for it", p.Kind, name)
		}
	}
	return values
}

func open(t *testing.T, p Probe) *Session {
	t.Helper()
	s, err := p.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// want compares some of the values.
func want(t *testing.T, what string, got, want map[string]float64) {
	t.Helper()
	some := maps.Clone(got)
	maps.DeleteFunc(some, func(name string, _ float64) bool { _, ok := want[name]; return !ok })
	if d := cmp.Diff(want, some); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		probe Probe
		want  string // empty: it is right
	}{
		{Probe{Kind: "haproxy", URL: "http://10.0.0.1:8404/;csv"}, ""},
		{Probe{Kind: "mariadb", URL: "mysql://root@10.0.0.1:3306/"}, ""},
		{Probe{Kind: "mariadb", URL: "mysql://root@/?socket=/run/s"}, ""},
		{Probe{Kind: "postgres", URL: "postgres://postgres@/db?host=/run"}, ""},
		{Probe{Kind: "accesslog", File: "log", Pattern: `^(?P<path>\S+) (?P<micros>\d+)$`}, ""},
		{Probe{Kind: "nginx", URL: "http://10.0.0.1/"}, `unknown kind of probe "nginx": use one of haproxy, apache, tomcat, mariadb, postgres, board, accesslog`},
		{Probe{Kind: "apache"}, "use http://HOST:PORT/"},
		{Probe{Kind: "apache", URL: "10.0.0.1/server-status?auto"}, "use http://HOST:PORT/"},
		{Probe{Kind: "apache", URL: "http://h/", File: "x"}, "takes a url: remove file"},
		{Probe{Kind: "mariadb", URL: "http://h/"}, "use mysql://HOST:PORT/"},
		{Probe{Kind: "mariadb", URL: "mysql://h/?pool=3"}, `unknown parameter "pool"`},
		{Probe{Kind: "tomcat", URL: "http://h/manager/jmxproxy?qry=x"}, "must end before the question mark"},
		{Probe{Kind: "accesslog", URL: "http://h/"}, "takes a file and a pattern"},
		{Probe{Kind: "accesslog", File: "x"}, "it needs file and pattern"},
		{Probe{Kind: "accesslog", File: "x", Pattern: "("}, "its pattern: error parsing"},
		{Probe{Kind: "accesslog", File: "x", Pattern: "(?P<path>x)"}, "needs one of the groups (?P<micros>"},
		{Probe{Kind: "accesslog", File: "x", Pattern: "(?P<micros>x)(?P<millis>x)"}, `has the group "millis"`},
		{Probe{Kind: "accesslog", File: "x", Pattern: "(?P<host>x)"}, `has the group "host": use path, bytes, status`},
		{Probe{Kind: "board", URL: "http://u:secret@h:port/"}, "its url is not understood"},
		{Probe{Kind: "mariadb", URL: "http://u:secret@h/"}, "u:xxxxx@h"},
	} {
		err := tt.probe.Check()
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("Check(%v) = %v, want nil", tt.probe, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("Check(%v) = %v, want %q", tt.probe, err, tt.want)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("Check(%v) = %v, which tells the password", tt.probe, err)
		}
	}
}

// scripted answers what a test says.
type scripted struct{ next func(*answer) error }

func (s *scripted) ask(_ context.Context, a *answer) error { return s.next(a) }
func (s *scripted) close()                                 {}

// TestRestarts: counters go on over restarts, whether the server tells how long it
// has run or not; a state is what it is.
func TestRestarts(t *testing.T) {
	type step struct {
		after, // s since the answer before
		up, requests, busy float64
		took float64 // s until the answer
	}
	for _, tt := range []struct {
		name     string
		steps    []step
		want     []float64
		restarts int
	}{
		{"without its uptime, less", []step{{0, 0, 100, 3, 0}, {1, 0, 110, 4, 0}, {1, 0, 5, 2, 0}, {1, 0, 25, 1, 0}}, []float64{100, 110, 115, 135}, 1},
		{"by its uptime, more", []step{{0, 100, 100, 3, 0}, {1, 101, 110, 4, 0}, {9, 5, 300, 2, 0}, {1, 6, 310, 0, 0}}, []float64{100, 110, 410, 420}, 1},
		{"by its uptime, after a gap", []step{{0, 2, 100, 3, 0}, {60, 30, 110, 4, 0}}, []float64{100, 210}, 1},
		{"whole seconds", []step{{0, 100, 100, 3, 0}, {1, 100, 110, 4, 0}, {1, 102, 120, 4, 0}}, []float64{100, 110, 120}, 0},
		{"a little back, no restart", []step{{0, 100, 100, 3, 0}, {1, 101, 99, 4, 0}, {1, 102, 101, 4, 0}}, []float64{100, 100, 101}, 0},
		{"twice", []step{{0, 0, 10, 0, 0}, {1, 0, 1, 0, 0}, {1, 0, 0, 0, 0}}, []float64{10, 11, 11}, 2},
		{"a slow answer, uptime of its beginning", []step{{0, 100, 100, 3, 0}, {1, 101, 110, 4, 4}, {1, 106, 120, 4, 0}}, []float64{100, 110, 120}, 0},
		{"a slow answer, uptime of its end", []step{{0, 100, 100, 3, 0}, {1, 105, 110, 4, 4}, {1, 106, 120, 4, 0}}, []float64{100, 110, 120}, 0},
		{"a slow answer before, of a young server", []step{{0, 4, 100, 3, 4}, {1, 5, 110, 4, 0}, {1, 6, 120, 4, 0}}, []float64{100, 110, 120}, 0},
		{"a slow answer after a restart", []step{{0, 100, 100, 3, 0}, {1, 4, 10, 4, 4}, {1, 5, 20, 4, 0}}, []float64{100, 110, 120}, 1},
		{"its wall clock set back", []step{{0, 100, 100, 3, 0}, {1, 41, 110, 4, 0}, {1, 42, 120, 4, 0}}, []float64{100, 110, 120}, 0},
	} {
		now := time.Now()
		var at step
		s := &Session{server: &scripted{func(a *answer) error {
			now = now.Add(time.Duration(at.took * 1e9))
			a.up = at.up
			a.add("requests", at.requests)
			a.add("threads_busy", at.busy)
			return nil
		}}, now: func() time.Time { return now }, isCounter: map[string]bool{"requests": true}, counters: map[string]*total{}}
		var got []float64
		for _, at = range tt.steps {
			now = now.Add(time.Duration(at.after * 1e9))
			values, err := s.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, values["requests"])
			if values["threads_busy"] != at.busy {
				t.Errorf("%s: threads_busy = %v, want %v", tt.name, values["threads_busy"], at.busy)
			}
		}
		if d := cmp.Diff(tt.want, got); d != "" || s.restarts != tt.restarts || (len(s.Notes()) > 0) != (tt.restarts > 0) {
			t.Errorf("%s: %d restarts, want %d; requests (-want +got):\n%s", tt.name, s.restarts, tt.restarts, d)
		}
	}
}

// TestNoNumbers: one value that is no number fails the reading it is in, and no
// later one.
func TestNoNumbers(t *testing.T) {
	for _, told := range []string{"Inf", "-Infinity", "NaN"} {
		accesses := "100"
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("Total Accesses: " + accesses + "\nServerUptimeSeconds: 50\nBusyWorkers: 2\nScoreboard: W_.\n"))
		}))
		s := open(t, Probe{Kind: "apache", URL: server.URL + "/server-status?auto"})
		first, err1 := s.Read(t.Context())
		accesses = told
		_, err2 := s.Read(t.Context())
		accesses = "112" // two are the probe's
		third, err3 := s.Read(t.Context())
		if err1 != nil || err2 == nil || !strings.Contains(err2.Error(), "requests, which is no number") || err3 != nil || third["requests"]-first["requests"] != 10 {
			t.Errorf("%s: %v, %v, %v, and then %v requests, want 10", told, err1, err2, err3, third["requests"]-first["requests"])
		}
		server.Close()
	}
}

// TestBoard reads the page of the built-in application as it promises it.
func TestBoard(t *testing.T) {
	body := `{"role":"app","started":"2026-11-23T13:00:00Z","now":"2026-11-23T13:01:00Z","cpu":12.3,"threads":{"busy":3,"max":200,"queue":1},
"pool":{"active":2,"max":0,"waiting":4,"waits":12,"wait":0.5},"pools":[{"name":"db[0]","active":2,"max":0,"waiting":4,"waits":12,"wait":0.5}],"connections":{"open":10,"max":0,"accepted":100,"backlog":128},
"interactions":{"ViewStory":{"count":10,"errors":1,"response":0.5},"StoreComment":{"count":2,"errors":0,"response":0.25}}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
	defer server.Close()
	p := Probe{Kind: "board", URL: server.URL + "/_board/status"}
	s := open(t, p)
	defer s.Close()
	got := read(t, s, p)
	all := map[string]float64{
		"threads_busy": 3, "threads_max": 200, "threads_queue": 1, "pool_active": 2, "pool_waiting": 4, "pool_wait": 0.5, "sessions": 10,
		"requests": 12, "response": 0.75, "errors": 1, "requests[ViewStory]": 10, "response[ViewStory]": 0.5, "requests[StoreComment]": 2, "response[StoreComment]": 0.25,
	}
	if d := cmp.Diff(all, got); d != "" {
		t.Errorf("of the board (-want +got):\n%s", d)
	}
	for pools, fullest := range map[string]map[string]float64{
		`{"name":"db[0]","active":5,"max":5,"waiting":0,"wait":0.5},{"name":"read[0]","active":5,"max":5,"waiting":7,"wait":1},{"name":"read[1]","active":0,"max":5}`: {"pool_active": 5, "pool_max": 5, "pool_waiting": 7, "pool_wait": 1.5},
		`{"name":"db[0]","active":9,"max":50,"waiting":0},{"name":"read[0]","active":5,"max":5,"waiting":0}`:                                                          {"pool_active": 5, "pool_max": 5, "pool_waiting": 0, "pool_wait": 0},
		`{"name":"db[0]","active":0,"max":0,"waiting":0},{"name":"read[0]","active":3,"max":0,"waiting":0}`:                                                           {"pool_active": 3, "pool_waiting": 0, "pool_wait": 0},
	} {
		body = `{"threads":{"busy":9,"max":9},"pool":{"active":10,"max":15,"waiting":7,"wait":2},"pools":[` + pools + `]}`
		want(t, pools, read(t, open(t, p), p), fullest)
	}
	body = `{"role":"web","threads":{"busy":3,"max":9,"queue":4},"connections":{"open":7,"max":0},"upstreams":[{"address":"10.0.0.4:8080"}]}`
	if d := cmp.Diff(map[string]float64{"threads_busy": 3, "threads_max": 9, "threads_queue": 4, "sessions": 7, "requests": 0, "response": 0, "errors": 0}, read(t, open(t, p), p)); d != "" {
		t.Errorf("of a board that forwards (-want +got):\n%s", d)
	}
	for _, other := range []string{"<html>", `{"hello": 1}`} {
		body = other
		if _, err := s.Read(t.Context()); !errors.Is(err, errNoAnswer) {
			t.Errorf("Read of %q = %v, want that it is no answer", other, err)
		}
	}
}

// TestHAProxyServers: of servers the fullest is told, with what waits for its backend; one
// without a limit has room for what may go there, and is no limit of another backend.
func TestHAProxyServers(t *testing.T) {
	for name, c := range map[string]struct {
		rows string
		want map[string]float64
	}{
		"one full, one idle":          {"app,s1,0,2,2,2\napp,s2,0,0,2,2\napp,BACKEND,3,2,9,1\n", map[string]float64{"pool_active": 2, "pool_max": 2, "pool_waiting": 3}},
		"evenly":                      {"app,s1,0,2,4,2\napp,s2,0,2,4,2\napp,BACKEND,0,4,9,1\n", map[string]float64{"pool_active": 2, "pool_max": 4, "pool_waiting": 0}},
		"one that requests stay with": {"app,s1,5,2,2,2\napp,s2,0,4,4,2\napp,BACKEND,0,6,9,1\n", map[string]float64{"pool_active": 2, "pool_max": 2, "pool_waiting": 5}},
		"another without a limit":     {"app,s1,0,2,2,2\napp,BACKEND,3,2,9,1\nimages,s1,0,40,,2\nimages,BACKEND,0,40,9,1\n", map[string]float64{"pool_active": 2, "pool_max": 2, "pool_waiting": 3}},
		"no limits":                   {"app,s1,0,2,,2\napp,s2,0,3,,2\napp,BACKEND,0,5,9,1\n", map[string]float64{"pool_active": 3, "pool_waiting": 0}},
	} {
		a := &answer{values: map[string]float64{}}
		if err := readHAProxy([]byte("# pxname,svname,qcur,scur,slim,type\n"+c.rows), 0, a); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, a.values); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// logs is an access log.
type logs struct {
	t    *testing.T
	path string
}

func (l *logs) write(text string) {
	l.t.Helper()
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		l.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		l.t.Fatal(err)
	}
}

// TestAccessLog: lines from the first reading on, over rotation, whole ones only.
func TestAccessLog(t *testing.T) {
	l := &logs{t, filepath.Join(t.TempDir(), "access.log")}
	l.write("/old 1000 200 9\n/half 10")
	p := Probe{Kind: "accesslog", File: l.path, Pattern: `^(?P<path>\S+) (?P<micros>\d+) (?P<status>\d+) (?P<bytes>\d+|-)$`}
	s := open(t, p)
	want(t, "what was there", read(t, s, p), map[string]float64{"requests": 0, "response": 0, "errors": 0, "body_bytes": 0})
	l.write("00 200 1\n/ViewStory?story=3 2000 200 100\n/index.html 1000 404 -\n/ViewStory?story=4 3")
	want(t, "whole lines", read(t, s, p), map[string]float64{"requests": 2, "response": 0.003, "errors": 1, "body_bytes": 100,
		"requests[ViewStory]": 1, "response[ViewStory]": 0.002, "requests[index_html]": 1})
	l.write("000 200 100\nnonsense\n")
	if err := os.Rename(l.path, l.path+".1"); err != nil {
		t.Fatal(err)
	}
	want(t, "moved away", read(t, s, p), map[string]float64{"requests": 3, "response": 0.006})
	l.write("/ViewStory 1000 200 1\n")
	old := &logs{t, l.path + ".1"}
	old.write("/ 1000 200 1\n") // by a server that still has it open
	want(t, "rotated", read(t, s, p), map[string]float64{"requests": 5, "requests[ViewStory]": 3, "requests[/]": 1})
	if err := os.Truncate(l.path, 0); err != nil {
		t.Fatal(err)
	}
	l.write("/a 1000 200 1\n")
	want(t, "cut", read(t, s, p), map[string]float64{"requests": 6, "requests[a]": 1})
	got := strings.Join(s.Notes(), "\n")
	for _, want := range []string{"does not match 1 of 7 lines", "made shorter, 1 times"} {
		if !strings.Contains(got, want) {
			t.Errorf("Notes = %q, want %q", got, want)
		}
	}
}

// TestAccessLogLate: a log that is not there is a failure; when it comes it is
// read from its beginning. Too many paths are one.
func TestAccessLogLate(t *testing.T) {
	l := &logs{t, filepath.Join(t.TempDir(), "access.log")}
	p := Probe{Kind: "accesslog", File: l.path, Pattern: `^(?P<path>\S+) (?P<seconds>\S+)`}
	s := open(t, p)
	if _, err := s.Read(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Read without a file = %v", err)
	}
	var text strings.Builder
	for i := range maxNames + 20 {
		text.WriteString("/page" + string(rune('0'+i/10)) + string(rune('0'+i%10)) + " 0.5\n")
	}
	l.write(text.String() + "/page00 Inf\n/page00 NaN\n")
	got := read(t, s, p)
	want(t, "all", got, map[string]float64{"requests": maxNames + 20, "response": (maxNames + 20) / 2, "requests[other]": 20, "response[other]": 10})
	if _, ok := got["errors"]; ok {
		t.Error("there are errors, and no status in the lines")
	}
}

// TestAccessLogOfPipe: opening a pipe without a writer would wait for ever.
func TestAccessLogOfPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, Probe{Kind: "accesslog", File: path, Pattern: `^(?P<millis>\S+)`})
	if _, err := s.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "is no regular file: let the server write") {
		t.Errorf("Read of a pipe = %v, want that it is refused", err)
	}
}

func TestInteraction(t *testing.T) {
	for path, want := range map[string]string{
		"/ViewStory?story=1": "ViewStory", "/": "/", "": "", "/a/b.html": "a/b_html", "ViewStory": "ViewStory", "/x[1]:2": "x(1)_2",
		"/" + strings.Repeat("é", 40): strings.Repeat("é", 32),
	} {
		if got := Interaction(path); got != want || Interaction(got) != want {
			t.Errorf("Interaction(%q) = %q, want %q", path, got, want)
		}
	}
}

// FuzzAnswers: no answer makes a reader panic or tell of what is not a number.
func FuzzAnswers(f *testing.F) {
	f.Add("# pxname,svname,qcur,scur,slim,stot,type\nb,BACKEND,0,1,2,3,1\nb,s1,0,1,,3,2\n")
	f.Add("BusyWorkers: 1\nScoreboard: _W..\nTotal Accesses: 4\n")
	f.Add(`{"threads":{},"pools":[{}]}`)
	f.Add("/x 5 200\n")
	f.Fuzz(func(t *testing.T, text string) {
		for name, parse := range map[string]func([]byte, int, *answer) error{"haproxy": readHAProxy, "apache": readApache, "board": readBoard} {
			a := &answer{values: map[string]float64{}}
			_ = parse([]byte(text), 0, a) // most are refused
			for metric, v := range a.values {
				if v != v {
					t.Errorf("%s tells %s = %v", name, metric, v)
				}
			}
		}
		l, err := openLog(Probe{File: "x", Pattern: `(?P<path>\S+) (?P<micros>\S+) (?P<status>\d+)`})
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text) {
			l.(*accessLog).take([]byte(line))
		}
		Interaction(text)
		colons([]byte(text))
	})
}

// BenchmarkAccessLog is what a line of an access log costs.
func BenchmarkAccessLog(b *testing.B) {
	l, err := openLog(Probe{File: "x", Pattern: `^(?P<path>\S+) (?P<micros>\d+) (?P<status>\d+) (?P<bytes>\d+|-)$`})
	if err != nil {
		b.Fatal(err)
	}
	line := []byte("/ViewStory?story=1234 2345 200 5678")
	b.ReportAllocs()
	for b.Loop() {
		l.(*accessLog).take(line)
	}
}

// TestLogOutside: a log that is a link out of its folder is not read.
func TestLogOutside(t *testing.T) {
	dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	if err := errors.Join(os.WriteFile(secret, []byte("1\n2\n"), 0o600),
		os.Symlink(secret, filepath.Join(dir, "access.log")),
		os.Symlink(filepath.Dir(secret), filepath.Join(dir, "logs"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"access.log", "logs/secret"} {
		l, err := openLog(Probe{Folder: dir, File: name, Pattern: `^(?P<micros>\d+)`})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.ask(t.Context(), &answer{values: map[string]float64{}}); err == nil {
			t.Errorf("%s was read, out of its folder", name)
		}
		l.close()
	}
}
