package httpstd_test

import (
	"context"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/httpstd"
)

// server is a real one that counts its connections.
type server struct {
	*httptest.Server
	connections atomic.Int64
}

// serve starts a server that speaks HTTP/2 if it is asked to, over TLS or in
// plain.
func serve(t *testing.T, useTLS bool, h http.HandlerFunc) *server {
	t.Helper()
	s := &server{Server: httptest.NewUnstartedServer(h)}
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that do not trust it are part of the tests
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetHTTP2(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.EnableHTTP2 = true
	if useTLS {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// caFile holds the certificate of a server.
func (s *server) caFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// get is a request for a URL.
func get(url string) []load.Request {
	return []load.Request{{Name: "get", URL: url, Weight: 1}}
}

func newTarget(t *testing.T, c httpstd.Config) *httpstd.Target {
	t.Helper()
	target, err := httpstd.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func open(t *testing.T, target *httpstd.Target) load.Client {
	t.Helper()
	c, err := target.Open(soon(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // maybe the second time
	return c
}

// soon is a context for what must not last.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// outcome is what a run over a pool came to.
type outcome struct {
	load.Counts
	load.Usage
}

// offer runs so many operations over a pool, evenly spaced in so many
// milliseconds.
func offer(t *testing.T, target *httpstd.Target, c load.PoolConfig, operations, milliseconds int) outcome {
	t.Helper()
	p, err := load.NewPool(target, c)
	if err != nil {
		t.Fatal(err)
	}
	d := time.Duration(milliseconds) * time.Millisecond
	plan := load.Plan{Arrivals: load.Constant, Stages: []load.Stage{load.Hold(float64(operations)/d.Seconds(), d)}}
	var x outcome
	x.Usage, err = p.Run(soon(t), load.Run{Plan: plan, Share: load.All, Drain: 20 * time.Second, Each: func(s load.Second) { x.Add(s.Total()) }})
	if err != nil {
		t.Errorf("Run = %v", err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("Close() = %v", err)
	}
	if x.Due != int64(operations) || x.Settled() != x.Due {
		t.Errorf("%d operations were due and %d have an end, want %d: %+v", x.Due, x.Settled(), operations, x.Counts)
	}
	return x
}
