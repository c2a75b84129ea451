package objectstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
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

	"github.com/scalebench/scalebench/internal/environ"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/workload"
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
	getenv := func(name string) string {
		value, _ := workload.Getenv(config.Environ, name)
		return value
	}
	c := &connection{region: cmp.Or(config.Region, getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION"))}
	c.endpoint = findEndpoint(config.Endpoint, c.region, getenv)
	u, err := ParseEndpoint(c.endpoint)
	if err != nil {
		return nil, fmt.Errorf("the endpoint of the object store: %w", err) // a variable's; the parameter's was checked
	}
	if c.creds, err = findCredentials(getenv); err != nil {
		return nil, err
	}
	roots, err := config.Trust.Roots()
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

// Variables are the patterns of the environment variables that say where the
// server is, how it is reached, and what credentials there are.
func Variables() []string { return append([]string{"AWS_*", "MINIO_*"}, environ.Proxies()...) }

// findCredentials looks for credentials in the usual order: the variables of
// AWS and of MinIO, AWS's shared files (AWS_PROFILE), MinIO's, and the role of
// the instance, container or service account, which is asked again before it
// expires. They are kept in this process only.
func findCredentials(getenv func(string) string) (*credentials.Credentials, error) {
	metadata := &http.Client{Timeout: 3 * time.Second} // outside a cloud nothing answers
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
	if _, done := errors.AsType[*load.Redacted](err); err == nil || done {
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

// Failure is the kind of a failed attempt, as counted.
type Failure string

const (
	failTimeout    Failure = "timeout"    // no answer in time, by our clock or the server's
	failSlowDown   Failure = "slow_down"  // the server asks for fewer requests
	failServer     Failure = "server"     // any other 5xx
	failClient     Failure = "client"     // any other 4xx: trying again is of no use
	failCorrupt    Failure = "corrupt"    // what was got is not what was put
	failConnection Failure = "connection" // no connection, or it broke
)

// Failures are all of them.
var Failures = []Failure{failTimeout, failSlowDown, failServer, failClient, failCorrupt, failConnection}

// ofEngine is the kind that the engine counts it as.
var ofEngine = map[Failure]load.Kind{failTimeout: load.ErrTimeout, failConnection: load.ErrClosed, failCorrupt: load.ErrWrong, failSlowDown: load.ErrStatus, failServer: load.ErrStatus, failClient: load.ErrStatus}

// slowDown are the codes with which servers throttle.
var slowDown = []string{"SlowDown", "Throttl", "TooManyRequests", "RequestLimitExceeded", "BandwidthLimitExceeded", "QpsLimitExceeded"}

// kindOf classifies the error of an attempt.
func kindOf(err error) Failure {
	var answer minio.ErrorResponse
	var network net.Error
	switch answered := errors.As(err, &answer) && answer.StatusCode >= 400; {
	case errors.Is(err, errCorrupt):
		return failCorrupt
	case errors.Is(err, errNotYet):
		return failServer
	case answered && (answer.StatusCode == http.StatusTooManyRequests || slices.ContainsFunc(slowDown, func(code string) bool { return strings.HasPrefix(answer.Code, code) })):
		return failSlowDown
	case answered && (answer.StatusCode == http.StatusRequestTimeout || answer.Code == "RequestTimeout"):
		return failTimeout
	case answered && answer.StatusCode >= 500:
		return failServer
	case answered:
		return failClient
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return failTimeout
	}
	return failConnection
}

// advice says what to do about an error, where that is known.
func (c *connection) advice(err error, bucket string) string {
	if answer, ok := errors.AsType[minio.ErrorResponse](err); ok {
		return c.adviceOnAnswer(answer, bucket)
	}
	var unknown x509.UnknownAuthorityError
	var verify *tls.CertificateVerificationError
	var refused *net.OpError
	switch {
	case errors.As(err, &unknown):
		return "this node does not know the authority of the server's certificate: give its certificate in ca_file (of a load: --cacert FILE, or ca_pem), or check none with insecure_tls (of a load: --insecure)"
	case errors.As(err, &verify):
		return "the server's certificate is not valid for " + c.endpoint + ": correct endpoint, or path_style if the bucket is in the host name"
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "the server does not speak TLS: write http:// in endpoint"
	case errors.As(err, &refused) && refused.Op == "dial":
		return "no connection to " + c.endpoint + ": check the endpoint and that the server is running"
	}
	return ""
}

// adviceOnAnswer speaks about the codes that a wrong set-up gives.
func (c *connection) adviceOnAnswer(a minio.ErrorResponse, bucket string) string {
	switch a.Code {
	case "NoSuchBucket":
		return fmt.Sprintf("create bucket %q, or set create: true (workload objectstore)", bucket)
	case "InvalidAccessKeyId", "InvalidAccessKey":
		return "the server does not know this access key: check AWS_ACCESS_KEY_ID (or the profile or role) of the agent, and endpoint"
	case "SignatureDoesNotMatch":
		return "the secret key of the agent does not belong to its access key (AWS_SECRET_ACCESS_KEY), or region is wrong"
	case "RequestTimeTooSkewed", "RequestExpired", "AccessDenied.RequestTimeTooSkewed":
		skew, to := time.Duration(c.skew.Load()).Round(time.Second), "ahead of"
		if skew < 0 {
			skew, to = -skew, "behind"
		}
		return fmt.Sprintf("this node's clock is %v %s the server's: set it, for example by NTP", skew, to)
	case "PermanentRedirect", "AuthorizationHeaderMalformed", "InvalidRegion", "IllegalLocationConstraintException", "TemporaryRedirect":
		return strings.Replace(fmt.Sprintf("the bucket is in another region (%s): set region, and endpoint if it names one", a.Region), " ()", "", 1)
	case "ExpiredToken", "ExpiredTokenException", "InvalidToken":
		return "the session token of the agent's credentials has expired: renew it and restart the agent"
	case "AccessDenied":
		return fmt.Sprintf("the credentials need the rights to list, put, get and delete objects of bucket %q", bucket)
	case "SecondLevelDomainForbidden":
		return "the server requires the bucket in the host name: set path_style: never"
	}
	return ""
}
