package objectstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/scalebench/scalebench/internal/load"
)

// connection reaches one server, with the credentials that requests are signed
// with. It is the transport of its own client.
type connection struct {
	*minio.Client
	endpoint  string // as shown to people
	region    string // "": the server is asked
	creds     *credentials.Credentials
	transport *http.Transport
	skew      atomic.Int64 // nanoseconds that this node's clock is ahead of the server's
}

// connect finds the server and the credentials. It sends nothing but what
// finding credentials needs. It keeps a connection for each client, HTTP/1.1
// only, so that n operations at once are n connections, as in the clients that
// people use.
func connect(config Config) (*connection, error) {
	getenv := lookup(config.Environ)
	c := &connection{region: cmp.Or(config.Region, getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION"))}
	c.endpoint = findEndpoint(config.Endpoint, c.region, getenv)
	u, err := ParseEndpoint(c.endpoint)
	if err != nil {
		return nil, fmt.Errorf("the endpoint of the object store: %w", err) // a variable's; the parameter's was checked
	}
	if c.creds, err = findCredentials(getenv); err != nil {
		return nil, err
	}
	roots, err := load.TrustedRoots(config.CAFile)
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	c.transport = &http.Transport{
		Proxy:           http.ProxyFromEnvironment,
		DialContext:     (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, InsecureSkipVerify: config.InsecureTLS},
		MaxIdleConns:    config.Clients + 8, MaxIdleConnsPerHost: config.Clients + 8,
		IdleConnTimeout:     10 * time.Minute, // those that Prepare opened wait for the start
		TLSHandshakeTimeout: 10 * time.Second,
		DisableCompression:  true, // bytes are counted as they travel
	}
	c.Client, err = minio.New(u.Host, &minio.Options{
		Creds: c.creds, Secure: u.Scheme == "https", Region: c.region, Transport: c,
		BucketLookup: map[string]minio.BucketLookupType{StyleAuto: minio.BucketLookupAuto, StyleAlways: minio.BucketLookupPath, StyleNever: minio.BucketLookupDNS}[config.PathStyle],
		MaxRetries:   1, // retries are counted, so they are ours
	})
	if err != nil {
		return nil, fmt.Errorf("the endpoint of the object store: %w", err)
	}
	return c, nil
}

// RoundTrip implements http.RoundTripper. It notes how far this node's clock is
// from the server's when the server refuses a request: signatures are valid for
// minutes only.
func (c *connection) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.transport.RoundTrip(r)
	if err == nil && resp.StatusCode >= 400 {
		if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
			c.skew.Store(int64(time.Since(at)))
		}
	}
	return resp, err
}

// lookup returns a function like os.Getenv for an environment.
func lookup(environ []string) func(string) string {
	return func(name string) string {
		for _, v := range slices.Backward(environ) {
			if k, v, ok := strings.Cut(v, "="); ok && k == name {
				return v
			}
		}
		return ""
	}
}

// ParseEndpoint reads "http://host:port". Its errors do not contain what they
// refuse: keys stand in URLs, too.
func ParseEndpoint(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		return nil, errors.New("must be the URL of a server")
	case u.User != nil:
		return nil, errors.New("must not contain credentials; they belong in the agent's environment (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("must begin with http:// or https://")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("must have no path and no query; the bucket has a key of its own")
	}
	return u, nil
}

// How a bucket is addressed.
const (
	StyleAuto   = "auto"
	StyleAlways = "always"
	StyleNever  = "never"
)

// findEndpoint returns the URL of the server: the parameter's, that of the
// variables that AWS's own tools know, or Amazon's of the region.
func findEndpoint(given, region string, getenv func(string) string) string {
	named := cmp.Or(given, getenv("AWS_ENDPOINT_URL_S3"), getenv("AWS_ENDPOINT_URL"))
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

// via names the proxy that requests go through, for then its capacity is
// measured, too.
func (c *connection) via(ctx context.Context) string {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.endpoint, nil)
	if err != nil {
		return ""
	}
	if u, err := http.ProxyFromEnvironment(r); err == nil && u != nil {
		return " through the proxy " + u.Redacted()
	}
	return ""
}

// findCredentials looks for credentials in the usual order: the variables of
// AWS and of MinIO, AWS's shared files (AWS_PROFILE), MinIO's, and the role of
// the instance, container or service account, which is asked again before it
// expires. They are kept in this process only.
func findCredentials(getenv func(string) string) (*credentials.Credentials, error) {
	metadata := &http.Client{Timeout: 3 * time.Second} // off a cloud there is no answer
	providers := []credentials.Provider{
		&credentials.EnvAWS{}, &credentials.EnvMinio{}, &credentials.FileAWSCredentials{}, &credentials.FileMinioClient{},
	}
	if !strings.EqualFold(getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		providers = append(providers, &credentials.IAM{Client: metadata})
	}
	creds := credentials.NewChainCredentials(providers)
	v, err := creds.GetWithContext(&credentials.CredContext{Client: metadata})
	if err != nil || v.SignerType == credentials.SignatureAnonymous || v.AccessKeyID == "" {
		// Why a provider had none is not told: its error may quote a file.
		return nil, errors.New("no credentials for the object store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or AWS_PROFILE) in the environment of the agent, or give the instance a role")
	}
	return creds, nil
}

// scrub takes credentials out of an error and adds what to do about it, once.
func (t *Target) scrub(err error) error {
	var done *load.Redacted
	if err == nil || errors.As(err, &done) {
		return err
	}
	text := err.Error()
	if advice := t.client.advice(err, t.Bucket); advice != "" {
		text += ": " + advice
	}
	return &load.Redacted{Text: t.client.scrub(text), Err: err}
}

// Say prints a line for people, without credentials; what cannot be printed is
// lost.
func (t *Target) Say(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintln(w, t.client.scrub(fmt.Sprintf(format, args...)))
}

// scrub replaces the credentials in use in a text. Servers quote them in errors.
func (c *connection) scrub(text string) string {
	v, _ := c.creds.GetWithContext(nil) // empty if it fails
	for _, secret := range []string{v.SecretAccessKey, v.SessionToken, v.AccessKeyID} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[credential]")
		}
	}
	return text
}
