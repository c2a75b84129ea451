package network

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// What can be asked of a server, and by what name a client asks.
const (
	pathObject  = "/object"  // GET receives it, PUT sends one
	pathEcho    = "/echo"    // GET: from then on every byte comes back
	pathMessage = "/message" // GET with a length: from then on each so many bytes come back together
	pathIperf3  = "/iperf3"  // GET: the port of the client's own iperf3 server
	pathGoodbye = "/goodbye" // POST: the client is done
	headerNode  = "Scalebench-Node"
)

// maxHeader bounds what a header may take, in bytes.
const maxHeader = 8 << 10

// link is one end of an HTTP/1.1 connection. Headers are read through a
// buffer; of a body, only what came with the header is.
type link struct {
	net.Conn
	limit io.LimitedReader
	r     *bufio.Reader
}

func newLink(conn net.Conn) *link {
	l := &link{Conn: conn, limit: io.LimitedReader{R: conn}}
	l.r = bufio.NewReaderSize(&l.limit, 4096)
	return l
}

// allow lets the other end send a header, or the head of a body.
func (l *link) allow() { l.limit.N = maxHeader }

// ask sends a request; length is that of the body that follows.
func (l *link) ask(method, path, host, node string, length int64) error {
	_, err := io.WriteString(l, askText(method, path, host, node, length))
	return err
}

func askText(method, path, host, node string, length int64) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\n%s: %s\r\nContent-Length: %d\r\n\r\n", method, path, host, headerNode, node, length)
}

// errFatal marks errors that trying again will not mend.
var errFatal = errors.New("not retried")

// answer reads the header of a response, and returns the length of the body,
// or why the server refused. What it refuses for good is errFatal.
func (l *link) answer() (int64, error) {
	l.allow()
	status, length, err := readAnswer(l.r)
	switch {
	case err != nil:
		return 0, err
	case status >= 100 && status < 300:
		return length, nil
	case status == http.StatusForbidden:
		return 0, fmt.Errorf("it refuses this node, which came from another address than it was told (status %d): start this node's agent with --label %s=ADDRESS; the standard error of the peer's task names the address it saw: %w", status, model.LabelAddress, errFatal)
	case status >= 400 && status < 500:
		return 0, fmt.Errorf("it answers with status %d: %w", status, errFatal)
	}
	return 0, fmt.Errorf("it answers with status %d", status)
}

// readAnswer reads a response's status and the length of its body, 0 without
// one. What is not HTTP is errFatal.
func readAnswer(r *bufio.Reader) (status int, length int64, err error) {
	answer, err := http.ReadResponse(r, nil) //nolint:bodyclose // its body is read from the link
	var network net.Error
	var cut textproto.ProtocolError // a header without its end
	switch {
	case err == nil && answer.StatusCode >= 100:
		return answer.StatusCode, max(answer.ContentLength, 0), nil
	case err == nil:
		return 0, 0, fmt.Errorf("it answers with the impossible status %q: %w", answer.Status, errFatal)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &network), errors.As(err, &cut):
		return 0, 0, err
	}
	return 0, 0, fmt.Errorf("it does not speak HTTP: %w: %w", err, errFatal)
}

// body receives n bytes: it compares the head with what it must be, and drops
// the rest. It calls took for each piece.
func (l *link) body(n int64, head []byte, took func(int64)) error {
	l.allow()
	got := make([]byte, min(n, int64(len(head))))
	if _, err := io.ReadFull(l.r, got); err != nil {
		return unexpected(err)
	}
	if string(got) != string(head[:len(got)]) {
		return fmt.Errorf("the received bytes differ from those sent; something on the way changes them: %w", errFatal)
	}
	took(int64(len(got)))
	n -= int64(len(got))
	k, err := l.r.Discard(int(min(n, int64(l.r.Buffered()))))
	took(int64(k))
	if err != nil {
		return unexpected(err)
	}
	return discard(l.Conn, n-int64(k), took)
}

// unexpected says of an end that it was too early.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// pace is how often counters are read and reported, and how long is waited
// before something that failed is tried again.
const pace = 100 * time.Millisecond

// dial connects, by TCP with its usual options (no delay, default buffers); segment is
// the largest segment, 0: what the network takes.
func dial(ctx context.Context, addr string, patience time.Duration, segment int) (*net.TCPConn, error) {
	d := net.Dialer{Timeout: patience}
	if segment > 0 {
		d.Control = smallSegments(segment)
	}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// interrupt lets reads and writes fail when ctx ends; the connection stays open.
func interrupt(ctx context.Context, conn net.Conn) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
}

// request asks for one thing on a connection of its own, and returns the text
// of the answer.
func request(ctx context.Context, method, path, addr, node string, patience time.Duration) (string, error) {
	conn, err := dial(ctx, addr, patience, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }() // the answer is what counts
	defer interrupt(ctx, conn)()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	l := newLink(conn)
	if err := l.ask(method, path, addr, node, 0); err != nil {
		return "", err
	}
	length, err := l.answer()
	if err == nil && length > 1024 {
		err = errFatal
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: an answer of %d bytes: %w", method, path, length, err)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(l.r, text); err != nil {
		return "", unexpected(err)
	}
	return string(text), nil
}

// goodbye tells a peer that this node is done with it, until the peer has
// heard it or stall is over.
func goodbye(ctx context.Context, peer model.Host, addr, node string, stall time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, stall)
	defer cancel()
	for {
		_, err := request(ctx, "POST", pathGoodbye, addr, node, stall)
		if err == nil {
			return nil
		}
		if workload.Pause(ctx, pace) != nil {
			return silence("heard from", peer, addr, stall, fmt.Errorf("saying goodbye: %w", err))
		}
	}
}
