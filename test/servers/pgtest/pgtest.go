// Package pgtest runs PostgreSQL servers for tests: a cluster of its own, in a
// temporary directory, reachable through a Unix socket that only this user
// can open, with the durability of the defaults (fsync on).
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scalebench/scalebench/test/servers"
)

// startTimeout bounds a start, recovery after a crash included.
const startTimeout = 60 * time.Second

// Server is a PostgreSQL server of one test.
type Server struct {
	*servers.Server

	bin       string // directory of the programs
	databases atomic.Int64
}

// Start starts a server and stops it when the test ends. Without PostgreSQL on
// this machine the test is skipped; where the variable CI is "true" it fails.
func Start(t testing.TB) *Server {
	t.Helper()
	bin, err := findBinaries()
	if err != nil {
		servers.Missing(t, err)
	}
	s := &Server{Server: servers.New(t, "postgres"), bin: bin}
	// Not synced: a cluster that a power cut destroys is made anew.
	cmd := s.Command(filepath.Join(bin, "initdb"), "--pgdata", s.data(), "--username", "postgres", "--auth", "trust",
		"--encoding", "UTF8", "--locale", "C", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("making a PostgreSQL cluster: %v\n%s", err, out)
	}
	s.Restart()
	t.Cleanup(s.Stop)
	return s
}

// findBinaries returns the directory of initdb and postgres: the newest of
// Debian's, or that in PATH.
func findBinaries() (string, error) {
	dirs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	for i := len(dirs) - 1; i >= 0; i-- {
		if _, err := exec.LookPath(filepath.Join(dirs[i], "initdb")); err == nil {
			return dirs[i], nil
		}
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", errors.New("PostgreSQL is not installed: no initdb in PATH or /usr/lib/postgresql/*/bin")
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	return filepath.Dir(path), nil
}

func (s *Server) data() string { return filepath.Join(s.Dir, "data") }

// URL names the server's own database "postgres".
func (s *Server) URL() string { return s.url("postgres") }

func (s *Server) url(database string) string {
	u := url.URL{Scheme: "postgres", User: url.User("postgres"), Path: "/" + database,
		RawQuery: url.Values{"host": {s.Dir}, "sslmode": {"disable"}}.Encode()}
	return u.String()
}

// Database makes an empty database and returns its URL.
func (s *Server) Database() string {
	s.T.Helper()
	name := fmt.Sprintf("test%d", s.databases.Add(1))
	s.Exec(s.URL(), "CREATE DATABASE "+name)
	return s.url(name)
}

// Exec runs a statement in the database of a URL.
func (s *Server) Exec(url, statement string) {
	s.T.Helper()
	if err := execute(url, statement); err != nil {
		s.T.Fatalf("%s: %v\n%s", statement, err, s.log())
	}
}

// RequirePassword gives the user "postgres" this password, which every later
// connection needs.
func (s *Server) RequirePassword(password string) {
	s.T.Helper()
	s.Exec(s.URL(), "ALTER ROLE postgres PASSWORD '"+password+"'")
	hba := filepath.Join(s.data(), "pg_hba.conf")
	if err := os.WriteFile(hba, []byte("local all all scram-sha-256\n"), 0o600); err != nil {
		s.T.Fatal(err)
	}
	s.Exec(s.URL(), "SELECT pg_reload_conf()")
	s.awaitReload()
}

// awaitReload returns when a connection without a password is refused: the
// server reloads at some moment after it said yes.
func (s *Server) awaitReload() {
	s.T.Helper()
	deadline := time.Now().Add(startTimeout)
	for execute(s.URL(), "SELECT 1") == nil {
		if time.Now().After(deadline) {
			s.T.Fatal("PostgreSQL does not ask for the password")
		}
	}
}

func execute(url, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// Stop ends the server in an orderly way, breaking off its sessions; a server
// that is down stays so.
func (s *Server) Stop() { s.end(syscall.SIGINT) } // "fast shutdown"

// Kill ends the server at once, without a checkpoint, as a crash does; the
// next start recovers from the log.
func (s *Server) Kill() { s.end(syscall.SIGQUIT) } // "immediate shutdown"

func (s *Server) end(sig syscall.Signal) {
	s.T.Helper()
	if s.Process == nil {
		return
	}
	if err := s.Process.End(sig, startTimeout); err != nil {
		s.T.Errorf("stopping PostgreSQL: %v\n%s", err, s.log())
	}
	s.Process = nil
}

// Restart starts the server, after stopping it if it is up, and returns when
// it answers.
func (s *Server) Restart() {
	s.T.Helper()
	s.Stop()
	if err := s.start(); err != nil {
		s.T.Fatalf("starting PostgreSQL: %v\n%s", err, s.log())
	}
}

func (s *Server) start() error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	// No TCP: no port to fight over, and no other user can connect.
	cmd := s.Command(filepath.Join(s.bin, "postgres"), "-D", s.data(), "-k", s.Dir, "-c", "listen_addresses=")
	cmd.Stdout, cmd.Stderr = log, log
	proc, err := servers.Start(cmd, syscall.SIGQUIT) // which shuts it down
	if err := errors.Join(err, log.Close()); err != nil {
		return err
	}
	s.Process = proc
	return proc.Await(func() error { return execute(s.URL(), "SELECT 1") }, startTimeout)
}

func (s *Server) logFile() string { return filepath.Join(s.Dir, "log") }

func (s *Server) log() string {
	b, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-4096):])
}
