package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// server gives the object to the clients of one task and takes theirs. It
// serves nothing else, and no others: a client names its node in every request,
// and must come from that node's address. That is not authentication: a program
// between two nodes, or on a client's machine, can pass for the client. It
// listens only while the task lives.
type server struct {
	listener net.Listener
	object   *object // nil where nothing is received from here
	head     []byte  // of what is sent to here
	clients  *clients
	patience time.Duration // for a header
	slots    chan struct{} // one for each open connection
	// Strangers get a refusal, a few at a time, and take no place of a client.
	strangers chan struct{}
	complain  func(netip.Addr) // the first time that one comes
	work      sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil when closed
}

// address is where a task listens: its port plus the node's slot.
func address(h model.Host, port int) (string, error) {
	if h.Address == "" {
		return "", fmt.Errorf("the address at which other nodes reach %s is unknown; start its agent with --label %s=ADDRESS", h.Node, model.LabelAddress)
	}
	p := port + h.Slot
	if p > 65535 {
		return "", fmt.Errorf("%s would need port %d (port %d plus its slot %d); use a smaller port", h.Node, p, port, h.Slot)
	}
	return net.JoinHostPort(h.Address, strconv.Itoa(p)), nil
}

// listen starts a server on the node's own address alone.
func listen(ctx context.Context, env *workload.Env, s settings, o *object) (*server, error) {
	addr, err := address(env.Self, s.port)
	if err != nil {
		return nil, err
	}
	cs := newClients(env.Clients)
	if err := cs.locate(ctx); err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	lc.SetMultipathTCP(false) // one path is what is measured
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening on %s for other nodes (use another `port`, or set the right address with the label `%s`): %w", addr, model.LabelAddress, err)
	}
	// Each client has its transfers, an echo and a goodbye; the same again is
	// room for connections that are being replaced.
	room := 2*len(env.Clients)*(2*s.connections+2) + 8
	srv := &server{
		listener: l, object: o, head: pattern(headSize), clients: cs,
		patience: 2*s.stall + s.warmUp, slots: make(chan struct{}, room), conns: make(map[net.Conn]struct{}),
		strangers: make(chan struct{}, maxStrangers), complain: complainer(env.Stderr, cs),
	}
	srv.work.Go(srv.accept)
	return srv, nil
}

// accept takes connections until the listener is closed.
func (s *server) accept() {
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors, perhaps: let others end first
			<-time.After(pace)
			continue
		}
		if !s.admit(conn) {
			_ = conn.Close() // too many, or closing
		}
	}
}

// maxStrangers is how many may get a refusal at a time, and strangerPatience how
// long that may take.
const (
	maxStrangers     = 4
	strangerPatience = time.Second
)

// complainer says once, for people, that a stranger came: a scanner, or a
// client with another address than this node was told.
func complainer(to io.Writer, cs *clients) func(netip.Addr) {
	var once sync.Once
	return func(a netip.Addr) {
		once.Do(func() {
			var names []string
			for _, c := range cs.order {
				names = append(names, name(c.host))
			}
			_, _ = fmt.Fprintf(to, "network: refused a request from %v: this task serves only %s; if it is one of them, start its agent with --label %s=%v\n",
				a, strings.Join(names, ", "), model.LabelAddress, a) // the client gets it, too
		})
	}
}

// admit serves the connection if there is a slot left.
func (s *server) admit(conn net.Conn) bool {
	slots, serve := s.slots, s.serve
	if !s.clients.known(remote(conn)) {
		slots, serve = s.strangers, s.refuse
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		return false
	}
	select {
	case slots <- struct{}{}:
	default:
		return false
	}
	s.conns[conn] = struct{}{}
	s.work.Go(func() {
		serve(newLink(conn), remote(conn))
		_ = conn.Close() // whatever it was, the client notices
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
		<-slots
	})
	return true
}

// refuse reads a stranger's request, so that the answer arrives, and says no.
func (s *server) refuse(l *link, from netip.Addr) {
	_ = l.SetDeadline(time.Now().Add(strangerPatience)) // fails when closed, as the next read does
	l.allow()
	if _, err := http.ReadRequest(l.r); err != nil {
		return
	}
	s.forbid(l, from)
}

