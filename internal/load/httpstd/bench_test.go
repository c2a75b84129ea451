package httpstd_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/scalebench/scalebench/internal/load/httpstd"
)

// BenchmarkDo is one request after the other over TLS, in HTTP/1.1.
func BenchmarkDo(b *testing.B) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok")
	}))
	defer s.Close()
	target, err := httpstd.New(httpstd.Config{Requests: get(s.URL), Insecure: true})
	if err != nil {
		b.Fatal(err)
	}
	c, err := target.Open(b.Context(), 0)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Do(b.Context(), 0); err != nil {
			b.Fatal(err)
		}
	}
}
