// Package cassandratest runs Cassandra servers for tests: one node in a
// temporary directory, on loopback, with ports of its own.
package cassandratest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// startTimeout bounds a start. It takes about five seconds on an idle machine.
const startTimeout = 3 * time.Minute

// The user that a server with passwords begins with.
const (
	User     = "cassandra"
	Password = "cassandra"
)

// Server is a Cassandra server of one test.
type Server struct {
	// Addr is host:port of its native protocol.
	Addr string

	t    testing.TB
	dir  string
	cmd  *exec.Cmd
	log  *log
	done chan struct{} // closed when it has ended
	err  error         // how; read after done
}

// Start starts a server that lets everybody in, and ends it with the test.
// Without Cassandra or Java on this machine the test is skipped; where the
// variable LOAD_PROOF is set it fails. Cassandra takes too long to fetch for
// every run of the tests.
func Start(t testing.TB) *Server {
	t.Helper()
	return start(t, false)
}

// StartWithPassword starts a server that lets in those who have a password: at
// first only [User].
func StartWithPassword(t testing.TB) *Server {
	t.Helper()
	return start(t, true)
}

func start(t testing.TB, password bool) *Server {
	t.Helper()
	java, javaErr := findJava(os.Getenv("JAVA_HOME"), installedJavas())
	jars, jarsErr := findJars()
	if err := errors.Join(javaErr, jarsErr); err != nil {
		if os.Getenv("LOAD_PROOF") != "" {
			t.Fatal(err)
		}
		t.Skipf("%v; `make load-proof` installs it and runs this test", err)
	}
	var err error
	// Between finding ports and using them somebody else may take one.
	for range 3 {
		s := &Server{t: t, dir: t.TempDir()}
		if err = s.start(java, jars, password); err == nil {
			return s
		}
	}
	t.Fatalf("starting Cassandra: %v", err)
	return nil
}

func (s *Server) start(java, jars string, password bool) error {
	storage, native, err := freePorts()
	if err != nil {
		return err
	}
	if err := configure(s.dir, storage, native, password); err != nil {
		return err
	}
	s.Addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(native))
	// A server ends when the test says so, not with a context.
	s.cmd = exec.CommandContext(context.Background(), java, arguments(jars, s.dir)...)
	s.cmd.Dir = s.dir
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC", "HOME=" + s.dir}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{}
	s.log = newLog(signs(password)...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.launch(); err != nil {
		return err
	}
	s.t.Cleanup(s.Stop)
	return s.await()
}

// signs are what a server says when it is ready. It says that it starts to
// listen before it does.
func signs(password bool) []string {
	if password {
		return []string{"Startup complete", "Created default superuser role"}
	}
	return []string{"Startup complete"}
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

func (s *Server) await() error {
	select {
	case <-s.log.ready:
		return nil
	case <-s.done:
		return fmt.Errorf("it ended by itself: %w\n%s", s.err, s.log)
	case <-time.After(startTimeout):
		return fmt.Errorf("it is not ready after %v\n%s", startTimeout, s.log)
	}
}

// Stop ends the server at once, as a crash does; one that has ended stays so.
func (s *Server) Stop() {
	s.t.Helper()
	s.signal(syscall.SIGKILL)
	<-s.done
}

// Stall stops the server, connections and all, until release is called. It
// returns when the last of its threads has stopped.
func (s *Server) Stall() (release func()) {
	s.t.Helper()
	s.signal(syscall.SIGSTOP)
	if err := awaitStopped(s.cmd.Process.Pid); err != nil {
		s.t.Errorf("waiting until Cassandra has stopped: %v", err)
	}
	return func() { s.signal(syscall.SIGCONT) }
}

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Errorf("signal %v to Cassandra: %v", sig, err)
	}
}

// freePorts finds two different ports that nobody uses now.
func freePorts() (a, b int, err error) {
	first, portA, errA := listen()
	second, portB, errB := listen() // while the first is held, so that they differ
	return portA, portB, errors.Join(errA, errB, first.Close(), second.Close())
}

func listen() (l *net.TCPListener, port int, err error) {
	l, err = net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, 0, err // closing nil is an error, and no panic
	}
	return l, l.Addr().(*net.TCPAddr).Port, nil
}
