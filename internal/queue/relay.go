package queue

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// Relay lets agents in network namespaces of their own reach the queue, which
// they have no route to: it listens on a Unix socket, with a path that leads across
// network namespaces, and copies each connection to the server that the other
// end asks for. Heartbeats, orders and results then never travel over the
// links of a lab, which are shaped and measured: they would take from the very
// capacity that is being measured, and a link that is full or down would make
// a node look lost.
//
// What passes is as well protected as without it: TLS, where there is any,
// ends at the server and not here.
//
// The other end begins with a line: the address, "host:port".
type Relay struct {
	info    ServerInfo
	allowed []string // "host:port", the only addresses that are connected to
	lis     *net.UnixListener
	log     *slog.Logger

	// done ends when the relay is closed.
	done context.Context
	end  context.CancelFunc
	wg   sync.WaitGroup
}

const (
	// maxSocketPath is what every Unix has room for in an address, in bytes,
	// without the final NUL.
	maxSocketPath = 103
	// maxPreface bounds the line with which a connection begins, in bytes.
	maxPreface = 512
	// relayWait bounds connecting on either side of a relay.
	relayWait = 5 * time.Second
)

// StartRelay listens on a socket that does not exist yet and leads to the
// servers of info. Only this user can connect, even before the socket has its
// mode, if the directory is closed to others. A path that is too long for a
// socket is a model.ErrUsage.
func StartRelay(path string, info ServerInfo, log *slog.Logger) (*Relay, error) {
	if len(path) > maxSocketPath {
		return nil, model.Usagef("the path of the socket %s is too long: %d bytes, and the limit is %d", path, len(path),
			maxSocketPath)
	}
	r := &Relay{info: info, log: cmp.Or(log, slog.New(slog.DiscardHandler))}
	r.done, r.end = context.WithCancel(context.Background())
	r.info.Socket = path
	for _, s := range info.Servers {
		address, err := addressOf(s)
		if err != nil {
			r.end()
			return nil, err
		}
		r.allowed = append(r.allowed, address)
	}
	lis, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listening for the agents of the lab: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = lis.Close() // the first error matters
		return nil, fmt.Errorf("closing the socket to others: %w", err)
	}
	r.lis = lis
	r.wg.Go(r.accept)
	return r, nil
}

// addressOf returns "host:port" of a server's URL, as a client dials it.
func addressOf(server string) (string, error) {
	u, err := parseServer(server)
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "4222")), nil // the port of NATS
}

// Info is what an agent needs to connect through the relay.
func (r *Relay) Info() ServerInfo { return r.info }

// Close ends all connections, removes the socket and waits until both is done.
func (r *Relay) Close() error {
	r.end()
	err := r.lis.Close()
	r.wg.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil // closed before
	}
	return err
}

func (r *Relay) accept() {
	for {
		conn, err := r.lis.AcceptUnix()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // out of file descriptors, most likely: for a while
			r.log.Error("the relay of the lab cannot accept a connection", "err", err)
			_ = pause(r.done, backoff(1)) // when it is closed, so is the listener
		default:
			r.wg.Go(func() { r.serve(conn) })
		}
	}
}

// closing closes a connection when the relay is closed, or when the returned
// function is called: both ends have been told all there is then.
func (r *Relay) closing(c net.Conn) (now func()) {
	stop := context.AfterFunc(r.done, func() { _ = c.Close() })
	return func() {
		stop()
		_ = c.Close()
	}
}

// serve copies one connection until either side ends.
func (r *Relay) serve(near *net.UnixConn) {
	defer r.closing(near)()
	_ = near.SetReadDeadline(time.Now().Add(relayWait)) // fails only when closed
	in := bufio.NewReaderSize(near, maxPreface)
	line, err := in.ReadSlice('\n')
	address := strings.TrimSuffix(string(line), "\n")
	if err != nil || !slices.Contains(r.allowed, address) {
		r.log.Warn("the relay of the lab refuses a connection: it does not begin with the address of the server")
		return
	}
	_ = near.SetReadDeadline(time.Time{})
	far, err := (&net.Dialer{Timeout: relayWait}).DialContext(r.done, "tcp", address)
	if err != nil {
		r.log.Warn("the relay of the lab cannot reach the server", "err", err)
		return
	}
	defer r.closing(far)()
	r.wg.Go(func() {
		_, _ = io.Copy(near, far) // an end is an end; the agent connects again
		_ = near.Close()
		_ = far.Close()
	})
	// What came with the first line first, then the rest without a buffer in
	// between, so that the kernel can copy.
	if early, _ := in.Peek(in.Buffered()); len(early) > 0 {
		if _, err := far.Write(early); err != nil {
			return
		}
	}
	_, _ = io.Copy(far, near)
}

// socketDialer connects through a relay. It is a nats.CustomDialer.
type socketDialer string

// Dial connects to a server's address by way of the socket.
func (d socketDialer) Dial(_, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), relayWait)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", string(d))
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, address+"\n"); err != nil {
		_ = conn.Close() // the first error matters
		return nil, err
	}
	return conn, nil
}
