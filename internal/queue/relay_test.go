package queue

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
)

// TestRelay: an agent that has nothing but the path of a socket gets its tasks
// by it, loses its connection when the relay goes and finds it again.
func TestRelay(t *testing.T) {
	w := newWorld(t, Handlers{})
	path := filepath.Join(t.TempDir(), "q.sock")
	relay := must[*Relay](t)(StartRelay(path, w.conn.Info(), testLog(t)))
	key := newKey(t, identity.RoleAgent)
	check(t, w.auth.Admit(identity.Grant{Key: key.Public(), Role: identity.RoleAgent, Node: "n1"}))
	info := relay.Info()
	link := must[*Link](t)(DialAgent(testCtx(t), info, key, "n1", DialOptions{Log: testLog(t)}))
	t.Cleanup(func() { _ = link.Close() })

	want := assignment("n1", key.Public(), 0, 1)
	check(t, w.hub.Dispatch(want))
	got := must[Delivery](t)(link.Next(testCtx(t)))
	if got.Assignment.Task != want.Task {
		t.Errorf("Next() = task %s, want %s", got.Assignment.Task, want.Task)
	}

	check(t, relay.Close())
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Close: stat of the socket = %v, want that it is gone", err)
	}
	again := must[*Relay](t)(StartRelay(path, w.conn.Info(), testLog(t)))
	defer func() { check(t, again.Close()) }()
	select {
	case <-link.Reconnected():
	case <-testCtx(t).Done():
		t.Fatal("the link does not come back by the new relay")
	}
}

// TestRelayRefuses: the relay leads only to the server, and only its owner can
// use the socket.
func TestRelayRefuses(t *testing.T) {
	other := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	defer func() { _ = other.Close() }()
	path := filepath.Join(t.TempDir(), "q.sock")
	relay := must[*Relay](t)(StartRelay(path, ServerInfo{Endpoint: identity.Endpoint{Servers: []string{"nats://127.0.0.1"}}}, testLog(t)))
	defer func() { check(t, relay.Close()) }()
	if info := must[os.FileInfo](t)(os.Stat(path)); info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the socket = %v, want 0600", info.Mode().Perm())
	}
	for name, preface := range map[string]string{
		"another address": other.Addr().String() + "\n",
		"no address":      "\n",
		"no end":          strings.Repeat("x", 2*maxPreface),
		"no relay":        "INFO {}\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn := must[net.Conn](t)(net.Dial("unix", path))
			defer func() { _ = conn.Close() }()
			_, _ = io.WriteString(conn, preface) // it may be closed before all is written
			check(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
			if n, err := conn.Read(make([]byte, 1)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("Read = %d, %v, want the end of the connection", n, err)
			}
		})
	}
}

func TestRelayPath(t *testing.T) {
	long := "/" + strings.Repeat("x", maxSocketPath)
	if _, err := StartRelay(long, ServerInfo{}, nil); !errors.Is(err, model.ErrUsage) {
		t.Errorf("StartRelay(%d bytes) = %v, want a model.ErrUsage", len(long), err)
	}
	if _, err := StartRelay("/nowhere/at/all/q.sock", ServerInfo{}, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("StartRelay in a folder that is not there = %v, want that", err)
	}
}

func TestAddressOf(t *testing.T) {
	for server, want := range map[string]string{
		"nats://127.0.0.1:4222": "127.0.0.1:4222", "tls://u:p@host:1": "host:1", "nats://host": "host:4222",
		"host:7": "host:7", "nats://[::1]": "[::1]:4222", "nats://": "",
	} {
		if got, err := addressOf(server); got != want || (err == nil) != (want != "") {
			t.Errorf("addressOf(%q) = %q, %v, want %q", server, got, err, want)
		}
	}
}
