package loadserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/test/servers"
)

// Page is the length of the page that [StartNginx] serves, in bytes: that of
// nginx's own welcome page.
const Page = 615

// nginxConfig wants a directory and an address. One process, which writes no
// log and keeps connections open, answers every path with the same page; but for
// /home.html, if a test writes it into the directory.
const nginxConfig = `
daemon off; master_process off; worker_processes 1; pid %[1]s/pid; error_log %[1]s/error.log;
events { worker_connections 16384; }
http {
	access_log off; keepalive_requests 1000000000; sendfile on; tcp_nopush on;
	client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
	open_file_cache max=10;
	server { listen %[2]s reuseport; root %[1]s; location = /home.html { } location / { try_files /index.html =404; } }
}`

// Nginx is a real server in a process of its own, for one test.
type Nginx struct{ *servers.Server }

// StartNginx starts the nginx of this path, and ends it with the test.
func StartNginx(t testing.TB, path string) *Nginx {
	t.Helper()
	n := &Nginx{servers.New(t, "")}
	n.Listen(func(port string) *exec.Cmd {
		for name, text := range map[string]string{
			"nginx.conf": fmt.Sprintf(nginxConfig, n.Dir, "127.0.0.1:"+port), "index.html": strings.Repeat("x", Page),
		} {
			if err := os.WriteFile(filepath.Join(n.Dir, name), []byte(text), 0o644); err != nil { //nolint:gosec // nothing secret
				t.Fatal(err)
			}
		}
		return n.Command(path, "-c", filepath.Join(n.Dir, "nginx.conf"))
	}, func() error { return n.Says("GET / HTTP/1.0\r\n\r\n", "HTTP/1.1 200") })
	return n
}

// Address is where it listens: host:port.
func (n *Nginx) Address() string { return n.Addr }

// URL is the page.
func (n *Nginx) URL() string { return "http://" + n.Addr + "/" }

// PID is the process.
func (n *Nginx) PID() int { return n.Process.PID() }
