package kvtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// startTimeout bounds how long a server may take to answer, or to end.
const startTimeout = 60 * time.Second

// Server is a server of one test, on loopback, in a directory of its own.
type Server struct {
	// Addr is host:port.
	Addr string

	t    testing.TB
	dir  string
	cred *syscall.Credential
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // how; read after done
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
	s := &Server{t: t}
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
	return s.own(account)
}

// lookPath finds a program also where root has it.
func lookPath(program string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	return exec.LookPath(filepath.Join("/usr/sbin", program))
}

// own gives the directory to the account under which the server will run.
func (s *Server) own(account string) error {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup(account)
	if err != nil {
		return fmt.Errorf("%w; servers do not run as root, and Debian's package makes this user", err)
	}
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return err
	}
	s.cred = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(s.dir, int(uid), int(gid))
}

// command is one that runs in the server's directory, as its account.
func (s *Server) command(program string, args ...string) *exec.Cmd {
	s.t.Helper()
	path, err := lookPath(program)
	if err != nil {
		s.t.Fatal(err)
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
	s.t.Helper()
	var err error
	for range 3 {
		port := freePort(s.t)
		s.Addr = net.JoinHostPort("127.0.0.1", port)
		var log bytes.Buffer
		s.cmd = command(port)
		s.cmd.Stdout, s.cmd.Stderr = &log, &log
		if err = s.launch(); err == nil {
			err = s.await(ready)
		}
		if err == nil {
			s.t.Cleanup(s.Stop)
			return
		}
		s.Stop()
		err = fmt.Errorf("%w\n%s", err, log.Bytes())
	}
	s.t.Fatalf("starting %s: %v", s.cmd.Path, err)
}

// launch starts the command from a goroutine that keeps its thread until the
// command has ended: Linux ends the server when the thread that started it
// dies, and so also when the test binary is killed.
func (s *Server) launch() error {
	dieWithParent(s.cmd.SysProcAttr)
	s.done = make(chan struct{})
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := s.cmd.Start()
		started <- err
		if err == nil {
			s.err = s.cmd.Wait()
		}
		close(s.done)
	}()
	return <-started
}

// await polls, since servers have no other sign of being ready in common; the
// pauses are not what a test's outcome depends on.
func (s *Server) await(ready func() error) error {
	deadline := time.After(startTimeout)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-s.done:
			return fmt.Errorf("it ended by itself: %w", s.err)
		case <-deadline:
			return fmt.Errorf("it does not answer: %w", err)
		case <-tick.C:
		}
	}
}

// Stop ends the server at once, as a crash does; one that has ended stays so.
func (s *Server) Stop() {
	s.t.Helper()
	s.signal(syscall.SIGKILL)
	<-s.done
}

// Stall stops the server, connections and all, until release is called.
func (s *Server) Stall() (release func()) {
	s.t.Helper()
	s.signal(syscall.SIGSTOP)
	if err := awaitStop(s.cmd.Process.Pid); err != nil {
		s.t.Errorf("waiting until the server has stopped: %v", err)
	}
	return func() { s.signal(syscall.SIGCONT) }
}

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if s.cmd.Process == nil {
		return // it did not start
	}
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Errorf("signal %v: %v", sig, err)
	}
}

func freePort(t testing.TB) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err := errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	return port
}

// hear reports whether the server says something that begins with want after
// it was told something, if anything.
func (s *Server) hear(tell, want string) error {
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(s.t.Context(), "tcp", s.Addr)
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
