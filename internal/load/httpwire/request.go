// Package httpwire is HTTP/1.1 as it goes over a connection, whoever made that:
//
//  1. [Request] writes a request, ready to be sent again and again.
//  2. A [Reply] reads the answers, in pieces as they come, and finds where each
//     ends. Both HTTP/1.1 engines use it, so that what is understood over http
//     is understood over https.
package httpwire

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/load"
)

// Request writes a request as RFC 9112 has it: with Host first, as RFC 9110,
// section 7.2, asks for, and the other fields by name.
func Request(q load.Request, u *url.URL) []byte {
	// What every request has, unless it says it itself.
	header := http.Header{"Host": {hostField(u)}, "User-Agent": {"scalebench"}}
	for name := range q.Header {
		delete(header, http.CanonicalHeaderKey(name))
	}
	maps.Copy(header, q.Header)
	var b bytes.Buffer
	method := cmp.Or(q.Method, http.MethodGet)
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", method, strings.ReplaceAll(u.RequestURI(), " ", "%20"))
	for _, host := range []bool{true, false} {
		for _, name := range slices.Sorted(maps.Keys(header)) {
			for _, value := range header[name] {
				if (http.CanonicalHeaderKey(name) == "Host") == host {
					fmt.Fprintf(&b, "%s: %s\r\n", name, value)
				}
			}
		}
	}
	// Servers may ask for the length of a body that is empty (RFC 9110, section 8.6).
	if len(q.Body) > 0 || slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch}, method) {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(q.Body))
	}
	b.WriteString("\r\n")
	b.Write(q.Body)
	return b.Bytes()
}

// hostField is the host of a URL without what means something on this machine
// only, the zone of an IPv6 address.
func hostField(u *url.URL) string {
	host := strings.TrimSuffix(u.Host, ":")
	if before, after, ok := strings.Cut(host, "%"); ok && strings.HasPrefix(host, "[") {
		_, port, _ := strings.Cut(after, "]")
		return before + "]" + port
	}
	return host
}

// Idempotent reports whether a request, as Request has written it, may be sent
// again without a second effect (RFC 9110, section 9.2.2).
func Idempotent(wire []byte) bool {
	method, _, _ := bytes.Cut(wire, []byte{' '})
	switch string(method) {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return false
}
