package loadserver

import (
	"bytes"
	"fmt"
	"net/http"
)

// answers are ready-made: what an answer looks like does not depend on more
// than this.
type answers map[shape][]byte

// shape is what answers differ in.
type shape struct {
	status int
	head   bool // without a body, to a HEAD
	close  bool // the last one on its connection
}

// statuses are those that the server answers with.
var statuses = []int{http.StatusOK, http.StatusServiceUnavailable, http.StatusFound}

// status is what an outcome is answered with, if it is.
func (o Outcome) status() int {
	switch o {
	case OK:
		return http.StatusOK
	case Redirected:
		return http.StatusFound
	}
	return http.StatusServiceUnavailable
}

// newAnswers makes them as the behaviour wants those with status 200; the others
// have no body.
func newAnswers(b Behaviour) answers {
	a := make(answers)
	for _, status := range statuses {
		for _, head := range []bool{false, true} {
			for _, last := range []bool{false, true} {
				s := shape{status, head, last}
				a[s] = answer(b, s)
			}
		}
	}
	return a
}

func answer(b Behaviour, s shape) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "HTTP/1.1 %d %s\r\n", s.status, http.StatusText(s.status))
	if s.status == http.StatusFound {
		out.WriteString("Location: /elsewhere\r\n")
	}
	if s.close {
		out.WriteString("Connection: close\r\n")
	}
	body := b.Body
	if s.status != http.StatusOK {
		body = 0
	}
	if b.Chunked && s.status == http.StatusOK {
		out.WriteString("Transfer-Encoding: chunked\r\n\r\n")
		if !s.head {
			writeChunks(&out, body)
		}
		return out.Bytes()
	}
	fmt.Fprintf(&out, "Content-Length: %d\r\n\r\n", body)
	if !s.head {
		out.Write(bytes.Repeat([]byte{'x'}, body))
	}
	return out.Bytes()
}

// maxChunk is how long a chunk is at most, in bytes.
const maxChunk = 1 << 10

// writeChunks writes a body in two chunks or more, if it is long enough for two.
func writeChunks(out *bytes.Buffer, body int) {
	for size := min(maxChunk, (body+1)/2); body > 0; body -= size {
		size = min(size, body)
		fmt.Fprintf(out, "%x\r\n%s\r\n", size, bytes.Repeat([]byte{'x'}, size))
	}
	out.WriteString("0\r\n\r\n")
}
