package loadserver

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// stopTimeout bounds how long a server may take to end.
const stopTimeout = 10 * time.Second

// Server is a server in a process of its own, for one test. Its methods are
// for one goroutine at a time.
type Server struct {
	t       testing.TB
	cmd     *exec.Cmd
	stdin   io.Closer
	stderr  bytes.Buffer // read when it has ended
	to      *gob.Encoder
	from    *gob.Decoder
	address string
}

// Start starts a server that behaves like this, and ends it with the test.
// TestMain must hand over to [Child].
func Start(t testing.TB, b Behaviour) *Server {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("load servers run on Linux only")
	}
	if os.Getenv(childVariable) != "" {
		t.Fatal("this process is a server itself: TestMain must begin with loadserver.Child")
	}
	s := &Server{t: t}
	if err := s.launch(); err != nil {
		t.Fatalf("starting a load server: %v", err)
	}
	t.Cleanup(s.Stop)
	r, err := s.ask(b)
	if err != nil {
		t.Fatalf("starting a load server: %v (TestMain must begin with loadserver.Child)", err)
	}
	s.address = r.Address
	return s
}

// launch executes this binary again. The flags that run no test are only for a
// binary with a TestMain that does not know Child.
func (s *Server) launch() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// A server ends when the test says so, not with a context.
	s.cmd = exec.CommandContext(context.Background(), self, "-test.run=^$")
	s.cmd.Env = append(os.Environ(), childVariable+"=1")
	s.cmd.Stderr = &s.stderr
	stdin, inErr := s.cmd.StdinPipe()
	stdout, outErr := s.cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		return err
	}
	s.stdin, s.to, s.from = stdin, gob.NewEncoder(stdin), gob.NewDecoder(stdout)
	return s.cmd.Start()
}

// ask sends something and returns the reply.
func (s *Server) ask(what any) (reply, error) {
	if err := s.to.Encode(what); err != nil {
		return reply{}, fmt.Errorf("talking to it: %w", err)
	}
	var r reply
	if err := s.from.Decode(&r); err != nil {
		return reply{}, fmt.Errorf("hearing from it: %w", err)
	}
	if r.Failure != "" {
		return reply{}, errors.New(r.Failure)
	}
	return r, nil
}

// Address is where it listens: host:port.
func (s *Server) Address() string { return s.address }

// URL is where it listens; every path is answered alike.
func (s *Server) URL() string { return "http://" + s.address + "/" }

// PID is the process, for who wants to starve or to stop it.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Set changes what happens to requests from now on, while others are being
// served, and returns since when, on the clock of [Now]. Stalls are counted
// from then.
func (s *Server) Set(b Behaviour) time.Duration {
	s.t.Helper()
	r, err := s.ask(order{Set: true, New: b})
	if err != nil {
		s.t.Fatalf("changing the load server's behaviour: %v", err)
	}
	return r.Since
}

// Take returns what the server did since Take was last called.
func (s *Server) Take() Record {
	s.t.Helper()
	r, err := s.ask(order{})
	if err != nil {
		s.t.Fatalf("asking the load server for its record: %v", err)
	}
	inOrder(r.Record.Requests)
	return r.Record
}

// Stop ends the server; when it has ended already, nothing happens.
func (s *Server) Stop() {
	s.t.Helper()
	if s.stdin == nil {
		return
	}
	hard := time.AfterFunc(stopTimeout, func() { _ = s.cmd.Process.Kill() }) // Wait tells
	defer hard.Stop()
	err := errors.Join(s.stdin.Close(), s.cmd.Wait())
	s.stdin = nil
	if err != nil {
		s.t.Errorf("ending the load server: %v\n%s", err, s.stderr.Bytes())
	}
}
