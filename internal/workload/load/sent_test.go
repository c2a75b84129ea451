package load

import (
	"encoding/base64"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	engine "github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/unit"
)

// seen is a request as a server sees it.
type seen struct {
	Proto, Method, Host, Cookie, Old, Type, Body string
}

// TestSent: method, headers, the name of the host and every byte of a body
// arrive as they were given, over each of the protocols, from a server whose
// authority only the parameters know.
func TestSent(t *testing.T) {
	t.Parallel()
	const body = "a\x00b\xff\r\n"
	got := make(chan seen, 100)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got <- seen{r.Proto, r.Method, r.Host, r.Header.Get("Cookie"), r.Header.Get("X-Old"), r.Header.Get("Content-Type"), string(b)}
		w.WriteHeader(http.StatusTooManyRequests)
	})
	plain, older, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler), httptest.NewUnstartedServer(handler)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	defer plain.Close()
	defer older.Close()
	defer secure.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}))
	for _, c := range []struct {
		url, proto string
		change     func(*Params)
	}{
		{plain.URL, "HTTP/1.1", func(*Params) {}},
		{secure.URL, "HTTP/2.0", func(p *Params) { p.HTTP2, p.CAPEM = true, ca }},
		{older.URL, "HTTP/1.1", func(p *Params) { p.CAPEM = ca }},
	} {
		p := params(c.url, 20)
		p.Duration, p.WarmUp = unit.Duration(time.Second), 0
		p.Headers = Headers{"Cookie": "a=1,b=2", "X-Old": "1:2", "Host": "shop.test"}
		p.Requests = []Request{{Method: "PUT", BodyBase64: base64.StdEncoding.EncodeToString([]byte(body)), Headers: map[string]string{"Content-Type": "application/octet-stream"}}}
		c.change(p)
		s, _ := run(t, p, 1)
		want := seen{c.proto, "PUT", "shop.test", "a=1,b=2", "1:2", "application/octet-stream", body}
		if len(got) != 20 {
			t.Errorf("%s %s: the server saw %d requests, want 20", c.url, c.proto, len(got))
		}
		for len(got) > 0 {
			if diff := cmp.Diff(want, <-got); diff != "" {
				t.Fatalf("%s: the server saw another request (-want +got):\n%s", c.url, diff)
			}
		}
		if total, err := s.Total(); err != nil || !cmp.Equal(total.Statuses.Counted(), []engine.StatusCount{{Status: 429, Count: 20}}) {
			t.Errorf("%s: statuses %v, %v; want 20 times 429", c.url, total.Statuses.Counted(), err)
		}
	}
}

// TestBodyAndCA: what cannot be sent, or must not be stored, is refused with its
// key.
func TestBodyAndCA(t *testing.T) {
	for _, c := range []struct {
		change func(*Params)
		says   string
	}{
		{func(p *Params) { p.Requests = []Request{{Body: "a", BodyBase64: "YQ=="}} }, "requests.body_base64: a request has one body"},
		{func(p *Params) { p.Requests = []Request{{BodyBase64: "a b"}} }, "requests.body_base64: it is not base64"},
		{func(p *Params) { p.CAPEM = "hello" }, "ca_pem: it holds no certificate"},
		{func(p *Params) { p.CAPEM = "-----BEGIN RSA PRIVATE KEY-----" }, "ca_pem: it holds a private key, which would be stored"},
		{func(p *Params) { p.Target, p.CAPEM = "http://a/", "hello" }, "ca_pem: only applies"},
		{func(p *Params) { p.Target, p.CAPEM = "redis://a/", "hello" }, "ca_pem"},
	} {
		p := params("https://a/", 1)
		c.change(p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("Validate() = %v, want %q", err, c.says)
		}
	}
}
