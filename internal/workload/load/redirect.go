package load

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	engine "github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// redirected asks the target once more, for each kind of request, and returns
// an error that says where it sends its clients; nil if it redirects none of
// them. Drivers know the status of an answer only.
func (p *Params) redirected(ctx context.Context, within time.Duration) error {
	requests, err := p.requests()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	transport := p.once()
	defer transport.CloseIdleConnections()
	for _, r := range requests {
		answer, err := ask(ctx, transport, r)
		if err != nil {
			continue // the reason is known already
		}
		_ = answer.Body.Close()
		if to := answer.Header.Get("Location"); answer.StatusCode/100 == 3 && to != "" && !r.Expect.Match(answer.StatusCode) {
			return fmt.Errorf("%w: %s answers %d and sends its clients to %s; what would be measured is the redirect: give the URL that it leads to, or say that the redirect is meant: --expect %d, or expect: in requests",
				model.ErrUnavailable, r.URL, answer.StatusCode, to, answer.StatusCode)
		}
	}
	return nil
}

// once makes connections as the driver does. Certificates that cannot be read
// were refused by the driver before.
func (p *Params) once() *http.Transport {
	c := &tls.Config{InsecureSkipVerify: p.Insecure} //nolint:gosec // only if the user wants it
	if pem, err := os.ReadFile(p.CA); err == nil {
		if c.RootCAs, err = x509.SystemCertPool(); err != nil {
			c.RootCAs = x509.NewCertPool() // a system without any
		}
		c.RootCAs.AppendCertsFromPEM(pem)
	}
	return &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: p.HTTP2, DisableCompression: true}
}

// ask sends one request, and follows nothing.
func ask(ctx context.Context, by http.RoundTripper, r engine.Request) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL, strings.NewReader(string(r.Body)))
	if err != nil {
		return nil, err
	}
	request.Header = r.Header.Clone()
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host
	}
	return by.RoundTrip(request)
}
