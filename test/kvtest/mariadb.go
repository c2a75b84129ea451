package kvtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// StartMariaDB starts a MariaDB server with databases test0, test1, … as many
// as are wanted, and the user "bench", who may do anything in them, with this
// password.
func StartMariaDB(t testing.TB, databases int, password string) *Server {
	t.Helper()
	s := newServer(t, "mariadbd", "mysql")
	data := filepath.Join(s.dir, "data")
	install := s.command("mariadb-install-db", "--no-defaults", "--datadir="+data,
		"--auth-root-authentication-method=normal", "--skip-test-db")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db: %v\n%s", err, out)
	}
	script := filepath.Join(s.dir, "init.sql")
	if err := os.WriteFile(script, []byte(initScript(databases, password)), 0o644); err != nil { //nolint:gosec // another user reads it
		t.Fatal(err)
	}
	s.start(func(port string) *exec.Cmd {
		return s.command("mariadbd", "--no-defaults", "--datadir="+data, "--socket="+filepath.Join(s.dir, "socket"),
			"--port="+port, "--bind-address=127.0.0.1", "--init-file="+script, "--skip-name-resolve",
			"--innodb-buffer-pool-size=64M", "--pid-file="+filepath.Join(s.dir, "pid"))
	}, func() error { return s.hear("", "mysql_native_password") }) // its greeting names it
	return s
}

// initScript is run by the server before it answers.
func initScript(databases int, password string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE USER IF NOT EXISTS bench@'%%' IDENTIFIED BY '%s';\n", password)
	for i := range databases {
		fmt.Fprintf(&b, "CREATE DATABASE IF NOT EXISTS test%d;\nGRANT ALL ON test%d.* TO bench@'%%';\n", i, i)
	}
	return b.String()
}
