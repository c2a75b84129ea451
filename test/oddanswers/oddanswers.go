// Package oddanswers has answers in HTTP/1.1 that servers give and few clients are
// tried with: legal ones, which every engine has to take, and others, which it has
// to refuse for the right reason. Most are from RFC 9112; the sections stand
// beside them.
package oddanswers

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/test/servers"
)

// Answer is one to a request.
type Answer struct {
	Name string
	// Text is all of it, as it goes over the connection.
	Text string
	// Closes: the server closes the connection behind it.
	Closes bool
	// Head: it answers a HEAD.
	Head bool
	// Status is that of the final answer; 0: 200.
	Status int
	// Wrong is a part of the error, where it must be refused.
	Wrong string
}

const (
	ok   = "HTTP/1.1 200 OK\r\n"
	two  = "Content-Length: 2\r\n\r\nok"
	many = "Transfer-Encoding: chunked\r\n\r\n"
)

// Legal are those that have to be taken.
func Legal() []Answer {
	return []Answer{
		{Name: "folded header (5.2)", Text: ok +
			"Content-Security-Policy: script-src 'self' \r\n    https://a.example \r\n\thttps://b.example;\r\n" + two},
		{Name: "fold of space alone (5.2)", Text: ok + "X-A: 1\r\n \t \r\n" + two},
		{Name: "folded length (5.2)", Text: ok + "Content-Length:\r\n\t2\r\n\r\nok"},
		{Name: "folded encoding (5.2)", Text: ok + "Transfer-Encoding:\r\n chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"},
		{Name: "folded trailer (7.1.2)", Text: ok + many + "2\r\nok\r\n0\r\nX-Sum: 1\r\n 2\r\n\r\n"},
		{Name: "space before the first header (2.2)", Text: ok + " X-A: 1\r\n" + two},
		{Name: "space before a colon (5.1)", Text: ok + "X-A : 1\r\n" + two},
		{Name: "space before the colon of the length (5.1)", Text: ok + "Content-Length\t : 2\r\n\r\nok"},
		{Name: "no space after a colon (5.1)", Text: ok + "X-A:1\r\nContent-Length:2\r\n\r\nok"},
		{Name: "space around a value (5.1)", Text: ok + "Content-Length: \t 2 \t \r\n\r\nok"},
		{Name: "empty value (5.5 of RFC 9110)", Text: ok + "X-A:\r\nX-B: \r\n" + two},
		{Name: "characters beyond ASCII (5.5 of RFC 9110)", Text: ok + "X-A: caf\xe9 \xe2\x82\xac\r\n" + two},
		{Name: "names in any case (5)", Text: ok + "cONTENT-lENGTH: 2\r\n\r\nok"},
		{Name: "all characters of names (5.6.2 of RFC 9110)", Text: ok + "!#$%&'*+-.^_`|~1: x\r\n" + two},
		{Name: "long header line", Text: ok + "X-A: " + strings.Repeat("y", 70_000) + "\r\n" + two},
		{Name: "many headers", Text: ok + strings.Repeat("X-A: 1\r\n", 1200) + two},
		{Name: "empty lines first (2.2)", Text: "\r\n\r\n" + ok + two},
		{Name: "line feeds alone (2.2)", Text: "HTTP/1.1 200 OK\nX-A: 1\nContent-Length: 2\n\nok"},
		{Name: "chunks with line feeds alone (2.2)",
			Text: "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nok\n0\n\n"},
		{Name: "no reason (4)", Text: "HTTP/1.1 200\r\n" + two},
		{Name: "empty reason (4)", Text: "HTTP/1.1 200 \r\n" + two},
		{Name: "spaces in the status line (4)", Text: "HTTP/1.1  200\tfine\r\n" + two},
		{Name: "reason beyond ASCII (4)", Text: "HTTP/1.1 200 d\xc3\xa9j\xc3\xa0 vu\r\n" + two},
		{Name: "later version (2.5 of RFC 9110)", Text: "HTTP/1.2 200 OK\r\n" + two},
		{Name: "length twice (6.3)", Text: ok + "Content-Length: 2\r\n" + two},
		{Name: "list of one length (6.3)", Text: ok + "Content-Length: 2, 2 ,2\r\n\r\nok"},
		{Name: "length with zeros (6.2)", Text: ok + "Content-Length: 0000000000000000000002\r\n\r\nok"},
		{Name: "length 0 (6.2)", Text: ok + "Content-Length: 0\r\n\r\n"},
		{Name: "until the connection closes (6.3)", Text: ok + "\r\nok", Closes: true},
		{Name: "nothing until the connection closes (6.3)", Text: ok + "\r\n", Closes: true},
		{Name: "HTTP/1.0 (6.3)", Text: "HTTP/1.0 200 OK\r\n\r\nok", Closes: true},
		{Name: "HTTP/1.0 with a length", Text: "HTTP/1.0 200 OK\r\n" + two, Closes: true},
		{Name: "HTTP/1.0 kept alive (9.3)", Text: "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n" + two},
		{Name: "encoding in any case (7)", Text: ok + "transfer-encoding: CHUNKED \r\n\r\n2\r\nok\r\n0\r\n\r\n"},
		{Name: "encoding in a list with empty elements (5.6.1 of RFC 9110)",
			Text: ok + "Transfer-Encoding: , chunked,\r\n\r\n2\r\nok\r\n0\r\n\r\n"},
		{Name: "chunk extensions (7.1.1)", Text: ok + many + "2;a;b=c ; d = \"e;f\\\"g\"\r\nok\r\n0;last\r\n\r\n"},
		{Name: "chunk sizes with zeros, capitals, space (7.1)",
			Text: ok + many + "0000000A \r\n0123456789\r\n00\r\n\r\n"},
		{Name: "no chunk (7.1)", Text: ok + many + "0\r\n\r\n"},
		{Name: "trailers (7.1.2)", Text: ok + "Trailer: X-Sum\r\n" + many +
			"2\r\nok\r\n0\r\nX-Sum : 12\r\nX-B:\r\n\r\n"},
		{Name: "a length among the trailers (6.5.1 of RFC 9110)",
			Text: ok + many + "2\r\nok\r\n0\r\nContent-Length: 7\r\n\r\n"},
		{Name: "interim answers (15.2 of RFC 9110)",
			Text: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>;\r\n rel=preload\r\n\r\n" + ok +
				two},
		{Name: "204 (6.3)", Text: "HTTP/1.1 204 No Content\r\n\r\n", Status: 204},
		{Name: "204 with a length of 0", Text: "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", Status: 204},
		{Name: "205 (15.3.6 of RFC 9110)", Text: "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n",
			Status: 205},
		{Name: "304 with the length of what it stands for (6.3)",
			Text: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", Status: 304},
		{Name: "HEAD with a length (6.3)", Text: ok + "Content-Length: 5\r\n\r\n", Head: true},
		{Name: "HEAD with chunks (6.3)", Text: ok + many, Head: true},
		{Name: "close in a list (9.6)", Text: ok + "Connection: x-y , CLOSE\r\n" + two, Closes: true},
		{Name: "close in the second of two headers (9.6)",
			Text: ok + "Connection: keep-alive\r\nConnection:close\r\n" + two, Closes: true},
		{Name: "close in a fold (9.6)", Text: ok + "Connection: keep-alive,\r\n close\r\n" + two, Closes: true},
	}
}

// Illegal are those that have to be refused.
func Illegal() []Answer {
	return []Answer{
		{Name: "two lengths (6.3)", Text: ok + "Content-Length: 1\r\n" + two, Wrong: "contradictory Content-Length"},
		{Name: "list of two lengths (6.3)", Text: ok + "Content-Length: 2, 1\r\n\r\nok",
			Wrong: "contradictory Content-Length"},
		{Name: "signed length (6.2)", Text: ok + "Content-Length: +2\r\n\r\nok",
			Wrong: "malformed or contradictory Content-Length: \"+2\""},
		{Name: "hexadecimal length (6.2)", Text: ok + "Content-Length: 0x2\r\n\r\nok", Wrong: "malformed"},
		{Name: "length and chunks (6.3)",
			Text:  ok + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nok\r\n0\r\n\r\n",
			Wrong: "both Transfer-Encoding and Content-Length"},
		{Name: "identity (7)", Text: ok + "Transfer-Encoding: identity\r\n" + two,
			Wrong: "unsupported Transfer-Encoding"},
		{Name: "chunked twice (7.1)", Text: ok + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
			Wrong: "unsupported Transfer-Encoding"},
		{Name: "chunks in HTTP/1.0 (6.1)", Text: "HTTP/1.0 200 OK\r\n" + many + "0\r\n\r\n",
			Wrong: "unsupported Transfer-Encoding"},
		{Name: "no colon (5)", Text: ok + "garbage\r\n" + two, Wrong: "malformed header: \"garbage\""},
		{Name: "no name (5)", Text: ok + ": 1\r\n" + two, Wrong: "malformed header"},
		{Name: "space in a name (5)", Text: ok + "X A: 1\r\n" + two, Wrong: "malformed header"},
		{Name: "NUL (5.5 of RFC 9110)", Text: ok + "X-A: a\x00b\r\n" + two, Wrong: "malformed header"},
		{Name: "carriage return alone (2.2)", Text: ok + "X-A: a\rb\r\n" + two, Wrong: "malformed header"},
		{Name: "chunk without a size (7.1)", Text: ok + many + "\r\nok\r\n0\r\n\r\n", Wrong: "malformed chunk"},
		{Name: "chunk that is too long (7.1)", Text: ok + many + "1\r\nok\r\n0\r\n\r\n", Wrong: "malformed chunk"},
		{Name: "another protocol", Text: "ICY 200 OK\r\n" + two, Wrong: "does not begin with HTTP/1"},
		{Name: "an upgrade nobody asked for (15.2.2 of RFC 9110)",
			Text: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", Wrong: "not asked for"},
		{Name: "header without an end", Text: ok + "X-A: " + strings.Repeat("y", 300_000),
			Wrong: "the header of the answer is larger than the 256KiB allowed"},
		{Name: "body beyond the limit", Text: ok + "Content-Length: 1000001\r\n\r\n",
			Wrong: "the body of the answer is larger than the 1MB allowed"},
		{Name: "chunk beyond the limit", Text: ok + many + "F4241\r\n",
			Wrong: "the body of the answer is larger than the 1MB allowed"},
	}
}

// MaxBody is the limit of a body that Illegal counts on.
const MaxBody = 1_000_000

// Serve answers every request with an answer, over TLS if there is a
// configuration, until the test ends. It returns host:port.
func Serve(t testing.TB, a Answer, config *tls.Config) string {
	t.Helper()
	return servers.Serve(t, func(c net.Conn) {
		if config != nil {
			c = tls.Server(c, config)
		}
		a.serve(c)
	})
}

// serve gives the answer to each request of a connection.
func (a Answer) serve(c net.Conn) {
	defer func() { _ = c.Close() }() // over TLS, with a word of it
	r := bufio.NewReader(c)
	for {
		q, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, q.Body)
		if _, err := io.WriteString(c, a.Text); err != nil || a.Closes {
			return
		}
	}
}
