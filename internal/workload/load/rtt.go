package load

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	engine "github.com/scalebench/scalebench/internal/load"
)

// prober makes TCP handshakes with a server at fixed times, whatever became of
// those before, and closes the connections again. If each waited for the one
// before, a path that is interrupted would be probed once and no more.
type prober struct {
	address string // host:port
	every   time.Duration
}

// handshakeWithin bounds a handshake. A lost SYN is sent again after 1 s, and
// once more 2 s later.
const handshakeWithin = 3 * time.Second

// run probes until ctx is done. Times are since start.
func (p prober) run(ctx context.Context, start time.Time) []engine.Handshake {
	var (
		mu  sync.Mutex
		out []engine.Handshake
		all sync.WaitGroup
	)
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			all.Wait()
			slices.SortFunc(out, func(a, b engine.Handshake) int { return int(a.At - b.At) })
			return out
		case <-tick.C:
		}
		at := time.Since(start)
		all.Go(func() {
			took, lost, ok := p.handshake(ctx)
			if !ok {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			out = append(out, engine.Handshake{At: at, Took: took, Lost: lost})
		})
	}
}

// handshake is one. ok is false where it tells nothing of the path: the server
// refuses connections, which is seen by the load, or this end was told to stop.
func (p prober) handshake(ctx context.Context) (took time.Duration, lost, ok bool) {
	within, cancel := context.WithTimeout(ctx, handshakeWithin)
	defer cancel()
	began := time.Now()
	conn, err := (&net.Dialer{}).DialContext(within, "tcp", p.address)
	took = time.Since(began)
	if err != nil {
		return took, true, unreachable(err) || took >= resentAfter && unanswered(err)
	}
	defer func() { _ = conn.Close() }() // nothing was sent
	tcp, isTCP := conn.(*net.TCPConn)
	if !isTCP {
		return 0, false, false
	}
	return handshakeTime(tcp, took)
}

// resentAfter is when a SYN that was not answered is sent again (RFC 6298); a
// handshake that takes as long has lost something on the way.
const resentAfter = time.Second

// unanswered reports whether a handshake was given up for want of an answer.
func unanswered(err error) bool {
	var failure net.Error
	return errors.Is(err, context.Canceled) || errors.As(err, &failure) && failure.Timeout()
}

// unreachable reports whether there was no way to the server.
func unreachable(err error) bool {
	return errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.ENETDOWN)
}
