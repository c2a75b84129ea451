// Package http1 offers load to http:// servers with HTTP/1.1, from event loops
// that cost less than the server does: the fast path of package load. Linux
// only; elsewhere, and for https:// and HTTP/2, there is package load/httpstd.
//
// [New] makes ready-made bytes of the requests, looks up the hosts, and makes
// the loops. Each loop is a goroutine on a thread of its own, with its own
// share of the plan, its own connections, epoll set, and counts: loops share
// nothing while they run. A turn of a loop:
//
//  1. It waits until something happens on a connection, or an operation is
//     due, or one has taken too long (poller).
//  2. It reads what came, and reads the answers in it (reply). An answer that
//     is whole ends its operation; the connection is free again.
//  3. It ends operations that take too long.
//  4. It sends what is due over the free connections, or opens further ones
//     while it may. If there is none, the operation waits, and so does what is
//     due after it: nothing is queued but the next operation (and some for
//     each origin, where there are several, so that one server that is slow
//     does not hold up what is for another).
//  5. It hands over the seconds that are past to the collector.
//
// What counts when:
//
//   - An answer has come when the kernel received the last of it, by the stamp
//     that the kernel gives it (receiver, anchor); where there is none, or it
//     is not believed, when it was read.
//   - An operation is sent when its request is written or, if it opens a
//     connection, when the handshake begins. So the handshake is part of the
//     latency and of the service time of the operation that needed it.
//   - The timeout counts from when an operation was sent. One that is not sent
//     within the timeout after it was due is dropped.
//   - An operation without a connection in time ends as load.ErrConnect, one
//     without a whole answer in time as load.ErrTimeout.
//   - The server may close a connection while the next request is on its way.
//     Where a request has no second effect, the connection was in use before, no
//     byte of an answer came, and the end came so soon that it must have crossed
//     the request (load.Crossed), that is sent again, once, over a new connection
//     (RFC 9112, section 9.3.1); its latency still counts from when it was due.
//     Other operations end as load.ErrClosed, because the server may have done
//     them.
//   - A host may have several addresses. They are used in turn. One that does not
//     take a connection within load.HeadStart is overtaken by the next, and left
//     out until an attempt that nobody waits for has shown that it works
//     (RFC 8305); see race.
//
// The engine does not run out of ports, whatever the server does: if the server
// announces that it will close a connection, the engine lets it close first, and
// it resets a connection when it gives up the operation.
package http1

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/httpwire"
	"github.com/scalebench/scalebench/internal/model"
)

// What is kept of bodies for users who read them.
const (
	mostOfPage = 1 << 20   // of one, in bytes
	mostPages  = 256 << 20 // of all that one loop has at a time
)

// Config says what is sent, and with what means.
type Config struct {
	// Requests are the kinds of operations. Their URLs begin with http://.
	Requests []load.Request
	// Connections is how many may be open at a time to each origin (host and
	// port), of all loops together. They are opened when they are needed, and
	// stay. 0: 256.
	Connections int
	// Loops is the number of event loops. Each can use one processor; more
	// loops than processors would take turns, and send late. There are never
	// more than Connections. 0: one less than the processors that the process
	// may use, so that one is left for everything else.
	Loops int
	// Spin lets loops look for events again and again instead of sleeping until
	// there are some: what comes is seen at once, and what is due is sent on
	// time, for a whole processor of each loop.
	Spin bool
	// Timeout is how long an operation may take from when it was sent until
	// its answer is whole, and how long it may wait to be sent. 0:
	// load.DefaultTimeout.
	Timeout time.Duration
	// MaxBody is how many bytes the body of an answer may have. Bodies are
	// read and thrown away. 0: httpwire.DefaultMaxBody.
	MaxBody int64
	// Chosen: somebody asked for so many connections. Otherwise there are fewer
	// where the process may open fewer files, and a run that needs more ends.
	Chosen bool
	// Resolver looks up names of hosts, once; nil: as the machine does it.
	Resolver load.Resolver
	// Sessions, if there are any, make the requests, in place of a plan's mix:
	// it returns the users of a share. Requests, all to one origin, then say
	// what kinds there are, and what is expected of them; of a plan only the
	// duration counts.
	Sessions func(load.Share) load.Sessions
	// Own: each user of the sessions has a connection of its own, which stays
	// open while the server lets it, as that of a browser does. Connections
	// then is the number of users.
	Own bool
}

// withDefaults fills in what was left open.
func (c Config) withDefaults() Config {
	c.Connections = cmp.Or(c.Connections, 256)
	c.Loops = min(cmp.Or(c.Loops, max(1, load.Cores()-1)), max(1, c.Connections))
	c.Timeout = cmp.Or(c.Timeout, load.DefaultTimeout)
	c.MaxBody = cmp.Or(c.MaxBody, httpwire.DefaultMaxBody)
	if c.Resolver == nil {
		c.Resolver = net.DefaultResolver
	}
	return c
}

// target is a request, ready to be sent.
type target struct {
	wire   []byte // all of it, as it goes over the connection
	head   bool   // it is a HEAD: answers have no body
	expect load.Statuses
	site   int // index of the site that it goes to
}

// site is an origin: what connections go to.
type site struct {
	name      string // host:port, as it is shown
	addresses []netip.AddrPort
}

// prepare makes targets of requests that passed load.CheckRequests, in their
// order, and lists the sites that they go to.
func prepare(ctx context.Context, requests []load.Request, r load.Resolver) (
	targets []target, sites []site, err error,
) {
	for _, q := range requests {
		u, err := url.Parse(q.URL)
		if err != nil || u.Scheme != "http" {
			return nil, nil, fmt.Errorf("%w: request %q: the fast path speaks plain HTTP/1.1 only; its URL must begin with http://, or use the standard client",
				model.ErrUsage, q.Name)
		}
		host, port := strings.ToLower(u.Hostname()), cmp.Or(u.Port(), "80")
		name := net.JoinHostPort(host, port)
		index := slices.IndexFunc(sites, func(s site) bool { return s.name == name })
		if index < 0 {
			addresses, err := load.Lookup(ctx, r, host, port)
			if err != nil {
				return nil, nil, err
			}
			index, sites = len(sites), append(sites, site{name: name, addresses: addresses})
		}
		targets = append(targets, target{wire: httpwire.Request(q, u), head: q.Method == http.MethodHead,
			expect: q.Expect, site: index})
	}
	return targets, sites, nil
}
