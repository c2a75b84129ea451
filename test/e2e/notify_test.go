package e2e_test

import (
	"net"
	"path/filepath"
	"testing"
	"time"
)

// TestServerReady waits for a server as systemd does for Type=notify: from then
// on commands find it.
func TestServerReady(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = manager.Close() }()
	w := install(t)
	w.Extra = []string{"NOTIFY_SOCKET=" + socket}
	w.Server = w.Start("server", "--listen", w.Listen)
	if err := manager.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 64)
	n, err := manager.Read(said)
	if err != nil {
		t.Fatalf("the server told the service manager nothing: %v; log:\n%s", err, w.Server.Log())
	}
	if string(said[:n]) != "READY=1" {
		t.Errorf("the server told the service manager %q, want READY=1", said[:n])
	}
	w.Run("token")
}
