// Package http1 offers load to http:// servers with HTTP/1.1, from event loops
// that cost less than the server does: the fast path of package load. Linux
// only; elsewhere, and for https:// and HTTP/2, there is package
// load/httpstd.
//
// [New] makes ready-made bytes of the requests, looks up the hosts, and makes
// the loops. Each loop is a goroutine on a thread of its own, with its own
// share of the plan, its own connections, epoll set, and counts: loops share
// nothing while they run. A turn of a loop:
//
//  1. It waits until something happens on a connection, or an operation is
//     due, or one has taken too long (poller).
//  2. It reads what came, and reads the answers in it (reply). An answer that
//     is whole ends its operation; the connection is free again.
//  3. It ends operations that take too long.
//  4. It sends what is due over the free connections, or opens further ones
//     while it may. If there is none, the operation waits, and so does what is
//     due after it: nothing is queued but the next operation (and some for
//     each origin, where there are several, so that one server that is slow
//     does not hold up what is for another).
//  5. It hands over the seconds that are past to the collector.
//
// What counts when:
//
//   - An operation is sent when its request is written or, if it opens a
//     connection, when the handshake begins. So the handshake is part of the
//     latency and of the service time of the operation that needed it.
//   - The timeout counts from when an operation was sent. One that is not sent
//     within the timeout after it was due is dropped.
//   - An operation whose connection is not there in time ended as
//     load.ErrConnect, one without a whole answer in time as load.ErrTimeout.
//   - The server may close a connection at the moment at which the next request
//     is on its way. That operation ends as load.ErrClosed; it is not repeated,
//     for nobody knows whether the server did it.
//
// The engine does not run out of ports, whatever the server does: where the
// server says that it will close a connection it is left to close it first, and
// a connection whose operation is given up is reset.
package http1
