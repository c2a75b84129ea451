package loadserver

import (
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

// Page is the length of the page that [StartNginx] serves, in bytes: that of
// nginx's own welcome page.
const Page = 615

// nginxConfig wants a directory and an address. One process, which writes no
// log and keeps connections open, answers every path with the same page.
const nginxConfig = `
daemon off; master_process off; worker_processes 1; pid %[1]s/pid; error_log %[1]s/error.log;
events { worker_connections 4096; }
http {
	access_log off; keepalive_requests 1000000000; sendfile on; tcp_nopush on;
	client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
	open_file_cache max=10;
	server { listen %[2]s reuseport; root %[1]s; location / { try_files /index.html =404; } }
}`

// Nginx is a real server in a process of its own, for one test.
type Nginx struct {
	address string
	cmd     *exec.Cmd
}

// StartNginx starts the nginx of this path, and ends it with the test.
func StartNginx(t testing.TB, path string) *Nginx {
	t.Helper()
	dir := t.TempDir()
	n := &Nginx{address: servertest.FreeAddress(t)}
	for name, text := range map[string]string{
		"nginx.conf": fmt.Sprintf(nginxConfig, dir, n.address), "index.html": strings.Repeat("x", Page),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// It ends when the test does, not with a context.
	n.cmd = exec.CommandContext(context.Background(), path, "-c", filepath.Join(dir, "nginx.conf"))
	n.cmd.Stderr = os.Stderr
	process, err := servertest.Start(n.cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup((&servertest.Controls{T: t, Process: process}).Stop)
	if err := process.Await(n.answers, 10*time.Second); err != nil {
		t.Fatal("nginx:", err)
	}
	return n
}

// answers is nil when the server accepts connections.
func (n *Nginx) answers() error {
	c, err := net.Dial("tcp", n.address) //nolint:noctx // on loopback it does not wait
	if err != nil {
		return err
	}
	return c.Close() // nothing was sent
}

// Address is where it listens: host:port.
func (n *Nginx) Address() string { return n.address }

// URL is the page.
func (n *Nginx) URL() string { return "http://" + n.address + "/" }

// PID is the process.
func (n *Nginx) PID() int { return n.cmd.Process.Pid }
