package probe

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scalebench/scalebench/test/kvtest"
	"github.com/scalebench/scalebench/test/servers"
	"github.com/scalebench/scalebench/test/servers/pgtest"
)

// slow is a server that answers when it is told to.
type slow struct {
	address string
	arrived chan struct{}
	release chan struct{}
}

func startSlow(t *testing.T) *slow {
	t.Helper()
	s := &slow{arrived: make(chan struct{}, 100), release: make(chan struct{})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/slow"):
			s.arrived <- struct{}{}
			<-s.release
		case r.URL.Path == "/missing":
			http.NotFound(w, r)
		}
		_, _ = io.WriteString(w, "x") // a client that is gone does not care
	}), ReadHeaderTimeout: time.Minute}
	s.address = l.Addr().String()
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(l) }() // until it is closed
	t.Cleanup(func() { _ = server.Close(); <-ended })
	return s
}

// fetch asks for a page n times at once, and returns what waits for the answers.
func fetch(t *testing.T, url string, n int) (wait func()) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	done := make(chan error, n)
	for range n {
		go func() {
			resp, err := client.Get(url)
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close() // it was read
			}
			done <- err
		}()
	}
	return func() {
		t.Helper()
		for range n {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
}

// eventually reads until a value is what it must become: servers count an answer a
// moment after it was sent.
func eventually(t *testing.T, s *Session, p Probe, name string, value float64) map[string]float64 {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; {
		got := read(t, s, p)
		if got[name] == value {
			return got
		}
		if time.Now().After(end) {
			t.Fatalf("%s = %v, want %v; all: %v", name, got[name], value, got)
		}
		<-time.After(20 * time.Millisecond)
	}
}

const haproxyConfig = `
global
	maxconn 100
defaults
	mode http
	timeout connect 5s
	timeout client 30s
	timeout server 30s
	timeout queue 30s
frontend front
	bind %s
	maxconn 77
	default_backend app
backend app
	server one %s maxconn 2
listen statistics
	bind %s
	stats enable
	stats uri /
`

// TestHAProxy: of five requests at once two are with the server, which takes no
// more, and three wait.
func TestHAProxy(t *testing.T) {
	t.Parallel()
	program := servers.Program(t, "haproxy")
	app := startSlow(t)
	s := servers.New(t, "")
	statistics := servers.FreeAddress(t)
	s.Listen(func(port string) *exec.Cmd {
		file := filepath.Join(s.Dir, "haproxy.cfg")
		writeFile(t, file, fmt.Sprintf(haproxyConfig, "127.0.0.1:"+port, app.address, statistics))
		return s.Command(program, "-db", "-f", file)
	}, func() error { return s.Says("GET / HTTP/1.0\r\n\r\n", "200 OK") })
	p := Probe{Kind: "haproxy", URL: "http://" + statistics + "/;csv"}
	ses := open(t, p)
	before := read(t, ses, p)
	want(t, "idle", before, map[string]float64{"pool_active": 0, "pool_max": 2, "pool_waiting": 0, "sessions_max": 77, "sessions": 0})
	wait := fetch(t, "http://"+s.Addr+"/slow", 5)
	<-app.arrived
	<-app.arrived
	want(t, "with five", eventually(t, ses, p, "pool_waiting", 3), map[string]float64{"pool_active": 2, "sessions": 5})
	close(app.release)
	wait()
	fetch(t, "http://"+s.Addr+"/missing", 2)()
	after := eventually(t, ses, p, "requests", before["requests"]+7)
	want(t, "afterwards", after, map[string]float64{"pool_active": 0, "pool_waiting": 0, "errors": 2})
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil { //nolint:gosec // another user reads it
		t.Fatal(err)
	}
}

const apacheConfig = `
ServerRoot /etc/apache2
ServerName localhost
PidFile %[1]s/pid
Mutex file:%[1]s default
ErrorLog %[1]s/error.log
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule status_module /usr/lib/apache2/modules/mod_status.so
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so
Listen 127.0.0.1:%[2]s
ServerLimit 2
ThreadsPerChild 8
StartServers 1
MinSpareThreads 1
MaxSpareThreads 16
MaxRequestWorkers 16
LogFormat "%%U%%q %%D %%>s %%B" timed
CustomLog %[1]s/access.log timed
ProxyPass /app http://%[3]s
<Location /server-status>
	SetHandler server-status
</Location>
`

// TestApache: three requests at work, and what the status page says of them; the
// access log of the same server agrees.
func TestApache(t *testing.T) {
	t.Parallel()
	program := servers.Program(t, "apache2")
	app := startSlow(t)
	s := servers.New(t, "www-data")
	s.Listen(func(port string) *exec.Cmd {
		file := filepath.Join(s.Dir, "apache.conf")
		writeFile(t, file, fmt.Sprintf(apacheConfig, s.Dir, port, app.address))
		return s.Command(program, "-X", "-f", file) // one process, which the test can end
	}, func() error { return s.Says("GET /server-status?auto HTTP/1.0\r\n\r\n", "200 OK") })
	p := Probe{Kind: "apache", URL: "http://" + s.Addr + "/server-status?auto"}
	lp := Probe{Kind: "accesslog", File: filepath.Join(s.Dir, "access.log"), Pattern: `^(?P<path>/app\S*) (?P<micros>\d+) (?P<status>\d+) (?P<bytes>\d+)$`}
	ses, log := open(t, p), open(t, lp)
	read(t, log, lp)
	before := eventually(t, ses, p, "threads_busy", 0)
	// The thread that answered before may not be done with it.
	want(t, "idle", eventually(t, ses, p, "threads_busy", 0), map[string]float64{"threads_max": 16, "requests": before["requests"]})
	wait := fetch(t, "http://"+s.Addr+"/app/slow?id=1", 3)
	for range 3 {
		<-app.arrived
	}
	began := time.Now()
	eventually(t, ses, p, "threads_busy", 3)
	<-time.After(100 * time.Millisecond) // a response time that can be told from others
	held := time.Since(began).Seconds()
	close(app.release)
	wait()
	fetch(t, "http://"+s.Addr+"/app/missing", 1)()
	after := eventually(t, ses, p, "requests", before["requests"]+4)
	if took := after["response"] - before["response"]; took < 3*held*0.99 || took > 3*held+2 {
		t.Errorf("response = %v s for three requests of %v s and little more", took, held)
	}
	lines := eventually(t, log, lp, "requests", 4)
	want(t, "in the log", lines, map[string]float64{"requests[app/slow]": 3, "errors": 1, "requests[app/missing]": 1})
	if took := lines["response[app/slow]"]; took < 3*held*0.99 || took > 3*held+2 {
		t.Errorf("response[app/slow] = %v s for three requests of %v s", took, held)
	}
}

// TestMariaDB: two statements at work, one of them waiting for a row of the other.
func TestMariaDB(t *testing.T) {
	t.Parallel()
	s := kvtest.StartMariaDB(t, 1, "secret")
	p := Probe{Kind: "mariadb", URL: "mysql://bench:secret@" + s.Addr + "/"}
	ses := open(t, p)
	before := read(t, ses, p)
	want(t, "idle", eventually(t, ses, p, "threads_busy", 0), map[string]float64{"sessions": 0, "lock_waiting": 0, "sessions_max": 151, "threads_max": 151, "requests": before["requests"]})
	db, err := sql.Open("mysql", "bench:secret@tcp("+s.Addr+")/test0")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // the server ends with the test
	holder, waiter := session(t, db), session(t, db)
	run := func(c *sql.Conn, query string) {
		t.Helper()
		if _, err := c.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	run(holder, "CREATE TABLE t (k INT PRIMARY KEY, v INT) ENGINE=InnoDB")
	run(holder, "INSERT INTO t VALUES (1, 1)")
	run(holder, "BEGIN")
	run(holder, "UPDATE t SET v = 2 WHERE k = 1")
	done := make(chan error)
	go func() {
		_, err := waiter.ExecContext(context.WithoutCancel(t.Context()), "UPDATE t SET v = 3 WHERE k = 1")
		done <- err
	}()
	eventually(t, ses, p, "lock_waiting", 1)
	// For moments the server counts threads of its own, too.
	want(t, "with one that waits", eventually(t, ses, p, "threads_busy", 1), map[string]float64{"lock_waiting": 1, "sessions": 2})
	run(holder, "COMMIT")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	want(t, "afterwards", eventually(t, ses, p, "threads_busy", 0), map[string]float64{"requests": before["requests"] + 6, "lock_waiting": 0})
	wrong := open(t, Probe{Kind: "mariadb", URL: "mysql://bench:wrong@" + s.Addr + "/"})
	if _, err := wrong.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "Access denied") {
		t.Errorf("Read with a wrong password = %v", err)
	}
}

func session(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // the server ends with the test
	return c
}

// TestPostgres: the same of PostgreSQL; a user who does not see other sessions is
// told so.
func TestPostgres(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	p := Probe{Kind: "postgres", URL: s.URL()}
	ses := open(t, p)
	read(t, ses, p)
	want(t, "idle", eventually(t, ses, p, "sessions", 0), map[string]float64{"threads_busy": 0, "sessions": 0, "lock_waiting": 0, "sessions_max": 100, "threads_max": 100})
	s.Exec(s.URL(), "CREATE TABLE t (k INT PRIMARY KEY)")
	s.Exec(s.URL(), "CREATE ROLE plain LOGIN")
	before := eventually(t, ses, p, "sessions", 0) // these end a little after they were told to
	holder, waiter := connect(t, s.URL()), connect(t, s.URL())
	if _, err := holder.Exec(t.Context(), "BEGIN; LOCK TABLE t"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := waiter.Exec(context.WithoutCancel(t.Context()), "INSERT INTO t VALUES (1)")
		done <- err
	}()
	want(t, "with one that waits", eventually(t, ses, p, "lock_waiting", 1), map[string]float64{"threads_busy": 1, "sessions": 2})
	if _, err := holder.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(<-done, holder.Close(t.Context()), waiter.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	after := eventually(t, ses, p, "sessions", 0)
	if n := after["requests"] - before["requests"]; n < 0 || n > 10 {
		t.Errorf("requests grew by %v", n)
	}
	plain, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	plain.User = url.User("plain")
	blind := open(t, Probe{Kind: "postgres", URL: plain.String()})
	if _, err := blind.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "GRANT pg_monitor") {
		t.Errorf("Read as a plain user = %v, want which right it lacks", err)
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestNotThere: of a server that is not there, or is another one, nothing is told.
func TestNotThere(t *testing.T) {
	dead := servers.FreeAddress(t)
	app := startSlow(t)
	for kind, urls := range map[string][]string{
		"haproxy": {"http://" + dead + "/;csv", "http://" + app.address + "/;csv", "http://" + app.address + "/missing"},
		"apache":  {"http://" + app.address + "/"}, "tomcat": {"http://" + app.address + "/"}, "board": {"http://" + app.address + "/"},
		"mariadb": {"mysql://u@" + dead + "/"}, "postgres": {"postgres://u:secret@" + dead + "/x"},
	} {
		for _, u := range urls {
			s := open(t, Probe{Kind: kind, URL: u})
			values, err := s.Read(t.Context())
			if err == nil || values != nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s at %s: %v, %v, want an error", kind, u, values, err)
			}
			s.Close()
		}
	}
}
