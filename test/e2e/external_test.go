package e2e_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/servers"
)

// natsServer starts the user's own NATS server, with a password, and returns
// its URL with that password.
func natsServer(t *testing.T) string {
	t.Helper()
	bin, err := exec.LookPath("nats-server")
	if err != nil {
		bin = "/usr/sbin/nats-server" // Debian's, which is not on every user's PATH
	}
	if _, err := os.Stat(bin); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI must have nats-server; scripts/deps.sh installs it")
		}
		t.Skip("needs nats-server: apt-get install nats-server")
	}
	address := servers.FreeAddress(t)
	dir := t.TempDir()
	conf := filepath.Join(dir, "nats.conf")
	text := fmt.Sprintf("listen: %q\njetstream { store_dir: %q }\nauthorization { users: [ {user: sb, password: %q} ] }\n",
		address, dir, natsPassword)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "-c", conf)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	w := &installation{&program.Installation{T: t}}
	w.Poll("nats-server to listen", func() bool {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		return c.Close() == nil
	})
	return "nats://sb:" + natsPassword + "@" + address
}

const natsPassword = "a-password-of-the-cluster"

// TestExternalQueue runs an experiment over a NATS server of the user's. The
// cluster's password is nowhere in what scalebench prints.
func TestExternalQueue(t *testing.T) {
	t.Parallel()
	url := natsServer(t)
	w := install(t)
	w.Server = w.Start("server", "-v", "--nats", url)
	w.Server.Await(t, "serves on")
	for _, n := range []string{"n1", "n2", "n3"} {
		token := strings.TrimSpace(w.Run("token"))
		w.Agents[n] = w.Start("agent", "-v", "--node", n, "--state", w.AgentState(n), "--server", url, "--token", token)
	}
	w.Run("run", w.Write("chaos.yaml", chaosExperiment))
	program.CheckComplete(t, w.Data("latest"))
	logs := map[string]string{"server": w.Server.Log()}
	for n, a := range w.Agents {
		logs[n] = a.Log()
	}
	for who, log := range logs {
		if strings.Contains(log, natsPassword) {
			t.Errorf("the log of %s holds the cluster's password", who)
		}
	}
}
