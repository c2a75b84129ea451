package objectstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// client is a connection to one server, with the credentials it signs with.
type client struct {
	*minio.Client
	endpoint  string // as shown to people
	region    string // "": the server is asked
	creds     *credentials.Credentials
	transport *http.Transport
	clocks    *clocks
}

// newClient finds the server and the credentials. It sends nothing but what
// finding credentials needs.
func newClient(p *Params, s settings, getenv func(string) string) (*client, error) {
	c := &client{region: first(p.Region, first(getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION")))}
	c.endpoint = findEndpoint(p.Endpoint, c.region, getenv)
	u, err := parseEndpoint(c.endpoint)
	if err != nil {
		return nil, fmt.Errorf("the endpoint of the object store: %w", err) // a variable's; the parameter's was checked
	}
	creds, _, err := findCredentials(getenv)
	if err != nil {
		return nil, err
	}
	c.creds = creds
	if c.transport, err = newTransport(p, s.concurrency); err != nil {
		return nil, err
	}
	c.clocks = &clocks{next: c.transport}
	c.Client, err = minio.New(u.Host, &minio.Options{
		Creds: creds, Secure: u.Scheme == "https", Region: c.region, Transport: c.clocks,
		BucketLookup: lookups[p.PathStyle],
		MaxRetries:   1, // retries are counted, so they are ours
	})
	if err != nil {
		return nil, fmt.Errorf("the endpoint of the object store: %w", err)
	}
	return c, nil
}

var lookups = map[string]minio.BucketLookupType{
	StyleAuto: minio.BucketLookupAuto, StyleAlways: minio.BucketLookupPath, StyleNever: minio.BucketLookupDNS,
}

// findEndpoint returns the URL of the server: the parameter's, that of the
// variables that AWS's own tools know, or Amazon's of the region.
func findEndpoint(given, region string, getenv func(string) string) string {
	named := first(given, first(getenv("AWS_ENDPOINT_URL_S3"), getenv("AWS_ENDPOINT_URL")))
	switch {
	case named != "":
		return named
	case region == "":
		return "https://s3.amazonaws.com"
	case strings.HasPrefix(region, "cn-"):
		return "https://s3." + region + ".amazonaws.com.cn"
	}
	return "https://s3." + region + ".amazonaws.com"
}

// idleTime is how long connections that Prepare opened wait for the start.
const idleTime = 10 * time.Minute

// newTransport keeps a connection for each worker. HTTP/1.1 only, so that n
// operations at once are n connections, as in the clients that people use.
func newTransport(p *Params, concurrency int) (*http.Transport, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: p.InsecureTLS}
	if p.CAFile != "" {
		pool, err := trust(p.CAFile)
		if err != nil {
			return nil, err
		}
		config.RootCAs = pool
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext,
		MaxIdleConns: concurrency + 8, MaxIdleConnsPerHost: concurrency + 8, IdleConnTimeout: idleTime,
		TLSHandshakeTimeout: 10 * time.Second, TLSClientConfig: config,
		DisableCompression: true, // bytes are counted as they travel
	}, nil
}

// trust returns the system's certificate authorities and those of a file.
func trust(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("ca_file: no certificate in " + file + "; it must be PEM")
	}
	return pool, nil
}

// via names the proxy that requests go through, for then its capacity is
// measured, too.
func (c *client) via(ctx context.Context) string {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.endpoint, nil)
	if err != nil {
		return ""
	}
	if u, err := http.ProxyFromEnvironment(r); err == nil && u != nil {
		return " through the proxy " + u.Redacted()
	}
	return ""
}

// value returns the credentials in use, to scrub texts of them.
func (c *client) value() credentials.Value {
	v, err := c.creds.GetWithContext(nil)
	if err != nil {
		return credentials.Value{}
	}
	return v
}

// clocks notes how far this node's clock is from the server's when the server
// refuses a request: signatures are valid for minutes only.
type clocks struct {
	next http.RoundTripper
	skew atomic.Int64 // nanoseconds that this clock is ahead
}

// RoundTrip implements http.RoundTripper.
func (c *clocks) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r)
	if err == nil && resp.StatusCode >= 400 {
		if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
			c.skew.Store(int64(time.Since(at)))
		}
	}
	return resp, err
}
