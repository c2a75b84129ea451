package load

import (
	"context"
	"fmt"

	engine "github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/http1"
	"github.com/scalebench/scalebench/internal/load/httpstd"
	"github.com/scalebench/scalebench/internal/workload"
)

// open makes the driver for the target: event loops for plain HTTP, clients of
// the standard library for TLS, those of
// the store for a data store, those of the bucket for an object store.
func (p *Params) open(ctx context.Context, env *workload.Env) (engine.Driver, error) {
	if IsBucket(p.Target) {
		return p.openBucket(ctx, env)
	}
	if !p.overHTTP() {
		return p.openStore(ctx, env)
	}
	requests, err := p.requests()
	if err != nil {
		return nil, err
	}
	if p.plain() {
		return http1.New(ctx, http1.Config{
			Requests: requests, Connections: p.connections(), Loops: p.Loops, Spin: p.Spin, Timeout: p.Timeout.Std(),
		})
	}
	target, err := p.standard(requests) //nolint:contextcheck // it connects to nothing yet
	if err != nil {
		return nil, err
	}
	return engine.NewPool(target, engine.PoolConfig{Clients: p.connections(), Timeout: p.Timeout.Std()})
}

// standard is the target as the standard library's client sees it.
func (p *Params) standard(requests []engine.Request) (*httpstd.Target, error) {
	target, err := httpstd.New(httpstd.Config{Requests: requests, HTTP2: p.HTTP2, CAFile: p.CA, Insecure: p.Insecure})
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", p.address(), err)
	}
	return target, nil
}
