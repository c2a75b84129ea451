package kvtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/scalebench/scalebench/test/servertest"
)

// startTimeout bounds how long a server may take to answer, or to end.
const startTimeout = 60 * time.Second

// Server is a server of one test, on loopback, in a directory of its own.
type Server struct {
	// Addr is host:port.
	Addr string

	servertest.Controls

	dir  string
	cred *syscall.Credential
}

// newServer makes a directory that the user may write whose name is given, or
// this one if it is not root. The test is skipped where the program is missing;
// where the variable CI is "true" it fails.
func newServer(t testing.TB, program, account string) *Server {
	t.Helper()
	if _, err := lookPath(program); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%v; run scripts/deps.sh", err)
		}
		t.Skipf("%v; install it with scripts/deps.sh", err)
	}
	s := &Server{Controls: servertest.Controls{T: t}}
	if err := s.makeDir(account); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(s.dir); err != nil {
			t.Error(err)
		}
	})
	return s
}

// makeDir makes the directory. It is not t.TempDir: the path of a Unix socket
// has little more than 100 bytes, and another user has to reach it.
func (s *Server) makeDir(account string) (err error) {
	if s.dir, err = os.MkdirTemp("", "kvtest"); err != nil {
		return err
	}
	s.cred, err = servertest.Account(account, s.dir)
	return err
}

// lookPath finds a program also where root has it.
func lookPath(program string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	return exec.LookPath(filepath.Join("/usr/sbin", program))
}

// command is one that runs in the server's directory, as its account.
func (s *Server) command(program string, args ...string) *exec.Cmd {
	s.T.Helper()
	path, err := lookPath(program)
	if err != nil {
		s.T.Fatal(err)
	}
	// A server ends when the test says so, not with a context.
	cmd := exec.CommandContext(context.Background(), path, args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/sbin", "LC_ALL=C", "TZ=UTC", "HOME=" + s.dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred}
	return cmd
}

// start starts the server on a port that is free, and returns when ready says
// so. Between finding the port and using it somebody else may take it; then
// another is tried.
func (s *Server) start(command func(port string) *exec.Cmd, ready func() error) {
	s.T.Helper()
	var err error
	for range 3 {
		s.Addr = servertest.FreeAddress(s.T)
		port := strings.TrimPrefix(s.Addr, "127.0.0.1:")
		var log bytes.Buffer
		cmd := command(port)
		cmd.Stdout, cmd.Stderr = &log, &log
		if s.Process, err = servertest.Start(cmd, syscall.SIGKILL); err == nil {
			err = s.Process.Await(ready, startTimeout)
		}
		if err == nil {
			s.T.Cleanup(s.Stop)
			return
		}
		s.Stop()
		err = fmt.Errorf("starting %s: %w\n%s", cmd.Path, err, log.Bytes())
	}
	s.T.Fatal(err)
}

// hear reports whether the server says something that begins with want after
// it was told something, if anything.
func (s *Server) hear(tell, want string) error {
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(s.T.Context(), "tcp", s.Addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // it has served
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte(tell)); err != nil {
		return err
	}
	answer := make([]byte, 256)
	n, err := conn.Read(answer)
	if err != nil {
		return err
	}
	if !bytes.Contains(answer[:n], []byte(want)) {
		return fmt.Errorf("it says %q", answer[:n])
	}
	return nil
}
