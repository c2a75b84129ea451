package network

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// pace is how often counters are read and reported, and how long is waited
// before something that failed is tried again.
const pace = 100 * time.Millisecond

// dial connects, by TCP with its usual options (no delay, default buffers).
func dial(ctx context.Context, addr string, patience time.Duration) (*net.TCPConn, error) {
	d := net.Dialer{Timeout: patience}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// request asks for one thing on a connection of its own, and returns the text
// of the answer.
func request(ctx context.Context, method, path, addr, node string, patience time.Duration) (string, error) {
	conn, err := dial(ctx, addr, patience)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }() // the answer is what counts
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
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
	var text strings.Builder
	for text.Len() < int(length) {
		b, err := l.r.ReadByte()
		if err != nil {
			return "", unexpected(err)
		}
		text.WriteByte(b)
	}
	return text.String(), nil
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
		select {
		case <-ctx.Done():
			return silence("heard from", peer, addr, stall, fmt.Errorf("saying goodbye: %w", err))
		case <-time.After(pace):
		}
	}
}
