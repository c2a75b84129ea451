package httpwire

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/scalebench/scalebench/internal/load"
)

func TestRequest(t *testing.T) {
	for name, c := range map[string]struct {
		request load.Request
		want    string
	}{
		"the least": {load.Request{URL: "http://a.test"},
			"GET / HTTP/1.1\r\nHost: a.test\r\nUser-Agent: scalebench\r\n\r\n"},
		"path, query and port": {load.Request{URL: "http://A.test:8080/b%2Fc%20d?e=f g#h"},
			"GET /b%2Fc%20d?e=f%20g HTTP/1.1\r\nHost: A.test:8080\r\nUser-Agent: scalebench\r\n\r\n"},
		"headers": {load.Request{URL: "http://a.test:/", Header: http.Header{"X": {"1", "2"}, "Accept": {"*/*"}}},
			"GET / HTTP/1.1\r\nHost: a.test\r\nAccept: */*\r\nUser-Agent: scalebench\r\nX: 1\r\nX: 2\r\n\r\n"},
		"other defaults": {load.Request{URL: "http://a.test/",
			Header: http.Header{"host": {"b.test"}, "User-agent": {"me"}}},
			"GET / HTTP/1.1\r\nhost: b.test\r\nUser-agent: me\r\n\r\n"},
		"a body": {load.Request{Method: "POST", URL: "http://a.test/", Body: []byte("text")},
			"POST / HTTP/1.1\r\nHost: a.test\r\nUser-Agent: scalebench\r\nContent-Length: 4\r\n\r\ntext"},
		"no body where one is expected": {load.Request{Method: "PUT", URL: "http://a.test/"},
			"PUT / HTTP/1.1\r\nHost: a.test\r\nUser-Agent: scalebench\r\nContent-Length: 0\r\n\r\n"},
		"a body where none is expected": {load.Request{Method: "DELETE", URL: "http://a.test/", Body: []byte("x")},
			"DELETE / HTTP/1.1\r\nHost: a.test\r\nUser-Agent: scalebench\r\nContent-Length: 1\r\n\r\nx"},
		"IPv6 with a zone": {load.Request{URL: "http://[fe80::1%25eth0]:81/"},
			"GET / HTTP/1.1\r\nHost: [fe80::1]:81\r\nUser-Agent: scalebench\r\n\r\n"},
	} {
		u, err := url.Parse(c.request.URL)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(Request(c.request, u)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
