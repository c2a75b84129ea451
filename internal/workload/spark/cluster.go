package spark

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// The nodes speak with the first one over a connection each, in lines of JSON. It
// tells when the master is there, and its end ends the worker: however the first
// node's task ends, no worker outlives it.
//
//	worker  {"node":"lab-2","crc":12345}
//	first   {"master":"spark://10.213.0.1:7077","secret":"…"}
//	worker  {"registered":true}     or {"error":"…"}, now or later
//	first   {"done":true}
type message struct {
	Node       model.NodeID `json:"node,omitempty"`
	CRC        uint32       `json:"crc,omitempty"`  // of the worker's data
	Part       *part        `json:"part,omitempty"` // that the worker has, if they differ
	Master     string       `json:"master,omitempty"`
	Secret     string       `json:"secret,omitempty"`
	Registered bool         `json:"registered,omitempty"`
	Error      string       `json:"error,omitempty"`
	Done       bool         `json:"done,omitempty"`
}

// line is a connection that carries messages.
type line struct {
	conn net.Conn
	in   *bufio.Scanner
}

func newLine(conn net.Conn) *line {
	l := &line{conn, bufio.NewScanner(conn)}
	l.in.Buffer(nil, longestLine)
	return l
}

// longestLine has room for a part with ten million addresses.
const longestLine = 4 << 20

func (l *line) send(m message) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = l.conn.Write(append(text, '\n'))
	return err
}

// errGone says that the other end has closed the connection.
var errGone = errors.New("the connection has ended")

func (l *line) receive() (m message, err error) {
	if !l.in.Scan() {
		return m, errors.Join(errGone, l.in.Err())
	}
	return m, json.Unmarshal(l.in.Bytes(), &m)
}

// first is the first node's end: the connections of the others.
type first struct {
	listener net.Listener
	expected []model.Host // the other nodes
	allowed  []string     // their addresses

	parts []*part // of those that have come

	mu      sync.Mutex
	lines   []*line
	reading sync.WaitGroup
}

// listen opens the port on which the other nodes come. Who has the address of none
// is turned away: the secret of the cluster is told here.
func listen(ctx context.Context, at string, others []model.Host) (*first, error) {
	f := &first{expected: others}
	for _, h := range others {
		addresses, err := net.DefaultResolver.LookupHost(ctx, h.Address)
		if err != nil {
			return nil, fmt.Errorf("looking up node %s: %w", h.Node, err)
		}
		f.allowed = append(f.allowed, addresses...)
	}
	var err error
	if f.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", at); err != nil {
		return nil, fmt.Errorf("opening the port for the other nodes: %w", err)
	}
	return f, nil
}

// gather waits until each of the others has come and said hello.
func (f *first) gather(ctx context.Context, crc uint32) error {
	defer context.AfterFunc(ctx, func() { _ = f.listener.Close() })()
	come := make(map[model.NodeID]bool)
	for len(come) < len(f.expected) {
		conn, err := f.listener.Accept()
		if err != nil {
			return errors.Join(context.Cause(ctx), fmt.Errorf("waiting for %d of %d nodes: %w", len(f.expected)-len(come), len(f.expected), err))
		}
		l := newLine(conn)
		var hello message
		if host, _, _ := net.SplitHostPort(conn.RemoteAddr().String()); slices.Contains(f.allowed, host) {
			_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second)) // else reading fails
			hello, _ = l.receive()
			_ = conn.SetReadDeadline(time.Time{})
		}
		if come[hello.Node] || !slices.ContainsFunc(f.expected, func(h model.Host) bool { return h.Node == hello.Node }) {
			_ = conn.Close() // a stranger
			continue
		}
		f.mu.Lock()
		f.lines = append(f.lines, l)
		f.mu.Unlock()
		come[hello.Node] = true
		f.parts = append(f.parts, hello.Part)
		if hello.CRC != crc {
			return fmt.Errorf("node %s has made other data than the first node: are its processor or its scalebench of another kind?", hello.Node)
		}
	}
	return nil
}

// begin tells the others where the master is, and returns when all of their
// workers have registered. From then on trouble is called for the first that
// fails.
func (f *first) begin(ctx context.Context, m message, trouble func(error)) error {
	registered := make(chan error, 2*len(f.lines)) // one may register, and fail later
	for _, l := range f.lines {
		if err := l.send(m); err != nil {
			return fmt.Errorf("the worker at %s: %w", l.conn.RemoteAddr(), err)
		}
		f.reading.Go(func() {
			for {
				m, err := l.receive()
				if err == nil && m.Error != "" {
					err = errors.New(m.Error)
				}
				if err != nil {
					err = fmt.Errorf("the worker at %s: %w", l.conn.RemoteAddr(), err)
					registered <- err
					trouble(err)
					return
				}
				registered <- nil
			}
		})
	}
	for range f.lines {
		select {
		case err := <-registered:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// end tells the others that it is over. It may be called more than once.
func (f *first) end() {
	_ = f.listener.Close() // it may be closed
	f.mu.Lock()
	for _, l := range f.lines {
		_ = l.send(message{Done: true}) // who has gone needs not be told
		_ = l.conn.Close()
	}
	f.lines = nil
	f.mu.Unlock()
	f.reading.Wait()
}

// join connects to the first node, says hello and returns what it answers.
func join(ctx context.Context, at string, hello message) (*line, message, error) {
	conn, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "tcp", at)
	if err != nil {
		return nil, message{}, fmt.Errorf("connecting to the first node: %w", err)
	}
	l := newLine(conn)
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err = l.send(hello); err == nil {
		var m message
		if m, err = l.receive(); err == nil {
			return l, m, nil
		}
	}
	return nil, message{}, errors.Join(context.Cause(ctx), fmt.Errorf("the first node at %s gave no answer: %w", at, err), conn.Close())
}
