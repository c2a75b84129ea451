package loadserver

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
	n := &Nginx{address: freeAddress(t)}
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
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = n.cmd.Process.Kill()
		_ = n.cmd.Wait() // says that it was killed
	})
	n.await(t)
	return n
}

// freeAddress is one at which nobody listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not wait
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // nobody has connected
	return l.Addr().String()
}

// await returns when the server accepts connections.
func (n *Nginx) await(t testing.TB) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; <-time.After(10 * time.Millisecond) {
		c, err := net.Dial("tcp", n.address) //nolint:noctx // on loopback it does not wait
		if err == nil {
			_ = c.Close() // nothing was sent
			return
		}
		if time.Now().After(end) {
			t.Fatal("nginx does not answer:", err)
		}
	}
}

// Address is where it listens: host:port.
func (n *Nginx) Address() string { return n.address }

// URL is the page.
func (n *Nginx) URL() string { return "http://" + n.address + "/" }

// PID is the process.
func (n *Nginx) PID() int { return n.cmd.Process.Pid }
