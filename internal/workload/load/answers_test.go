package load

import (
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// TestUnknownHost: that is a mistake in the URL, whoever looks it up.
func TestUnknownHost(t *testing.T) {
	for _, target := range []string{"http://nowhere.invalid/", "https://nowhere.invalid/a"} {
		p := params(target, 100)
		p.Agreement = sla("p90=100ms")
		err := p.Prepare(t.Context(), &workload.Env{Parts: 1, Stderr: io.Discard})
		if !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), `unknown host "nowhere.invalid"; check the URL`) {
			t.Errorf("%s: Prepare = %v", target, err)
		}
		if err := p.Cleanup(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
	for target, unknown := range map[string]bool{
		"http://nowhere.invalid:81/": true, "rediss://nowhere.invalid": true,
		"cassandra://127.0.0.1,nowhere.invalid/": true,
		"s3://nowhere.invalid/bucket":            true, "http://127.0.0.1:1/": false, "https://[::1]/": false,
		"mysql:///db": false,
	} {
		if err := (*Params)(nil).CheckHost(t.Context(), target); errors.Is(err, model.ErrUsage) != unknown {
			t.Errorf("CheckHost(%s) = %v", target, err)
		}
	}
}

// TestAnswers: a search does not begin where nobody answers, and says why. One
// good answer is enough; and a window after one that was missed is measured
// whatever the target says.
func TestAnswers(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "https://elsewhere.test/", http.StatusMovedPermanently)
			return
		}
		if status, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/")); err == nil {
			w.WriteHeader(status)
			return
		}
		if r.URL.Path == "/nothing" || r.URL.Path == "/seldom" && asked.Add(1)%5 != 0 {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	server, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer server.Close()
	defer secure.Close()
	_, port, _ := net.SplitHostPort(secure.Listener.Addr().String())
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}))
	for _, c := range []struct {
		name, url string
		change    func(*Params)
		want      string // of the error; "" is none
	}{
		{"nobody there", "http://127.0.0.1:1/", func(*Params) {}, "connection refused"},
		{"nobody there, for TLS", "https://127.0.0.1:1/", func(*Params) {}, "127.0.0.1:1: connect: connection refused: the target https://127.0.0.1:1/ answered none of 5 requests; check that it is running"},
		{"unknown authority", secure.URL, func(*Params) {}, "the authority of the server's certificate is unknown"},
		{"unknown authority, what to do", secure.URL, func(*Params) {}, "give its certificate with --cacert FILE (ca_pem: in a file), or check no certificate with --insecure"},
		{"known authority", secure.URL, func(p *Params) { p.CAPEM = ca }, ""},
		{"another name", "https://localhost:" + port, func(p *Params) { p.CAPEM = ca }, "the server's certificate is for another name"},
		{"no TLS", strings.Replace(server.URL, "http", "https", 1), func(*Params) {}, "the server does not speak TLS"},
		{"wrong path", server.URL + "/nothing", func(*Params) {}, "unavailable: status 404: the target " + server.URL + "/nothing answered none of 5 requests; check the URL, or accept the status with --expect 404"},
		{"no TLS where the server expects it", "http" + strings.TrimPrefix(secure.URL, "https"), func(*Params) {}, "status 400: the target http://" + secure.Listener.Addr().String() + " answered none of 5 requests; check the URL (does it need https://?)"},
		{"wrong path over TLS", secure.URL + "/nothing", func(p *Params) { p.CAPEM = ca }, "unavailable: status 404: the target"},
		{"no login", server.URL + "/401", func(*Params) {}, "-H 'Authorization: …'"},
		{"wrong method", server.URL + "/405", func(*Params) {}, "another method with --method"},
		{"a redirect", server.URL + "/moved", func(*Params) {}, "redirects to https://elsewhere.test/"},
		{"a redirect, what to do", server.URL + "/moved", func(*Params) {}, "--expect 301"},
		{"a redirect that is meant", server.URL + "/moved", func(p *Params) { p.Requests = []Request{{Expect: "301"}} }, ""},
		{"a redirect over TLS", secure.URL + "/moved", func(p *Params) { p.Insecure = true }, "redirects to https://elsewhere.test/"},
		{"one good answer", server.URL + "/seldom", func(*Params) {}, ""},
		{"no search", server.URL + "/nothing", func(p *Params) { p.Agreement.Terms = nil }, ""},
	} {
		p := params(c.url, 100)
		p.Agreement = sla("p90=100ms")
		c.change(p)
		err := p.Prepare(t.Context(), &workload.Env{Parts: 1, Stderr: io.Discard})
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, model.ErrUnavailable) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: Prepare = %v, want %q", c.name, err, c.want)
		}
		if err := p.Cleanup(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
}
