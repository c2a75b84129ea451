package load

import (
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/oddanswers"
	"github.com/scalebench/scalebench/test/servers"
)

// TestSilentTargets: what is silent is told by what it did not answer to.
func TestSilentTargets(t *testing.T) {
	dropped := oddanswers.Silent(t, netip.MustParseAddrPort("127.0.0.1:0")).String()
	l, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts, and nobody answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	accepts := l.Addr().String()
	half := oddanswers.Serve(t, oddanswers.Answer{Text: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"}, nil)
	for target, want := range map[string]string{
		"http://" + dropped:  "no answer to the TCP handshake within",
		"https://" + dropped: "no answer to the TCP handshake within",
		"http://" + accepts:  "connected, no answer to the request within",
		"https://" + accepts: "connected, no answer to TLS within",
		"http://" + half:     "the answer began and did not end within",
	} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			p := params(target, 100)
			p.Agreement, p.Timeout = sla("p90=100ms"), unit.Duration(300*time.Millisecond)
			err := p.Prepare(t.Context(), &workload.Env{Parts: 1, Stderr: io.Discard})
			if !errors.Is(err, model.ErrUnavailable) || !strings.Contains(err.Error(), want) {
				t.Errorf("Prepare = %v, want %q", err, want)
			}
			if err := p.Cleanup(t.Context(), nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNamesOfTLS: a server that wants a name gets the header Host where the URL has
// an address, and its certificate may be for either.
func TestNamesOfTLS(t *testing.T) {
	var asked atomic.Value
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Store(r.TLS.ServerName)
	}))
	s.StartTLS()
	defer s.Close()
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	refuses := refusing(t, 112) // unrecognized_name (RFC 6066, section 3)
	for _, c := range []struct{ name, target, host, want, asked string }{
		{"no name", refuses, "", "the server refuses TLS for this name (tls: unrecognized name)", ""},
		{"what to do", refuses, "", "-H 'Host: NAME'", ""},
		{"a certificate is asked for", refusing(t, 116), "", "wants a certificate of the client", ""},
		{"its name", s.URL, "example.com", "", "example.com"},
		{"its name and port", s.URL, "example.com:8443", "", "example.com"},
		{"a name that the certificate is not for, but for the address", s.URL, "shop.test", "", "shop.test"},
		{"an address", s.URL, "", "", ""},
	} {
		p := params(c.target, 100)
		p.Agreement, p.CAPEM = sla("p90=1s"), authority
		if c.host != "" {
			p.Headers = Headers{"Host": c.host}
		}
		err := p.Prepare(t.Context(), &workload.Env{Parts: 1, Stderr: io.Discard})
		if c.want == "" && (err != nil || asked.Load() != c.asked) ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: Prepare = %v, want %q; asked for %q, want %q", c.name, err, c.want, asked.Load(), c.asked)
		}
		if err := p.Cleanup(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
}

// refusing ends each TLS handshake with an alert.
func refusing(t *testing.T, alert byte) (target string) {
	t.Helper()
	return "https://" + servers.Serve(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 4096)) // what the client says is not looked at
		_, _ = c.Write([]byte{21, 3, 3, 0, 2, 2, alert})
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c)
	})
}

// TestMaxBody: a body beyond the limit is refused with the limit and what to do; the
// flag allows it, over both protocols.
func TestMaxBody(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2<<20)) })
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer plain.Close()
	defer secure.Close()
	for _, target := range []string{plain.URL, secure.URL} {
		for limit, want := range map[unit.Size]string{
			unit.MiB: "the body of the answer is larger than the 1MiB allowed", 2 * unit.MiB: "", 0: "",
		} {
			p := params(target, 100)
			p.Agreement, p.MaxBody, p.Insecure = sla("p90=5s"), limit, target == secure.URL
			err := p.Prepare(t.Context(), &workload.Env{Parts: 1, Stderr: io.Discard})
			if want == "" && err != nil ||
				want != "" && (err == nil || !strings.Contains(err.Error(), want) ||
					!strings.Contains(err.Error(), "--max-body")) {
				t.Errorf("%s, at most %v: Prepare = %v, want %q", target, limit, err, want)
			}
			if err := p.Cleanup(t.Context(), nil); err != nil {
				t.Error(err)
			}
		}
	}
}
