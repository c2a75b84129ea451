package board

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// upstream is a process of the next tier, with connections that are kept. It does
// without the standard library's client, which hands each request through two
// more goroutines.
type upstream struct {
	address     string
	outstanding atomic.Int64
	requests    atomic.Int64
	errors      atomic.Int64
	downUntil   atomic.Int64 // Unix ns
	idle        kept[*upstreamConn]
}

// errRefused is an upstream that got nothing of the request.
var errRefused = errors.New("no connection")

const (
	dialTime = 3 * time.Second
	downTime = time.Second // for so long an upstream that refused is not asked
)

type upstreamConn struct {
	net.Conn
	r *bufio.Reader
}

func (u *upstream) down(now time.Time) bool { return now.UnixNano() < u.downUntil.Load() }

// ask sends a request and reads the answer into the page.
func (u *upstream) ask(ctx context.Context, message []byte, method string, p *page) error {
	u.outstanding.Add(1)
	defer u.outstanding.Add(-1)
	used, err := u.try(ctx, message, method, p)
	if used && errors.Is(err, errSilent) && method != http.MethodPost && ctx.Err() == nil {
		// It has closed the connection while that was idle, and perhaps others.
		u.close()
		_, err = u.try(ctx, message, method, p)
	}
	if err == nil {
		u.requests.Add(1)
		return nil
	}
	u.errors.Add(1)
	if errors.Is(err, errRefused) && ctx.Err() == nil {
		u.downUntil.Store(time.Now().Add(downTime).UnixNano())
	}
	return fmt.Errorf("%s: %w", u.address, err)
}

// errSilent is a connection that ended before the first byte of an answer.
var errSilent = errors.New("no answer")

// try asks over one connection, and says whether that was used before.
func (u *upstream) try(ctx context.Context, message []byte, method string, p *page) (used bool, err error) {
	c, used := u.idle.pop()
	if !used {
		dialer := net.Dialer{Timeout: dialTime}
		conn, err := dialer.DialContext(ctx, "tcp", u.address)
		if err != nil {
			return false, fmt.Errorf("%w: %w", errRefused, err)
		}
		c = &upstreamConn{conn, bufio.NewReaderSize(conn, 16<<10)}
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) }) // ends reading and writing
	again, err := c.exchange(message, method, p)
	if stop() && err == nil && again {
		u.idle.push(c)
		return used, nil
	}
	_ = c.Close() // nothing more is read from it
	return used, err
}

// close closes the connections that are idle.
func (u *upstream) close() {
	for _, c := range u.idle.drain() {
		_ = c.Close() // nothing is on its way
	}
}

// exchange sends a request and reads the answer; again says that the connection
// can be used for another one.
func (c *upstreamConn) exchange(message []byte, method string, p *page) (again bool, err error) {
	if _, err = c.Write(message); err == nil {
		_, err = c.r.Peek(1)
	}
	if err != nil {
		return false, fmt.Errorf("%w: %w", errSilent, err)
	}
	r, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		return false, err
	}
	p.status, p.contentType = r.StatusCode, r.Header.Get("Content-Type")
	if n := int(r.ContentLength); n >= 0 && n <= maxAnswer && method != http.MethodHead {
		p.body = slices.Grow(p.body[:0], n)[:n]
		_, err = io.ReadFull(r.Body, p.body)
	} else {
		p.body, err = io.ReadAll(io.LimitReader(r.Body, maxAnswer))
	}
	return !r.Close, errors.Join(err, r.Body.Close())
}

// maxAnswer bounds what is taken from an upstream.
const maxAnswer = 16 << 20
