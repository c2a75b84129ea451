package httpwire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
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
func read(r *Reply, input []byte, head bool, next func() int) outcome {
	r.Begin(head)
	used := 0
	for used < len(input) && !r.Whole() {
		end := min(used+next(), len(input))
		n, err := r.Feed(input[used:end])
		used += n
		if err != nil {
			return outcome{Status: r.status, Err: err}
		}
	}
	r.End()
	return outcome{Status: r.status, Whole: r.Whole(), Last: r.last, Used: used}
}

func tooLarge(p Part) error { return &LimitError{Part: p} }

func newReply(maxHeader int, maxBody int64) *Reply {
	return &Reply{MaxHeader: maxHeader, MaxBody: maxBody}
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
		{"list of one length", "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok", false,
			outcome{Status: 200, Whole: true}},
		{"list with empty elements", "HTTP/1.1 200 OK\r\nContent-Length: , 2,,2 ,\r\n\r\nok", false,
			outcome{Status: 200, Whole: true}},
		{"list of two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nok", false,
			outcome{Status: 200, Err: errLength}},
		{"list of nothing", "HTTP/1.1 200 OK\r\nContent-Length: ,\r\n\r\nok", false,
			outcome{Status: 200, Err: errLength}},
		{"zeros before the length", "HTTP/1.1 200 OK\r\nContent-Length: 00000000000000000000002\r\n\r\nok", false,
			outcome{Status: 200, Whole: true}},
		{"folded length", "HTTP/1.1 200 OK\r\nContent-Length:\r\n 2\r\n\r\nok", false,
			outcome{Status: 200, Whole: true}},
		{"length folded into two", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 2\r\n\r\nok", false,
			outcome{Status: 200, Err: errLength}},
		{"empty length", "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", false, outcome{Status: 200, Err: errLength}},
		{"length beyond 64 bits", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", false, outcome{Status: 200, Err: errLength}},
		{"length beyond the limit", "HTTP/1.1 200 OK\r\nContent-Length: 100001\r\n\r\n", false,
			outcome{Status: 200, Err: tooLarge(Body)}},
		{"too short", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", false, outcome{Status: 200}},
		{"another answer behind it", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n", false, outcome{Status: 200, Whole: true, Used: 40}},

		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA\r\n0123456789\r\n0\r\n\r\n", false, outcome{Status: 200, Whole: true}},
		{"chunked, extensions", "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5;a=b;c=\"d\"\r\nhello\r\n0 ; last\r\n\r\n", false, outcome{Status: 200, Whole: true}},
		{"chunked, trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 12\r\nX: y\r\n\r\n", false, outcome{Status: 200, Whole: true}},
		{"chunked and a length",
			"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", false,
			outcome{Status: 200, Err: errBoth}},
		{"chunked and length 0",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n5\r\nhello\r\n0\r\n\r\n", false,
			outcome{Status: 200, Err: errBoth}},
		{"chunked, folded", "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n\t CHUNKED\r\n \r\n\r\n5\r\nhello\r\n0\r\n\r\n",
			false, outcome{Status: 200, Whole: true}},
		{"chunked, in a list", "HTTP/1.1 200 OK\r\nTransfer-Encoding: ,chunked ,\r\n\r\n5\r\nhello\r\n0\r\n\r\n", false,
			outcome{Status: 200, Whole: true}},
		{"chunked twice in a list", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", false,
			outcome{Status: 200, Err: errEncoding}},
		{"no encoding", "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n\r\n", false, outcome{Status: 200, Err: errEncoding}},
		{"identity", "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nok", false,
			outcome{Status: 200, Err: errEncoding}},
		{"chunks with space, zeros and capitals",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n00000000000000000005 \t\r\nhello\r\n0A ; a = \"b;c\"\r\n0123456789\r\n000\r\n\r\n", false, outcome{Status: 200, Whole: true}},
		{"folded trailer, space in it",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Sum : 1\r\n 2\r\n\t\r\nX-Y:\r\n\r\n", false,
			outcome{Status: 200, Whole: true}},
		{"NUL in a folded trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: 1\r\n \x00\r\n\r\n",
			false, outcome{Status: 200, Err: errField}},
		{"chunk with no size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\nhello\r\n0\r\n\r\n", false, outcome{Status: 200, Err: errChunk}},
		{"chunk of no hexadecimal size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n", false, outcome{Status: 200, Err: errChunk}},
		{"chunk longer than it says", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhello\r\n0\r\n\r\n", false, outcome{Status: 200, Err: errChunk}},
		{"chunk of a size beyond 64 bits", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
			false, outcome{Status: 200, Err: tooLarge(Body)}},
		{"chunks beyond the limit", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1869f\r\n" +
			strings.Repeat("x", 0x1869f) + "\r\n2\r\n", false, outcome{Status: 200, Err: tooLarge(Body)}},
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
		{"empty lines first", "\r\n\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false,
			outcome{Status: 200, Whole: true}},
		{"empty lines without an end", strings.Repeat("\r\n", 5000), false, outcome{Err: tooLarge(Header)}},
		{"tabs and spaces in the status line", "HTTP/1.1 \t 200\tOK\r\nContent-Length: 0\r\n\r\n", false,
			outcome{Status: 200, Whole: true}},
		{"a reason of other characters", "HTTP/1.1 200 \xe9t\xe9\r\nContent-Length: 0\r\n\r\n", false,
			outcome{Status: 200, Whole: true}},
		{"an empty reason", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", false, outcome{Status: 200, Whole: true}},
		{"five letters of a status", "HTTP/1.1 200OK\r\n", false, outcome{Err: errStatusLine}},
		{"not HTTP", "SSH-2.0-OpenSSH_9.6\r\n", false, outcome{Err: errStatusLine}},
		{"HTTP/2", "HTTP/2.0 200 OK\r\n", false, outcome{Err: errStatusLine}},
		{"HTTP/1.2", "HTTP/1.2 200 OK\r\nContent-Length: 0\r\n\r\n", false, outcome{Status: 200, Whole: true}},
		{"HTTP/1.x", "HTTP/1.x 200 OK\r\n", false, outcome{Err: errStatusLine}},
		{"no status", "HTTP/1.1 OK\r\n", false, outcome{Err: errStatusLine}},
		{"four digits", "HTTP/1.1 2000 OK\r\n", false, outcome{Err: errStatusLine}},
		{"status below 100", "HTTP/1.1 099 OK\r\n", false, outcome{Err: errStatusLine}},
		{"no colon", "HTTP/1.1 200 OK\r\nContent-Length 2\r\n\r\n", false, outcome{Status: 200, Err: errField}},
		{"no name", "HTTP/1.1 200 OK\r\n: 2\r\n\r\n", false, outcome{Status: 200, Err: errField}},
		{"space before the colon", "HTTP/1.1 200 OK\r\nContent-Length \t: 2\r\n\r\nok", false,
			outcome{Status: 200, Whole: true}},
		{"space in a name", "HTTP/1.1 200 OK\r\nContent Length: 2\r\n\r\nok", false,
			outcome{Status: 200, Err: errField}},
		{"folded lines", "HTTP/1.1 200 OK\r\nX: a\r\n b: c\r\n\t\r\nContent-Length: 2\r\n\r\nok", false,
			outcome{Status: 200, Whole: true}},
		{"folded with line feeds alone", "HTTP/1.1 200 OK\nX: a\n b\nContent-Length: 2\n\nok", false,
			outcome{Status: 200, Whole: true}},
		{"fold of another header after the length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: a\r\n 3\r\n\r\nok",
			false, outcome{Status: 200, Whole: true}},
		{"space before the first header", "HTTP/1.1 200 OK\r\n Content-Length: 3\r\nContent-Length: 2\r\n\r\nok", false,
			outcome{Status: 200, Whole: true}},
		{"close in a fold", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive,\r\n close\r\n\r\nok",
			false, outcome{Status: 200, Whole: true, Last: true}},
		{"empty value, other characters", "HTTP/1.1 200 OK\r\nX:\r\nY: \xff\x80\x01\r\nContent-Length: 2\r\n\r\nok",
			false, outcome{Status: 200, Whole: true}},
		{"interim answer with a fold, then one without a length",
			"HTTP/1.1 103 Early Hints\r\nContent-Length: 9\r\n 9\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
			false, outcome{Status: 103, Err: errLength}},
		{"NUL in a value", "HTTP/1.1 200 OK\r\nX: a\x00b\r\n\r\n", false, outcome{Status: 200, Err: errField}},
		{"carriage return in a fold", "HTTP/1.1 200 OK\r\nX: a\r\n b\rc\r\n\r\n", false,
			outcome{Status: 200, Err: errField}},
		{"carriage return in a value", "HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n", false, outcome{Status: 200, Err: errField}},
		{"header beyond the limit", "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 2000), false,
			outcome{Status: 200, Err: tooLarge(Header)}},
		{"line beyond the limit", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 10_000), false,
			outcome{Status: 200, Err: tooLarge(Header)}},
		{"interim answers beyond the limit", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 500), false,
			outcome{Status: 100, Err: tooLarge(Header)}},
		{"trailers beyond the limit", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" +
			strings.Repeat("X: y\r\n", 2000), false, outcome{Status: 200, Err: tooLarge(Header)}},
		{"chunk extension beyond the limit",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;" + strings.Repeat("y", 10_000), false,
			outcome{Status: 200, Err: tooLarge(Header)}},
		{"body beyond the limit", "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 100_001), false,
			outcome{Status: 200, Err: tooLarge(Body)}},
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
		r.Begin(false)
		_, err := r.Feed([]byte(line))
		for err == nil {
			_, err = r.Feed([]byte("yyyyyyy"))
		}
		if !errors.Is(err, tooLarge(Header)) || cap(r.partial) > 4<<10 {
			t.Errorf("%q without an end: %v, and %d bytes are kept", line, err, cap(r.partial))
		}
	}
	r.partial = make([]byte, 0, 64<<10)
	if r.Forget(); r.partial != nil {
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
		"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length:\r\n 2, 2\r\n\r\nok",
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
			byText := cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) })
			if diff := cmp.Diff(whole, pieces, byText); diff != "" {
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
		r.Begin(false)
		if n, err := r.Feed(answer); n != len(answer) || err != nil || !r.Whole() {
			b.Fatal(n, err)
		}
	}
}

// TestPages: the memory for pages is bounded, and comes back.
func TestPages(t *testing.T) {
	p := &Pages{Most: 10, Left: 25}
	a := p.add(nil, []byte("0123456789ab"))
	b := p.add(p.add(nil, []byte("0123")), []byte("45"))
	c := p.add(nil, []byte("0123456789"))
	if len(a) != 10 || string(b) != "012345" || len(c) != 9 || p.Left != 0 {
		t.Errorf("%q, %q, %q, %d left", a, b, c, p.Left)
	}
	p.give(a)
	p.give(b)
	p.give(c)
	if p.Left != 25 || len(p.free) != 3 {
		t.Errorf("%d left, %d free", p.Left, len(p.free))
	}
}
