package load

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// Request is one kind of operation of a driver that speaks HTTP.
type Request struct {
	// Name is what its results are called.
	Name string
	// Method is GET where it is empty.
	Method string
	// URL is absolute, http or https.
	URL string
	// Header is sent as it is. Host stands for the name in the URL; what
	// describes the message or the connection is the driver's.
	Header http.Header
	// Body is sent with its length; empty: none.
	Body []byte
	// Weight is how often it is done, relative to the others; 0: never.
	Weight float64
	// Expect are the statuses that count as OK.
	Expect Statuses
}

// MixOf is the requests as a mix, in their order.
func MixOf(requests []Request) []Weight {
	kinds := make([]Weight, len(requests))
	for i, r := range requests {
		kinds[i] = Weight{Name: r.Name, Weight: r.Weight}
	}
	return kinds
}

// CheckRequests refuses a list of requests that cannot be sent, or with results
// that could not be told apart, with model.ErrUsage.
func CheckRequests(requests []Request) error {
	names := make(map[string]bool, len(requests))
	for _, r := range requests {
		if err := r.Check(); err != nil {
			return err
		}
		if names[r.Name] {
			return fmt.Errorf("%w: two requests are called %q; give each its own name", model.ErrUsage, r.Name)
		}
		names[r.Name] = true
	}
	if len(requests) == 0 {
		return fmt.Errorf("%w: no request to send; give at least one URL", model.ErrUsage)
	}
	return nil
}

// Check refuses a request that cannot be sent, with model.ErrUsage. It does
// not show values of headers, nor what a URL has before the host: they may be
// secret.
func (r Request) Check() error {
	problem := "its name is missing"
	if r.Name != "" {
		problem = cmp.Or(MethodProblem(r.Method), urlProblem(r.URL), headerProblem(r.Header))
	}
	if problem == "" && (!(r.Weight >= 0) || math.IsInf(r.Weight, 0)) {
		problem = fmt.Sprintf("weight %v; weights must be 0 or more", r.Weight)
	}
	if problem != "" {
		return fmt.Errorf("%w: request %q: %s", model.ErrUsage, r.Name, problem)
	}
	return nil
}

// MethodProblem says why a method cannot be sent; empty if it can. Without one it
// is GET.
func MethodProblem(method string) string {
	switch {
	case method != "" && !isToken(method):
		return fmt.Sprintf("%q is not a method; write a word such as GET or POST", method)
	case method == http.MethodConnect:
		return "CONNECT opens a tunnel and gets no answer; use another method"
	}
	return ""
}

func urlProblem(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		// The error of url.Parse repeats the text, and with it a password.
		return "its URL must look like http://host:port/path"
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Sprintf("its URL begins with %q; it must begin with http:// or https://", u.Scheme)
	case u.User != nil:
		return "its URL holds a user name or password; send them in an Authorization header"
	case u.Hostname() == "":
		return "its URL has no host; it must look like http://host:port/path"
	}
	// A colon without a port is the scheme's own, as RFC 3986 has it.
	if n, err := strconv.ParseUint(cmp.Or(u.Port(), "80"), 10, 16); err != nil || n == 0 {
		return fmt.Sprintf("port %q of its URL must be between 1 and 65535", u.Port())
	}
	return ""
}

// reserved headers say how long the message is and what becomes of the
// connection; a driver that did not write them itself would misread answers.
var reserved = []string{"Connection", "Content-Length", "Expect", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

func headerProblem(h http.Header) string {
	for name, values := range h {
		if problem := HeaderProblem(name, values...); problem != "" {
			return problem
		}
	}
	return ""
}

// HeaderProblem says why a header cannot be sent; empty if it can. It does not
// show the values.
func HeaderProblem(name string, values ...string) string {
	switch {
	case !isToken(name):
		return fmt.Sprintf("%q is not the name of a header", name)
	case slices.Contains(reserved, http.CanonicalHeaderKey(name)):
		return fmt.Sprintf("the driver writes the header %s itself; leave it out", name)
	case slices.ContainsFunc(values, hasControl):
		return fmt.Sprintf("the header %s holds a line break or another control character", name)
	case http.CanonicalHeaderKey(name) == "Host" && (len(values) != 1 || values[0] == ""):
		return "the header Host needs exactly one value"
	}
	return ""
}

// Trust is which certificate authorities are trusted beside the system's, in
// PEM.
type Trust struct {
	File string // that holds some; may be empty
	PEM  string // others; may be empty
}

// Roots are all that are trusted; nil, which means the system's, where there are
// no others. The error is model.ErrUsage.
func (t Trust) Roots() (*x509.CertPool, error) {
	if t == (Trust{}) {
		return nil, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // a system without any
	}
	if t.File != "" {
		pem, err := os.ReadFile(t.File)
		if err != nil {
			return nil, fmt.Errorf("%w: reading the certificates to trust: %w", model.ErrUsage, err)
		}
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w: %s has no PEM certificate", model.ErrUsage, t.File)
		}
	}
	if t.PEM != "" && !roots.AppendCertsFromPEM([]byte(t.PEM)) {
		return nil, fmt.Errorf("%w: the text of the certificates to trust has no PEM certificate", model.ErrUsage)
	}
	return roots, nil
}

// isToken follows RFC 9110, section 5.6.2.
func isToken(s string) bool {
	const characters = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return !strings.ContainsRune(characters, c) })
}

// hasControl finds what may not be in a header's value (RFC 9110, section
// 5.5): a line break would begin another header.
func hasControl(value string) bool {
	return strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f })
}

// Statuses is a set of HTTP statuses. The zero value is 200 to 299: a server
// that redirects has not done what it was asked to, and costs far less.
type Statuses struct{ ranges []statusRange }

// statusRange includes both ends.
type statusRange struct{ from, to int }

// ParseStatuses reads a list such as "200", "2xx" or "200-299,404"; the empty
// list is the zero value. The error is model.ErrUsage.
func ParseStatuses(text string) (Statuses, error) {
	var s Statuses
	if strings.TrimSpace(text) == "" {
		return s, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		r, ok := parseRange(strings.TrimSpace(part))
		if !ok {
			return Statuses{}, fmt.Errorf("%w: %q in the statuses %q must be from 200 to 599, as in 200, 2xx, or 200-299,404",
				model.ErrUsage, strings.TrimSpace(part), text)
		}
		s.ranges = append(s.ranges, r)
	}
	return s, nil
}

func parseRange(part string) (statusRange, bool) {
	if class, ok := strings.CutSuffix(strings.ToLower(part), "xx"); ok {
		part = class + "00-" + class + "99"
	}
	first, last, isRange := strings.Cut(part, "-")
	if !isRange {
		last = first
	}
	from, okFrom := parseStatus(first)
	to, okTo := parseStatus(last)
	return statusRange{from, to}, okFrom && okTo && from <= to
}

// parseStatus takes three digits and nothing else, of a final answer (RFC 9110,
// section 15); what is below 200 is followed by another.
func parseStatus(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 16)
	return int(n), err == nil && len(text) == 3 && n >= 200 && n <= 599
}

// Match reports whether a status is in the set.
func (s Statuses) Match(status int) bool {
	if len(s.ranges) == 0 {
		return status >= 200 && status < 300
	}
	return slices.ContainsFunc(s.ranges, func(r statusRange) bool { return status >= r.from && status <= r.to })
}
