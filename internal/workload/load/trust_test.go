package load

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/kvtest"
	"github.com/scalebench/scalebench/test/servers"
)

// secured speaks TLS before a server, with a certificate that nobody knows.
func secured(t *testing.T, server string) (address, authority string) {
	t.Helper()
	certificate := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(certificate.Close)
	config := &tls.Config{Certificates: certificate.TLS.Certificates}
	address = servers.Serve(t, func(c net.Conn) {
		front := tls.Server(c, config)
		back, err := net.Dial("tcp", server)
		if err != nil {
			return
		}
		var joined sync.WaitGroup
		join := func(to, from net.Conn) {
			_, _ = io.Copy(to, from)
			_, _ = to.Close(), from.Close()
		}
		joined.Go(func() { join(front, back) })
		join(back, front)
		joined.Wait()
	})
	return address, string(
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate().Raw}))
}

// TestStoreAuthority: a store with an authority of its own is reached with --cacert,
// and without it the error says so.
func TestStoreAuthority(t *testing.T) {
	address, authority := secured(t, kvtest.StartRedis(t, "").Addr)
	for _, given := range []bool{false, true} {
		p := params("rediss://"+address, 100)
		p.Agreement = sla("p90=100ms")
		if given {
			p.CAPEM = authority
		}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		env := &workload.Env{Parts: 1, Environ: os.Environ(), Stderr: io.Discard}
		err := p.Prepare(t.Context(), env)
		if given && err != nil || !given && (err == nil || !strings.Contains(err.Error(), "--cacert FILE")) {
			t.Errorf("with its authority %v: Prepare = %v", given, err)
		}
		if err := p.Cleanup(context.Background(), env); err != nil {
			t.Error(err)
		}
	}
}

// TestAuthorityWithoutTLS: certificates are taken where TLS is spoken, and nowhere
// else.
func TestAuthorityWithoutTLS(t *testing.T) {
	_, authority := secured(t, "127.0.0.1:1")
	for target, wrong := range map[string]string{
		"rediss://host/": "", "redis://host/": "use rediss://",
		"postgres://me@host/db?sslmode=require": "", "postgres://me@host/db?sslmode=verify-full": "",
		"postgres://me@host/db":                 "",
		"postgres://me@host/db?sslmode=disable": "use ?sslmode=verify-full",
		"mysql://me@host/db?tls=true":           "", "mysql://me@host/db?tls=skip-verify": "",
		"mysql://me@host/db": "use ?tls=true",
		"cassandras://host/": "", "cassandra://host/": "use cassandras://",
		"s3s://host/bucket": "", "s3://host/bucket": "use s3s://", "https://host/": "", "http://host/": "over TLS",
	} {
		p := params(target, 100)
		p.CAPEM = authority
		err := p.Validate()
		if wrong == "" && err != nil || wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong)) {
			t.Errorf("%s: Validate = %v, want %q", target, err, wrong)
		}
	}
}
