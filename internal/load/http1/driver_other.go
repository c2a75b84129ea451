//go:build !linux

package http1

import (
	"context"
	"fmt"
	"runtime"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// New refuses, with model.ErrUnavailable: the loops are made of system calls
// that only Linux has. Package load/httpstd works everywhere.
func New(_ context.Context, c Config) (load.Driver, error) {
	if err := load.CheckRequests(c.Requests); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%w: the fast path for HTTP/1.1 needs Linux, and this is %s; use the standard client", model.ErrUnavailable, runtime.GOOS)
}
