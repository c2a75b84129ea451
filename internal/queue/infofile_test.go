package queue_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/queue"
)

// TestServerInfoIsKept: only its owner can read the saved file, and saving
// replaces an earlier one as a whole.
func TestServerInfoIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "server.json")
	if _, err := queue.ReadServerInfo(file); !os.IsNotExist(err) {
		t.Errorf("ReadServerInfo of nothing: %v, want that the file is missing", err)
	}
	for _, want := range []queue.ServerInfo{
		{Endpoint: identity.Endpoint{Servers: []string{"nats://a.example:4222", "nats://b.example:4222"}, ServerKey: "key", Fingerprint: "sha256:1", External: true}},
		{Endpoint: identity.Endpoint{Servers: []string{"nats://127.0.0.1:1"}}, Socket: "/s"},
	} {
		if err := want.Save(file); err != nil {
			t.Fatal(err)
		}
		got, err := queue.ReadServerInfo(file)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("ReadServerInfo, error %v (-want +got):\n%s", err, diff)
		}
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v; want it for its owner only", info.Mode(), err)
	}
	if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 1 {
		t.Errorf("%d files beside it, %v; want none", len(entries)-1, err)
	}
}
