package board

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/scalebench/scalebench/internal/procself"
)

// listener accepts as many connections as may be open at a time, and leaves the
// others to the kernel's queue, which has a known length.
type listener struct {
	net.Listener
	backlog  int           // 0: not known
	slots    chan struct{} // nil: no limit
	closed   chan struct{}
	close    sync.Once
	open     atomic.Int64
	accepted atomic.Int64
}

// listen listens with a queue of this length, 0: as long as the system allows.
func listen(ctx context.Context, address string, backlog, connections int) (*listener, error) {
	inner, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	l := &listener{Listener: inner, backlog: mostBacklog(), closed: make(chan struct{})}
	if backlog > 0 {
		if err := setBacklog(inner.(*net.TCPListener), backlog); err != nil {
			return nil, errors.Join(fmt.Errorf("setting the length of the accept queue: %w", err), inner.Close())
		}
		if l.backlog == 0 || backlog < l.backlog {
			l.backlog = backlog
		}
	}
	if connections > 0 {
		l.slots = make(chan struct{}, connections)
	}
	return l, nil
}

// mostBacklog is the longest queue that the system allows, which Go asks for; 0
// if it does not tell.
func mostBacklog() int {
	n, _ := strconv.Atoi(procself.ReadText("/proc/sys/net/core/somaxconn"))
	return n
}

// setBacklog sets the length of a queue: listen(2) may be called again for it.
func setBacklog(l *net.TCPListener, n int) error {
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = syscall.Listen(int(fd), n) })
	return errors.Join(err, failed)
}

// Accept waits until another connection may be open, and for one.
func (l *listener) Accept() (net.Conn, error) {
	if l.slots != nil {
		select {
		case l.slots <- struct{}{}:
		case <-l.closed:
			return nil, net.ErrClosed
		}
	}
	c, err := l.Listener.Accept()
	if err != nil {
		l.free()
		return nil, err
	}
	l.open.Add(1)
	l.accepted.Add(1)
	return &accepted{Conn: c, listener: l}, nil
}

func (l *listener) free() {
	if l.slots != nil {
		<-l.slots
	}
}

// Close ends it; what waits in Accept returns.
func (l *listener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// accepted is a connection that is counted until it is closed.
type accepted struct {
	net.Conn
	listener *listener
	closed   sync.Once
}

func (c *accepted) Close() error {
	c.closed.Do(func() {
		c.listener.open.Add(-1)
		c.listener.free()
	})
	return c.Conn.Close()
}
