package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Program finds a program, also where root has it. Without it the test is
// skipped; where the variable CI is "true" it fails.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && !strings.Contains(name, "/") {
		path, err = exec.LookPath(filepath.Join("/usr/sbin", name))
	}
	if err != nil {
		Missing(t, err)
	}
	return path
}

// Missing skips the test because a program that scripts/deps.sh installs is
// missing; if the variable CI is "true" the test fails.
func Missing(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%v; run scripts/deps.sh", err)
	}
	t.Skipf("%v; install it with scripts/deps.sh", err)
}

// FreeAddress is an address of this machine, 127.0.0.1:PORT, at which nothing
// listens now. Its port is below those that kernels give to outgoing
// connections (32768 and up on Linux, 49152 on macOS): one of those could be
// taken, by any program's connection, before a server has started on it.
func FreeAddress(t testing.TB) string {
	t.Helper()
	var err error
	for range 100 {
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(22_000))); err == nil {
			address := l.Addr().String()
			if err = l.Close(); err == nil {
				return address
			}
		}
	}
	t.Fatal(err)
	return ""
}

// Server is a server of one test, in a directory of its own. It ends with the
// test.
type Server struct {
	Controls

	// Addr is host:port, if it listens on one.
	Addr string
	// Dir holds the server's files. It is removed with the test.
	Dir string

	account *syscall.Credential
}

// New makes the directory of a server that runs under this account if the test
// runs as root, for servers refuse to run as root; otherwise, or if the name is
// empty, under the test's own.
func New(t testing.TB, account string) *Server {
	t.Helper()
	// Not t.TempDir: the path of a Unix socket has little more than 100 bytes,
	// and another user may have to reach it.
	dir, err := os.MkdirTemp("", "servers") //nolint:usetesting // the path is too long then
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s := &Server{Controls: Controls{T: t}, Dir: dir}
	if account != "" && os.Getuid() == 0 {
		if s.account, err = own(dir, account); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// own gives a directory to an account.
func own(dir, account string) (*syscall.Credential, error) {
	u, err := user.Lookup(account)
	if err != nil {
		return nil, fmt.Errorf("%w; the server does not run as root, and Debian's package makes this user", err)
	}
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, int(uid), int(gid))
}

// Command is one that runs in the server's directory, under its account, with
// an environment that is the same everywhere.
func (s *Server) Command(path string, args ...string) *exec.Cmd {
	// A server ends when the test says so, not with a context.
	cmd := exec.CommandContext(context.Background(), path, args...)
	cmd.Dir = s.Dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/sbin", "LC_ALL=C", "TZ=UTC", "HOME=" + s.Dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.account}
	return cmd
}

// startTimeout bounds how long a server may take to answer.
const startTimeout = 60 * time.Second

// Listen starts the server on a port that is free, and returns when ready says
// so. Between finding the port and using it another program may take it; then
// another is tried.
func (s *Server) Listen(command func(port string) *exec.Cmd, ready func() error) {
	s.T.Helper()
	var err error
	for range 3 {
		s.Addr = FreeAddress(s.T)
		var log bytes.Buffer
		cmd := command(strings.TrimPrefix(s.Addr, "127.0.0.1:"))
		cmd.Stdout, cmd.Stderr = &log, &log
		if s.Process, err = Start(cmd, syscall.SIGKILL); err == nil {
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

// Says reports whether the server answers with a text that has want in it after
// it was told something, if anything.
func (s *Server) Says(tell, want string) error {
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
