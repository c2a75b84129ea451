package e2e_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/test/servertest"
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
	address := servertest.FreeAddress(t)
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
	w := &world{t: t}
	w.poll("nats-server to listen", func() bool {
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
	w := newWorld(t)
	w.server = w.start("server", "-v", "--nats", url)
	w.server.await(t, "serves on")
	for _, n := range []string{"n1", "n2", "n3"} {
		token := strings.TrimSpace(w.run("token"))
		w.agents[n] = w.start("agent", "-v", "--node", n, "--state", w.agentState(n), "--server", url, "--token", token)
	}
	w.run("run", w.write("chaos.yaml", chaosExperiment))
	checkComplete(t, w.data("latest"))
	logs := map[string]string{"server": w.server.log()}
	for n, a := range w.agents {
		logs[n] = a.log()
	}
	for who, log := range logs {
		if strings.Contains(log, natsPassword) {
			t.Errorf("the log of %s holds the cluster's password", who)
		}
	}
}
