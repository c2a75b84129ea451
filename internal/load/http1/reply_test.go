package http1

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// outcome is what a reply makes of some input.
type outcome struct {
	Status int
	Whole  bool
	Last   bool
	Used   int // bytes; 0 where there is an error
	Err    error
}

// read feeds input in pieces of the lengths that next returns, and then the
// end.
func read(r *reply, input []byte, head bool, next func() int) outcome {
	r.begin(head)
	used := 0
	for used < len(input) && !r.whole() {
		end := min(used+next(), len(input))
		n, err := r.feed(input[used:end])
		used += n
		if err != nil {
			return outcome{Status: r.status, Err: err}
		}
	}
	r.end()
	return outcome{Status: r.status, Whole: r.whole(), Last: r.last, Used: used}
}

func newReply(maxHeader int, maxBody int64) *reply {
	return &reply{maxHeader: maxHeader, maxBody: maxBody}
}

// inPieces are ways to cut an input. All of them must come to the same.
func inPieces(input []byte) map[string]func() int {
	rng := rand.New(rand.NewPCG(1, uint64(len(input))))
	return map[string]func() int{
		"at once":       func() int { return max(len(input), 1) },
		"byte by byte":  func() int { return 1 },
		"random pieces": func() int { return 1 + rng.IntN(40) },
	}
}