// forbid says no.
func (s *server) forbid(l *link, from netip.Addr) {
	s.complain(from)
	_ = reply(l, http.StatusForbidden, "this task serves only its own nodes, each from its own address\n") // it may be gone already
}

// close ends all connections and returns when nothing is left. It may be
// called again.
func (s *server) close() error {
	err := s.listener.Close()
	s.mu.Lock()
	for conn := range s.conns {
		reset(conn)
	}
	s.conns = nil
	s.mu.Unlock()
	s.work.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// reset closes a connection and drops what is still to be sent: it would go
// on to load the network when the measurement is over.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // closing is what counts
	}
	_ = conn.Close()
}

// serve answers requests until the client has enough. Errors need no report:
// the client sees them, too, and counts them.
func (s *server) serve(l *link, from netip.Addr) {
	for {
		_ = l.SetReadDeadline(time.Now().Add(s.patience)) // fails when closed, as the next read does
		l.allow()
		req, err := http.ReadRequest(l.r)
		if err != nil {
			return
		}
		_ = l.SetReadDeadline(time.Time{})
		c := s.clients.byNode[req.Header.Get(headerNode)]
		if c == nil || !s.clients.from(c, from) {
			s.forbid(l, from)
			return
		}
		if err := s.answer(l, req, c); err != nil {
			return
		}
	}
}

// answer does what one request asks for. An error ends the connection.
func (s *server) answer(l *link, req *http.Request, c *client) error {
	s.clients.heard(c)
	switch req.Method + " " + req.URL.Path {
	case "GET " + pathObject:
		return s.give(l, c)
	case "PUT " + pathObject:
		return s.take(l, c, req.ContentLength)
	case "GET " + pathEcho:
		return s.echo(l, c)
	case "GET " + pathMessage:
		return s.message(l, c, req.ContentLength)
	case "GET " + pathIperf3:
		return reply(l, http.StatusOK, strconv.Itoa(c.port))
	case "POST " + pathGoodbye:
		return s.farewell(l, c)
	}
	return errors.Join(reply(l, http.StatusNotFound, ""), errFatal)
}

// give sends the object.
func (s *server) give(l *link, c *client) error {
	if s.object == nil {
		return errors.Join(reply(l, http.StatusNotFound, ""), errFatal)
	}
	if err := respond(l, http.StatusOK, s.object.size); err != nil {
		return err
	}
	return sendFile(l.Conn, s.object.file, s.object.size, func(int64) { s.clients.heard(c) })
}

// take receives what a client sends.
func (s *server) take(l *link, c *client, length int64) error {
	if length < 0 {
		return errors.Join(reply(l, http.StatusLengthRequired, ""), errFatal)
	}
	if err := l.body(length, s.head, func(int64) { s.clients.heard(c) }); err != nil {
		if errors.Is(err, errFatal) {
			_ = reply(l, http.StatusBadRequest, "not the object\n") // the error ends the connection anyway
		}
		return err
	}
	return reply(l, http.StatusOK, "")
}

// echo returns every byte until the client has enough.
func (s *server) echo(l *link, c *client) error {
	if err := respond(l, http.StatusOK, 0); err != nil {
		return err
	}
	var buffer [64]byte
	for {
		l.limit.N = int64(len(buffer)) // what comes is bounded by what is returned
		n, err := l.r.Read(buffer[:])
		if err != nil {
			return err
		}
		s.clients.heard(c)
		if _, err := l.Write(buffer[:n]); err != nil {
			return err
		}
	}
}

// farewell lets a client go when it has got the answer, which is when it ends
// the connection: the last one that goes ends the server.
func (s *server) farewell(l *link, c *client) error {
	if err := reply(l, http.StatusOK, ""); err != nil {
		return err
	}
	_ = l.SetReadDeadline(time.Now().Add(s.patience)) // fails when closed, as the next read does
	l.allow()
	_, err := l.r.ReadByte()
	s.clients.goodbye(c)
	return errors.Join(err, errFatal) // nothing more is expected
}

func respond(l *link, status int, length int64) error {
	_, err := fmt.Fprintf(l, "HTTP/1.1 %d %s\r\nContent-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n", status, http.StatusText(status), length)
	return err
}

func reply(l *link, status int, text string) error {
	if err := respond(l, status, int64(len(text))); err != nil {
		return err
	}
	_, err := io.WriteString(l, text)
	return err
}
