package load

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	engine "github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/httpstd"
	"github.com/scalebench/scalebench/internal/load/httpwire"
	"github.com/scalebench/scalebench/internal/model"
)

// unanswered is the error of a target that answered none of a few requests, as
// its first failure shows: what is wrong, then what to do.
func (p *Params) unanswered(requests int64, failure error) error {
	if unknown, ok := errors.AsType[*engine.UnknownHostError](failure); ok {
		return fmt.Errorf("%w: %w", model.ErrUsage, unknown)
	}
	what, todo := cause(failure)
	return fmt.Errorf("%w: %s: the target %s answered none of %d requests; %s", model.ErrUnavailable, what, p.Target, requests, todo)
}

// cause says why an operation failed, and what to do.
func cause(failure error) (what, todo string) {
	const certificate = "check no certificate with --insecure (insecure: true)"
	var (
		e         *engine.Error
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		verify    *tls.CertificateVerificationError
		plain     tls.RecordHeaderError
	)
	if errors.As(failure, &e) && e.Status > 0 {
		return "status " + strconv.Itoa(e.Status), statusAdvice(e.Status)
	}
	what, todo = failure.Error(), "check that it is running and that the URL is right"
	if e != nil && e.Err != nil {
		what = e.Err.Error() // the kind says no more
	}
	if code, ok := alertOf(failure); ok {
		return alert(code)
	}
	if large, ok := errors.AsType[*httpwire.LimitError](failure); ok && large.Part == httpwire.Body {
		return large.Error(), "allow more with --max-body SIZE (max_body: in a file), or ask for less"
	}
	if silent, ok := errors.AsType[*engine.UnansweredError](failure); ok && silent.For == engine.AwaitTLS {
		todo = "check that it speaks TLS there, or begin the URL with http://"
	}
	switch {
	case errors.As(failure, &authority):
		return "the authority of the server's certificate is unknown" + issuer(authority.Cert),
			"give its certificate with --cacert FILE (ca_pem: in a file), or " + certificate
	case errors.As(failure, &host):
		return "the server's certificate is for another name (" + host.Error() + ")",
			"use a name in the URL that it is for (https://ADDRESS/ with -H 'Host: NAME' asks a server by its " +
				"address), or " + certificate
	case errors.As(failure, &verify):
		return "the server's certificate is not valid (" + verify.Err.Error() + ")", "renew it, or " + certificate
	case errors.As(failure, &plain):
		return "the server does not speak TLS", "begin the URL with http://, or use the port for TLS"
	case errors.Is(failure, httpstd.ErrNotHTTP2):
		return httpstd.ErrNotHTTP2.Error(), "leave --http2 (http2: true) out"
	case errors.As(failure, &e) && e.Kind == engine.ErrClosed:
		todo = "check that it is running and that the URL is right (does it need https://?)"
	}
	return strings.TrimPrefix(what, "dial tcp "), todo
}

// issuer names who has signed a certificate, if it says so.
func issuer(c *x509.Certificate) string {
	if c == nil || c.Issuer.String() == "" {
		return ""
	}
	return fmt.Sprintf(" (%q)", c.Issuer.String())
}

// statusAdvice says what to do about a status that a target answers to all
// requests.
func statusAdvice(status int) string {
	accept := fmt.Sprintf("accept the status with --expect %d (expect: in requests)", status)
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "give what it asks for with -H 'Authorization: …', or " + accept
	case http.StatusBadRequest: // as servers that expect TLS answer without it
		return "check the URL (does it need https://?), or " + accept
	case http.StatusMethodNotAllowed:
		return "choose another method with --method, or " + accept
	}
	return "check the URL, or " + accept
}

// Alerts of TLS (RFC 8446, section 6.2, and RFC 6066) that say what a server
// wants.
const (
	alertHandshakeFailure = 40
	alertProtocolVersion  = 70
	alertUnrecognizedName = 112
	alertCertificate      = 116
)

// alertOf is the alert with which a server has ended a handshake. Package
// crypto/tls has a name for such errors with QUIC only; otherwise it is a number
// in one of package net.
func alertOf(failure error) (tls.AlertError, bool) {
	remote, ok := errors.AsType[*net.OpError](failure)
	if !ok || remote.Op != "remote error" || remote.Err == nil {
		return 0, false
	}
	code := reflect.ValueOf(remote.Err)
	if code.Kind() != reflect.Uint8 {
		return 0, false
	}
	return tls.AlertError(code.Uint()), true
}

// alert says what a server wants that has ended a handshake.
func alert(code tls.AlertError) (what, todo string) {
	switch code {
	case alertUnrecognizedName, alertHandshakeFailure:
		return "the server refuses TLS for this name (" + code.Error() + ")",
			"use a name in the URL that it knows, or give the name with -H 'Host: NAME' and the address in the URL"
	case alertProtocolVersion:
		return "the server speaks another version of TLS (" + code.Error() + ")", "allow TLS 1.2 or 1.3 there"
	case alertCertificate:
		return "the server wants a certificate of the client, which scalebench cannot show",
			"measure a listener that asks for none"
	}
	return "the server has ended the TLS handshake (" + code.Error() + ")", "look into the server's log"
}

// withAdvice adds to an error of a store what to do about its certificate.
func withAdvice(err error) error {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
	)
	switch {
	case errors.As(err, &authority):
		return fmt.Errorf("%w; give the certificate of its authority with --cacert FILE (ca_pem: in a file)", err)
	case errors.As(err, &host):
		return fmt.Errorf("%w; use a name in the URL that the certificate is for", err)
	}
	return err
}
