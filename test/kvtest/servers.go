package kvtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/test/servers"
)

// StartRedis starts a Redis server that keeps nothing on disk, with as many
// databases as a suite may want. A password, if there is one, is that of the
// user "default".
func StartRedis(t testing.TB, password string) *servers.Server {
	t.Helper()
	program := servers.Program(t, "redis-server")
	s := servers.New(t, "nobody")
	args := []string{"--save", "", "--appendonly", "no", "--databases", "64", "--bind", "127.0.0.1"}
	answer := "+PONG"
	if password != "" {
		args = append(args, "--requirepass", password)
		answer = "-NOAUTH"
	}
	s.Listen(func(port string) *exec.Cmd {
		return s.Command(program, append([]string{"--port", port}, args...)...)
	}, func() error { return s.Says("PING\r\n", answer) })
	return s
}

// StartMariaDB starts a MariaDB server with databases test0, test1, … as many
// as are wanted, and the user "bench", who may do anything in them, with this
// password. Options are further ones of the server.
func StartMariaDB(t testing.TB, databases int, password string, options ...string) *servers.Server {
	t.Helper()
	program := servers.Program(t, "mariadbd")
	s := servers.New(t, "mysql")
	data := filepath.Join(s.Dir, "data")
	install := s.Command(servers.Program(t, "mariadb-install-db"), "--no-defaults", "--datadir="+data,
		"--auth-root-authentication-method=normal", "--skip-test-db")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db: %v\n%s", err, out)
	}
	// The server runs this before it answers.
	var init strings.Builder
	fmt.Fprintf(&init, "CREATE USER IF NOT EXISTS bench@'%%' IDENTIFIED BY '%s';\n", password)
	for i := range databases {
		fmt.Fprintf(&init, "CREATE DATABASE IF NOT EXISTS test%d;\nGRANT ALL ON test%d.* TO bench@'%%';\n", i, i)
	}
	script := filepath.Join(s.Dir, "init.sql")
	if err := os.WriteFile(script, []byte(init.String()), 0o644); err != nil { //nolint:gosec // another user reads it
		t.Fatal(err)
	}
	s.Listen(func(port string) *exec.Cmd {
		return s.Command(program, append([]string{"--no-defaults", "--datadir=" + data, "--socket=" + filepath.Join(s.Dir, "socket"),
			"--port=" + port, "--bind-address=127.0.0.1", "--init-file=" + script, "--skip-name-resolve",
			"--innodb-buffer-pool-size=64M", "--pid-file=" + filepath.Join(s.Dir, "pid")}, options...)...)
	}, func() error { return s.Says("", "mysql_native_password") }) // its greeting names it
	return s
}
