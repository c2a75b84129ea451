package http1

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// The defaults of a [Config].
const (
	DefaultConnections = 256
	DefaultTimeout     = 10 * time.Second
	DefaultMaxHeader   = 64 << 10
	DefaultMaxBody     = 64 << 20
)

// Config says what is sent, and with what means.
type Config struct {
	// Requests are the kinds of operations. Their URLs begin with http://.
	Requests []load.Request
	// Connections is how many may be open at a time to each origin (host and
	// port), of all loops together. They are opened when they are needed, and
	// stay. 0: DefaultConnections.
	Connections int
	// Loops is how many event loops there are, each of which can use one
	// processor; with more loops than processors they would take turns, and
	// send late. There are never more than Connections. 0: one less than
	// the processors that the process may use, so that one is left for
	// everything else.
	Loops int
	// Spin lets loops look for events again and again instead of sleeping until
	// there are some: what comes is seen at once, and what is due is sent on
	// time, for a whole processor of each loop.
	Spin bool
	// Timeout is how long an operation may take from when it was sent until
	// its answer is whole, and how long it may wait to be sent. 0:
	// DefaultTimeout.
	Timeout time.Duration
	// MaxHeader is how many bytes an answer may have before its body, and in
	// a line between chunks, and in all trailers. 0: DefaultMaxHeader.
	MaxHeader int
	// MaxBody is how many bytes the body of an answer may have. Bodies are
	// read and thrown away. 0: DefaultMaxBody.
	MaxBody int64
	// Resolver looks up names of hosts, once; nil: as the machine does it.
	Resolver Resolver
}

// Resolver looks up the addresses of a host; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// withDefaults fills in what was left open.
func (c Config) withDefaults() Config {
	c.Connections = orDefault(c.Connections, DefaultConnections)
	c.Loops = min(orDefault(c.Loops, max(1, load.Cores()-1)), max(1, c.Connections))
	c.Timeout = orDefault(c.Timeout, DefaultTimeout)
	c.MaxHeader = orDefault(c.MaxHeader, DefaultMaxHeader)
	c.MaxBody = orDefault(c.MaxBody, DefaultMaxBody)
	if c.Resolver == nil {
		c.Resolver = net.DefaultResolver
	}
	return c
}

func orDefault[T int | int64 | time.Duration](value, byDefault T) T {
	if value == 0 {
		return byDefault
	}
	return value
}

// check refuses what cannot be done, with model.ErrUsage.
func (c Config) check() error {
	if c.Connections < 0 || c.Loops < 0 || c.Timeout < 0 || c.MaxHeader < 0 || c.MaxBody < 0 {
		return fmt.Errorf("%w: %d connections, %d loops, a timeout of %v, limits of %d and %d bytes; none of them may be negative",
			model.ErrUsage, c.Connections, c.Loops, c.Timeout, c.MaxHeader, c.MaxBody)
	}
	return load.CheckRequests(c.Requests)
}
