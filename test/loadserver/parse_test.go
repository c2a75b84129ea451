package loadserver

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, c := range []struct {
		name, in string
		want     request
		length   int
		err      error
	}{
		{"plain", get, request{}, len(get), nil},
		{"and another", get + get, request{}, len(get), nil},
		{"nothing yet", "", request{}, 0, nil},
		{"not whole", get[:len(get)-1], request{}, 0, nil},
		{"HEAD", "HEAD /x HTTP/1.1\r\n\r\n", request{head: true}, 20, nil},
		{"close", "GET / HTTP/1.1\r\nconnection: Keep-Alive , CLOSE\r\n\r\n", request{close: true}, 50, nil},
		{"1.0", "GET / HTTP/1.0\r\n\r\n", request{close: true}, 18, nil},
		{"body", "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET", request{}, 41, nil},
		{"body not whole", "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab", request{}, 0, nil},
		{"length twice", "GET / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n", request{}, 56, nil},
		{"lengths differ", "GET / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 1\r\n\r\n", request{}, 0, errRequest},
		{"length below 0", "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", request{}, 0, errRequest},
		{"length without end", "GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", request{}, 0, errRequest},
		{"too long a body", "GET / HTTP/1.1\r\nContent-Length: 16777217\r\n\r\n", request{}, 0, errRequest},
		{"chunked", "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", request{}, 0, errRequest},
		{"field without a colon", "GET / HTTP/1.1\r\nHost\r\n\r\n", request{}, 0, errRequest},
		{"folded field", "GET / HTTP/1.1\r\nA: b\r\n c: d\r\n\r\n", request{}, 0, errRequest},
		{"bare line feed", "GET / HTTP/1.1\r\nA: b\n\r\n\r\n", request{}, 0, errRequest},
		{"bare carriage return", "GET /\r HTTP/1.1\r\n\r\n", request{}, 0, errRequest},
		{"no version", "GET /\r\n\r\n", request{}, 0, errRequest},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\n", request{}, 0, errRequest},
		{"endless head", strings.Repeat("a", maxHead+1), request{}, 0, errRequest},
	} {
		got, n, err := parse([]byte(c.in))
		if got != c.want || n != c.length || !errors.Is(err, c.err) {
			t.Errorf("%s: parse = %+v, %d, %v, want %+v, %d, %v", c.name, got, n, err, c.want, c.length, c.err)
		}
	}
}

// FuzzParse: where the standard library accepts the same request, it is of the
// same length and says the same about the connection; and nothing that is
// there already is read otherwise when more has come.
func FuzzParse(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), []byte("GET"))
	f.Add([]byte("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"), []byte{})
	f.Add([]byte("HEAD / HTTP/1.1\r\nHost: x\r\nConnection: a, close\r\nContent-Length: 0\r\n\r\n"), []byte("\r\n"))
	f.Add([]byte("0 * HTTP/1.0\r\n0:\n\r\n\r\n"), []byte{})
	f.Fuzz(func(t *testing.T, in, more []byte) {
		r, n, err := parse(in)
		if err != nil || n == 0 {
			return
		}
		if again, m, err := parse(append(bytes.Clone(in[:n]), more...)); again != r || m != n || err != nil {
			t.Fatalf("%q: %+v, %d; with more behind it %+v, %d, %v", in, r, n, again, m, err)
		}
		whole := bytes.NewReader(in)
		buffered := bufio.NewReader(whole)
		want, err := http.ReadRequest(buffered)
		if err != nil {
			return // it is stricter with what does not matter here
		}
		if _, err := io.Copy(io.Discard, want.Body); err != nil {
			t.Fatalf("%q: the body of a request of %d bytes ends early: %v", in, n, err)
		}
		used := len(in) - whole.Len() - buffered.Buffered()
		if used != n || r.head != (want.Method == http.MethodHead) || (r.close != want.Close && want.ProtoMinor == 1) {
			t.Errorf("%q: %+v of %d bytes, want %s, close %v, %d", in, r, n, want.Method, want.Close, used)
		}
	})
}
