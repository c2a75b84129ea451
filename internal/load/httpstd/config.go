// Package httpstd sends requests with the standard library's HTTP client: over
// TLS, in HTTP/1.1 and HTTP/2. Plain HTTP/1.1 is faster in package load/http1;
// where that does not run, this one does it, too.
//
// The way of a request:
//
//  1. New checks the requests and makes of each what is the same every time.
//  2. A load.Pool opens a client: a connection to each origin of the requests,
//     TLS and all, so that what is slow or wrong about connecting shows there.
//     With HTTP/2 several clients may share connections, a stream each.
//  3. The client sends a request over its own connection, and nowhere else:
//     there are no redirects, retries, cookies, caches or proxies, which would
//     make another load of the one that was asked for.
//  4. The answer is read to its end and thrown away; what is wrong with it
//     becomes one of the kinds of package load.
package httpstd

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// Protocol is a version of HTTP.
type Protocol string

// The protocols.
const (
	// Negotiated is what the server prefers of the others, over TLS, and
	// HTTP/1.1 without.
	Negotiated Protocol = ""
	// HTTP1 is HTTP/1.1.
	HTTP1 Protocol = "http/1.1"
	// HTTP2 is HTTP/2: over TLS, or, in plain, with prior knowledge (RFC 9113,
	// section 3.3). A server that does not speak it is an error.
	HTTP2 Protocol = "h2"
)

// The limits of an answer that New fills in.
const (
	DefaultMaxHeader = 64 << 10
	DefaultMaxBody   = 64 << 20
)

// Config is what New needs.
type Config struct {
	// Requests are the kinds of operations.
	Requests []load.Request
	Protocol Protocol
	// Streams is how many clients share connections, each with a stream of its
	// own; 0 is 1. More than 1 need HTTP2. A server that allows fewer streams
	// lets the rest wait.
	Streams int
	// CAFile holds certificates in PEM that are trusted besides the system's.
	CAFile string
	// Insecure accepts any certificate.
	Insecure bool
	// ServerName is asked for, and looked for in certificates, instead of the
	// name in the URL.
	ServerName string
	// MaxHeader and MaxBody are limits of an answer, in bytes; 0 is the
	// default. A body is not kept, however long.
	MaxHeader, MaxBody int64
}

// check refuses what cannot work, with model.ErrUsage.
func (c Config) check() error {
	if err := load.CheckRequests(c.Requests); err != nil {
		return err
	}
	switch {
	case !slices.Contains([]Protocol{Negotiated, HTTP1, HTTP2}, c.Protocol):
		return fmt.Errorf("%w: protocol %q must be %s, %s, or empty", model.ErrUsage, c.Protocol, HTTP1, HTTP2)
	case c.Streams < 1:
		return fmt.Errorf("%w: %d streams a connection; there must be at least 1", model.ErrUsage, c.Streams)
	case c.Streams > 1 && c.Protocol != HTTP2:
		return fmt.Errorf("%w: %d streams a connection need the protocol %s", model.ErrUsage, c.Streams, HTTP2)
	case c.MaxHeader < 0 || c.MaxBody < 0:
		return fmt.Errorf("%w: limits of %d bytes for headers and %d for bodies must be positive", model.ErrUsage, c.MaxHeader, c.MaxBody)
	}
	return nil
}

// transport makes connections as the configuration says.
func (c Config) transport() (*http.Transport, error) {
	roots, err := load.TrustedRoots(c.CAFile)
	if err != nil {
		return nil, err
	}
	var protocols http.Protocols
	protocols.SetHTTP1(c.Protocol != HTTP2)
	protocols.SetHTTP2(c.Protocol != HTTP1)
	protocols.SetUnencryptedHTTP2(c.Protocol == HTTP2)
	return &http.Transport{
		Protocols:              &protocols,
		DisableCompression:     true, // what is not asked for is not sent, nor unpacked
		MaxResponseHeaderBytes: c.MaxHeader,
		TLSClientConfig: &tls.Config{
			RootCAs:            roots,
			ServerName:         c.ServerName,
			InsecureSkipVerify: c.Insecure, //nolint:gosec // only if the user wants it
		},
	}, nil
}
