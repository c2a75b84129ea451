package load

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	engine "github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// unanswered is the error of a target that answered none of a few requests, as
// its first failure shows: what is wrong, then what to do.
func (p *Params) unanswered(requests int64, failure error) error {
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
		dns       *net.DNSError
	)
	if errors.As(failure, &e) && e.Status > 0 {
		return "status " + strconv.Itoa(e.Status), statusAdvice(e.Status)
	}
	what, todo = failure.Error(), "check that it is running and that the URL is right"
	switch {
	case errors.As(failure, &authority):
		return "the authority of the server's certificate is unknown" + issuer(authority.Cert),
			"give its certificate with --cacert FILE (ca_pem: in a file), or " + certificate
	case errors.As(failure, &host):
		return "the server's certificate is for another name (" + host.Error() + ")", "use a name in the URL that it is for, or " + certificate
	case errors.As(failure, &verify):
		return "the server's certificate is not valid (" + verify.Err.Error() + ")", "renew it, or " + certificate
	case errors.As(failure, &plain):
		return "the server does not speak TLS", "begin the URL with http://, or use the port for TLS"
	case errors.As(failure, &dns) && dns.IsNotFound:
		return fmt.Sprintf("unknown host %q", dns.Name), "check the URL"
	case errors.As(failure, &e) && e.Kind == engine.ErrProtocol && strings.Contains(what, "instead of HTTP/2"):
		todo = "leave --http2 (http2: true) out"
	case errors.As(failure, &e) && e.Kind == engine.ErrClosed:
		todo = "check that it is running and that the URL is right (does it need https://?)"
	case errors.As(failure, &e) && e.Kind == engine.ErrConnect && e.Err != nil:
		what = e.Err.Error()
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
