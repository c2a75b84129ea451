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
	ok    bool // status 200, or 503
	head  bool // without a body, to a HEAD
	close bool // the last one on its connection
}

// newAnswers makes them with a body of so many bytes; those with status 503
// have none.
func newAnswers(body int) answers {
	a := make(answers)
	for _, head := range []bool{false, true} {
		for _, last := range []bool{false, true} {
			a[shape{true, head, last}] = answer(http.StatusOK, body, head, last)
			a[shape{false, head, last}] = answer(http.StatusServiceUnavailable, 0, head, last)
		}
	}
	return a
}

func answer(status, body int, head, last bool) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\nContent-Length: %d\r\n", status, http.StatusText(status), body)
	if last {
		b.WriteString("Connection: close\r\n")
	}
	b.WriteString("\r\n")
	if !head {
		b.Write(bytes.Repeat([]byte{'x'}, body))
	}
	return b.Bytes()
}
