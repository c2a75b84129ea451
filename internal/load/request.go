package load

import (
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

// Kind is the request as an element of a [Mix].
func (r Request) Kind() Weight { return Weight{Name: r.Name, Weight: r.Weight} }

// MixOf is the requests as a mix, in their order.
func MixOf(requests []Request) []Weight {
	kinds := make([]Weight, len(requests))
	for i, r := range requests {
		kinds[i] = r.Kind()
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
			return fmt.Errorf("%w: two requests are called %q; give each a name of its own", model.ErrUsage, r.Name)
		}
		names[r.Name] = true
	}
	if len(requests) == 0 {
		return fmt.Errorf("%w: there is no request to send; give at least one URL", model.ErrUsage)
	}
	return nil
}

// Check refuses a request that cannot be sent, with model.ErrUsage. It does
// not show values of headers, nor what a URL has before the host: they may be
// secret.
func (r Request) Check() error {
	for _, problem := range []string{r.nameProblem(), r.methodProblem(), urlProblem(r.URL), headerProblem(r.Header), r.weightProblem()} {
		if problem != "" {
			return fmt.Errorf("%w: request %q: %s", model.ErrUsage, r.Name, problem)
		}
	}
	return nil
}

func (r Request) nameProblem() string {
	if r.Name == "" {
		return "it has no name, so its results would have none"
	}
	return ""
}

func (r Request) methodProblem() string {
	switch {
	case r.Method == "":
		return ""
	case !isToken(r.Method):
		return fmt.Sprintf("%q is no method; it is a word such as GET or POST", r.Method)
	case r.Method == http.MethodConnect:
		return "CONNECT asks for a tunnel, which answers nothing; use another method"
	}
	return ""
}

func (r Request) weightProblem() string {
	if !(r.Weight >= 0) || math.IsInf(r.Weight, 0) {
		return fmt.Sprintf("weight %v; weights are 0 or more", r.Weight)
	}
	return ""
}

func urlProblem(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		// The error of url.Parse repeats the text, and with it a password.
		return "its URL cannot be read; it looks like http://host:port/path"
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Sprintf("its URL begins with %q; it has to begin with http:// or https://", u.Scheme)
	case u.User != nil:
		return "its URL holds a user name or password; send them in an Authorization header"
	case u.Hostname() == "":
		return "its URL names no host; it looks like http://host:port/path"
	case !validPort(u):
		return fmt.Sprintf("port %q of its URL is not between 1 and 65535", u.Port())
	}
	return ""
}

// validPort reports whether the port, if there is one, can be connected to.
// A colon without a port is the scheme's own, as RFC 3986 has it.
func validPort(u *url.URL) bool {
	if u.Port() == "" {
		return true
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0
}

// reserved headers say how long the message is and what becomes of the
// connection; a driver that did not write them itself would misread answers.
var reserved = []string{"Connection", "Content-Length", "Expect", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

func headerProblem(h http.Header) string {
	for name, values := range h {
		switch {
		case !isToken(name):
			return fmt.Sprintf("%q is no name of a header", name)
		case slices.Contains(reserved, http.CanonicalHeaderKey(name)):
			return fmt.Sprintf("the header %s is written by the driver; leave it out", name)
		case slices.ContainsFunc(values, hasControl):
			return fmt.Sprintf("the header %s holds a line break or another control character", name)
		case http.CanonicalHeaderKey(name) == "Host" && (len(values) != 1 || values[0] == ""):
			return "the header Host needs exactly one value"
		}
	}
	return ""
}

// TrustedRoots are the system's certificate authorities and those of a file in
// PEM; nil, which means the system's, for no file. The error is model.ErrUsage.
func TrustedRoots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: reading the certificates to trust: %w", model.ErrUsage, err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // a system without any
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%w: %s holds no certificate in PEM", model.ErrUsage, file)
	}
	return roots, nil
}

// isToken follows RFC 9110, section 5.6.2.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
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

// The statuses of final answers (RFC 9110, section 15); what is below 200 is
// followed by another.
const (
	firstStatus, lastStatus = 200, 599
	firstRedirect           = 300
)

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
			return Statuses{}, fmt.Errorf("%w: %q in the statuses %q; they are from 200 to 599, as in 200, 2xx, or 200-299,404",
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

// parseStatus takes three digits and nothing else.
func parseStatus(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 16)
	return int(n), err == nil && len(text) == 3 && n >= firstStatus && n <= lastStatus
}

// Match reports whether a status is in the set.
func (s Statuses) Match(status int) bool {
	if len(s.ranges) == 0 {
		return status >= firstStatus && status < firstRedirect
	}
	for _, r := range s.ranges {
		if status >= r.from && status <= r.to {
			return true
		}
	}
	return false
}

// String is the list that ParseStatuses reads; empty for the zero value.
func (s Statuses) String() string {
	parts := make([]string, len(s.ranges))
	for i, r := range s.ranges {
		parts[i] = strconv.Itoa(r.from)
		if r.to > r.from {
			parts[i] += "-" + strconv.Itoa(r.to)
		}
	}
	return strings.Join(parts, ",")
}

// MarshalText is for files and messages.
func (s Statuses) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is ParseStatuses.
func (s *Statuses) UnmarshalText(text []byte) error {
	parsed, err := ParseStatuses(string(text))
	if err == nil {
		*s = parsed
	}
	return err
}
