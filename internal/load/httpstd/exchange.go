package httpstd

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/httpwire"
)

// exchange is a connection in HTTP/1.1: one request after the other.
type exchange struct {
	conn  net.Conn
	reply httpwire.Reply
	used  bool // a request was answered
	spent bool // it is not used again
	// crossing is load.Crossing.
	crossing time.Duration
}

// buffers are for what comes: as large as what TLS hands over at a time.
var buffers = sync.Pool{New: func() any { b := make([]byte, 16<<10); return &b }}

var errUnasked = errors.New("the server sent data beyond its answer")

func newExchange(conn net.Conn, limits httpwire.Reply) *exchange {
	return &exchange{conn: conn, reply: limits, crossing: load.Crossing}
}

func (x *exchange) close() error {
	err := x.conn.Close()
	if load.Ended(err) {
		return nil // the server was first
	}
	return err
}

// alive looks whether the server has closed the connection meanwhile. What else
// may have come is TLS's own, unless it is an answer to nothing.
func (x *exchange) alive() bool {
	if x.spent {
		return false
	}
	if quiet(x.conn) {
		return true
	}
	const moment = time.Millisecond
	_ = x.conn.SetReadDeadline(time.Now().Add(moment)) // if it fails, so does Read
	var one [1]byte
	n, err := x.conn.Read(one[:])
	var timeout net.Error
	x.spent = n > 0 || !errors.As(err, &timeout) || !timeout.Timeout()
	return !x.spent
}

func (x *exchange) roundTrip(ctx context.Context, p prepared) (status int, repeatable bool, err error) {
	began := time.Now()
	deadline, _ := ctx.Deadline() // zero: none
	if err := x.conn.SetDeadline(deadline); err != nil {
		return 0, false, err
	}
	// The deadline ends it in time; this is for who stops before.
	defer context.AfterFunc(ctx, func() { _ = x.conn.SetDeadline(time.Unix(1, 0)) })()
	x.reply.Begin(p.template.Method == http.MethodHead)
	if err = x.exchange(p.wire); err == nil {
		x.used, x.spent = true, x.spent || x.reply.Last()
		return x.reply.Status(), false, nil
	}
	x.spent = true
	switch {
	case timedOut(err):
		wait := &load.UnansweredError{Address: x.conn.RemoteAddr().String(), For: load.AwaitAnswer,
			Waited: time.Since(began)}
		if x.reply.Begun() {
			wait.For = load.AwaitRest
		}
		err = wait
	case x.used && !x.reply.Begun() && load.Ended(err):
		repeatable = load.Crossed(time.Since(began), roundTrip(x.conn), x.crossing)
	}
	return 0, repeatable, err
}

// exchange sends a request, and reads until the answer is whole. A server may
// answer before it has read all, and read no further: what the kernel may not take
// at once is written beside.
func (x *exchange) exchange(wire []byte) error {
	const atOnce = 16 << 10
	if len(wire) <= atOnce {
		_, cut := x.conn.Write(wire)
		x.spent = x.spent || cut != nil
		return x.read(cut)
	}
	written := make(chan error, 1)
	go func() {
		_, err := x.conn.Write(wire)
		written <- err
	}()
	err := x.read(nil)
	_ = x.conn.SetWriteDeadline(time.Unix(1, 0)) // ends it; one that is over does not notice
	cut := <-written
	x.spent = x.spent || cut != nil
	return err
}

// read reads until the answer is whole; cut is what has ended writing.
func (x *exchange) read(cut error) error {
	b := buffers.Get().(*[]byte)
	defer buffers.Put(b)
	for !x.reply.Whole() {
		n, err := x.conn.Read(*b)
		used, wrong := x.reply.Feed((*b)[:n])
		switch {
		case wrong != nil:
			return wrong
		case used < n:
			return errUnasked
		case err == nil || x.reply.Whole():
		case errors.Is(err, io.EOF) && cut == nil && x.reply.End():
		case cut != nil && !timedOut(err):
			return cut
		default:
			return err
		}
	}
	return nil
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
