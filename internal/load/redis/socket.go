package redis

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"

	goredis "github.com/redis/go-redis/v9"
)

// socket is the network connection below a library's connection. It is opened
// before the library is told of it, for the library goes on trying in the
// background to connect where it has failed.
//
// The library heeds the deadline of a context but not its end by other means;
// so that a measurement stops when it is told to, the socket is closed under it
// then.
type socket struct {
	conn  net.Conn
	taken atomic.Bool
}

func openSocket(ctx context.Context, o *goredis.Options) (*socket, error) {
	ctx, cancel := context.WithTimeout(ctx, o.DialTimeout)
	defer cancel()
	conn, err := dialer(o)(ctx, o.Network, o.Addr)
	if err != nil {
		return nil, err
	}
	return &socket{conn: conn}, nil
}

// dialer is the library's, except for TLS, where that one heeds no context: a
// server that never answers the handshake would not be given up in time.
func dialer(o *goredis.Options) func(ctx context.Context, network, addr string) (net.Conn, error) {
	if o.TLSConfig == nil {
		return goredis.NewDialer(o)
	}
	return (&tls.Dialer{Config: o.TLSConfig}).DialContext
}

// dial gives the library its connection. There is one in the life of a session:
// what would need another one is over.
func (s *socket) dial(context.Context, string, string) (net.Conn, error) {
	if s.taken.Swap(true) {
		return nil, net.ErrClosed
	}
	return s.conn, nil
}

// closeAfter closes the connection when ctx is done, until the function that it
// returns is called.
func (s *socket) closeAfter(ctx context.Context) (stop func() bool) {
	// The library reports what comes of it.
	return context.AfterFunc(ctx, func() { _ = s.conn.Close() })
}
