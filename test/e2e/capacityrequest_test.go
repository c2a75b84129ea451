package e2e_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/scalebench/scalebench/internal/study/capacity"
)

// TestCapacityRequest: what a user of curl would type reaches the server: method,
// headers with commas, every byte of a file, the name of the host, from an
// authority that is known by a file alone. The file of the run has all of it, so
// that it can run again where those files are not.
func TestCapacityRequest(t *testing.T) {
	t.Parallel()
	const body = "a\x00b\xff\r\n"
	var mu sync.Mutex
	seen := make(map[string]int)
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		seen[fmt.Sprintf("%s %s %q %q %q %v", r.Method, r.Host, r.Header.Get("Cookie"), r.Header.Get("Content-Type"), b, err)]++
	}))
	defer server.Close()
	w := install(t)
	data, ca := filepath.Join(t.TempDir(), "body"), filepath.Join(t.TempDir(), "ca.pem")
	for path, text := range map[string][]byte{data: []byte(body), ca: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const bounds = "--start 20 --max 20 --window 1s --warm-up 0s --windows 5 --format json --sla p90=1s"
	out := w.Run(append(strings.Fields("capacity "+server.URL+" "+bounds),
		"-H", "Cookie: a=1,b=2", "-H", "Host: shop.test", "--data", "@"+data, "--cacert", ca)...)
	var r capacity.Record
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Limit != capacity.LimitCap {
		t.Errorf("limit %s, %v; want all of it passed:\n%s", r.Limit, err, out)
	}
	want := fmt.Sprintf("POST shop.test %q %q %q <nil>", "a=1,b=2", "application/x-www-form-urlencoded", body)
	if mu.Lock(); len(seen) != 1 || seen[want] < 20 {
		t.Errorf("the server saw %v, want %s only", seen, want)
	}
	mu.Unlock()
	source := w.Data("latest").Run.Source
	for _, path := range []string{data, ca} {
		if err := os.Remove(path); err != nil || strings.Contains(source, path) {
			t.Errorf("%v; the run's file depends on %s:\n%s", err, path, source)
		}
	}
	file := filepath.Join(t.TempDir(), "again.yaml")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Run("validate", file)
}
