// Package cassandratest runs Cassandra servers for tests: one node in a
// temporary directory, on loopback, with ports of its own.
package cassandratest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/scalebench/scalebench/test/servers"
)

const loopback = "127.0.0.1"

// Memory of a server: enough to be correct, and enough not to collect garbage all
// the time under load.
const (
	smallHeap = "256m"
	largeHeap = "1g"
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
	*servers.Server // Addr is that of its native protocol

	log *log
}

// Start starts a server without passwords, and ends it with the test.
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

// Command is the command line of a server that the caller starts, in a lab for
// instance, and puts under load: on this address, with the standard ports and
// without passwords. It keeps its files in dir, and is configured there now. The
// error says what is missing on this machine.
func Command(dir, address string) ([]string, error) {
	java, jars, err := find()
	if err != nil {
		return nil, err
	}
	if err := configure(dir, address, 7000, 9042, false); err != nil {
		return nil, err
	}
	return append([]string{java}, arguments(jars, dir, largeHeap)...), nil
}

// find looks for the programs.
func find() (java, jars string, err error) {
	java, javaErr := findJava(os.Getenv("JAVA_HOME"), installedJavas())
	jars, jarsErr := findJars()
	return java, jars, errors.Join(javaErr, jarsErr)
}

func start(t testing.TB, password bool) *Server {
	t.Helper()
	java, jars, err := find()
	if err != nil {
		if os.Getenv("LOAD_PROOF") != "" {
			t.Fatal(err)
		}
		t.Skipf("%v; `make load-proof` installs it and runs this test", err)
	}
	// Between finding ports and using them another program may take one.
	for range 3 {
		s := &Server{Server: servers.New(t, "")}
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
	if err := configure(s.Dir, loopback, storage, native, password); err != nil {
		return err
	}
	s.Addr = net.JoinHostPort(loopback, strconv.Itoa(native))
	cmd := s.Command(java, arguments(jars, s.Dir, smallHeap)...)
	// What it says when it is ready. It says that it starts to listen before it
	// does.
	signs := []string{"Startup complete"}
	if password {
		signs = append(signs, "Created default superuser role")
	}
	s.log = newLog(signs...)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if s.Process, err = servers.Start(cmd, syscall.SIGKILL); err != nil {
		return err
	}
	s.T.Cleanup(s.Stop)
	return s.await()
}

func (s *Server) await() error {
	select {
	case <-s.log.ready:
		return nil
	case <-s.Process.Done():
		return fmt.Errorf("it ended by itself: %w\n%s", s.Process.Err(), s.log)
	case <-time.After(startTimeout):
		return fmt.Errorf("it is not ready after %v\n%s", startTimeout, s.log)
	}
}

// freePorts finds two different ports that are not in use.
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