func TestReply(t *testing.T) {
	for _, c := range []struct {
		name, input string
		head        bool
		want        outcome // Used: 0 is all
	}{
		{"content length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false, outcome{Status: 200, Whole: true}},
		{"no reason", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", false, outcome{Status: 200, Whole: true}},
		{"bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", false, outcome{Status: 200, Whole: true}},
		{"names in any case, space around values", "HTTP/1.1 200 OK\r\ncOnTeNt-LeNgTh: \t 5 \t\r\n\r\nhello", false, outcome{Status: 200, Whole: true}},
		{"the same length twice", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", false, outcome{Status: 200, Whole: true}},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", false, outcome{Status: 200, Err: errLength}},
		{"negative length", "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n", false, outcome{Status: 200, Err: errLength}},
		{"signed length", "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok", false, outcome{Status: 200, Err: errLength}},
		{"list of lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok", false, outcome{Status: 200, Err: errLength}},
		{"empty length", "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", false, outcome{Status: 200, Err: errLength}},
		{"length beyond 64 bits", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", false, outcome{Status: 200, Err: errLength}},
		{"length beyond the limit", "HTTP/1.1 200 OK\r\nContent-Length: 100001\r\n\r\n", false, outcome{Status: 200, Err: errBodySize}},
		{"too short", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", false, outcome{Status: 200}},
		{"another answer behind it", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n", false, outcome{Status: 200, Whole: true, Used: 40}},

		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA\r\n0123456789\r\n0\r\n\r\n", false, outcome{Status: 200, Whole: true}},
		{"chunked, extensions", "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5;a=b;c=\"d\"\r\nhello\r\n0 ; last\r\n\r\n", false, outcome{Status: 200, Whole: true}},
		{"chunked, trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 12\r\nX: y\r\n\r\n", false, outcome{Status: 200, Whole: true}},
		{"chunked wins over a length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", false, outcome{Status: 200, Whole: true}},
		{"chunked wins over length 0", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", false, outcome{Status: 200, Whole: true}},
		{"chunk with no size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\nhello\r\n0\r\n\r\n", false, outcome{Status: 200, Err: errChunk}},
		{"chunk of no hexadecimal size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n", false, outcome{Status: 200, Err: errChunk}},
		{"chunk longer than it says", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhello\r\n0\r\n\r\n", false, outcome{Status: 200, Err: errChunk}},
		{"chunk of a size beyond 64 bits", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", false, outcome{Status: 200, Err: errBodySize}},
		{"chunks beyond the limit", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1869f\r\n" + strings.Repeat("x", 0x1869f) + "\r\n2\r\n", false, outcome{Status: 200, Err: errBodySize}},
		{"no end of chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", false, outcome{Status: 200}},
		{"malformed trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nno colon\r\n\r\n", false, outcome{Status: 200, Err: errField}},
		{"another encoding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", false, outcome{Status: 200, Err: errEncoding}},
		{"chunked twice", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", false, outcome{Status: 200, Err: errEncoding}},
		{"chunked in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false, outcome{Status: 200, Err: errEncoding}},

		{"until the end", "HTTP/1.1 200 OK\r\n\r\nwhatever comes", false, outcome{Status: 200, Whole: true, Last: true}},
		{"nothing until the end", "HTTP/1.1 200 OK\r\n\r\n", false, outcome{Status: 200, Whole: true, Last: true}},
		{"close", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", false, outcome{Status: 200, Whole: true, Last: true}},
		{"close in a list", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: x-y,\tClose , z\r\n\r\nok", false, outcome{Status: 200, Whole: true, Last: true}},
		{"keep-alive", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok", false, outcome{Status: 200, Whole: true}},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", false, outcome{Status: 200, Whole: true, Last: true}},
		{"HTTP/1.0 kept alive", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok", false, outcome{Status: 200, Whole: true}},
		{"HTTP/1.0 until the end", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nok", false, outcome{Status: 200, Whole: true, Last: true}},

		{"answer to HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", true, outcome{Status: 200, Whole: true}},
		{"chunked answer to HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", true, outcome{Status: 200, Whole: true}},
		{"204", "HTTP/1.1 204 No Content\r\n\r\n", false, outcome{Status: 204, Whole: true}},
		{"304 with the length of what it does not send", "HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n", false, outcome{Status: 304, Whole: true}},
		{"interim answers", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false, outcome{Status: 200, Whole: true}},
		{"only an interim answer", "HTTP/1.1 100 Continue\r\n\r\n", false, outcome{Status: 100}},
		{"another protocol", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", false, outcome{Status: 101, Err: errUpgrade}},
		{"an unknown status", "HTTP/1.1 799 What\r\nContent-Length: 0\r\n\r\n", false, outcome{Status: 799, Whole: true}},

		{"nothing", "", false, outcome{}},
		{"an empty line first", "\r\nHTTP/1.1 200 OK\r\n", false, outcome{Err: errStatusLine}},
		{"not HTTP", "SSH-2.0-OpenSSH_9.6\r\n", false, outcome{Err: errStatusLine}},
		{"HTTP/2", "HTTP/2.0 200 OK\r\n", false, outcome{Err: errStatusLine}},
		{"HTTP/1.2", "HTTP/1.2 200 OK\r\n", false, outcome{Err: errStatusLine}},
		{"no status", "HTTP/1.1 OK\r\n", false, outcome{Err: errStatusLine}},
		{"four digits", "HTTP/1.1 2000 OK\r\n", false, outcome{Err: errStatusLine}},
		{"status below 100", "HTTP/1.1 099 OK\r\n", false, outcome{Err: errStatusLine}},
		{"no colon", "HTTP/1.1 200 OK\r\nContent-Length 2\r\n\r\n", false, outcome{Status: 200, Err: errField}},
		{"no name", "HTTP/1.1 200 OK\r\n: 2\r\n\r\n", false, outcome{Status: 200, Err: errField}},
		{"space before the colon", "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\n", false, outcome{Status: 200, Err: errField}},
		{"folded line", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n", false, outcome{Status: 200, Err: errField}},
		{"carriage return in a value", "HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n", false, outcome{Status: 200, Err: errField}},
		{"header beyond the limit", "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 2000), false, outcome{Status: 200, Err: errHeaderSize}},
		{"line beyond the limit", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 10_000), false, outcome{Status: 200, Err: errHeaderSize}},
		{"interim answers beyond the limit", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 500), false, outcome{Status: 100, Err: errHeaderSize}},
		{"trailers beyond the limit", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("X: y\r\n", 2000), false, outcome{Status: 200, Err: errHeaderSize}},
		{"chunk extension beyond the limit", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;" + strings.Repeat("y", 10_000), false, outcome{Status: 200, Err: errHeaderSize}},
		{"body beyond the limit", "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 100_001), false, outcome{Status: 200, Err: errBodySize}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if want.Used == 0 && want.Err == nil {
				want.Used = len(c.input)
			}
			for how, next := range inPieces([]byte(c.input)) {
				// What was read before must not show.
				r := newReply(8<<10, 100_000)
				read(r, []byte("HTTP/1.1 404 x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3;unfinished"), true, func() int { return 7 })
				got := read(r, []byte(c.input), c.head, next)
				if diff := cmp.Diff(want, got, cmpopts.EquateErrors()); diff != "" {
					t.Errorf("%s: %s", how, diff)
				}
			}
		})
	}
}

// TestReplyKeepsLittle: a line that does not end costs no more memory than the
// limit of a header, and that is given back.
func TestReplyKeepsLittle(t *testing.T) {
	r := newReply(1<<10, 1<<20)
	for _, line := range []string{"HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;"} {
		r.begin(false)
		_, err := r.feed([]byte(line))
		for err == nil {
			_, err = r.feed([]byte("yyyyyyy"))
		}
		if !errors.Is(err, errHeaderSize) || cap(r.partial) > 4<<10 {
			t.Errorf("%q without an end: %v, and %d bytes are kept", line, err, cap(r.partial))
		}
	}
	r.partial = make([]byte, 0, 64<<10)
	if r.forget(); r.partial != nil {
		t.Errorf("forget() keeps %d bytes", cap(r.partial))
	}
}

// FuzzReply holds reply against the standard library: what both accept must be
// the same answer, of the same length. And whatever comes, it must not matter
// in which pieces.
func FuzzReply(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\nrest",
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nuntil the end",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\nConnection: a, close\n\n",
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\n\r\n\r\n",
	} {
		f.Add([]byte(seed), false, uint64(1))
		f.Add([]byte(seed), true, uint64(2))
	}
	f.Fuzz(func(t *testing.T, input []byte, head bool, seed uint64) {
		const roomy = 1 << 40
		got := read(newReply(roomy, roomy), input, head, func() int { return max(len(input), 1) })
		if want, ok := oracle(input, head); ok && got.Whole {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q (head %v) differs from the standard library: %s", input, head, diff)
			}
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		for _, limit := range []int{roomy, 40} {
			whole := read(newReply(limit, int64(limit)), input, head, func() int { return max(len(input), 1) })
			pieces := read(newReply(limit, int64(limit)), input, head, func() int { return 1 + rng.IntN(9) })
			if diff := cmp.Diff(whole, pieces, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%q (head %v, limit %d) in pieces: %s", input, head, limit, diff)
			}
		}
	})
}

// oracle is what the standard library makes of an input; ok is false where it
// does not accept it as a whole answer.
func oracle(input []byte, head bool) (o outcome, ok bool) {
	method := http.MethodGet
	if head {
		method = http.MethodHead
	}
	source := bytes.NewReader(input)
	buffered := bufio.NewReader(source)
	for {
		resp, err := http.ReadResponse(buffered, &http.Request{Method: method})
		if err != nil {
			return o, false
		}
		_, err = io.Copy(io.Discard, iotest.OneByteReader(resp.Body))
		if resp.Body.Close() != nil || err != nil {
			return o, false
		}
		if resp.StatusCode >= 200 {
			return outcome{Status: resp.StatusCode, Whole: true, Last: resp.Close,
				Used: len(input) - source.Len() - buffered.Buffered()}, true
		}
	}
}

// nginxAnswer is what nginx says about a small page.
const nginxAnswer = "HTTP/1.1 200 OK\r\nServer: nginx/1.26.0\r\nDate: Sat, 21 Nov 2026 10:00:00 GMT\r\nContent-Type: text/html\r\n" +
	"Content-Length: 615\r\nLast-Modified: Tue, 23 Apr 2024 14:04:32 GMT\r\nConnection: keep-alive\r\nETag: \"6627bff0-267\"\r\nAccept-Ranges: bytes\r\n\r\n"

func BenchmarkReply(b *testing.B) {
	answer := []byte(nginxAnswer + strings.Repeat("x", 615))
	r := newReply(DefaultMaxHeader, DefaultMaxBody)
	b.ReportAllocs()
	b.SetBytes(int64(len(answer)))
	for b.Loop() {
		r.begin(false)
		if n, err := r.feed(answer); n != len(answer) || err != nil || !r.whole() {
			b.Fatal(n, err)
		}
	}
}
