package load

import (
	"context"
	"net"
	"time"

	engine "github.com/scalebench/scalebench/internal/load"
)

// prober makes TCP handshakes with a server, one after another, and closes the
// connections again.
type prober struct {
	address string // host:port
	every   time.Duration
}

// run probes until ctx is done. Times are since start. Handshakes that fail are
// left out: that the server cannot be reached is seen by the load.
func (p prober) run(ctx context.Context, start time.Time) []engine.Handshake {
	var out []engine.Handshake
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return out
		case <-tick.C:
		}
		at := time.Since(start)
		if took, err := p.handshake(ctx); err == nil {
			out = append(out, engine.Handshake{At: at, Took: took})
		}
	}
}

// handshake is one; a lost SYN is sent again after a second and counts so.
func (p prober) handshake(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	began := time.Now()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.address)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }() // nothing was sent
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return 0, net.ErrClosed
	}
	return handshakeTime(tcp, time.Since(began))
}
